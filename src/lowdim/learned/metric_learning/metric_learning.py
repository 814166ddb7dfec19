"""What the methods that learn a Mahalanobis distance from labels share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lowdim import checks
from lowdim.checks import Array, dense
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers, Sizes, any_number
from lowdim.learned.docs import LEARNED_METRIC_PASSAGES
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects


def _labels(name: str, value: Any, sizes: Sizes) -> None:
    """Classes: an array of strings, numbers or dates."""
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        raise ValueError(f"{name} is not an array of labels.")
    if value.dtype.kind == "O" and not all(isinstance(label, str) for label in value):
        raise ValueError(f"{name} holds other things than strings.")


class LearnedMetric(Embedder):
    """Base class: a linear map that is fitted to vectors and their labels."""

    _attributes: ClassVar = {
        "components_": Numbers("c d"),
        "mean_": Numbers("d"),
        "metric_": Numbers("d d"),
        "classes_": _labels,
        "loss_": any_number,
    }
    _needed = ("mean_", "components_", "metric_")

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
        return self._fit_to(X, y=y)

    def _vectors(self, objects: Objects) -> Array:
        return dense(objects.vectors(type(self).__name__))

    def _keep(self, X: Array, L: Array) -> None:
        """Set the results of a map with the matrix L, of shape (n_components, n_features)."""
        self.components_ = np.ascontiguousarray(L, dtype=X.dtype)
        self.mean_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self.metric_ = self.components_.T @ self.components_
        self.embedding_ = self._map_rows(X)

    def _codes(self, y: Any, n: int) -> Array:
        """Labels as numbers of classes."""
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
        if len(self.classes_) < 2:
            raise ValueError(f"y: {name} needs at least 2 classes, got 1 class.")
        if len(self.classes_) == n:
            raise ValueError(
                f"y: all {n} labels are different, but {name} learns from objects with the same "
                "label."
            )
        return np.asarray(codes)

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

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
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
