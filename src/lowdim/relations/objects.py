"""What an estimator was given, checked once, and the questions that methods ask about it.

There is one type for each kind of input: rows under a metric (`MeasuredObjects`), a dense matrix of
dissimilarities (`Dissimilarities`), a sparse matrix of some of them (`SparseDissimilarities`) and a
ready neighbour graph (`GivenGraph`). Methods ask their questions without knowing the kind; a kind
that has no answer raises an error that says why and what to do.

New objects, for `transform`, are known by their relations to these: see `new_objects`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.relations.distances import check_dissimilarities, distance_matrix
from lowdim.relations.graph import NearestOutside, NeighborGraph, fingerprint
from lowdim.relations.metrics import NAN_AWARE, Metric, resolve_metric
from lowdim.relations.neighbors import neighbor_graph, neighbor_query
from lowdim.relations.pairs import Pairs, check_known, dense_pairs, sparse_pairs
from lowdim.relations.precomputed import precomputed_graph
from lowdim.relations.search import nearest_outside
from lowdim.relations.streams import distances_from

SMALL_MATRIX = 256 * 1024**2  # bytes of a matrix of distances that may be kept


Search = Callable[[Any], tuple[Array, Array]]
"""From new rows to the indices and distances of their nearest objects."""


class Objects:
    """The objects of a data set. The methods here refuse; each kind answers what it can."""

    n: int
    dtype: np.dtype[Any]
    metric_name: str
    euclidean = False  # vectors under the Euclidean distance
    complete = False  # the dissimilarity of every pair is known
    measured = False  # by a metric, rather than given

    def subset(self, rows: Array) -> Objects:
        """Some of the objects."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """A short digest of the data, by which a graph knows what it was computed from."""
        raise NotImplementedError

    def vectors(self, purpose: str) -> Any:
        """The objects as rows of numbers (an array or a CSR matrix)."""
        raise ValueError(
            f"{purpose} needs vectors, but X was given as dissimilarities or as arbitrary objects. "
            "Fit on vectors."
        )

    has_table = False  # the objects are rows of numbers, some of which may be missing

    @property
    def has_vectors(self) -> bool:
        """Whether principal components of the objects make sense."""
        return False

    def all_pairs(self) -> Array:
        """The matrix of all dissimilarities, n x n; the memory is claimed first."""
        raise ValueError(
            "X: the dissimilarities of all pairs are needed as a dense array, got "
            f"{self._description}. Use lowdim.geodesics to fill in a graph, or X.toarray()."
        )

    def between(self, rows: Array, purpose: str = "X") -> Array:
        """The dissimilarities between some of the objects; `purpose` says who needs them."""
        raise ValueError(
            f"{purpose} needs the distances between objects that are not neighbours, which "
            f"{self._description} does not hold. Give all dissimilarities, or vectors."
        )

    def row(self, i: int) -> Array:
        """The dissimilarities from object i to all."""
        raise NotImplementedError

    def pairs(self) -> Pairs:
        """The known dissimilarities as a list of pairs."""
        raise ValueError(f"X: dissimilarities are needed, got {self._description}.")

    def distances_from(self) -> Array | Callable[[Array], Array]:
        """Dissimilarities from some objects to all: a matrix if it is given or small, else a
        function of the numbers of those objects."""
        return self.all_pairs()

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact"
    ) -> NeighborGraph:
        """The graph of k nearest neighbours, or of all within a radius."""
        raise NotImplementedError

    def nearest_outside(self) -> NearestOutside:
        """How to find, for some objects, the nearest one in another component of a graph."""
        raise ValueError(
            f"{self._description} holds no distances to join the components by. Raise the number "
            "of neighbours, or set disconnected='largest' or 'separate'."
        )

    @property
    def _description(self) -> str:
        raise NotImplementedError


class MeasuredObjects(Objects):
    """Rows under a metric: vectors, tables with missing values, or arbitrary objects."""

    complete = measured = True

    def __init__(self, rows: Any, metric: Metric) -> None:
        self.rows, self.metric = rows, metric
        self.n, self.dtype = rows.shape[0], checks.float_kind(rows)
        self.metric_name, self.euclidean = metric.name, metric.euclidean
        self.has_table = rows.ndim == 2
        self._searches: dict[tuple[int, str], Search] = {}

    def subset(self, rows: Array) -> MeasuredObjects:
        return MeasuredObjects(self.rows[rows], self.metric)

    def fingerprint(self) -> str:
        return fingerprint(self.rows)

    def vectors(self, purpose: str) -> Any:
        return self.rows if self.has_table else super().vectors(purpose)

    @property
    def has_vectors(self) -> bool:
        numbers = self.has_table and self.rows.dtype.kind == "f"
        return bool(numbers and self.metric.name not in NAN_AWARE)

    def all_pairs(self) -> Array:
        return distance_matrix(self.rows, self.metric)

    def between(self, rows: Array, purpose: str = "X") -> Array:
        return distance_matrix(self.rows[rows], self.metric)

    def row(self, i: int) -> Array:
        return np.asarray(self.metric.block(self.rows[i : i + 1], self.rows)[0])

    def pairs(self) -> Pairs:
        return dense_pairs(self.all_pairs())

    def distances_from(self) -> Array | Callable[[Array], Array]:
        small = self.n * self.n * 8 <= SMALL_MATRIX
        if small or self.metric.name == "callable":
            return self.all_pairs()
        return distances_from(self.rows, self.metric)

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact"
    ) -> NeighborGraph:
        return neighbor_graph(self.rows, self.metric, k, radius, method=method)

    def nearest_outside(self) -> NearestOutside:
        return nearest_outside(self.rows, self.metric)

    def search(self, k: int, method: str = "exact") -> Search:
        """The search for the k objects nearest to new rows, kept for the next call."""
        if (k, method) not in self._searches:
            self._searches[k, method] = neighbor_query(self.rows, self.metric, k, method=method)
        return self._searches[k, method]


class Dissimilarities(Objects):
    """A dense matrix of dissimilarities; NaN marks an unknown pair where that is allowed."""

    metric_name = "precomputed"
    complete = True

    def __init__(self, matrix: Array) -> None:
        self.matrix, self.n, self.dtype = matrix, len(matrix), matrix.dtype

    def subset(self, rows: Array) -> Dissimilarities:
        return Dissimilarities(np.ascontiguousarray(self.matrix[np.ix_(rows, rows)]))

    def fingerprint(self) -> str:
        return fingerprint(self.matrix)

    def all_pairs(self) -> Array:
        return self.matrix

    def between(self, rows: Array, purpose: str = "X") -> Array:
        return np.ascontiguousarray(self.matrix[np.ix_(rows, rows)])

    def row(self, i: int) -> Array:
        return np.asarray(self.matrix[i])

    def pairs(self) -> Pairs:
        return dense_pairs(self.matrix)

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact"
    ) -> NeighborGraph:
        return precomputed_graph(self.matrix, k, radius)

    def nearest_outside(self) -> NearestOutside:
        return nearest_outside(self.matrix, Metric("precomputed", lambda A, B: A, lambda X: X))


class SparseDissimilarities(Objects):
    """A sparse matrix of the dissimilarities of some pairs; stored zeros count."""

    metric_name = "precomputed"
    _description = "a sparse graph of dissimilarities"

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.n, self.dtype = matrix, matrix.shape[0], matrix.dtype

    def subset(self, rows: Array) -> SparseDissimilarities:
        return SparseDissimilarities(self.matrix[rows][:, rows])

    def fingerprint(self) -> str:
        return fingerprint(self.matrix)

    def pairs(self) -> Pairs:
        return sparse_pairs(self.matrix)

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact"
    ) -> NeighborGraph:
        return precomputed_graph(self.matrix, k, radius)


class GivenGraph(Objects):
    """A neighbour graph alone; what it was measured on is not known."""

    metric_name = "precomputed"
    _description = "a neighbour graph"

    def __init__(self, graph: NeighborGraph) -> None:
        self.graph, self.n, self.dtype = graph, graph.n_objects, graph.distances.dtype

    def subset(self, rows: Array) -> GivenGraph:
        return GivenGraph(self.graph.subset(rows))

    def fingerprint(self) -> str:
        return self.graph.fingerprint

    def neighbor_graph(
        self, k: int | None, radius: float | None = None, method: str = "exact"
    ) -> NeighborGraph:
        return precomputed_graph(self.graph, k, radius)


def is_precomputed(metric: Any) -> bool:
    """Whether a metric says that X holds relations rather than rows to be measured."""
    return isinstance(metric, str) and metric == "precomputed"


def objects_of(
    X: Any,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    *,
    unknown_pairs: bool = False,
) -> Objects:
    """The objects that X holds under a metric; every public function makes them here.

    Parameters
    ----------
    X : array, DataFrame, sparse matrix, sequence or NeighborGraph
        Rows to be measured; with metric="precomputed" a dense matrix of dissimilarities, a sparse
        matrix of some of them, or a neighbour graph.
    metric : str or callable
    metric_params : dict, default=None
        Further arguments of the metric.
    unknown_pairs : bool, default=False
        Whether NaN may stand for an unknown dissimilarity.
    """
    if not is_precomputed(metric):
        found, rows = resolve_metric(metric, metric_params, X)
        return MeasuredObjects(rows, found)
    if isinstance(X, NeighborGraph):
        return GivenGraph(X)
    if is_sparse(X):
        return SparseDissimilarities(checks.vectors(X, sparse=True))
    return Dissimilarities(check_known(X) if unknown_pairs else check_dissimilarities(X))


def relative_dissimilarities(objects: Objects) -> tuple[Array, float]:
    """The dissimilarities of all pairs as shares of the largest, and the largest."""
    D = objects.all_pairs()
    largest = float(D.max())
    if not np.isfinite(largest):
        i, j = np.argwhere(~np.isfinite(D))[0]
        raise ValueError(
            f"X: the distance of objects {i} and {j} overflows to infinity. Divide X by a "
            "large number first; the map is the same."
        )
    largest = largest or 1.0
    return np.divide(D, D.dtype.type(largest), out=D if objects.measured else None), largest
