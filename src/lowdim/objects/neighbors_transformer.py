"""Neighbour graphs as a transformer, with the interface of scikit-learn's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lowdim import checks
from lowdim.checks import Array, float_kind
from lowdim.messages import argument
from lowdim.neighbor_graphs.search import METHODS
from lowdim.objects.objects import MeasuredObjects, measured_objects
from lowdim.runtime import memory
from lowdim.runtime.scheduling import use_threads

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
ARC_BYTES = 14  # of a neighbour at the peak, beside its distances: indices and copies of them


@dataclass(eq=False, repr=False, kw_only=True)
class NeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform vectors into the sparse graph of their nearest neighbours.

    The interface is that of scikit-learn's `KNeighborsTransformer`. In a pipeline it stands before
    a method with metric="precomputed", and scanpy takes it as
    ``sc.pp.neighbors(adata, transformer=...)``.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Whether entries are distances or 1. As in scikit-learn, "distance" has one neighbour more
        than asked for, because a training object is its own nearest neighbour.
    n_neighbors : int, default=5
        Number of neighbours.
    metric : str or callable, default="euclidean"
        The metrics of `lowdim.neighbors`, except "precomputed".
    metric_params : dict, default=None
        Further arguments of the metric.
    p : float, default=2
        Exponent of metric="minkowski".
    method : {"auto", "exact", "approximate"}, default="auto"
        See `lowdim.neighbors`.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        As in scikit-learn; all but "auto" set `method` to "exact".
    leaf_size : int, default=30
        Not used; as in scikit-learn.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    X_fit_ : array or sparse matrix of shape (n_samples, n_features)
        The training objects.
    n_samples_fit_ : int
        Number of training objects, the columns of the graph.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    lowdim.neighbors : the same graph as a `NeighborGraph`.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.pipeline import make_pipeline
    >>> X, _ = lowdim.data.swiss_roll(200, random_state=0)
    >>> lowdim.NeighborsTransformer(n_neighbors=8).fit_transform(X).shape
    (200, 200)
    >>> model = make_pipeline(
    ...     lowdim.NeighborsTransformer(n_neighbors=8),
    ...     lowdim.Isomap(n_neighbors=8, metric="precomputed"),
    ... )
    >>> model.fit_transform(X).shape
    (200, 2)
    """

    mode: str = "distance"
    n_neighbors: int = 5
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    p: float = 2
    method: str = "auto"
    algorithm: str = "auto"
    leaf_size: int = 30
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Store the training objects.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        checks.choice(self.mode, "mode", ("distance", "connectivity"))
        checks.choice(self.method, "method", METHODS)
        checks.choice(self.algorithm, "algorithm", ALGORITHMS)
        checks.integer(self.n_neighbors, "n_neighbors", 1)
        self.X_fit_ = self._rows(X, fitting=True)
        self.n_samples_fit_ = self.X_fit_.shape[0]
        self._cached_objects = self._objects()
        return self

    def transform(self, X: Any) -> Any:
        """The graph of the nearest training objects of each row of X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, n_features)

        Returns
        -------
        CSR matrix of shape (n, n_samples_fit)
        """
        check_is_fitted(self)
        rows = self._rows(X, fitting=False)
        if not hasattr(self, "_cached_objects"):  # after unpickling
            self._cached_objects = self._objects()
        objects = self._cached_objects
        with use_threads(self.n_jobs):
            self._claim(rows.shape[0])
            search = objects.search(self._count(objects.n), self._search_method)
            return self._matrix(*search(objects.metric.prepare(rows)))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The graph of X itself, in which each object is its own first neighbour.

        The parameters are those of `fit`, and the result is of shape (n_samples, n_samples).
        """
        self.fit(X)
        n = self.n_samples_fit_
        with use_threads(self.n_jobs):
            self._claim(n)
            k = self._count(n) - 1
            own = np.arange(n, dtype=np.int32)[:, None]
            if k == 0:
                return self._matrix(own, np.zeros((n, 1)))
            graph = self._cached_objects.neighbor_graph(k, method=self._search_method)
        distances = np.hstack([np.zeros((n, 1), graph.distances.dtype), graph.distances])
        return self._matrix(np.hstack([own, graph.indices]), distances)

    def _rows(self, X: Any, fitting: bool) -> Any:
        X = checks.as_frame(X)
        rows = checks.vectors(X, sparse=True)
        shown = X if hasattr(X, "shape") else rows
        validate_data(self, shown, skip_check_array=True, reset=fitting)
        return rows

    @property
    def _search_method(self) -> str:
        return self.method if self.algorithm == "auto" else "exact"

    def _objects(self) -> MeasuredObjects:
        """The training objects under the metric."""
        params = dict(self.metric_params or {})
        if isinstance(self.metric, str) and self.metric == "minkowski":
            params.setdefault("p", self.p)
        return measured_objects(self.X_fit_, self.metric, params)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if not k.startswith("_cached")}

    def _count(self, n: int) -> int:
        """The number of neighbours of a row, including the object itself."""
        return checks.integer(
            self.n_neighbors + (self.mode == "distance"), "n_neighbors", 1, n, " (n_samples)"
        )

    def _claim(self, m: int) -> None:
        """Raise MemoryError if the neighbours of m rows would take more memory than there is."""
        n, k = self.n_samples_fit_, self._count(self.n_samples_fit_)
        copies = 2 if self.mode == "distance" else 3  # of the distances; with the ones
        arc = ARC_BYTES + copies * float_kind(self.X_fit_).itemsize
        memory.claim(
            arc * m * k,
            f"The graph of {k} neighbours of {m} objects among {n}",
            f"Set fewer of them: {argument('n_neighbors')}, or transform the objects in parts.",
        )

    def _matrix(self, indices: Array, distances: Array) -> Any:
        from scipy.sparse import csr_matrix

        m, k = indices.shape
        values = distances if self.mode == "distance" else np.ones_like(distances)
        indptr = np.arange(m + 1, dtype=np.int64) * k
        if indptr[-1] <= np.iinfo(np.int32).max:  # scikit-learn's searches need 32-bit indices
            indptr = indptr.astype(np.int32)
        columns = indices.astype(indptr.dtype).ravel()
        return csr_matrix((values.ravel(), columns, indptr), shape=(m, self.n_samples_fit_))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_samples_fit_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
