"""The argument of `fit`, checked once, with the queries that methods need.

There is one type for each kind of input: rows under a metric, in memory (`MeasuredObjects`) or read
in blocks (`BlockedObjects`), a dense matrix of dissimilarities (`Dissimilarities`), a sparse matrix
of some of them (`SparseDissimilarities`) and a neighbour graph (`GivenGraph`). Methods call the
same functions for all of them. A kind that cannot answer a query raises an error that says why and
what to do.

The argument of `transform` is in `new_objects`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_dissimilarities, distance_matrix, distances_from
from lowdim.distances.metrics import (
    NAN_AWARE,
    Metric,
    canonical_metric,
    plain_metric,
    resolve_metric,
)
from lowdim.distances.row_blocks import RowBlocks, fingerprint
from lowdim.distances.units import SAFE_EXPONENTS, exponent_of, scale_by_power
from lowdim.messages import argument
from lowdim.neighbor_graphs.exact import distances_to, nearest_outside
from lowdim.neighbor_graphs.graph import NearestOutside, NeighborGraph
from lowdim.neighbor_graphs.lists import check_stored_dissimilarities, precomputed_graph
from lowdim.neighbor_graphs.search import NeighborQuery, neighbor_query, search_all
from lowdim.objects.block_sources import read_whole
from lowdim.objects.geodesic_metric import geodesic
from lowdim.objects.pairs import Pairs, check_known, dense_pairs, sparse_pairs
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks

NOT_IN_BLOCKS = (*NAN_AWARE, "geodesic", "seuclidean", "mahalanobis", "dot", "poincare")
"""Metrics that need all rows at once, accept missing values, or check their rows first."""
LARGEST_KEPT_MATRIX = 1024**3  # bytes; a larger matrix of distances is computed in parts
LARGEST_KEPT_INDEX = 0.25  # of the size of the rows; a larger index is built again for `transform`


class Objects:
    """Base class: every query raises an error unless a subclass implements it."""

    n: int
    dtype: np.dtype[Any]
    metric_name: str
    exponent = 0  # dissimilarities are in units of 2^exponent; see `lowdim.distances.units`
    rows_exponent = 0  # the same for rows, whose unit a metric such as cosine does not depend on
    euclidean = False  # whether the objects are vectors under the Euclidean distance
    complete = False  # whether the dissimilarity of every pair is known
    in_memory = True  # whether vectors are in memory; else they are read in blocks
    measured = False  # whether dissimilarities are computed by a metric, not given by the user
    has_table = False  # whether the objects are rows of numbers, of which some may be missing

    def subset(self, rows: Array) -> Objects:
        """Some of the objects."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """A short digest of the data, to check that a given graph belongs to them."""
        raise NotImplementedError

    def vectors(self, purpose: str) -> Any:
        """The objects as rows of numbers; `purpose` names in the error what needs them."""
        raise ValueError(
            f"{purpose} needs vectors, but X was given as dissimilarities or as arbitrary objects. "
            "Fit on vectors."
        )

    def rows_for(self, purpose: str) -> Any:
        """The same for sums over all rows: may be `RowBlocks`, which are read in blocks."""
        return self.vectors(purpose)

    @property
    def has_vectors(self) -> bool:
        """Whether the objects are complete rows of numbers, which have principal components."""
        return False

    def is_table_without_gaps(self) -> bool:
        """Whether the objects are rows of numbers of which none is missing."""
        return self.has_table

    def identical(self) -> bool:
        """Whether all objects are known to be the same."""
        return False

    def all_pairs(self) -> Array:
        """The n x n matrix of all dissimilarities; MemoryError if it is too large."""
        raise ValueError(
            "X: the dissimilarities of all pairs are needed as a dense array, got "
            f"{self._description}. Use lowdim.geodesics to fill in a graph, or X.toarray()."
        )

    def between(self, rows: Array, purpose: str = "X") -> Array:
        """The dissimilarities between some of the objects; `purpose` names what needs them."""
        raise ValueError(
            f"{purpose} needs the distances between objects that are not neighbours, which "
            f"{self._description} does not hold. Give all dissimilarities, or vectors."
        )

    def row(self, i: int) -> Array:
        """The dissimilarities from object i to all objects."""
        raise NotImplementedError

    def pairs(self) -> Pairs:
        """The known dissimilarities as a list of pairs."""
        raise ValueError(f"X: dissimilarities are needed, got {self._description}.")

    def distances_from(self) -> Array | Callable[[Array], Array]:
        """Dissimilarities to all objects: the whole matrix if it is given or small, else a
        function from some objects to their rows of it."""
        return self.all_pairs()

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact", **options: Any
    ) -> NeighborGraph:
        """The graph of k nearest neighbours, or of all neighbours within a radius.

        Options are `recall` and `seed` of `lowdim.neighbors`, for an approximate search.
        """
        raise NotImplementedError

    def nearest_outside(self) -> NearestOutside:
        """A search for the nearest object in another component of a graph."""
        raise ValueError(
            f"{self._description} holds no distances to join the components by. Raise the number "
            f"of neighbours, or set {argument('disconnected', 'largest')} or 'separate'."
        )

    @property
    def _description(self) -> str:
        """The kind of input, for messages."""
        raise NotImplementedError


class RowObjects(Objects):
    """Rows under a metric: in memory (`MeasuredObjects`) or in blocks (`BlockedObjects`)."""

    complete = measured = True

    def __init__(self, rows: Any, metric: Metric) -> None:
        self.rows, self.metric = rows, metric
        self.n, self.dtype = rows.shape[0], checks.float_kind(rows)
        self.metric_name, self.euclidean = metric.name, metric.euclidean
        self.exponent, self.rows_exponent = metric.distance_exponent, metric.exponent
        self.has_table = rows.ndim == 2
        self._searches: dict[tuple[int | None, str], NeighborQuery] = {}

    def fingerprint(self) -> str:
        return fingerprint(self.rows)

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact", **options: Any
    ) -> NeighborGraph:
        graph, search = search_all(self.rows, self.metric, k, radius, method, **options)
        largest = LARGEST_KEPT_INDEX * getattr(self.rows, "nbytes", 0)
        if search is not None and search.n_bytes <= largest:
            self._searches[k, method] = search
        return graph

    def nearest_outside(self) -> NearestOutside:
        return nearest_outside(self.rows, self.metric)

    def search(self, k: int, method: str = "exact") -> NeighborQuery:
        """The search for the k nearest of the objects, kept for the next call."""
        if (k, method) not in self._searches:
            self._searches[k, method] = neighbor_query(self.rows, self.metric, k, method=method)
        return self._searches[k, method]


class MeasuredObjects(RowObjects):
    """Rows in memory: vectors, tables with missing values, or arbitrary objects."""

    def subset(self, rows: Array) -> MeasuredObjects:
        return MeasuredObjects(self.rows[rows], self.metric)

    def vectors(self, purpose: str) -> Any:
        return self.rows if self.has_table else super().vectors(purpose)

    @property
    def has_vectors(self) -> bool:
        numbers = self.has_table and self.rows.dtype.kind == "f"
        return bool(numbers and self.metric.name not in NAN_AWARE)

    def is_table_without_gaps(self) -> bool:
        gaps = self.metric.name in NAN_AWARE and not checks.all_finite(self.rows)
        return self.has_table and not gaps

    def identical(self) -> bool:
        return self.has_table and _all_identical(self.rows)

    def all_pairs(self) -> Array:
        return distance_matrix(self.rows, self.metric)

    def between(self, rows: Array, purpose: str = "X") -> Array:
        return distance_matrix(self.rows[rows], self.metric)

    def row(self, i: int) -> Array:
        return np.asarray(self.metric.block(self.rows[i : i + 1], self.rows)[0])

    def pairs(self) -> Pairs:
        return dense_pairs(self.all_pairs())

    def distances_from(self) -> Array | Callable[[Array], Array]:
        small = self.n * self.n * 8 <= LARGEST_KEPT_MATRIX
        if small or self.metric.name == "callable":
            return self.all_pairs()
        return distances_from(self.rows, self.metric)


class BlockedObjects(RowObjects):
    """Rows that are read in blocks, under a metric without parameters."""

    in_memory = False
    rows: RowBlocks

    def subset(self, rows: Array) -> MeasuredObjects:
        return MeasuredObjects(self._take(rows), self.metric)

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


class GivenDissimilarities(Objects):
    """A matrix of dissimilarities, dense or sparse."""

    metric_name = "precomputed"

    def __init__(self, matrix: Any, exponent: int = 0) -> None:
        self.matrix, self.n, self.dtype = matrix, matrix.shape[0], matrix.dtype
        self.exponent = exponent

    def fingerprint(self) -> str:
        return fingerprint(self.matrix)

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact", **options: Any
    ) -> NeighborGraph:
        return precomputed_graph(self.matrix, k, radius)


class Dissimilarities(GivenDissimilarities):
    """A dense matrix of dissimilarities; NaN, where allowed, marks an unknown pair."""

    complete = True
    matrix: Array

    def subset(self, rows: Array) -> Dissimilarities:
        return Dissimilarities(self.between(rows), self.exponent)

    def identical(self) -> bool:
        return not any(self.matrix[part].any() for part in blocks(self.n))

    def all_pairs(self) -> Array:
        return self.matrix

    def between(self, rows: Array, purpose: str = "X") -> Array:
        return np.ascontiguousarray(self.matrix[np.ix_(rows, rows)])

    def row(self, i: int) -> Array:
        return np.asarray(self.matrix[i])

    def pairs(self) -> Pairs:
        return dense_pairs(self.matrix)

    def nearest_outside(self) -> NearestOutside:
        return nearest_outside(self.matrix, Metric("precomputed", lambda A, B: A, lambda X: X))


class SparseDissimilarities(GivenDissimilarities):
    """A sparse matrix of the dissimilarities of some pairs; stored zeros are entries."""

    _description = "a sparse graph of dissimilarities"

    def subset(self, rows: Array) -> SparseDissimilarities:
        return SparseDissimilarities(self.matrix[rows][:, rows], self.exponent)

    def pairs(self) -> Pairs:
        return sparse_pairs(self.matrix)


class GivenGraph(Objects):
    """A neighbour graph; the objects themselves are not known."""

    metric_name = "precomputed"
    _description = "a neighbour graph"

    def __init__(self, graph: NeighborGraph, exponent: int = 0) -> None:
        self.graph, self.n, self.dtype = graph, graph.n_objects, graph.distances.dtype
        self.exponent = exponent

    def subset(self, rows: Array) -> GivenGraph:
        return GivenGraph(self.graph.subset(rows), self.exponent)

    def fingerprint(self) -> str:
        return self.graph.fingerprint

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact", **options: Any
    ) -> NeighborGraph:
        return precomputed_graph(self.graph, k, radius)


def is_precomputed(metric: Any) -> bool:
    """Whether X holds dissimilarities or a graph rather than rows for a metric."""
    return isinstance(metric, str) and metric == "precomputed"


def objects_of(
    X: Any,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    *,
    unknown_pairs: bool = False,
) -> Objects:
    """Check user input and return it as `Objects`.

    X has rows for the metric (an array, DataFrame, sparse matrix, sequence or `RowBlocks`); with
    metric="precomputed" it is a dense matrix of dissimilarities, in which NaN marks an unknown pair
    if that is allowed, a sparse matrix of some of them, or a neighbour graph.
    """
    if not is_precomputed(metric):
        if isinstance(X, NeighborGraph):
            raise TypeError(
                f"X is a NeighborGraph: set {argument('metric', 'precomputed')} to embed it."
            )
        if isinstance(X, RowBlocks):
            return blocked_objects(X, metric, metric_params)
        return measured_objects(X, metric, metric_params)
    if isinstance(X, NeighborGraph):
        exponent = exponent_of(X.check("X").distances)
        return GivenGraph(X.scale(-exponent), exponent)
    if is_sparse(X):
        stored = check_stored_dissimilarities(X)
        exponent = exponent_of(stored)
        return SparseDissimilarities(scale_by_power(stored, -exponent), exponent)
    D = check_known(X) if unknown_pairs else check_dissimilarities(X)
    exponent = exponent_of(D)
    return Dissimilarities(scale_by_power(D, -exponent), exponent)


def measured_objects(
    X: Any, metric: Any = "euclidean", params: dict[str, Any] | None = None
) -> MeasuredObjects:
    """Rows in memory, checked, under a metric."""
    geodesics = isinstance(metric, str) and metric == "geodesic"
    measure, rows = geodesic(X, params or {}) if geodesics else resolve_metric(metric, params, X)
    return MeasuredObjects(rows, measure)


def _all_identical(rows: Any) -> bool:
    """Whether all rows of a table have the same values; a missing value differs from all others.

    Of a CSR matrix, rows are compared as they are stored.
    """
    n = rows.shape[0]
    if is_sparse(rows):
        counts = np.diff(rows.indptr)
        if (counts != counts[0]).any():
            return False
        entries = (side.reshape(n, counts[0]) for side in (rows.indices, rows.data))
        return all(bool((side == side[0]).all()) for side in entries)
    if (rows[-1] != rows[0]).any():
        return False
    return not any((rows[part] != rows[0]).any() for part in blocks(n))


def relative_dissimilarities(objects: Objects) -> tuple[Array, float]:
    """All dissimilarities divided by the largest one, and the largest one."""
    D = objects.all_pairs()
    largest = float(D.max()) or 1.0
    return np.divide(D, D.dtype.type(largest), out=D if objects.measured else None), largest


def blocked_objects(
    blocks: RowBlocks, metric: Any = "euclidean", params: dict[str, Any] | None = None
) -> BlockedObjects:
    """Rows in blocks as objects; reads all of them once, to check them.

    ValueError if the metric needs all rows at once, or the numbers are not finite or extreme.
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
    return BlockedObjects(blocks, plain_metric(name))


def _plain_name(metric: Any, params: dict[str, Any]) -> str | None:
    """The canonical name of a metric that needs a pair of rows alone; None for others."""
    if not isinstance(metric, str) or metric in NOT_IN_BLOCKS:
        return None
    name, params = canonical_metric(metric, params)
    return None if params or name in NOT_IN_BLOCKS else name
