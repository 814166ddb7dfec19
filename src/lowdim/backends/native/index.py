"""Nearly all of the nearest neighbours, in time far below n^2, at a recall that was measured.

An index cuts the rows into cells of a coarse space (see `cells`). A row is compared there with the
rows of the few cells nearest to it, and the best of them are ranked by their true distances. How
many cells and how many candidates that takes is read off a sample of rows whose true neighbours are
known: the cheapest choice that finds the share asked for. Where no choice is cheaper than comparing
everything, as for data without structure in many dimensions, there is no index.

A row's answer depends on that row and the index alone, and the index on the data and the seed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.native.cells import Cells, CoarseSpace, build_cells, coarse_spaces
from lowdim.backends.native.heaps import rerank
from lowdim.backends.native.products import (
    canonical,
    nearest_of_sample,
    unit_rows,
)
from lowdim.checks import Array, dense, distances_in_range, is_sparse
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks

logger = logging.getLogger("lowdim")

SAMPLE = 256  # rows whose true neighbours are found
PER_CELL = 256  # rows of a cell, on average
WORTH = 0.7  # an index must cost less than this share of the exact search
BLOCK = 16384  # rows searched at once


@dataclass(frozen=True)
class Plan:
    """How far to look: cells visited, candidates ranked, and the recall that it gave."""

    probes: int
    candidates: int
    recall: float
    cost: float  # nanoseconds a row on one core, roughly


@dataclass(frozen=True, eq=False)
class CellIndex:
    """Rows with their coarse vectors in cells, and a plan for k neighbours."""

    rows: Any  # of unit length for the cosine
    cosine: bool
    space: CoarseSpace
    cells: Cells
    vectors: Array
    plan: Plan
    k: int

    @property
    def recall(self) -> float:
        """The share of true neighbours found, as measured on a sample of the rows."""
        return self.plan.recall

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each row's k nearest other rows, nearly all of them."""
        n = self.rows.shape[0]
        indices = np.empty((n, self.k), dtype=np.int32)
        distances = np.empty((n, self.k), dtype=self.rows.dtype)
        for part in blocks(n, BLOCK):
            own = self.cells.order[part]
            places = np.arange(part.start, part.stop, dtype=np.int32)
            found = self._candidates(self.vectors[own], places, self.k)
            indices[own], distances[own] = self._ranked(self.rows[own], found, self.k)
        distances_in_range(distances, self.rows)
        return indices, distances

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        """Indices and distances of the k rows nearest to each query; k up to that of the index."""
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        asked = self._like_rows(queries)
        Z, _ = self.space.vectors(asked)
        nobody = np.full(len(Z), -1, dtype=np.int32)
        found = self._candidates(Z, nobody, k)
        indices, distances = self._ranked(asked, found, k)
        distances_in_range(distances, asked)
        return indices, distances

    def _like_rows(self, queries: Any) -> Any:
        if is_sparse(self.rows):
            from scipy.sparse import csr_array

            asked = canonical(csr_array(queries, dtype=self.rows.dtype))
        else:
            asked = np.ascontiguousarray(dense(queries), dtype=self.rows.dtype)
        return unit_rows(asked) if self.cosine else asked

    def _candidates(self, Z: Array, selves: Array, k: int) -> Array:
        """Rows to be ranked for each vector, at least k of them; -1 fills up."""
        Z = np.ascontiguousarray(Z)
        p, m = self.plan.probes, self.plan.candidates
        places = self.cells.search(Z, selves, self.cells.nearest(Z, p), m)
        while p < self.cells.count and len(short := np.flatnonzero((places >= 0).sum(axis=1) < k)):
            p = min(4 * p, self.cells.count)
            few = np.ascontiguousarray(Z[short])
            probes = self.cells.nearest(few, p)
            places[short] = self.cells.search(few, selves[short], probes, m)
        return np.where(places >= 0, self.cells.order[places], np.int32(-1))

    def _ranked(self, queries: Any, candidates: Array, k: int) -> tuple[Array, Array]:
        return rerank(queries, self.rows, candidates, k, self.cosine)


