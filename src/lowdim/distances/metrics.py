"""Metrics by name or as a callable, with parameters that are estimated from the training data.

The formulas are SciPy's, or in `formulas`, which states the conventions for zero and constant rows,
and in `sparse_formulas`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, dense, is_sparse
from lowdim.distances.formulas import FORMULAS, UNIT_LENGTH_UP_TO, scipy_formula
from lowdim.distances.gower import gower
from lowdim.distances.sparse_formulas import SPARSE_FORMULAS, drop_zeros
from lowdim.distances.units import exponent_of, scale_by_power
from lowdim.messages import argument

ALIASES = {
    "l2": "euclidean",
    **dict.fromkeys(("l1", "manhattan", "taxicab"), "cityblock"),
    **dict.fromkeys(("infinity", "linf", "linfty", "linfinity"), "chebyshev"),
    **dict.fromkeys(("wminkowski", "weighted_minkowski"), "minkowski"),
    "standardised_euclidean": "seuclidean",
}
PARAMETERS = {"seuclidean": {"v": "V", "sigma": "V"}, "mahalanobis": {"v": "V", "vinv": "VI"}}
"""Names that umap-learn has for parameters of metrics; its sigma is a variance."""
NAN_AWARE = ("nan_euclidean", "gower")  # metrics that accept NaN as a missing value
IF_NAN = "; metric='nan_euclidean' and metric='gower' accept NaN"
ROUNDING = 1e-9  # negative distances of this size, as a share of the largest and of 1, are zero
DEGREES = {
    **dict.fromkeys(("euclidean", "cityblock", "chebyshev", "minkowski", "nan_euclidean"), 1),
    **dict.fromkeys(("seuclidean", "mahalanobis"), 1),  # 0 if their parameters are estimated
    **dict.fromkeys(("cosine", "correlation", "true_angular", "hellinger", "jensenshannon"), 0),
    **dict.fromkeys(("braycurtis", "canberra", "wasserstein_1d"), 0),
    "sqeuclidean": 2,
}
"""See `Metric.degree`; the degree of other metrics is unknown."""


@dataclass(frozen=True)
class Metric:
    """A metric with all of its parameters, also those estimated from the training data.

    Parameters
    ----------
    name : "callable" for a function of the user. A named metric with parameters has a longer name,
        so that code specialised to the plain metric does not apply to it.
    block : from two sets of rows to the matrix of their distances
    prepare : from user input to rows: an array, a CSR matrix, or an array of arbitrary objects
    degree : the distances of c x and c y are c^degree times those of x and y, for c > 0; None:
        unknown
    exponent : the rows are in units of 2^exponent; see `lowdim.distances.units`
    straighten : from rows to vectors whose Euclidean distances are those of the metric, if there is
        such a map: the searches of the Euclidean distance then apply
    """

    name: str
    block: Callable[[Any, Any], Array]
    prepare: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict)
    degree: int | None = None
    exponent: int = 0
    straighten: Callable[[Any], Array] | None = None

    @property
    def distance_exponent(self) -> int:
        """Distances are in units of 2^distance_exponent."""
        return self.exponent * (self.degree or 0)

    @property
    def euclidean(self) -> bool:
        """Whether this is the Euclidean distance of vectors."""
        return self.name == "euclidean"

    @property
    def by_products(self) -> bool:
        """Whether the backend searches neighbours by inner products: Euclidean and cosine."""
        return self.name in ("euclidean", "cosine")


class PlainMetric(Metric):
    """A metric without parameters, such as that of rows in blocks: its name can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return plain_metric, (self.name,)


@cache
def plain_metric(name: str) -> Metric:
    """A metric without parameters, by its canonical name."""
    return PlainMetric(name, metric_function(name, {}), preparation(name), {}, DEGREES.get(name))


def euclidean(exponent: int = 0) -> Metric:
    """The Euclidean distance of vectors in units of 2^exponent."""
    prepare = partial(rescale_rows, vectors, exponent)
    return Metric("euclidean", metric_function("euclidean", {}), prepare, {}, 1, exponent)


def to_euclidean(rows: Any, metric: Metric) -> tuple[Any, Metric]:
    """The rows and the metric, as vectors under the Euclidean distance if the metric allows it."""
    return (rows, metric) if metric.straighten is None else (metric.straighten(rows), euclidean())


def metric_names() -> list[str]:
    """The names that the parameter `metric` accepts, except "precomputed"."""
    return sorted(
        {*_scipy_metrics(), *ALIASES, *NAN_AWARE, *FORMULAS, "haversine", "dot", "geodesic"}
    )


def _scipy_metrics() -> dict[str, str]:
    """SciPy's names and abbreviations of metrics, each with the full name."""
    from scipy.spatial import distance

    return {name: info.canonical_name for name, info in vars(distance)["_METRICS"].items()}


