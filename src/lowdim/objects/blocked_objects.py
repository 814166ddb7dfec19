"""Objects whose rows are read in blocks: the argument of `fit` that does not fit into memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.distances.matrices import distance_matrix
from lowdim.distances.metrics import NAN_AWARE, canonical_metric
from lowdim.distances.row_blocks import RowBlocks
from lowdim.distances.units import SAFE_EXPONENTS
from lowdim.neighbor_graphs.exact import distances_to, nearest_outside, plain_metric
from lowdim.neighbor_graphs.graph import NearestOutside, NeighborGraph
from lowdim.neighbor_graphs.indexes import NeighborQuery
from lowdim.neighbor_graphs.precomputed import check_k, check_k_or_radius
from lowdim.neighbor_graphs.search import graph_in_blocks, graph_within
from lowdim.objects.block_sources import read_whole
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime import memory

FORBIDDEN = (*NAN_AWARE, "geodesic", "seuclidean", "mahalanobis", "dot", "poincare")
"""Metrics that need all rows at once, accept missing values, or check their rows first."""


class BlockedObjects(Objects):
    """Rows under a metric without parameters, which are read in blocks."""

    complete = measured = has_table = True
    in_memory = False

    def __init__(self, blocks: RowBlocks, metric: str) -> None:
        self.rows = blocks
        self.n, self.dtype = blocks.shape[0], blocks.dtype
        self.metric_name, self.euclidean = metric, metric == "euclidean"
        self.metric = plain_metric(metric)

    def subset(self, rows: Array) -> MeasuredObjects:
        return MeasuredObjects(self._take(rows), self.metric)

    def fingerprint(self) -> str:
        return self.rows.fingerprint()

    def vectors(self, purpose: str) -> Array:
        return read_whole(self.rows, purpose)

    @property
    def has_vectors(self) -> bool:
        return True

    def rows_for(self, purpose: str) -> RowBlocks:
        return self.rows

    def all_pairs(self) -> Array:
        rows = read_whole(self.rows, "A method that needs the distances of all pairs")
        return distance_matrix(rows, self.metric)

    def between(self, rows: Array, purpose: str = "X") -> Array:
        return distance_matrix(self._take(rows), self.metric)

    def row(self, i: int) -> Array:
        asked = self.rows.read(slice(i, i + 1))
        return np.asarray(distances_to(self.rows, asked, self.metric)[0])

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact", **options: Any
    ) -> NeighborGraph:
        check_k_or_radius(k, radius)
        if radius is not None:
            return graph_within(self.rows, self.metric, radius)
        return graph_in_blocks(self.rows, self.metric, check_k(k, self.n), method, **options)

    def nearest_outside(self) -> NearestOutside:
        return nearest_outside(self.rows, self.metric)

    def search(self, k: int, method: str = "exact") -> NeighborQuery:
        """The search for the k nearest of the objects, which is exact, whatever the method."""
        return NeighborQuery(self.rows, self.metric, k, None)

    def _take(self, rows: Array) -> Array:
        """Some rows, in any order."""
        rows = np.asarray(rows)
        memory.claim(
            len(rows) * self.rows.row_bytes,
            f"{len(rows)} rows of X",
            "Take fewer landmarks, or a sample of the objects.",
        )
        numbers, place = np.unique(rows, return_inverse=True)
        return self.rows.take(numbers)[place]

    @property
    def _description(self) -> str:
        return f"data in {self.rows.description}"


class BlocksAsNew:
    """Training objects that are read in blocks, as new objects: to place them by landmarks."""

    def __init__(self, objects: BlockedObjects, known: MeasuredObjects | None = None) -> None:
        self.objects, self.known, self.n = objects, known, objects.n

    def among(self, known: Array) -> BlocksAsNew:
        return BlocksAsNew(self.objects, self.objects.subset(known))

    def subset(self, rows: slice) -> NewObjects:
        vectors = self.objects.rows.read(rows)
        known = self.objects if self.known is None else self.known
        return MeasuredNewObjects(vectors, known, np.arange(rows.start, rows.stop))

    def distances(self) -> Array:
        return self._all.distances()

    def nearest(self, k: int, method: str = "exact") -> tuple[Array, Array]:
        return self._all.nearest(k, method)

    def within(self, radius: float) -> tuple[Array, Array]:
        return self._all.within(radius)

    def within_reach(self, reach: Array) -> tuple[Array, Array, Array]:
        return self._all.within_reach(reach)

    def vectors(self) -> Array:
        return read_whole(self.objects.rows, "This method")

    @property
    def _all(self) -> NewObjects:
        return self.subset(slice(0, self.n))


def blocked_objects(
    blocks: RowBlocks, metric: Any = "euclidean", params: dict[str, Any] | None = None
) -> BlockedObjects:
    """Rows in blocks as objects; reads all of them once, to check them.

    Raises
    ------
    ValueError
        If the metric needs all rows at once, or the numbers are not finite or extreme.
    """
    name = _plain_name(metric, dict(params or {}))
    if name is None:
        kind = repr(metric) if isinstance(metric, str) else "a function or a learned metric"
        raise ValueError(
            f"X: {blocks.description} is read in blocks, for which the metric must be a name "
            f"without parameters, such as 'euclidean' or 'cosine'; got {kind}. Choose such a "
            "metric, or allow more memory (lowdim.compute, LOWDIM_MEMORY, --memory)."
        )
    largest = blocks.scan().largest
    if abs(int(np.frexp(largest)[1])) > SAFE_EXPONENTS[blocks.dtype.itemsize]:
        raise ValueError(
            f"X: the largest magnitude in {blocks.description} is {largest:g}, whose powers are "
            f"out of the range of {blocks.dtype}. Rescale X."
        )
    return BlockedObjects(blocks, name)


def _plain_name(metric: Any, params: dict[str, Any]) -> str | None:
    """The canonical name of a metric that needs a pair of rows alone; None for others."""
    if not isinstance(metric, str) or metric in FORBIDDEN:
        return None
    name, params = canonical_metric(metric, params)
    return None if params or name in FORBIDDEN else name
