"""Objects whose rows are read in blocks: the argument of `fit` that does not fit into memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.distances.matrices import distance_matrix
from lowdim.distances.metrics import NAN_AWARE, canonical
from lowdim.distances.row_blocks import RowBlocks
from lowdim.distances.units import SAFE_EXPONENTS
from lowdim.neighbor_graphs.blocked_search import (
    all_nearest,
    distances_to_block,
    nearest_in_blocks,
    nearest_outside_in_blocks,
    pairs_in_block,
    plain_metric,
    within_radius,
)
from lowdim.neighbor_graphs.choice import SEED
from lowdim.neighbor_graphs.graph import NearestOutside, NeighborGraph
from lowdim.neighbor_graphs.lists import merged
from lowdim.neighbor_graphs.precomputed import check_k
from lowdim.neighbor_graphs.shards import sharded_neighbors
from lowdim.objects.block_sources import read_whole
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime import memory
from lowdim.runtime.callbacks import phase

FEW = 1000  # objects up to which an approximate search is exact
MANY = 200_000  # objects from which an exact search takes minutes and more
FORBIDDEN = (*NAN_AWARE, "geodesic", "seuclidean", "mahalanobis", "dot", "poincare")
"""Metrics that need all rows at once, accept missing values, or check their rows first."""


class BlockedObjects(Objects):
    """Rows under a metric without parameters, which are read in blocks."""

    complete = measured = has_table = True
    in_memory = False

    def __init__(self, blocks: RowBlocks, metric: str) -> None:
        self.blocks = blocks
        self.n, self.dtype = blocks.shape[0], blocks.dtype
        self.metric_name, self.euclidean = metric, metric == "euclidean"
        self.metric = plain_metric(metric)

    def subset(self, rows: Array) -> MeasuredObjects:
        return MeasuredObjects(self._taken(rows), self.metric)

    def fingerprint(self) -> str:
        return self.blocks.fingerprint()

    def vectors(self, purpose: str) -> Array:
        return read_whole(self.blocks, purpose)

    @property
    def has_vectors(self) -> bool:
        return True

    def rows_for(self, purpose: str) -> RowBlocks:
        return self.blocks

    def all_pairs(self) -> Array:
        rows = read_whole(self.blocks, "A method that needs the distances of all pairs")
        return distance_matrix(rows, self.metric)

    def between(self, rows: Array, purpose: str = "X") -> Array:
        return distance_matrix(self._taken(rows), self.metric)

    def row(self, i: int) -> Array:
        asked = self.blocks.read(slice(i, i + 1))
        found = self.blocks.map(distances_to_block, asked, self.metric_name)
        return np.concatenate([part[0] for part in found])

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact"
    ) -> NeighborGraph:
        return self.searched(k, radius, method)

    def searched(
        self,
        k: int | None,
        radius: float | None = None,
        method: str = "exact",
        recall: float = 0.95,
        seed: int = SEED,
    ) -> NeighborGraph:
        """The neighbour graph; the parameters are those of `lowdim.neighbors`."""
        name, source = self.metric_name, self.blocks
        if radius is not None:
            if k is not None:
                raise ValueError(
                    "Both n_neighbors and radius are provided: set one of them to None."
                )
            radius = checks.real(radius, "radius", 0)
            indptr, indices, distances = within_radius(source, name, radius)
            return NeighborGraph(indices, distances, name, self.fingerprint(), indptr)
        k = check_k(k, self.n)
        memory.claim(
            self.n * k * (4 + self.dtype.itemsize),
            f"The {k} nearest neighbours of {self.n} objects",
            "Ask for fewer neighbours, or take a sample of the objects.",
        )
        products = name in ("euclidean", "cosine")
        if method == "approximate" and not products:
            raise ValueError(
                f"method='approximate' with metric={name!r} needs all rows in memory. Use the "
                "metric 'euclidean' or 'cosine', or method='exact'."
            )
        if method == "exact" or not products or recall >= 1 or self.n <= FEW:
            if self.n > MANY:
                checks.warn(
                    f"The exact neighbours of {self.n} objects are found by comparing all pairs, "
                    "which takes long. Approximate ones are faster: fit(X, graph=graph) with "
                    f"graph = lowdim.neighbors(X, {k}, method='approximate')."
                )
            with phase("nearest neighbours"):
                indices, distances = all_nearest(source, k, name)
            return NeighborGraph(indices, distances, name, self.fingerprint())
        with phase("nearest neighbours"):
            found = sharded_neighbors(source, k, name, recall, seed)
        return NeighborGraph(*found[:2], name, self.fingerprint(), recall=found.recall)

    def nearest_outside(self) -> NearestOutside:
        return nearest_outside_in_blocks(self.blocks, self.metric_name)

    def _taken(self, rows: Array) -> Array:
        """Some rows, in any order."""
        rows = np.asarray(rows)
        memory.claim(
            len(rows) * self.blocks.row_bytes,
            f"{len(rows)} rows of X",
            "Take fewer landmarks, or a sample of the objects.",
        )
        numbers, place = np.unique(rows, return_inverse=True)
        return self.blocks.take(numbers)[place]

    @property
    def _description(self) -> str:
        return f"data in {self.blocks.description}"


class NewToBlocks:
    """New objects in memory, measured against training objects that are read in blocks."""

    def __init__(self, rows: Array, known: BlockedObjects) -> None:
        self.rows, self.known, self.n = rows.astype(known.dtype, copy=False), known, len(rows)

    def subset(self, rows: Any) -> NewToBlocks:
        return NewToBlocks(self.rows[rows], self.known)

    def among(self, known: Array) -> MeasuredNewObjects:
        return MeasuredNewObjects(self.rows, self.known.subset(known), None, known)

    def distances(self) -> Array:
        memory.claim(
            self.n * self.known.n * self.known.dtype.itemsize,
            f"The distances of {self.n} new objects to {self.known.n} training objects",
            "Transform fewer objects at a time.",
        )
        found = self.known.blocks.map(distances_to_block, self.rows, self.known.metric_name)
        return np.concatenate(list(found), axis=1)

    def nearest(self, k: int, method: str = "exact") -> tuple[Array, Array]:
        """The k nearest training objects; the search is exact, whatever the method."""
        return nearest_in_blocks(self.known.blocks, self.rows, k, self.known.metric_name)

    def within(self, radius: float) -> tuple[Array, Array]:
        found = self.within_reach(np.full(1, radius))
        return merged(*self.nearest(1), found)

    def within_reach(self, reach: Array) -> tuple[Array, Array, Array]:
        parts = self.known.blocks.map(pairs_in_block, self.rows, reach, self.known.metric_name)
        new, known, distances = (np.concatenate(one) for one in zip(*parts, strict=True))
        order = np.lexsort((known, new))
        return new[order], known[order], distances[order]

    def vectors(self) -> Array:
        return self.rows


class BlocksAsNew:
    """Training objects that are read in blocks, as new objects: to place them by landmarks."""

    def __init__(self, objects: BlockedObjects, known: MeasuredObjects | None = None) -> None:
        self.objects, self.known, self.n = objects, known, objects.n

    def among(self, known: Array) -> BlocksAsNew:
        return BlocksAsNew(self.objects, self.objects.subset(known))

    def subset(self, rows: slice) -> NewObjects:
        found = self.objects.blocks.read(rows)
        if self.known is None:
            return NewToBlocks(found, self.objects)
        return MeasuredNewObjects(found, self.known, np.arange(rows.start, rows.stop))

    def distances(self) -> Array:
        return self._all.distances()

    def nearest(self, k: int, method: str = "exact") -> tuple[Array, Array]:
        return self._all.nearest(k, method)

    def within(self, radius: float) -> tuple[Array, Array]:
        return self._all.within(radius)

    def within_reach(self, reach: Array) -> tuple[Array, Array, Array]:
        return self._all.within_reach(reach)

    def vectors(self) -> Array:
        return read_whole(self.objects.blocks, "This method")

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
    name, params = canonical(metric, params)
    return None if params or name in FORBIDDEN else name
