"""Indexes for approximate nearest neighbours of rows in memory, under any metric.

The backend has an index for the Euclidean and the cosine distance. Under metrics that order pairs
of dense rows much as the Euclidean distance does, it gives candidates, the nearest of which by the
metric itself are an object's neighbours. All other metrics are searched by pivots: some objects,
drawn at random. Every object belongs to the cell of its nearest pivot, and its neighbours are
searched in the cells with the pivots nearest to it. The number of cells is the smallest that
reaches the wanted recall on a sample of the objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.heaps import Heaps, Neighbors, Ranking
from lowdim.backends.native.index import Index
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_defined
from lowdim.distances.metrics import Metric
from lowdim.neighbor_graphs.exact import first_of_rows, reach_of
from lowdim.runtime.scheduling import blocks, run

MIN_ROWS = 2000  # with fewer rows an index takes more time than it saves
RECALL_MARGIN = 0.2  # share of the allowed misses kept in reserve: recall is measured on a sample
CANDIDATE_METRICS = ("cityblock", "chebyshev", "canberra", "braycurtis")
RANKED_SAMPLE = 256  # objects on which the recall under these metrics is measured
SAMPLE_OBJECTS = 128  # sample on which recall is measured
PIVOTS = 3  # number of pivots, in units of the square root of the number of objects
LARGEST_CELL = 4  # in units of the mean size; a larger cell is divided
LARGEST_SHARE = 0.35  # of all objects compared with each object; an exact search compares half
BATCH_OBJECTS = 512  # objects whose neighbours are searched together


def build_index(rows: Any, metric: Metric, k: int, recall: float, seed: int) -> Index | None:
    """An index that finds at least this share of up to k neighbours, on a sample of the rows.

    None if no such index is faster than the exact search.
    """
    n = rows.shape[0]
    if n < MIN_ROWS or 4 * k > n:
        return None
    random = np.random.default_rng(seed)
    wanted = recall + RECALL_MARGIN * (1 - recall)
    if metric.by_products:
        return backend().build_index(rows, k, metric.name == "cosine", wanted, random)
    kind = None if is_sparse(rows) else _kind(metric)
    if kind is None:
        return build_pivots(rows, metric, k, wanted, random)
    rows = np.ascontiguousarray(rows)
    sample = np.sort(random.choice(n, RANKED_SAMPLE, replace=False))
    ranking = Ranking(*kind, sample, reach_of(rows, sample, k, metric)[:, 0])
    return backend().build_index(rows, k, False, wanted, random, ranking)


def has_candidates(rows: Any, metric: Metric) -> bool:
    """Whether neighbours of these rows can be searched among Euclidean candidates."""
    return _kind(metric) is not None and not is_sparse(rows)


def _kind(metric: Metric) -> tuple[str, float] | None:
    """The name and the power by which the backend ranks candidates; None if it cannot."""
    if metric.name in CANDIDATE_METRICS:
        return metric.name, 0.0
    if metric.name.startswith("minkowski") and set(metric.params) == {"p"}:
        return "minkowski", float(metric.params["p"])
    return None


def ranked_candidates(rows: Array, queries: Array, ids: Array, metric: Metric) -> Neighbors:
    """The objects that are listed for each query, nearest first, and their distances."""
    kind, power = _kind(metric) or ("euclidean", 2.0)
    return backend().rank_candidates(rows, queries, ids, ids.shape[1], kind, power)


@dataclass(frozen=True, eq=False)
class PivotIndex:
    """Objects in the cells of their nearest pivots; an `Index`."""

    rows: Any
    metric: Metric
    k: int
    pivots: Array  # object number of the pivot of each cell
    order: Array  # object numbers, cell by cell; a position in it is called a place
    starts: Array  # first place of each cell, and the number of objects
    probes: int = 0  # number of cells to search for each object
    recall: float = 0.0

    def neighbors(self) -> tuple[Array, Array]:
        places = np.arange(len(self.order))
        indices = np.empty((len(places), self.k), dtype=np.int32)
        distances = np.empty(indices.shape, dtype=checks.float_kind(self.rows))
        lists = self._search(self.rows[self.order], places, self.k)
        indices[self.order], distances[self.order] = lists
        return indices, distances

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        return self._search(queries, np.full(queries.shape[0], -1), k)

    def _search(self, queries: Any, selves: Array, k: int) -> tuple[Array, Array]:
        """Indices and distances of the k nearest objects found for each query.

        `selves` holds the place of each query among the objects, -1 if it is not one of them.
        """
        n = queries.shape[0]
        indices = np.empty((n, k), dtype=np.int32)
        distances = np.empty((n, k), dtype=checks.float_kind(self.rows))
        centers = self.rows[self.pivots]

        def search_batch(part: slice) -> None:
            own, asked = selves[part], queries[part]
            D = np.array(self.metric.block(asked, centers), dtype=np.float64, order="C")
            D[np.isnan(D)] = np.inf  # reported below, by the comparison with the members of cells
            heaps = backend().build_heaps(len(own), k, distances.dtype)
            p = self.probes
            new = bool((own < 0).all())
            numbers = np.arange(part.start, part.stop) if new else self.order[own]
            short = np.arange(len(own))
            while len(short):  # queries with fewer than k objects so far: visit more cells
                heaps.clear(short)
                cells = backend().smallest(D[short], p)[0]
                self._visit(asked, own, numbers, cells, short, heaps, new)
                full = p == len(self.pivots)
                p = min(4 * p, len(self.pivots))
                short = short[:0] if full else heaps.incomplete_rows()
            places, values = heaps.neighbors()
            indices[part], distances[part] = first_of_rows(self.order[places], values, k)

        run(search_batch, blocks(n, BATCH_OBJECTS), counts=True)
        return indices, distances

    def _visit(
        self,
        queries: Any,
        selves: Array,
        numbers: Array,
        cells: Array,
        asking: Array,
        heaps: Heaps,
        new: bool,
    ) -> None:
        """Offer the objects of the asking queries' cells to their heaps.

        `numbers` are the queries' numbers, and `new` says that they are new objects, for errors.
        """
        order = np.argsort(cells, axis=None, kind="stable")
        visitors = asking[order // cells.shape[1]]
        visited, first = np.unique(cells.ravel()[order], return_index=True)
        for cell, mine in zip(visited, np.split(visitors, first[1:]), strict=True):
            begin, end = self.starts[cell], self.starts[cell + 1]
            members = self.order[begin:end]
            block = self.metric.block(queries[mine], self.rows[members])
            tile = np.array(block, dtype=checks.float_kind(self.rows), order="C")
            inside = np.flatnonzero((selves[mine] >= begin) & (selves[mine] < end))
            itself = (inside, selves[mine][inside] - begin)
            tile[itself] = 0  # whatever the metric says
            check_defined(tile, self.metric, numbers[mine], members, new=new)
            tile[itself] = np.nan  # is never nearer
            heaps.offer(tile, (None, int(begin)), rows=mine)


def build_pivots(
    rows: Any, metric: Metric, k: int, wanted: float, random: np.random.Generator
) -> PivotIndex | None:
    """An index of at least the wanted recall; None if it would compare too many objects."""
    n = rows.shape[0]
    sample = np.sort(random.choice(n, SAMPLE_OBJECTS, replace=False))
    pivots = np.sort(random.choice(n, PIVOTS * int(np.sqrt(n)), replace=False))
    owner = _owners(rows, metric, pivots)
    pivots, order, starts = _cells(pivots, owner)
    index = PivotIndex(rows, metric, k, pivots, order, starts)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    reach = reach_of(rows, sample, k, metric)
    p = 2
    while p * n / len(pivots) < LARGEST_SHARE * n:
        index = replace(index, probes=p)
        lengths = index._search(rows[sample], place[sample], k)[1]
        share = float((lengths <= reach).mean())
        if share >= wanted:
            return replace(index, recall=share)
        p += max(1, p // 3)
    return None


def _owners(rows: Any, metric: Metric, pivots: Array) -> Array:
    """The number of the pivot nearest to each object."""
    owner = np.empty(rows.shape[0], dtype=np.int64)
    centers = rows[pivots]

    def assign(part: slice) -> None:
        D = np.array(metric.block(rows[part], centers), dtype=np.float64, order="C")
        itself = np.nonzero(np.arange(part.start, part.stop)[:, None] == pivots[None, :])
        D[itself] = 0  # also if the metric is undefined there
        check_defined(D, metric, np.arange(part.start, part.stop), pivots)
        owner[part] = backend().smallest(D, 1)[0][:, 0]

    run(assign, blocks(rows.shape[0], BATCH_OBJECTS))
    return owner


def _cells(pivots: Array, owner: Array) -> tuple[Array, Array, Array]:
    """Pivots, `order` and `starts` of the cells; large cells, as of duplicates, are divided."""
    n = len(owner)
    largest = LARGEST_CELL * -(-n // len(pivots))
    order = np.argsort(owner, kind="stable").astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(pivots)))])
    cut = [
        (pivot, begin)
        for pivot, start, stop in zip(pivots, bounds[:-1], bounds[1:], strict=True)
        for begin in range(start, stop, largest)
    ]
    held, starts = np.array(cut, dtype=np.int64).T
    return held, order, np.append(starts, n)