def resolve_metric(
    metric: str | Callable[[Any, Any], float], params: dict[str, Any] | None, X: Any
) -> tuple[Metric, Any]:
    """The metric for training data X, and X as the rows that it takes; not for "geodesic", which
    `lowdim.objects.objects.measured_objects` resolves.

    Variances and inverse covariances that are missing in `params` are estimated from X. Data of
    extreme magnitude are in units of 2^exponent.
    """
    params = dict(params or {})
    if hasattr(metric, "get_params"):
        return _learned_metric(metric), vectors(X)
    if callable(metric):
        resolved = Metric("callable", _callable_block(metric, params), objects, params)
        return resolved, resolved.prepare(X)
    name, params = canonical_metric(metric, params)
    if name == "gower":
        if unknown := sorted(set(params) - {"kinds"}):
            raise ValueError(
                f"{argument('metric_params')}: {argument('metric', 'gower')} does not take "
                f"{unknown[0]!r}."
            )
        block, prepare, rows, kinds = gower(X, params.get("kinds"))
        return Metric(name, block, prepare, {"kinds": kinds}), rows
    prepare = preparation(name)
    rows, degree, exponent = prepare(X), DEGREES.get(name), 0
    if degree is not None and (exponent := exponent_of(rows)):
        rows, prepare = scale_by_power(rows, -exponent), partial(rescale_rows, prepare, exponent)
    if name == "seuclidean" and "V" not in params:
        params["V"], degree = np.var(dense(rows), axis=0, ddof=1, dtype=np.float64), 0
    if name == "mahalanobis" and "VI" not in params:
        covariance = np.atleast_2d(np.cov(dense(rows), rowvar=False))
        params["VI"], degree = np.linalg.pinv(covariance, hermitian=True), 0
    plain = "cosine" if name == "dot" else name  # of unit vectors they are the same
    label = f"{plain} with {', '.join(params)}" if params else plain  # see `Metric`
    block = metric_function(plain, params)
    if params:
        _check_params(metric, params, block, rows[:2])
    return Metric(label, block, prepare, params, degree, exponent), rows


def _check_params(
    metric: str, params: dict[str, Any], block: Callable[[Any, Any], Array], rows: Any
) -> None:
    """Raise ValueError, for some rows, if the metric does not take the parameters."""
    try:
        d = rows.shape[1]
        if "VI" in params and np.shape(params["VI"]) != (d, d):  # SciPy would read beyond it
            raise ValueError(f"VI must have shape {(d, d)}, got {np.shape(params['VI'])}")
        block(rows, rows)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{argument('metric_params')} (in UMAP {argument('metric_kwds')}): "
            f"{argument('metric', metric)} does not take {params!r} ({reason})."
        ) from error


def canonical_metric(metric: Any, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """One name for each metric: "minkowski" with p = 2 becomes "euclidean", and so on."""
    names = metric_names()
    if metric not in names:
        raise ValueError(
            f"{argument('metric')} must be one of {', '.join(names)}, 'precomputed' or a callable; "
            f"got {metric!r}.{checks.did_you_mean(metric, names)}"
        )
    name = metric
    if metric not in FORMULAS:
        name = ALIASES.get(metric) or _scipy_metrics().get(metric, metric)
    renamed = PARAMETERS.get(name, {})
    params = {renamed.get(key, key): value for key, value in params.items()}
    if name == "minkowski" and "w" not in params:
        p = checks.real(params.get("p", 2), "p", 0, open_low=True)
        special = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}.get(p)
        if special:
            return special, {}
    if name == "mahalanobis":
        params = _inverse_covariance(params)
    return str(name), params


