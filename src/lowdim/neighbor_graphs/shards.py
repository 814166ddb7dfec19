"""Approximate nearest neighbours of rows that do not fit into memory.

The rows are divided into cells by k-means on a sample, and cells that lie near each other are put
together to shards. A shard is so small that the rows in it, with an index of their own, fit into
memory. One pass over the rows sends each of them to its shard, and as a query to the other shards
in which some of its nearest cells are. The shards are then searched, and the k best of all that is
found for a row are kept. In one process, shards are temporary files and are searched one after the
other; on a cluster, the search of a shard is a task.

How many of the nearest cells are looked at follows from a sample of rows whose true neighbours are
known: as few as the wanted recall needs. Everything depends on the data, the seed and the memory of
the computation, not on the number of threads.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.backends.numpy_blocks import unit_length
from lowdim.checks import Array
from lowdim.distances.metrics import Metric
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.exact import NO_NUMBER, NearestSoFar, nearest, query, tree_fits
from lowdim.neighbor_graphs.indexes import build_index
from lowdim.runtime.scheduling import blocks
from lowdim.runtime.scratch import Rows

logger = logging.getLogger("lowdim")

BUDGET_SHARE = 24  # the memory of a computation, in units of the rows of a shard, which an index
# holds three times, beside the neighbours of all rows
MOST_SHARDS = 256  # each has two open files
PARALLEL_SHARDS = 32  # on a cluster, whatever the number of workers: results must not depend on it
SMALL_SHARD = 20_000  # rows of a shard that is not divided for the sake of more tasks
LEAST_CELLS = 2  # to look at: with one, no row at the border of a shard has a neighbour beyond it,
# which cuts the graph into pieces
TEST_ROWS = 512  # rows on which recall is measured
CELLS_PER_SHARD = 32
MOST_CELLS = 2048  # every row is compared with the centres of all cells
SAMPLE_ROWS_PER_CELL = 40  # of the sample for k-means
ROUNDS = 8  # of k-means
PIECE_ROWS = 8192  # of the sample, in a task of k-means
FILL = 0.7  # expected size of a shard, as a share of the largest: sizes in a sample are estimates


class ShardedNeighbors(NamedTuple):
    """Neighbours of all rows, and the share of the true ones, measured on a sample."""

    indices: Array
    distances: Array
    recall: float


def search_shards(
    source: RowBlocks, k: int, metric: Metric, recall: float, seed: int
) -> ShardedNeighbors:
    """Each row's k nearest other rows, by the Euclidean or the cosine distance: a share `recall`
    of the true ones."""
    n = source.shape[0]
    random = np.random.default_rng(seed)
    capacity = largest_shard(source, k)
    division = divide_rows(source, capacity, metric.name, random)
    test = np.sort(random.choice(n, min(n, TEST_ROWS), replace=False))
    asked = source.take(test)
    true_indices, true_distances = query(source, asked, k, metric, test)
    each = recall + (1 - recall) / 2  # of the choice of shards, and of the search in a shard
    depth = least_depth(source, division, asked, true_indices, each)
    so_far = NearestSoFar(n, k, source.dtype)
    shard = partial(Shard, source.shape[1], source.dtype)
    search = partial(search_shard, k=k, metric=metric, recall=each, seed=seed, capacity=capacity)
    for offer in source.exchange(route_rows, (division, depth), division.n_shards, shard, search):
        so_far.offer(*offer)
    short = np.flatnonzero(so_far.indices[:, -1] == NO_NUMBER)
    for part in blocks(len(short), source.block_rows):  # which have too few in their shards
        own = short[part]
        so_far.indices[own], so_far.distances[own] = query(source, source.take(own), k, metric, own)
    farthest = true_distances[:, -1:] * (1 + 32 * np.finfo(source.dtype).eps)
    measured = float((so_far.distances[test] <= farthest).mean())
    logger.info(
        "Approximate neighbours from %d shards: %d of %d cells per row, recall %.3f on a sample of "
        "%d rows",
        division.n_shards,
        depth,
        len(division.centers),
        measured,
        len(test),
    )
    return ShardedNeighbors(so_far.indices, so_far.distances, measured)


def largest_shard(source: RowBlocks, k: int) -> int:
    """Rows of a shard that can be searched in the memory of a task."""
    n, place = source.shape[0], source.tasks
    rows = place.memory() // BUDGET_SHARE // source.row_bytes
    if place.parallel:
        rows = min(rows, max(n // PARALLEL_SHARDS, SMALL_SHARD))
    return int(max(4 * k, 64, rows, 2 * n // MOST_SHARDS))


def least_depth(
    source: RowBlocks, division: Division, asked: Array, neighbors: Array, wanted: float
) -> int:
    """How many of a row's nearest cells to look at, so that their shards hold a wanted share of
    the true neighbours of sampled rows."""
    numbers, place = np.unique(neighbors, return_inverse=True)
    shard = division.shards_near(source.take(numbers), 1)[:, 0][place].reshape(neighbors.shape)
    order = division.shards_near(asked, len(division.centers))
    first = np.stack([(order == column[:, None]).argmax(axis=1) for column in shard.T], axis=1)
    needed = int(np.sort(first, axis=None)[int(np.ceil(wanted * first.size)) - 1]) + 1
    return max(needed, LEAST_CELLS)


class Part(NamedTuple):
    """Rows of a block that belong to a shard, or that are to be searched there."""

    member: bool
    numbers: Array
    rows: Array


def route_rows(rows: Array, first: int, division: Division, depth: int) -> list[tuple[int, Part]]:
    """The rows of a block, by the shards that they belong to or are to be searched in."""
    near = division.shards_near(rows, depth)
    numbers = np.arange(first, first + len(rows), dtype=np.int32)
    parts = []
    for shard in np.unique(near).tolist():
        member = near[:, 0] == shard
        query = (near == shard).any(axis=1) & ~member
        for kind, chosen in ((True, member), (False, query)):
            if chosen.any():
                parts.append((shard, Part(kind, numbers[chosen], rows[chosen])))
    return parts


class Shard:
    """The rows of a shard and those that are to be searched in it; `kept` is `ScratchRows` or
    `HeldRows`."""

    def __init__(self, width: int, dtype: np.dtype[Any], kept: type[Rows]) -> None:
        # Arrays that grow: many small ones between large ones would keep freed memory in use.
        self._rows = {member: kept(width, dtype) for member in (True, False)}
        self._numbers = {member: array("i") for member in (True, False)}

    def close(self) -> None:
        """Free the rows."""
        for rows in self._rows.values():
            rows.close()

    def add(self, piece: Part) -> None:
        """Take in rows."""
        self._rows[piece.member].append(piece.rows)
        self._numbers[piece.member].frombytes(piece.numbers.tobytes())

    def numbers(self, member: bool) -> Array:
        """The numbers of the rows of the shard, or of those that are searched in it."""
        return np.array(self._numbers[member], dtype=np.int32)

    def read(self, member: bool, rows: slice) -> Array:
        """Some of these rows."""
        return self._rows[member].read(rows)


def search_shard(
    shard: Shard, number: int, *, k: int, metric: Metric, recall: float, seed: int, capacity: int
) -> Iterator[tuple[Array, Array, Array]]:
    """What is found in a shard for the rows that are searched in it, for `NearestSoFar.offer`."""
    numbers = {member: shard.numbers(member) for member in (True, False)}
    own = numbers[True]
    n_pieces = max(1, -(-len(own) // capacity))  # one, unless many rows are in a single cell
    for piece in blocks(len(own), max(1, -(-len(own) // n_pieces))):
        points, mine = shard.read(True, piece), own[piece]
        count, exact = min(k, len(points)), tree_fits(points, metric)
        index = None if exact else build_index(points, metric, count, recall, seed + number)
        if index is not None:
            indices, distances = index.neighbors()
            yield mine, mine[indices], distances
        elif len(points) > 1:
            indices, distances = nearest(points, min(k, len(points) - 1), metric)
            yield mine, mine[indices], distances
        for member, begin, end in (
            (True, 0, piece.start),
            (True, piece.stop, len(own)),
            (False, 0, len(numbers[False])),
        ):
            for part in blocks(end - begin, max(1, capacity // 2)):
                asked = slice(begin + part.start, begin + part.stop)
                rows = shard.read(member, asked)
                indices, distances = (
                    query(points, rows, count, metric)
                    if index is None
                    else index.query(rows, count)
                )
                yield numbers[member][asked], mine[indices], distances


@dataclass(frozen=True)
class Division:
    """Centres of cells, and the shard of each cell."""

    centers: Array
    shard_of: Array
    metric: str

    @property
    def n_shards(self) -> int:
        """The number of shards."""
        return int(self.shard_of.max()) + 1

    def shards_near(self, rows: Array, depth: int) -> Array:
        """The shards of the `depth` cells nearest to each row, nearest first."""
        return np.asarray(self.shard_of[_nearest(self.centers, rows, depth, self.metric)])


def divide_rows(
    source: RowBlocks, capacity: int, metric: str, random: np.random.Generator
) -> Division:
    """Divide the rows of a source into shards of at most about `capacity` rows."""
    n = source.shape[0]
    n_shards = -(-n // max(1, int(FILL * capacity)))
    count = max(1, min(CELLS_PER_SHARD * n_shards, MOST_CELLS, n // 4))
    sample = np.sort(random.choice(n, min(n, count * SAMPLE_ROWS_PER_CELL), replace=False))
    points = source.take(sample)
    if metric == "cosine":
        points = unit_length(points)
    centers = points[np.sort(random.choice(len(points), count, replace=False))]
    where = source.tasks
    pieces = where.persist([points[part] for part in blocks(len(points), PIECE_ROWS)])
    for _ in range(ROUNDS):
        sums, sizes = _total(where.map(partial(_sums_of_cells, centers, metric), pieces))
        used = sizes > 0  # centres without points stay
        centers[used] = sums[used] / sizes[used, None]
    sizes = _total(where.map(partial(_sums_of_cells, centers, metric), pieces))[1]
    shard_of = np.zeros(count, dtype=np.int32)
    _split(centers, sizes, np.arange(count), n_shards, shard_of)
    return Division(centers, np.unique(shard_of, return_inverse=True)[1].astype(np.int32), metric)


def _nearest(centers: Array, rows: Array, count: int, metric: str) -> Array:
    return backend().nearest_to(centers, rows, min(count, len(centers)), metric == "cosine")[0]


def _sums_of_cells(centers: Array, metric: str, points: Array) -> tuple[Array, Array]:
    """The sum and the number of the points that are nearest to each centre."""
    from scipy.sparse import csr_array

    owner = _nearest(centers, points, 1, metric)[:, 0]
    parts = (np.ones(len(owner), points.dtype), (owner, np.arange(len(owner))))
    sums = csr_array(parts, shape=(len(centers), len(owner))) @ points
    return sums.astype(np.float64), np.bincount(owner, minlength=len(centers))


def _total(parts: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The sums of what `_sums_of_cells` returns, in the order of the pieces."""
    sums, sizes = zip(*parts, strict=True)
    return np.sum(sums, axis=0), np.sum(sizes, axis=0)


def _split(centers: Array, sizes: Array, cells: Array, pieces: int, shard_of: Array) -> None:
    """Divide cells into pieces of similar size, by cuts across their longest extent."""
    if pieces <= 1 or len(cells) == 1:
        return
    offsets = (centers[cells] - centers[cells].mean(axis=0)).astype(np.float64)
    axis = np.linalg.svd(offsets, full_matrices=False)[2][0]
    cells = cells[np.argsort(offsets @ axis, kind="stable")]
    filled = np.cumsum(sizes[cells])
    first = pieces // 2
    cut = int(np.searchsorted(filled, filled[-1] * first / pieces, side="right"))
    cut = min(max(cut, 1), len(cells) - 1)
    shard_of[cells[cut:]] += first  # numbers below are those of the other part
    _split(centers, sizes, cells[:cut], first, shard_of)
    _split(centers, sizes, cells[cut:], pieces - first, shard_of)
