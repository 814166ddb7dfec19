"""Distances between objects of any kind, and the checks a matrix of dissimilarities must pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import memory, native
from lowdim.checks import Array
from lowdim.relations.gower import gower

ALIASES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "infinity": "chebyshev"}
NAN_AWARE = ("nan_euclidean", "gower")
TILE = 512


@dataclass(frozen=True)
class Metric:
    """A distance with everything fixed that it takes from the training data.

    `prepare` turns what the user gives into rows (an array, a CSR matrix, or an array of
    arbitrary objects); `block` measures rows against rows.
    """

    name: str
    block: Callable[[Any, Any], Array]
    prepare: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def euclidean(self) -> bool:
        return self.name == "euclidean"


def metric_names() -> list[str]:
    """Every metric that can be given by name."""
    return sorted({*_scipy_metrics(), *ALIASES, *NAN_AWARE, "haversine"})


def _scipy_metrics() -> dict[str, str]:
    """SciPy's names of metrics, short forms included, each with its full name."""
    from scipy.spatial import distance

    return {name: info.canonical_name for name, info in vars(distance)["_METRICS"].items()}


def resolve_metric(
    metric: str | Callable[[Any, Any], float], params: dict[str, Any] | None, X: Any
) -> tuple[Metric, Any]:
    """The metric, with what it needs of the data X fixed, and the rows of X it works on."""
    params = dict(params or {})
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
        params["V"] = np.var(_dense(rows), axis=0, ddof=1, dtype=np.float64)
    if name == "mahalanobis" and "VI" not in params:
        covariance = np.atleast_2d(np.cov(_dense(rows), rowvar=False))
        params["VI"] = np.linalg.pinv(covariance, hermitian=True)
    label = f"{name} with {', '.join(params)}" if params else name  # no shortcut by name fits then
    return Metric(label, _scipy_block(name, params), _vectors, params), rows


def _canonical(metric: Any, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """One name for each distance: Minkowski with p = 2 is Euclidean, and so on."""
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


def _vectors(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, sparse=True, copy=copy)


def _vectors_with_nan(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, allow_nan=True, copy=copy)


def _objects(X: Any, name: str = "X", copy: bool = False) -> Any:
    """Vectors where X is a numeric table, else an array of arbitrary objects, one an entry."""
    if hasattr(X, "shape") and len(X.shape) == 2:
        kind = np.dtype(getattr(X, "dtype", object)).kind
        if kind in "fiub" or hasattr(X, "tocsr"):
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


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def _scipy_block(name: str, params: dict[str, Any]) -> Callable[[Any, Any], Array]:
    from scipy.spatial import distance

    cdist: Any = distance.cdist

    def block(A: Any, B: Any) -> Array:
        found = cdist(_dense(A), _dense(B), name, **params)
        if name == "cosine":  # the angle to a zero vector is undefined: count it as a right angle
            np.nan_to_num(found, copy=False, nan=1.0)
        return np.asarray(found)

    return block


def _callable_block(
    function: Callable[..., float], params: dict[str, Any]
) -> Callable[[Any, Any], Array]:
    def block(A: Any, B: Any) -> Array:
        out = np.empty((len(A), len(B)))
        for i, a in enumerate(A):
            for j, b in enumerate(B):
                out[i, j] = function(a, b, **params)
        return out

    return block


def measured(rows: Any, metric: Metric, left: slice, right: slice) -> Array:
    """The distances between two blocks of rows, refused where the metric has no answer.

    To itself an object may have none: that distance is zero, whatever the metric says.
    """
    block = np.array(metric.block(rows[left], rows[right]))
    both = np.arange(max(left.start, right.start), min(left.stop, right.stop))
    block[both - left.start, both - right.start] = 0
    first, second = (np.arange(part.start, part.stop) for part in (left, right))
    defined(block, metric, first, second)
    return block


def defined(block: Array, metric: Metric, first: Array | None, second: Array) -> None:
    """Raise where a block of distances between the named objects holds NaN.

    Without names the first objects are new ones.
    """
    unknown = np.isnan(block)
    if unknown.any():
        i, j = np.argwhere(unknown)[0]
        one = f"objects {first[i]} and" if first is not None else "a given object and object"
        raise ValueError(
            f"metric={metric.name!r} gives NaN for {one} {second[j]}. Remove such objects, or "
            "choose a metric that is defined for them."
        )


def distance_matrix(rows: Any, metric: Metric, n_jobs: int | None = None) -> Array:
    """All pairwise distances, each pair measured once; n x n."""
    n = rows.shape[0]
    dtype = rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)
    memory.claim(
        n * n * dtype.itemsize,
        f"The matrix of distances between {n} objects",
        "Use n_landmarks=, or a method that works on a neighbour graph.",
    )
    D = np.empty((n, n), dtype=dtype)

    def fill(pair: tuple[slice, slice]) -> None:
        left, right = pair
        block = measured(rows, metric, left, right)
        D[left, right] = block
        if left != right:
            D[right, left] = block.T

    tiles = native.blocks(n, TILE)
    native.run(fill, combinations_with_replacement(tiles, 2), n_jobs)
    np.fill_diagonal(D, 0)
    if metric.name == "callable":  # the built-in metrics keep their promises
        np.maximum(D, D.T, out=D)
        check_dissimilarities(D, "the matrix of metric(a, b)")
    return D


