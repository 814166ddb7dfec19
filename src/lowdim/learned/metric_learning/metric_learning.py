"""What the methods that learn a Mahalanobis distance from labels share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh, svd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lowdim import checks
from lowdim.checks import Array, dense, fixed_random_state
from lowdim.estimator import Embedder, Iterative
from lowdim.estimator.fitted_state import Numbers, Sizes, any_number
from lowdim.estimator.units import convert_units
from lowdim.learned.docs import LEARNED_METRIC_PASSAGES
from lowdim.messages import argument
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.numerics.starts import check_start
from lowdim.numerics.svd import principal_axes
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects

STARTS = ("auto", "pca", "lda", "identity", "random")


def _labels(name: str, value: Any, sizes: Sizes) -> None:
    """Classes: an array of strings, numbers or dates."""
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        raise ValueError(f"{name} is not an array of labels.")
    if value.dtype.kind == "O" and not all(isinstance(label, str) for label in value):
        raise ValueError(f"{name} holds other things than strings.")


class LearnedMetric(Iterative, Embedder):
    """Base class: a linear map that is fitted to vectors and their labels."""

    _attributes: ClassVar = {
        "components_": Numbers("c d"),
        "mean_": Numbers("d"),
        "classes_": _labels,
        "loss_": any_number,
    }
    _needed = ("mean_", "components_")

    _passages = LEARNED_METRIC_PASSAGES

    components_: Array
    _units: ClassVar = {"embedding_": 0, "init": -1, "components_": -1, "metric_": -2, "mean_": 1}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the map from vectors and their labels.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            One object per row.
        y : array of shape (n_samples,)
            Labels of the objects: strings or whole numbers.

        Returns
        -------
        self
        """
        warm = isinstance(self.warm_start, bool | np.bool_) and self.warm_start
        self._earlier = vars(self).get("components_") if warm else None
        try:
            return self._check_and_fit(X, y=y)
        finally:
            del self._earlier

    def _vectors(self, objects: Objects) -> Array:
        return dense(objects.vectors(type(self).__name__))

    def _keep(self, X: Array, L: Array) -> None:
        """Set the results of a map with the matrix L, of shape (n_components, n_features)."""
        self.components_ = np.ascontiguousarray(L, dtype=X.dtype)
        self.mean_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.embedding_ = self._map_rows(X)

    @property
    def metric_(self) -> Array:
        """The matrix of the Mahalanobis distance; made when it is asked for."""
        L, exponent = self._model_in_unit.components_, self._fitted_exponent
        M = L.T @ L
        return np.asarray(convert_units(self, "metric_", M, exponent)) if exponent else M

    def _codes(self, y: Any, n: int, *, any_classes: bool = False) -> Array:
        """Labels as numbers of classes; with any_classes also those from which nothing follows."""
        name = type(self).__name__
        if y is None:
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None: give one label for "
                "each row of X."
            )
        plain = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuSU"
        if not plain:
            y = column_or_1d(y, warn=True)
        if len(y) != n:
            raise ValueError(f"y has {len(y)} labels, but X has {n} rows.")
        if not plain:  # the checks take longer than the fit to a few objects
            _check_labels(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        problem = ""
        if len(self.classes_) < 2:
            problem = f"y: {name} needs at least 2 classes, got 1 class."
        elif len(self.classes_) == n:
            problem = (
                f"y: all {n} labels are different, but {name} learns from objects with the same "
                "label."
            )
        if problem and not any_classes:
            raise ValueError(problem)
        if problem:
            checks.warn(f"{problem} The first map is kept.")
        return np.asarray(codes)

    def _first_map(
        self, X: Array, codes: Array, k: int, *, begun: bool, given: float = 1.0
    ) -> Array:
        """The first map, of shape (k, n_features): that of a fit to other data, or of `init`.

        `begun` is whether the solver goes on from a state of a fit to the same data, and `given`
        the factor of a map from outside.
        """
        n, d = X.shape
        earlier = None if begun else getattr(self, "_earlier", None)
        init = self.init if earlier is None else earlier
        if earlier is not None and earlier.shape != (k, d):
            raise ValueError(
                f"{argument('warm_start', True)}: the map of the earlier fit has shape "
                f"{earlier.shape}, but this fit needs {(k, d)}. Fit a new estimator."
            )
        if not isinstance(init, str):
            rows = "one row for each coordinate"
            return given * check_start(init, (k, d), STARTS, rows).astype(np.float64)
        checks.choice(init, "init", STARTS)
        if init == "auto":
            n_classes = int(codes.max()) + 1
            init = "lda" if k <= min(d, n_classes - 1) else "pca" if k < min(d, n) else "identity"
        if init == "identity":
            return np.eye(k, d)
        if init == "random":
            random = fixed_random_state(self.random_state)
            return np.asarray(random.standard_normal((k, d)))
        start = discriminant_axes(X, codes, k) if init == "lda" else np.empty((0, d))
        missing = min(k, n, d) - len(start)
        if missing:
            axes = principal_axes(X, missing, announce=False)  # of a start
            start = np.concatenate([start, axes.components.astype(np.float64)])
        return np.pad(start, ((0, k - len(start)), (0, 0)))

    def _dimension(self, d: int) -> int:
        if self.n_components is None:
            return d
        return checks.integer(self.n_components, "n_components", 1, d, " (n_features)")

    def _transform(self, new: NewObjects) -> Array:
        return self._map_rows(dense(new.vectors()).astype(self.components_.dtype, copy=False))

    def _map_rows(self, X: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            Y = np.asarray(X @ self.components_.T)
        if not np.isfinite(Y).all():
            raise ValueError("X: coordinates overflow. Rescale the columns.")
        return Y

    def _inverse(self, Y: Array) -> Array:
        """Of all vectors with these coordinates the one nearest to the mean."""
        L = self.components_.astype(np.float64)
        back = (Y - L @ self.mean_) @ np.linalg.pinv(L).T + self.mean_
        return np.asarray(back, dtype=self.components_.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _check_labels(y: Array) -> None:
    """Raise an error that names the label unless all are known and of one kind."""
    for i, label in enumerate(y.tolist()):
        if label is None or label != label:  # None, NaN or NaT
            raise ValueError(
                f"y: the label of row {i} is missing ({label}). Leave out the rows without a label."
            )
    if len(kinds := {isinstance(label, str) for label in y.tolist()}) > 1:
        other = next(label for label in y.tolist() if not isinstance(label, str))
        raise TypeError(
            f"y holds strings and other labels, such as {other!r}. Convert all of them to strings."
        )
    if kinds == {False}:
        check_classification_targets(y)


def principal_factor(M: Array, X: Array, k: int) -> Array:
    """L with ``L' L = M``, rotated to the principal axes of the mapped rows X; k rows of it."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    Z = (X - X.mean(axis=0)) @ root.T
    axes = np.linalg.eigh(Z.T @ Z)[1][:, ::-1]
    return np.asarray(fix_signs(axes).T[:k] @ root)


def discriminant_axes(X: Array, codes: Array, k: int) -> Array:
    """At most k directions in which the classes are farthest apart, relative to their width.

    The vectors are scaled so that the covariance within classes is the identity; the axes are the
    principal axes of the class means there (Rao 1948, section 9). Directions in which no class has
    any width are left out, unless there is no other.
    """
    sizes = np.bincount(codes)
    X = X - X.mean(axis=0, dtype=np.float64)
    by_class = X[np.argsort(codes, kind="stable")]
    means = np.add.reduceat(by_class, np.cumsum(sizes) - sizes) / sizes[:, None]
    whiten = _whitening_matrix(X - means[codes])
    between = np.sqrt(sizes)[:, None] * means
    _, spread, axes = svd(between @ whiten, full_matrices=False)
    directions = axes[spread > len(sizes) * np.finfo(float).eps * spread[0]] @ whiten.T
    return np.asarray(directions[: min(k, len(sizes) - 1)])


def _whitening_matrix(deviations: Array) -> Array:
    """A matrix W such that deviations @ W have the identity as covariance."""
    widths = np.sqrt(np.mean(deviations**2, axis=0))
    if not widths.any():
        return np.eye(len(widths))
    widths[widths == 0] = 1
    deviations = deviations / widths  # columns of different units do not cost accuracy
    if len(deviations) < len(widths):  # a matrix of all pairs of features would be the larger one
        _, roots, axes = svd(deviations, full_matrices=False)
        values, vectors = roots[::-1] ** 2 / len(deviations), axes[::-1].T
    else:
        values, vectors = eigh(deviations.T @ deviations / len(deviations))
    keep = values > len(values) * np.finfo(float).eps * values[-1]
    return np.asarray(vectors[:, keep] / np.sqrt(values[keep]) / widths[:, None])