def build_index(
    rows: Any, k: int, cosine: bool, recall: float, random: np.random.Generator
) -> CellIndex | None:
    """An index that finds at least the share `recall` of the k nearest neighbours of a sample.

    Returns None where no such index is cheaper than comparing all rows.
    """
    n = rows.shape[0]
    sample = np.sort(random.choice(n, SAMPLE, replace=False))
    points = unit_rows(rows) if cosine else canonical(rows)
    farthest = nearest_of_sample(points, sample, k, cosine)[1][:, -1]
    limit = WORTH * _exact_cost(points)
    for space in coarse_spaces(points, cosine, random):
        Z, squares = space.vectors(points)
        if not np.isfinite(squares).all():
            return None  # it overflows: the exact search says so better
        count = max(16, min(n // PER_CELL, 4 * int(np.sqrt(n))))
        cells = build_cells(Z, squares, count, random)
        unplanned = CellIndex(points, cosine, space, cells, Z, Plan(0, 0, 0, 0), k)
        plan = _plan(unplanned, sample, farthest, recall, limit)
        if plan is not None:
            logger.info(
                "Neighbours from %d cells in %d dimensions: %d cells and %d candidates a row, "
                "recall %.3f on %d rows",
                cells.count,
                Z.shape[1],
                plan.probes,
                plan.candidates,
                plan.recall,
                SAMPLE,
            )
            return CellIndex(points, cosine, space, cells, Z, plan, k)
    return None


def _plan(
    index: CellIndex,
    sample: Array,
    farthest: Array,
    wanted: float,
    limit: float,
) -> Plan | None:
    """The cheapest plan that finds the wanted share on the sample, below a cost; or None.

    One search of every cell tells all: which candidates come up in which order, and in the how
    manieth cell each of them lies.
    """
    n, k, cells = index.rows.shape[0], index.k, index.cells
    Z = np.ascontiguousarray(index.vectors[sample])
    place = np.empty(n, dtype=np.int32)
    place[cells.order] = np.arange(n, dtype=np.int32)
    probes = cells.nearest(Z, cells.count)
    most = min(n - 1, 10 * k + 100)
    places = cells.search(Z, place[sample], probes, most, ordered=True)
    candidates = cells.order[places]
    ranked, distances = index._ranked(index.rows[sample], candidates, most)
    row = np.arange(len(sample))[:, None]
    near = (row * n + ranked)[distances <= farthest[:, None]]  # ties are as good
    good = np.isin(row * n + candidates, near)
    rank = np.empty_like(probes)
    np.put_along_axis(rank, probes, np.arange(cells.count, dtype=rank.dtype)[None, :], axis=1)
    cell = np.searchsorted(cells.starts, places, side="right") - 1
    rank = np.take_along_axis(rank, cell, axis=1)
    compared = np.cumsum(np.diff(cells.starts)[probes], axis=1).mean(axis=0)
    best: Plan | None = None
    for p in _grid(cells.count):
        inside = rank < p
        hit = good & inside
        hit &= np.cumsum(hit, axis=1) <= k
        order = np.cumsum(inside, axis=1)[hit]
        found = np.cumsum(np.bincount(order, minlength=most + 1)) / (len(sample) * k)
        enough = np.flatnonzero(found >= wanted)
        if not len(enough):
            continue
        m = min(max(int(enough[0]), k + k // 8 + 4), most)
        cost = _cost(index, float(compared[p - 1]), m)
        if cost < limit and (best is None or cost < best.cost):
            best = Plan(p, m, float(found[m]), cost)
    return best


def _grid(count: int) -> list[int]:
    """Numbers of cells to consider, each about an eighth more than the one before."""
    grid = [1]
    while grid[-1] < count:
        grid.append(min(count, grid[-1] + max(1, grid[-1] // 8)))
    return grid


def _cost(index: CellIndex, compared: float, m: int) -> float:
    """Nanoseconds a row: comparing in the coarse space, the cells' centres, and ranking."""
    step = index.vectors.shape[1] / 65 + 3
    sparse = is_sparse(index.rows)
    ranking = 2 * index.rows.nnz / len(index.vectors) if sparse else index.rows.shape[1] / 4
    return float((compared + index.cells.count) * step + m * (ranking + 60))


def _exact_cost(rows: Any) -> float:
    """Nanoseconds a row of the exact search on one core, roughly."""
    n, d = rows.shape
    return float(n * (rows.nnz / n * 2 if is_sparse(rows) else d / 130 + 0.5))


def exact_search_seconds(rows: Any) -> float:
    """How long the exact search for the neighbours of all rows will take, roughly."""
    return int(rows.shape[0]) * _exact_cost(rows) / 1e9 / current().threads
