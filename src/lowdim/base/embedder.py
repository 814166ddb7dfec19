"""The contract of every estimator, once: validation, tags, names, fit and transform.

A method implements `_fit(rows)` (or `_fit_graph(rows, graph)`), which leaves `embedding_`, and
`_transform(rows)`; where it has an inverse of its own, also `_inverse(Y)`. Everything else that a
user may expect of an estimator is here.
"""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lowdim import checks, persist
from lowdim.backends import native
from lowdim.checks import Array
from lowdim.extend.barycentric import decode
from lowdim.relations.distances import (
    NAN_AWARE,
    Metric,
    check_dissimilarities,
    distance_matrix,
    resolve_metric,
)
from lowdim.relations.graph import NeighborGraph


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Places objects in a low-dimensional Euclidean space."""

    embedding_: Array
    X_fit_: Any
    gower_kinds_: list[Any]

    # --- the public contract -------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features), one object a row; or
            dissimilarities (or kernels) where the estimator is told that they are precomputed.
        y : ignored.
        """
        with native.blas_on_one_thread():
            self._fit(self._objects(X, fitting=True))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit to X and return `embedding_`."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Array:
        """Coordinates of new objects; a row's answer does not depend on the other rows."""
        check_is_fitted(self)
        with native.blas_on_one_thread():
            return self._transform(self._objects(X, fitting=False))

    def inverse_transform(self, Y: Any) -> Array:
        """Objects of the input space for given coordinates."""
        check_is_fitted(self)
        Y = checks.vectors(Y, name="Y")
        if Y.shape[1] != self._n_features_out:
            raise ValueError(
                f"Y has {Y.shape[1]} columns, but the map has {self._n_features_out} coordinates."
            )
        with native.blas_on_one_thread():
            return self._inverse(Y)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the estimator to a file of arrays and JSON; `lowdim.load(path)` reads it."""
        persist.save(self, path)

    def plot(self, labels: Any = None, **options: Any) -> Any:
        """Draw the map, coloured by `labels`; returns matplotlib axes.

        The options are those of `lowdim.plot.scatter`: `names`, `images`, `density`, `title`, `ax`
        and so on. Of a map with more than three dimensions the first two are drawn.
        """
        from lowdim.plot import scatter

        check_is_fitted(self)
        Y = self.embedding_
        shown = Y if Y.shape[1] <= 3 else Y[:, :2]
        options.setdefault("title", type(self).__name__)
        return scatter(shown, labels, **options)

    # --- what a method provides ------------------------------------------------------------

    def _fit(self, rows: Any) -> None:
        raise NotImplementedError

    def _transform(self, rows: Any) -> Array:
        raise NotImplementedError

    def _inverse(self, Y: Array) -> Array:
        """The general inverse: barycentric interpolation among the training vectors."""
        vectors = self._training_vectors("inverse_transform")
        placed = np.isfinite(self.embedding_).all(axis=1)
        return decode(self.embedding_[placed], vectors[placed], Y, self._n_jobs)

    # --- what methods use --------------------------------------------------------------------

    @property
    def _n_jobs(self) -> int | None:
        return getattr(self, "n_jobs", None)

    @property
    def _precomputed(self) -> bool:
        metric = getattr(self, "metric", None)
        return isinstance(metric, str) and metric == "precomputed"

    @property
    def _metric(self) -> Metric:
        """The metric with what it took from the training data; made anew after loading."""
        if not hasattr(self, "_cached_metric"):
            metric, params = self._metric_choice()
            if hasattr(self, "gower_kinds_"):
                params["kinds"] = self.gower_kinds_
            self._cached_metric = resolve_metric(metric, params, self.X_fit_)[0]
        return self._cached_metric

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        params = dict(getattr(self, "metric_params", None) or {})
        metric = getattr(self, "metric", "euclidean")
        if isinstance(metric, str) and metric == "minkowski" and hasattr(self, "p"):
            params.setdefault("p", self.p)
        return metric, params

    def _objects(self, X: Any, *, fitting: bool) -> Any:
        """X as rows the metric can measure; in fit, remembers them as `X_fit_`."""
        if self._precomputed:
            return self._dissimilarities(X, fitting=fitting)
        if not hasattr(self, "metric"):  # a method of vectors, such as PCA
            rows = checks.vectors(X, sparse=True)
            self._see(X if hasattr(X, "shape") else rows, "euclidean", fitting=fitting)
            return self._enough(rows) if fitting else rows
        if fitting:
            metric, params = self._metric_choice()
            self._see(X, metric, fitting=True)
            self._cached_metric, rows = resolve_metric(metric, params, X)
            self.X_fit_ = self._enough(rows)
            if self._cached_metric.name == "gower":
                self.gower_kinds_ = self._cached_metric.params["kinds"]
            elif hasattr(self, "gower_kinds_"):
                del self.gower_kinds_
            return rows
        self._see(X, self._metric.name, fitting=False)
        rows = self._metric.prepare(X)
        if rows.dtype.kind == "f" and self.X_fit_.dtype.kind == "f":
            rows = rows.astype(self.X_fit_.dtype, copy=False)
        return rows

    def _enough(self, rows: Any) -> Any:
        if rows.shape[0] < 2:
            raise ValueError(f"X: n_samples = {rows.shape[0]}, but a map needs at least 2 objects.")
        return rows

    def _see(self, X: Any, metric: Any, *, fitting: bool) -> None:
        """Record or compare the number and names of the features."""
        if callable(metric) or metric == "callable":
            if not (hasattr(X, "shape") and len(X.shape) == 2):
                return
        elif metric != "gower" and not hasattr(X, "shape"):
            X = checks.vectors(X, sparse=True, allow_nan=metric in NAN_AWARE)
        if hasattr(X, "shape") and len(X.shape) == 2 and X.shape[1] > 0:
            validate_data(self, X, skip_check_array=True, reset=fitting)

    def _dissimilarities(self, X: Any, *, fitting: bool) -> Any:
        """Precomputed input: in fit square, in transform new objects against the training ones."""
        if isinstance(X, NeighborGraph):
            self.n_features_in_ = X.n_objects
            return X
        if fitting:
            X = checks.vectors(X, sparse=True) if hasattr(X, "tocsr") else check_dissimilarities(X)
            validate_data(self, X, skip_check_array=True, reset=True)
            return self._enough(X)
        X = checks.vectors(X, sparse=True)
        validate_data(self, X, skip_check_array=True, reset=False)
        values = X.data if hasattr(X, "tocsr") else X
        if values.size and values.min() < 0:
            raise ValueError(f"X: dissimilarities must not be negative, found {values.min():g}.")
        return X

    def _training_vectors(self, what: str) -> Any:
        rows = getattr(self, "X_fit_", None)
        if rows is None or getattr(rows, "ndim", 2) != 2:
            raise ValueError(
                f"{what} needs the training vectors, but {type(self).__name__} was fitted on "
                "dissimilarities or arbitrary objects, which have no input space to go back to. "
                "Fit on vectors."
            )
        return rows

    def _all_pairs(self, rows: Any) -> tuple[Array, float]:
        """The dissimilarities of all pairs as shares of the largest, and the largest."""
        given = self._precomputed
        D = self._dense(rows) if given else distance_matrix(rows, self._metric, self._n_jobs)
        largest = float(D.max())
        if not np.isfinite(largest):
            i, j = np.argwhere(~np.isfinite(D))[0]
            raise ValueError(
                f"X: the distance of objects {i} and {j} overflows to infinity. Divide X by a "
                "large number first; the map is the same."
            )
        largest = largest or 1.0
        return np.divide(D, D.dtype.type(largest), out=None if given else D), largest

    def _dense(self, rows: Any) -> Array:
        """Precomputed dissimilarities of a method that needs them all."""
        if not isinstance(rows, np.ndarray):
            raise ValueError(
                f"X: {type(self).__name__} needs the dissimilarities of all pairs as a dense "
                f"array, got a {type(rows).__name__}. Use lowdim.geodesics to fill in a graph, or "
                "X.toarray()."
            )
        return rows

    def _check_n_components(self, n: int) -> int:
        return checks.integer(
            self.n_components, "n_components", 1, n - 1, " (one less than n_samples)"
        )

    # --- scikit-learn's protocols ---------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        metric = getattr(self, "metric", None)
        tags.input_tags.allow_nan = isinstance(metric, str) and metric in NAN_AWARE
        tags.input_tags.sparse = hasattr(self, "metric") and not tags.input_tags.allow_nan
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if not k.startswith("_cached")}
