"""Approximate nearest neighbours under the Euclidean and the cosine distance.

An index divides the rows into cells of a coarse space (see `cells`). A row is compared there with
the rows of the cells nearest to it, and the best candidates are ranked by their true distances. The
numbers of cells and of candidates are the cheapest that reach the wanted recall on a sample of rows
whose true neighbours are known. If they cost more than the exact search, as for high-dimensional
data without structure, there is no index.

The neighbours of a row depend on that row and the index alone, and the index on the data and the
seed, so the number of threads does not matter.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from lowdim import checks
from lowdim.backends.native.cells import (
    Cells,
    CoarseSpace,
    build_cells,
    coarse_spaces,
    search_cells,
)
from lowdim.backends.native.heaps import Neighbors, Ranking, rank_candidates, rerank
from lowdim.backends.native.products import (
    SAMPLE_BLOCK_ROWS,
    add_zero_column,
    nearest_of_sample,
    squared_norms,
    sum_duplicates,
    unit_rows,
)
from lowdim.backends.numpy_blocks import unit_length
from lowdim.checks import Array, dense, distances_in_range, is_sparse, stack_rows
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

logger = logging.getLogger("lowdim")

SAMPLE_ROWS = 256  # sample on which recall is measured
ROWS_PER_CELL = 256  # on average
LARGEST_COST = 0.7  # of a search by the index, as a share of the cost of the exact search
FORMULA_COST = 0.5  # nanoseconds that an entry of a pair of rows takes in a formula; measured
BATCH_ROWS = 768  # rows whose neighbours a thread searches at once; a multiple of the kernel's 384


class Index(Protocol):
    """A data structure that finds nearly all of the k nearest rows without comparing all pairs."""

    @property
    def recall(self) -> float:
        """The share of the true neighbours that is found, measured on a sample of the rows."""

    def neighbors(self) -> Neighbors:
        """Each row's k nearest other rows."""

    def query(self, queries: Any, k: int) -> Neighbors:
        """The k rows nearest to each query; they do not depend on the other queries."""


@dataclass(frozen=True)
class Plan:
    """Parameters of a search: cells visited and candidates ranked for each row."""

    probes: int
    candidates: int
    recall: float  # on the sample
    cost: float  # estimate in nanoseconds per row, on one core


