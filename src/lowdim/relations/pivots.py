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
from lowdim.backends import backend
from lowdim.backends.protocol import Heaps
from lowdim.checks import Array
from lowdim.relations.distances import defined
from lowdim.relations.metrics import Metric
from lowdim.relations.search import query
from lowdim.runtime.scheduling import blocks, run

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

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each object's k nearest others, nearly all of them."""
        places = np.arange(len(self.order))
        indices = np.empty((len(places), self.k), dtype=np.int32)
        distances = np.empty(indices.shape, dtype=checks.float_kind(self.rows))
        found = self._search(self.rows[self.order], places, self.k)
        indices[self.order], distances[self.order] = found
        return indices, distances

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        """Indices and distances of the k objects nearest to each query; k up to the index's."""
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        return self._search(queries, np.full(queries.shape[0], -1), k)

    def _search(self, queries: Any, selves: Array, k: int) -> tuple[Array, Array]:
        """The k nearest found for each query, whose own places are left out."""
        n = queries.shape[0]
        indices = np.empty((n, k), dtype=np.int32)
        distances = np.empty((n, k), dtype=checks.float_kind(self.rows))
        centers = self.rows[self.pivots]

        def one(part: slice) -> None:
            own, asked = selves[part], queries[part]
            D = np.array(self.metric.block(asked, centers), dtype=np.float64, order="C")
            D[np.isnan(D)] = np.inf  # the comparison with the members reports it
            heaps = backend().heaps(len(own), k, distances.dtype)
            p = self.probes
            new = bool((own < 0).all())
            numbers = np.arange(part.start, part.stop) if new else self.order[own]
            short = np.arange(len(own))
            while len(short):  # cells may hold too few objects: then four times as many are visited
                heaps.clear(short)
                cells = backend().smallest(D[short], p)[0]
                self._visit(asked, own, numbers, cells, short, heaps, new)
                full = p == len(self.pivots)
                p = min(4 * p, len(self.pivots))
                short = short[:0] if full else heaps.incomplete()
            places, values = heaps.sorted()
            ids = self.order[places]
            best = np.lexsort((ids, values), axis=1)
            indices[part] = np.take_along_axis(ids, best, axis=1)
            distances[part] = np.take_along_axis(values, best, axis=1)

        run(one, blocks(n, CHUNK))
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
            defined(tile, self.metric, numbers[mine], members, new=new)
            tile[itself] = np.nan  # is never nearer
            heaps.offer(tile, (None, int(begin)), rows=mine)


def build_pivots(
    rows: Any,
    metric: Metric,
    k: int,
    wanted: float,
    random: np.random.Generator,
) -> PivotIndex | None:
    """An index that finds the wanted share of the k nearest, or None: search exactly."""
    n = rows.shape[0]
    sample = np.sort(random.choice(n, SAMPLE, replace=False))
    pivots = np.sort(random.choice(n, CELLS * int(np.sqrt(n)), replace=False))
    owner = _owners(rows, metric, pivots)
    pivots, order, starts = _cells(pivots, owner)
    index = PivotIndex(rows, metric, k, pivots, order, starts)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    indices, distances = query(rows, rows[sample], k + 1, metric)
    distances = np.where(indices == sample[:, None], np.inf, distances)
    rounding = 32 * np.finfo(distances.dtype).eps
    reach = np.sort(distances, axis=1)[:, k - 1 : k] * (1 + rounding)  # ties are as good
    p = 2
    while p * n / len(pivots) < WORTH * n:
        index = replace(index, probes=p)
        found = index._search(rows[sample], place[sample], k)[1]
        share = float((found <= reach).mean())
        if share >= wanted:
            return replace(index, recall=share)
        p += max(1, p // 3)
    return None


def _owners(rows: Any, metric: Metric, pivots: Array) -> Array:
    """The pivot nearest to each object."""
    owner = np.empty(rows.shape[0], dtype=np.int64)
    centers = rows[pivots]

    def one(part: slice) -> None:
        D = np.array(metric.block(rows[part], centers), dtype=np.float64, order="C")
        itself = np.nonzero(np.arange(part.start, part.stop)[:, None] == pivots[None, :])
        D[itself] = 0  # whatever the metric says
        defined(D, metric, np.arange(part.start, part.stop), pivots)
        owner[part] = backend().smallest(D, 1)[0][:, 0]

    run(one, blocks(rows.shape[0], CHUNK))
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
