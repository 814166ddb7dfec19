"""Metrics by name or as a callable, with parameters that are estimated from the training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, dense, is_sparse
from lowdim.relations.gower import gower

ALIASES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "infinity": "chebyshev"}
NAN_AWARE = ("nan_euclidean", "gower")  # metrics that accept NaN as a missing value


@dataclass(frozen=True)
class Metric:
    """A metric with all of its parameters, also those estimated from the training data.

    Parameters
    ----------
    name : str
        "callable" for a function of the user. A named metric with parameters has a longer name, so
        that code specialised to the plain metric does not apply to it.
    block : callable
        From two sets of rows to the matrix of their distances.
    prepare : callable
        From user input to rows: an array, a CSR matrix, or an array of arbitrary objects.
    params : dict
        Parameters of the metric.
    """

    name: str
    block: Callable[[Any, Any], Array]
    prepare: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def euclidean(self) -> bool:
        """Whether this is the Euclidean distance of vectors."""
        return self.name == "euclidean"

    @property
    def by_products(self) -> bool:
        """Whether the backend searches neighbours by inner products: Euclidean and cosine."""
        return self.name in ("euclidean", "cosine")


def euclidean() -> Metric:
    """The Euclidean distance of vectors."""
    return Metric("euclidean", _scipy_block("euclidean", {}), _vectors)


def metric_names() -> list[str]:
    """The names that the parameter `metric` accepts, except "precomputed"."""
    return sorted({*_scipy_metrics(), *ALIASES, *NAN_AWARE, "haversine"})


def _scipy_metrics() -> dict[str, str]:
    """SciPy's names and abbreviations of metrics, each with the full name."""
    from scipy.spatial import distance

    return {name: info.canonical_name for name, info in vars(distance)["_METRICS"].items()}


def resolve_metric(
    metric: str | Callable[[Any, Any], float], params: dict[str, Any] | None, X: Any
) -> tuple[Metric, Any]:
    """The metric for training data X.

    Parameters
    ----------
    metric : str or callable
    params : dict or None
        Parameters of the metric. Missing variances and inverse covariances are estimated from X.
    X : array-like, DataFrame, sparse matrix or sequence
        Training data.

    Returns
    -------
    Metric
    rows : array, CSR matrix or array of objects
        X as the rows that the metric takes.
    """
    params = dict(params or {})
    if hasattr(metric, "get_params"):
        return _learned(metric), _vectors(X)
    if callable(metric):
        found = Metric("callable", _callable_block(metric, params), _objects, params)
        return found, found.prepare(X)
    name, params = _canonical(metric, params)
    if name == "gower":
        block, prepare, rows, kinds = gower(X, params.get("kinds"))
        return Metric(name, block, prepare, {"kinds": kinds}), rows
    if name == "nan_euclidean":
        from sklearn.metrics import nan_euclidean_distances

        found = Metric(name, nan_euclidean_distances, _vectors_with_nan, params)
        rows = found.prepare(X)
        return found, rows
    rows = _vectors(X)
    if name == "haversine":
        from sklearn.metrics.pairwise import haversine_distances

        return Metric(name, haversine_distances, _vectors, params), rows
    if name == "seuclidean" and "V" not in params:
        params["V"] = np.var(dense(rows), axis=0, ddof=1, dtype=np.float64)
    if name == "mahalanobis" and "VI" not in params:
        covariance = np.atleast_2d(np.cov(dense(rows), rowvar=False))
        params["VI"] = np.linalg.pinv(covariance, hermitian=True)
    label = f"{name} with {', '.join(params)}" if params else name  # see `Metric`
    return Metric(label, _scipy_block(name, params), _vectors, params), rows


def _canonical(metric: Any, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """One name for each metric: "minkowski" with p = 2 becomes "euclidean", and so on."""
    if metric not in metric_names():
        raise ValueError(
            f"metric must be one of {', '.join(metric_names())}, 'precomputed' or a callable; "
            f"got {metric!r}."
        )
    name = ALIASES.get(metric) or _scipy_metrics().get(metric, metric)
    if name == "minkowski" and "w" not in params:
        p = checks.real(params.get("p", 2), "p", 0, open_low=True)
        special = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}.get(p)
        if special:
            return special, {}
    return str(name), params


def _learned(estimator: Any) -> Metric:
    """The Mahalanobis distance that a fitted estimator such as NCA has learned."""
    if not hasattr(estimator, "metric_"):
        raise ValueError(
            f"metric must be a name, a callable or an estimator that has learned a metric; got "
            f"{estimator!r}, which is not fitted or learns no metric."
        )
    factor = np.asarray(estimator.components_, dtype=np.float64).T
    straight = _scipy_block("euclidean", {})
    return Metric("learned", lambda A, B: straight(dense(A) @ factor, dense(B) @ factor), _vectors)


def _vectors(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, sparse=True, copy=copy)


def _vectors_with_nan(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, allow_nan=True, copy=copy)


def _objects(X: Any, name: str = "X", copy: bool = False) -> Any:
    """Vectors if X is a numeric table, else an array of arbitrary objects."""
    if hasattr(X, "shape") and len(X.shape) == 2:
        kind = np.dtype(getattr(X, "dtype", object)).kind
        if kind in "fiub" or is_sparse(X):
            return checks.vectors(X, name=name, copy=copy)
    try:
        table = np.asarray(X, dtype=np.float64)
    except (ValueError, TypeError):
        table = None
    if table is not None and table.ndim == 2:
        return checks.vectors(table, name=name)
    items = list(X)
    if not items:
        raise ValueError(f"{name} holds no objects: 0 sample(s) while a minimum of 1 is required.")
    rows = np.empty(len(items), dtype=object)
    rows[:] = items
    return rows


def _scipy_block(name: str, params: dict[str, Any]) -> Callable[[Any, Any], Array]:
    """The `block` of a metric that SciPy's cdist computes."""
    from scipy.spatial import distance

    cdist: Any = distance.cdist

    def block(A: Any, B: Any) -> Array:
        found = cdist(dense(A), dense(B), name, **params)
        if name == "cosine":  # the angle to a zero vector is undefined; a right angle is used
            np.nan_to_num(found, copy=False, nan=1.0)
        return np.asarray(found)

    return block


def _callable_block(
    function: Callable[..., float], params: dict[str, Any]
) -> Callable[[Any, Any], Array]:
    """The `block` of a function of two objects."""

    def block(A: Any, B: Any) -> Array:
        out = np.empty((len(A), len(B)))
        for i, a in enumerate(A):
            for j, b in enumerate(B):
                out[i, j] = function(a, b, **params)
        return out

    return block