@dataclass(frozen=True, eq=False)
class CellIndex:
    """Rows with their coarse vectors in cells; an `Index` to which rows can be added."""

    rows: Any  # scaled to unit length for the cosine distance
    cosine: bool
    space: CoarseSpace
    cells: Cells
    vectors: Array  # coarse vectors of the rows
    plan: Plan
    k: int  # largest number of neighbours of a search
    ranking: Ranking | None = None  # by which candidates are ranked; None: Euclidean or cosine

    @property
    def recall(self) -> float:
        return self.plan.recall

    def neighbors(self) -> tuple[Array, Array]:
        n = self.rows.shape[0]
        indices = np.empty((n, self.k), dtype=np.int32)
        distances = np.empty((n, self.k), dtype=self.rows.dtype)

        def search(part: slice) -> None:
            own = self.cells.order[part]
            places = np.arange(part.start, part.stop, dtype=np.int32)
            candidates = self._candidates(self.vectors[own], places, self.k)
            indices[own], distances[own] = self._rank(self.rows[own], candidates, self.k)

        run(search, blocks(n, BATCH_ROWS), counts=True)
        distances_in_range(distances)
        return indices, distances

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        asked = self._convert_queries(queries)
        Z, _ = self.space.vectors(asked)
        no_place = np.full(len(Z), -1, dtype=np.int32)
        candidates = self._candidates(Z, no_place, k)
        indices, distances = self._rank(asked, candidates, k)
        distances_in_range(distances)
        return indices, distances

    def for_queries(self) -> CellIndex:
        """The index without what only `neighbors` needs."""
        return replace(self, vectors=self.vectors[:0].copy())

    @property
    def n_bytes(self) -> float:
        """The size of the index beside the rows."""
        arrays = (self.vectors, self.cells.order, *self.cells.centers, *self.cells.members)
        return float(sum(array.nbytes for array in arrays))

    def neighbors_of_new(self, rows: Any, first: int) -> tuple[Array, Array] | None:
        """Neighbours of rows[first:] among all rows, of which the index has those before them.

        All candidates, nearest first, padded with infinite distances. The new rows have cells of
        their own, by the same centres; of the candidates from both, those of the best scores are
        ranked by their true distances.
        """
        asked = self._convert_queries(rows[first:])
        zeros = self.cosine and not squared_norms(asked).all()  # see `unit_rows`
        Z, squares = self.space.vectors(asked)
        if zeros or not np.isfinite(squares).all():
            return None
        own = self.cells.refill(Z, squares)
        place = np.empty(len(Z), dtype=np.int32)
        place[own.order] = np.arange(len(Z), dtype=np.int32)
        points = stack_rows(self.rows, asked) if self.cosine else sum_duplicates(rows)

        def search(part: slice) -> tuple[Array, Array]:
            candidates = self._candidates_of_both(
                own, Z[part], place[part], first, self.plan.probes
            )
            return rerank(asked[part], points, candidates, candidates.shape[1], self.cosine)

        parts = run(search, blocks(len(Z), BATCH_ROWS))
        indices, distances = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        distances_in_range(distances[:, : self.k])
        return indices, distances

    def _candidates_of_both(self, own: Cells, Z: Array, places: Array, first: int, p: int) -> Array:
        """Row numbers of the best candidates from p cells of the index and of new rows."""
        m = self.plan.candidates
        probes, nowhere = self.cells.nearest(Z, p), np.full(len(Z), -1, dtype=np.int32)
        old, scores = search_cells(self.cells.members, Z, nowhere, probes, m)
        new, more = search_cells(own.members, Z, places, probes, m)
        candidates = np.concatenate(
            [
                np.where(old >= 0, self.cells.order[old], -1),
                np.where(new >= 0, own.order[new] + first, -1),
            ],
            axis=1,
        ).astype(np.int32)
        scores = np.where(candidates >= 0, np.concatenate([scores, more], axis=1), np.inf)
        best = np.argsort(scores, axis=1, kind="stable")[:, :m]
        candidates = np.take_along_axis(candidates, best, axis=1)
        short = np.flatnonzero((candidates >= 0).sum(axis=1) < self.k)
        if len(short) and p < self.cells.count:
            few, wider = np.ascontiguousarray(Z[short]), min(4 * p, self.cells.count)
            candidates[short] = self._candidates_of_both(own, few, places[short], first, wider)
        return candidates

    def _convert_queries(self, queries: Any) -> Any:
        """Queries in the form of the rows: dense or CSR, of the same dtype, normalised."""
        if is_sparse(self.rows):
            from scipy.sparse import csr_array

            asked = sum_duplicates(csr_array(queries, dtype=self.rows.dtype))
        else:
            asked = np.ascontiguousarray(dense(queries), dtype=self.rows.dtype)
        if not self.cosine:
            return asked
        units = unit_length(asked)
        has_zeros = self.rows.shape[1] > units.shape[1]  # see `unit_rows`
        return add_zero_column(units) if has_zeros else units

    def _candidates(self, Z: Array, self_places: Array, k: int) -> Array:
        """Row numbers of the candidates for each coarse vector, at least k; padded with -1.

        `self_places` are the vectors' own places, which are left out; -1 if they have none.
        """
        Z = np.ascontiguousarray(Z)
        p, m = self.plan.probes, self.plan.candidates
        places, _ = search_cells(self.cells.members, Z, self_places, self.cells.nearest(Z, p), m)
        while p < self.cells.count and len(short := np.flatnonzero((places >= 0).sum(axis=1) < k)):
            p = min(4 * p, self.cells.count)
            few = np.ascontiguousarray(Z[short])
            probes = self.cells.nearest(few, p)
            own = self_places[short]
            places[short], _ = search_cells(self.cells.members, few, own, probes, m)
        return np.where(places >= 0, self.cells.order[places], np.int32(-1))

    def _rank(self, queries: Any, candidates: Array, k: int) -> tuple[Array, Array]:
        """The k nearest candidates of each query by their true distances."""
        if self.ranking is None:
            return rerank(queries, self.rows, candidates, k, self.cosine)
        metric, power = self.ranking.metric, self.ranking.power
        return rank_candidates(self.rows, queries, candidates, k, metric, power)


