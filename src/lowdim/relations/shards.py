"""Approximate nearest neighbours of rows that do not fit into memory.

The rows are divided into cells by k-means on a sample, and cells that lie near each other are put
together to shards. A shard is so small that the rows in it, with an index of their own, fit into
memory. One pass over the rows writes each of them to the file of its shard, and to the files of
queries of the other shards in which some of its nearest cells are. The shards are then searched one
after the other, and the k best of all that is found for a row are kept.

How many of the nearest cells are looked at follows from a sample of rows whose true neighbours are
known: as few as the wanted recall needs. Everything depends on the data, the seed and the memory of
the computation, not on the number of threads.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import NamedTuple, Self

import numpy as np

from lowdim.checks import Array
from lowdim.relations.approximate import build_index
from lowdim.relations.blocked_search import NO_NUMBER, Nearest, nearest_in_blocks, plain_metric
from lowdim.relations.blocks import RowBlocks
from lowdim.relations.division import Division, divided
from lowdim.relations.search import nearest, query, tree_fits
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks
from lowdim.runtime.scratch import ScratchRows

logger = logging.getLogger("lowdim")

BUDGET_SHARE = 24  # the memory of a computation, in units of the rows of a shard, which an index
# holds three times, beside the neighbours of all rows
MOST_SHARDS = 256  # each has two open files
TEST_ROWS = 512  # rows on which recall is measured


class Found(NamedTuple):
    """Neighbours of all rows, and the share of the true ones, measured on a sample."""

    indices: Array
    distances: Array
    recall: float


def sharded_neighbors(source: RowBlocks, k: int, metric: str, recall: float, seed: int) -> Found:
    """Each row's k nearest other rows, nearly all of them.

    Parameters
    ----------
    source : RowBlocks
    k : int
    metric : {"euclidean", "cosine"}
    recall : float
        Share of the true neighbours that is to be found.
    seed : int
    """
    n = source.shape[0]
    random = np.random.default_rng(seed)
    in_memory = memory.budget() // BUDGET_SHARE // source.row_bytes
    capacity = max(4 * k, 64, in_memory, 2 * n // MOST_SHARDS)
    division = divided(source, capacity, metric, random)
    test = np.sort(random.choice(n, min(n, TEST_ROWS), replace=False))
    asked = source.take(test)
    true_indices, true_distances = nearest_in_blocks(source, asked, k, metric, test)
    each = recall + (1 - recall) / 2  # of the choice of shards, and of the search in a shard
    depth = needed_depth(source, division, asked, true_indices, each)
    found = Nearest(n, k, source.dtype)
    with ExitStack() as files:
        shards = [files.enter_context(Shard(source)) for _ in range(division.n_shards)]
        for parts in source.map(routed, division, depth):
            for part in parts:
                shards[part.shard].add(part)
        for number, shard in enumerate(shards):
            shard.search(found, metric, each, seed + number, capacity)
            shard.close()
    _complete(found, source, metric)
    farthest = true_distances[:, -1:] * (1 + 32 * np.finfo(source.dtype).eps)
    measured = float((found.distances[test] <= farthest).mean())
    logger.info(
        "Approximate neighbours from %d shards: %d of %d cells per row, recall %.3f on a sample of "
        "%d rows",
        division.n_shards,
        depth,
        len(division.centers),
        measured,
        len(test),
    )
    return Found(found.indices, found.distances, measured)


def needed_depth(
    source: RowBlocks, division: Division, asked: Array, neighbors: Array, wanted: float
) -> int:
    """How many of a row's nearest cells to look at, so that their shards hold a wanted share of
    the true neighbours of sampled rows."""
    numbers, place = np.unique(neighbors, return_inverse=True)
    shard = division.shards_near(source.take(numbers), 1)[:, 0][place].reshape(neighbors.shape)
    order = division.shards_near(asked, len(division.centers))
    first = np.stack([(order == column[:, None]).argmax(axis=1) for column in shard.T], axis=1)
    return int(np.sort(first, axis=None)[int(np.ceil(wanted * first.size)) - 1]) + 1


class Part(NamedTuple):
    """Rows of a block that belong to a shard, or that are to be searched there."""

    shard: int
    member: bool
    numbers: Array
    rows: Array


def routed(rows: Array, first: int, division: Division, depth: int) -> list[Part]:
    """The rows of a block, by the shards that they belong to or are to be searched in."""
    near = division.shards_near(rows, depth)
    numbers = np.arange(first, first + len(rows), dtype=np.int32)
    parts = []
    for shard in np.unique(near).tolist():
        member = near[:, 0] == shard
        query = (near == shard).any(axis=1) & ~member
        for kind, chosen in ((True, member), (False, query)):
            if chosen.any():
                parts.append(Part(shard, kind, numbers[chosen], rows[chosen]))
    return parts


class Shard:
    """The rows of a shard and those that are to be searched in it, in temporary files."""

    def __init__(self, source: RowBlocks) -> None:
        self._files = {m: ScratchRows(source.shape[1], source.dtype) for m in (True, False)}
        self._numbers = {True: Numbers(), False: Numbers()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the files."""
        for file in self._files.values():
            file.close()

    def add(self, part: Part) -> None:
        self._files[part.member].append(part.rows)
        self._numbers[part.member].append(part.numbers)

    def search(self, found: Nearest, metric: str, recall: float, seed: int, capacity: int) -> None:
        """Offer what is found in the shard to the rows that are searched in it."""
        numbers = {kind: some.values for kind, some in self._numbers.items()}
        own, k = numbers[True], found.indices.shape[1]
        n_pieces = max(1, -(-len(own) // capacity))  # one, unless many rows are in a single cell
        for piece in blocks(len(own), max(1, -(-len(own) // n_pieces))):
            points, mine = self._files[True].read(piece), own[piece]
            searcher = Searcher(points, k, metric, recall, seed)
            if len(points) > 1:
                indices, distances = searcher.neighbors()
                found.offer(mine, mine[indices], distances)
            for member, begin, end in (
                (True, 0, piece.start),
                (True, piece.stop, len(own)),
                (False, 0, len(numbers[False])),
            ):
                for part in blocks(end - begin, max(1, capacity // 2)):
                    asked = slice(begin + part.start, begin + part.stop)
                    indices, distances = searcher.query(self._files[member].read(asked))
                    found.offer(numbers[member][asked], mine[indices], distances)


class Numbers:
    """Numbers of rows in an array that grows.

    Many small arrays, made between large ones that are freed, would keep their memory in use.
    """

    def __init__(self) -> None:
        self._array, self._count = np.empty(0, dtype=np.int32), 0

    def append(self, numbers: Array) -> None:
        """Add numbers after those that are there."""
        end = self._count + len(numbers)
        if end > len(self._array):
            larger = np.empty(max(end, 2 * len(self._array)), dtype=np.int32)
            larger[: self._count] = self.values
            self._array = larger
        self._array[self._count : end] = numbers
        self._count = end

    @property
    def values(self) -> Array:
        """All numbers."""
        return self._array[: self._count]


class Searcher:
    """A search for the k nearest of some rows: by an index, or exact where that is no slower."""

    def __init__(self, points: Array, k: int, metric: str, recall: float, seed: int) -> None:
        self.points, self.k, self.metric = points, k, plain_metric(metric)
        exact = tree_fits(points, self.metric)
        self.index = None if exact else build_index(points, self.metric, k, recall, seed)

    def neighbors(self) -> tuple[Array, Array]:
        """The nearest other rows of each row."""
        if self.index is not None:
            return self.index.neighbors()
        return nearest(self.points, min(self.k, len(self.points) - 1), self.metric)

    def query(self, rows: Array) -> tuple[Array, Array]:
        """The nearest rows of new ones."""
        k = min(self.k, len(self.points))
        if self.index is not None:
            return self.index.query(rows, k)
        return query(self.points, rows, k, self.metric)


def _complete(found: Nearest, source: RowBlocks, metric: str) -> None:
    """Search the neighbours of rows that have too few in all of the source."""
    short = np.flatnonzero(found.indices[:, -1] == NO_NUMBER)
    for part in blocks(len(short), source.block_rows):
        own = short[part]
        k = found.indices.shape[1]
        exact = nearest_in_blocks(source, source.take(own), k, metric, own)
        found.indices[own], found.distances[own] = exact