def cross_distances(A: Any, B: Any, metric: Metric, n_jobs: int | None = None) -> Array:
    """Distances between the rows of A and the rows of B."""
    dtype = B.dtype if B.dtype.kind == "f" else np.dtype(np.float64)
    D = np.empty((A.shape[0], B.shape[0]), dtype=dtype)

    def fill(rows: slice) -> None:
        D[rows] = metric.block(A[rows], B)

    native.run(fill, native.blocks(A.shape[0], TILE), n_jobs)
    return D


def check_square(D: Any, name: str = "X") -> Array:
    """A square array of finite numbers."""
    shape = np.shape(D)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"{name}: array must be 2-dimensional and square, got shape {shape}. With "
            "metric='precomputed' each row holds one object's dissimilarities to all objects."
        )
    return np.asarray(checks.vectors(D, name=name))


def check_dissimilarities(D: Any, name: str = "X") -> Array:
    """A matrix of dissimilarities: square, finite, symmetric, zero diagonal, not negative."""
    D = check_square(D, name)
    largest = max(float(D.max()), -float(D.min()))
    slack = (1e-5 if D.dtype == np.float32 else 1e-9) * max(largest, 1e-300)

    def gap(pair: tuple[slice, slice]) -> tuple[int, int] | None:
        """The first entry of a tile that differs from its mirror image."""
        left, right = pair
        apart = np.abs(D[left, right] - D[right, left].T) > slack
        return tuple(np.argwhere(apart)[0] + (left.start, right.start)) if apart.any() else None

    tiles = combinations_with_replacement(native.blocks(len(D)), 2)
    for found in native.run(gap, tiles, None):
        if found is not None:
            i, j = found
            raise ValueError(
                f"{name}: Array must be symmetric, but [{i}, {j}] is {D[i, j]:g} and [{j}, {i}] "
                f"is {D[j, i]:g}. Average the two, (D + D.T) / 2, if the difference is noise."
            )
    diagonal = np.abs(np.diagonal(D))
    if diagonal.max() > slack:
        i = int(np.argmax(diagonal > slack))
        raise ValueError(
            f"{name}: the diagonal must be zero (an object's dissimilarity to itself), but "
            f"[{i}, {i}] is {D[i, i]:g}. If these are similarities, convert them first."
        )
    if D.min() < -slack:
        i, j = np.argwhere(-slack > D)[0]
        raise ValueError(
            f"{name}: dissimilarities must not be negative, [{i}, {j}] is {D[i, j]:g}."
        )
    return np.asarray(D)
