"""Nearly all of the nearest neighbours under any metric, measured by the metric alone.

Some objects, drawn at random, are pivots. Every object belongs to the cell of the pivot nearest to
it, and is compared with the objects of the cells whose pivots are nearest to it: as many cells as
it takes to find the share of neighbours asked for on a sample of the objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import native
from lowdim.checks import Array
from lowdim.relations.distances import Metric, defined
from lowdim.relations.products import NOBODY, empty_heaps
from lowdim.relations.search import query, smallest

SAMPLE = 128  # objects whose true neighbours are found
CELLS = 3  # times the square root of the number of objects
LARGEST = 4  # times the mean size: a larger cell is cut
WORTH = 0.35  # share of the objects that may be compared: each pair is measured twice here
CHUNK = 512  # objects searched together


@dataclass(frozen=True, eq=False)
class PivotIndex:
    """Objects in the cells of their pivots, and how many cells to visit for k neighbours."""

    rows: Any
    metric: Metric
    k: int
    pivots: Array  # of each cell, an object
    order: Array  # objects, cell by cell
    starts: Array
    probes: int = 0
    recall: float = 0.0

    def neighbors(self, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Indices and distances of each object's k nearest others, nearly all of them."""
        places = np.arange(len(self.order))
        indices = np.empty((len(places), self.k), dtype=np.int32)
        distances = np.empty(indices.shape, dtype=_float(self.rows))
        found = self._search(self.rows[self.order], places, self.k, n_jobs)
        indices[self.order], distances[self.order] = found
        return indices, distances

    def query(self, queries: Any, k: int, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Indices and distances of the k objects nearest to each query; k up to the index's."""
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        return self._search(queries, np.full(queries.shape[0], -1), k, n_jobs)

    def _search(
        self, queries: Any, selves: Array, k: int, n_jobs: int | None
    ) -> tuple[Array, Array]:
        """The k nearest found for each query, whose own places are left out."""
        n = queries.shape[0]
        indices = np.empty((n, k), dtype=np.int32)
        distances = np.empty((n, k), dtype=_float(self.rows))
        centers = self.rows[self.pivots]

        def one(part: slice) -> None:
            own, asked = selves[part], queries[part]
            D = np.array(self.metric.block(asked, centers), dtype=np.float64, order="C")
            D[np.isnan(D)] = np.inf  # told when it comes to the members
            values, places = empty_heaps(len(own), k, distances.dtype)
            p = self.probes
            short = np.arange(len(own))
            while len(short):  # cells may hold too few: then four times as many are visited
                values[short], places[short] = np.inf, NOBODY
                cells = smallest(D[short], p)[0]
                self._visit(asked, own, cells, short, values, places)
                full = p == len(self.pivots)
                p = min(4 * p, len(self.pivots))
                short = short[:0] if full else np.flatnonzero((places == NOBODY).any(axis=1))
            ids = self.order[places]
            best = np.lexsort((ids, values), axis=1)
            indices[part] = np.take_along_axis(ids, best, axis=1)
            distances[part] = np.take_along_axis(values, best, axis=1)

        native.run(one, native.blocks(n, CHUNK), n_jobs)
        return indices, distances

    def _visit(
        self, queries: Any, selves: Array, cells: Array, asking: Array, values: Array, ids: Array
    ) -> None:
        """Offer the objects of the asking queries' cells to their heaps."""
        order = np.argsort(cells, axis=None, kind="stable")
        visitors = asking[order // cells.shape[1]]
        visited, first = np.unique(cells.ravel()[order], return_index=True)
        for cell, mine in zip(visited, np.split(visitors, first[1:]), strict=True):
            begin, end = self.starts[cell], self.starts[cell + 1]
            members = self.order[begin:end]
            block = self.metric.block(queries[mine], self.rows[members])
            tile = np.array(block, dtype=values.dtype, order="C")
            inside = np.flatnonzero((selves[mine] >= begin) & (selves[mine] < end))
            itself = (inside, selves[mine][inside] - begin)
            tile[itself] = 0  # whatever the metric says
            defined(tile, self.metric, None, members)
            tile[itself] = np.nan  # is never nearer
            heap, held = values[mine], ids[mine]
            zeros = np.zeros(len(members), dtype=tile.dtype)
            native.offer(tile, zeros, (-1 - len(mine), int(begin)), 1.0, heap, held)
            values[mine], ids[mine] = heap, held


def build_pivots(
    rows: Any,
    metric: Metric,
    k: int,
    wanted: float,
    random: np.random.Generator,
    n_jobs: int | None,
) -> PivotIndex | None:
    """An index that finds the wanted share of the k nearest, or None: search exactly."""
    n = rows.shape[0]
    sample = np.sort(random.choice(n, SAMPLE, replace=False))
    pivots = np.sort(random.choice(n, CELLS * int(np.sqrt(n)), replace=False))
    owner = _owners(rows, metric, pivots, n_jobs)
    pivots, order, starts = _cells(pivots, owner)
    index = PivotIndex(rows, metric, k, pivots, order, starts)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    indices, distances = query(rows, rows[sample], k + 1, metric, n_jobs)
    distances = np.where(indices == sample[:, None], np.inf, distances)
    rounding = 32 * np.finfo(distances.dtype).eps
    reach = np.sort(distances, axis=1)[:, k - 1 : k] * (1 + rounding)  # ties are as good
    p = 2
    while p * n / len(pivots) < WORTH * n:
        index = replace(index, probes=p)
        found = index._search(rows[sample], place[sample], k, n_jobs)[1]
        share = float((found <= reach).mean())
        if share >= wanted:
            return replace(index, recall=share)
        p += max(1, p // 3)
    return None


def _owners(rows: Any, metric: Metric, pivots: Array, n_jobs: int | None) -> Array:
    """The pivot nearest to each object."""
    owner = np.empty(rows.shape[0], dtype=np.int64)
    centers = rows[pivots]

    def one(part: slice) -> None:
        D = np.array(metric.block(rows[part], centers), dtype=np.float64, order="C")
        itself = np.nonzero(np.arange(part.start, part.stop)[:, None] == pivots[None, :])
        D[itself] = 0  # whatever the metric says
        defined(D, metric, np.arange(part.start, part.stop), pivots)
        owner[part] = smallest(D, 1)[0][:, 0]

    native.run(one, native.blocks(rows.shape[0], CHUNK), n_jobs)
    return owner


def _cells(pivots: Array, owner: Array) -> tuple[Array, Array, Array]:
    """Pivot, members and bounds of each cell; large cells, as of duplicates, cut anyhow."""
    n = len(owner)
    largest = LARGEST * -(-n // len(pivots))
    order = np.argsort(owner, kind="stable").astype(np.int32)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(pivots)))])
    cut = [
        (pivot, begin)
        for pivot, start, stop in zip(pivots, bounds[:-1], bounds[1:], strict=True)
        for begin in range(start, stop, largest)
    ]
    held, starts = np.array(cut, dtype=np.int64).T
    return held, order, np.append(starts, n)


def _float(rows: Any) -> Any:
    return rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)