def build_index(
    rows: Any,
    k: int,
    cosine: bool,
    recall: float,
    random: np.random.Generator,
    ranking: Ranking | None = None,
) -> CellIndex | None:
    """An index of at least this recall, or None if the exact search is cheaper.

    With a `ranking`, neighbours, distances and recall are those of its metric.
    """
    n = rows.shape[0]
    points = unit_rows(rows)[0] if cosine else sum_duplicates(rows)
    if ranking is None:
        sample = np.sort(random.choice(n, SAMPLE_ROWS, replace=False))
        farthest = nearest_of_sample(points, sample, k, cosine)[1][:, -1]
    else:
        sample, farthest = ranking.sample, ranking.reach
    exact = _exact_cost(points) if ranking is None else n * points.shape[1] * FORMULA_COST
    for space in coarse_spaces(points, cosine, random):
        Z, squares = space.vectors(points)
        if not np.isfinite(squares).all():
            return None  # overflow, which the exact search reports
        count = max(16, min(n // ROWS_PER_CELL, 4 * int(np.sqrt(n))))
        cells = build_cells(Z, squares, count, random)
        unplanned = CellIndex(points, cosine, space, cells, Z, Plan(0, 0, 0, 0), k, ranking)
        plan = _plan(unplanned, sample, farthest, recall, LARGEST_COST * exact)
        if plan is not None:
            logger.info(
                "Approximate neighbours from %d cells in %d dimensions: %d cells and %d candidates "
                "per row, recall %.3f on a sample of %d rows",
                cells.count,
                Z.shape[1],
                plan.probes,
                plan.candidates,
                plan.recall,
                len(sample),
            )
            return replace(unplanned, plan=plan)
    return None


def _plan(
    index: CellIndex, sample: Array, farthest: Array, wanted: float, limit: float
) -> Plan | None:
    """The cheapest plan of the wanted recall whose cost is below a limit, or None.

    One search through all cells is enough to evaluate every plan: it gives the order in which the
    candidates of each sampled row are found, and the rank of the cell of each candidate among the
    cells nearest to that row. `farthest` is the distance of each sampled row to its k-th neighbour.
    """
    n, k, cells = index.rows.shape[0], index.k, index.cells
    Z = np.ascontiguousarray(index.vectors[sample])
    place = np.empty(n, dtype=np.int32)
    place[cells.order] = np.arange(n, dtype=np.int32)
    most = min(n - 1, 10 * k + 100)
    least = min(k + k // 8 + 4, most)
    sizes = np.diff(cells.starts)

    def measure(part: slice) -> tuple[Array, Array, Array]:
        """Which candidates are neighbours, the ranks of their cells, and rows in nearest cells."""
        own, probes = sample[part], cells.nearest(Z[part], cells.count)
        asked = Z[part], place[own], probes, most
        places, _ = search_cells(cells.members, *asked, ordered=True)
        candidates = cells.order[places]
        ranked, distances = index._rank(index.rows[own], candidates, most)
        rank = np.empty_like(probes)
        np.put_along_axis(rank, probes, np.arange(cells.count, dtype=rank.dtype)[None, :], axis=1)
        cell = np.searchsorted(cells.starts, places, side="right") - 1
        # A neighbour at the same distance counts as found. `ranked` holds the candidates in another
        # order: both are matched through their order by number.
        near = np.take_along_axis(distances <= farthest[part, None], ranked.argsort(axis=1), axis=1)
        good = np.empty_like(near)
        np.put_along_axis(good, candidates.argsort(axis=1), near, axis=1)
        return good, np.take_along_axis(rank, cell, axis=1), np.cumsum(sizes[probes], axis=1)

    parts = run(measure, blocks(len(sample), SAMPLE_BLOCK_ROWS))
    good, rank, visited = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    compared = visited.mean(axis=0)

    def cheapest(p: int) -> Plan | None:
        """The plan with p cells that needs the fewest candidates."""
        inside = rank < p
        hit = good & inside
        hit &= np.cumsum(hit, axis=1, dtype=np.int32) <= k
        order = np.cumsum(inside, axis=1, dtype=np.int32)[hit]
        recall_by_rank = np.cumsum(np.bincount(order, minlength=most + 1)) / (len(sample) * k)
        enough = np.flatnonzero(recall_by_rank >= wanted)
        if not len(enough):
            return None
        m = max(int(enough[0]), least)
        cost = _cost(index, float(compared[p - 1]), m)
        return Plan(p, m, float(recall_by_rank[m]), cost) if cost < limit else None

    best: Plan | None = None
    for p in _grid(cells.count):
        bound = limit if best is None else best.cost
        if _cost(index, float(compared[p - 1]), least) >= bound:
            break  # more cells cost more, however few candidates they need
        plan = cheapest(p)
        if plan is not None and plan.cost < bound:
            best = plan
    return best


def _grid(count: int) -> list[int]:
    """Numbers of cells to consider, growing by about an eighth each."""
    grid = [1]
    while grid[-1] < count:
        grid.append(min(count, grid[-1] + max(1, grid[-1] // 8)))
    return grid


def _cost(index: CellIndex, compared: float, m: int) -> float:
    """Estimated nanoseconds per row of a search by the index, on one core.

    Comparisons with `compared` coarse vectors and all centres, and the ranking of m candidates.
    The constants were measured.
    """
    step = index.vectors.shape[1] / 65 + 3
    sparse = is_sparse(index.rows)
    ranking = 2 * index.rows.nnz / len(index.vectors) if sparse else index.rows.shape[1] / 4
    return float((compared + index.cells.count) * step + m * (ranking + 60))


def _exact_cost(rows: Any) -> float:
    """Estimated nanoseconds per row of the exact search, on one core."""
    n, d = rows.shape
    return float(n * (rows.nnz / n * 2 if is_sparse(rows) else d / 130 + 0.5))


def exact_search_seconds(rows: Any) -> float:
    """Estimated seconds of the exact search for the neighbours of all rows."""
    return int(rows.shape[0]) * _exact_cost(rows) / 1e9 / current().threads