def _inverse_covariance(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of "mahalanobis" with VI in place of the covariance matrix V."""
    if "V" not in params:
        return params
    if "VI" in params:
        raise ValueError(
            f"{argument('metric_params')}: give V, the covariance matrix, or VI, its inverse, "
            "not both."
        )
    covariance = checks.vectors(params["V"], name="metric_params['V']")
    return {"VI": np.linalg.pinv(covariance, hermitian=True)}


def _learned_metric(estimator: Any) -> Metric:
    """The Mahalanobis distance that a fitted estimator such as NCA has learned."""
    if not hasattr(estimator, "metric_"):
        raise ValueError(
            f"{argument('metric')} must be a name, a callable or an estimator that has learned a "
            f"metric; got {estimator!r}, which is not fitted or learns no metric."
        )
    factor = np.asarray(estimator.components_, dtype=np.float64).T
    euclid = metric_function("euclidean", {})

    def transform(rows: Any) -> Array:
        rows = dense(rows)
        if rows.shape[1] != len(factor):
            raise ValueError(
                f"{argument('metric')}: {type(estimator).__name__} was fitted on {len(factor)} "
                f"features, but X has {rows.shape[1]}."
            )
        return np.ascontiguousarray(rows @ factor, dtype=checks.float_kind(rows))

    return Metric(
        "learned", lambda A, B: euclid(transform(A), transform(B)), vectors, straighten=transform
    )


def metric_function(name: str, params: dict[str, Any]) -> Callable[[Any, Any], Array]:
    """The `block` of a metric by name."""
    if name == "nan_euclidean" and params:  # such as `squared`
        from sklearn.metrics import nan_euclidean_distances

        return partial(nan_euclidean_distances, **params)
    if name == "haversine":
        from sklearn.metrics.pairwise import haversine_distances

        return partial(haversine_distances, **params)
    formula = scipy_formula(name) if name not in FORMULAS or "w" in params else FORMULAS[name]
    of_sparse = None if params else SPARSE_FORMULAS.get(name)

    def block(A: Any, B: Any) -> Array:
        if of_sparse is not None and is_sparse(A) and is_sparse(B):
            return of_sparse(A, B)
        return formula(dense(A), dense(B), **params)

    return block


def _callable_block(
    function: Callable[..., float], params: dict[str, Any]
) -> Callable[[Any, Any], Array]:
    """The `block` of a function of two objects; ValueError if a distance is negative."""

    def block(A: Any, B: Any) -> Array:
        out = np.empty((len(A), len(B)))
        for i, a in enumerate(A):
            for j, b in enumerate(B):
                out[i, j] = function(a, b, **params)
        least = np.nanmin(out, initial=0)
        if least < -ROUNDING * max(1.0, float(np.nanmax(out, initial=0))):
            raise ValueError(
                f"{argument('metric')}: the function returned {least:g}, but a distance must not "
                "be negative."
            )
        return np.maximum(out, 0, out=out)  # as 1 - cos for equal vectors, by rounding

    return block


# --- from user input to rows: arrays, CSR matrices, arrays of any objects -------------------------


def preparation(name: str) -> Callable[..., Any]:
    """From user input to rows, for a metric by name."""
    if name == "nan_euclidean":
        return vectors_with_nan
    checked = {
        "dot": unit_vectors,
        "poincare": vectors_in_ball,
        "bit_hamming": octets,
        "bit_jaccard": octets,
    }
    return checked.get(name, vectors_without_zeros if name in SPARSE_FORMULAS else vectors)


def rescale_rows(
    prepare: Callable[..., Any], exponent: int, X: Any, name: str = "X", copy: bool = False
) -> Any:
    """Rows in units of 2^exponent; ValueError if they are too large for it."""
    rows = scale_by_power(prepare(X, name, copy), -exponent)
    if exponent < 0 and np.isinf(rows.data if is_sparse(rows) else rows).any():
        raise ValueError(
            f"{name} overflows {rows.dtype} in the unit 2^{exponent} of the training data. Are its "
            "numbers in the units of the training data?"
        )
    return rows


def vectors_without_zeros(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = vectors(X, name, copy)
    return drop_zeros(rows) if is_sparse(rows) else rows


def unit_vectors(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = vectors(X, name, copy)
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    squares = np.asarray(squares.sum(axis=1)).ravel()
    wrong = np.abs(squares - 1) > UNIT_LENGTH_UP_TO
    if wrong.any():
        i = int(wrong.argmax())
        raise ValueError(
            f"{name}: {argument('metric', 'dot')} is for rows of length 1, but row {i} has length "
            f"{np.sqrt(squares[i]):g}. Use {argument('metric', 'cosine')}, or normalise the rows."
        )
    return rows


def vectors_in_ball(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = checks.vectors(X, name=name, copy=copy)
    outside = np.einsum("ij,ij->i", rows, rows, dtype=np.float64) >= 1
    if outside.any():
        raise ValueError(
            f"{name}: {argument('metric', 'poincare')} is for rows of length below 1, but row "
            f"{int(outside.argmax())} is longer."
        )
    return rows


def octets(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = checks.vectors(X, name=name, copy=copy)
    wrong = (rows < 0) | (rows > 255) | (rows != np.floor(rows))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"{name}: a metric of bits is for bytes, integers from 0 to 255 that hold eight "
            f"columns each (numpy.packbits makes them), but [{i}, {j}] is {rows[i, j]:g}."
        )
    return rows


def vectors(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, sparse=True, copy=copy, if_nan=IF_NAN)


def vectors_with_nan(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, allow_nan=True, copy=copy)


def objects(X: Any, name: str = "X", copy: bool = False) -> Any:
    """Vectors if X is a numeric table, else an array of arbitrary objects."""
    if hasattr(X, "shape") and len(X.shape) == 2:
        kind = np.dtype(getattr(X, "dtype", object)).kind
        if kind in "fiub" or is_sparse(X):
            # A copy, because the function of the user may write into the rows that it is given.
            return checks.vectors(X, name=name, copy=True)
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
