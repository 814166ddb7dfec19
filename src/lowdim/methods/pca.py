"""Principal component analysis (Pearson 1901; Hotelling 1933)."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.base import Embedder
from lowdim.checks import Array, dense
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.solvers.svd import principal_axes, scores


class PCA(Embedder):
    """The linear map that keeps the most variance.

    centre -> singular vectors

    Parameters
    ----------
    n_components : int; float in (0, 1): the fewest components that explain this share of the
        variance; "parallel": as many as explain more than 95 % of column-permuted data would
        (Horn's parallel analysis); None: all, min(n_samples, n_features).
    copy : kept for compatibility; X is never changed.
    whiten : scale the coordinates to unit variance.
    svd_solver : "full" (SVD of X), "covariance_eigh", "gram_eigh", "randomized" (Halko et al.
        2011), "arpack" (Lanczos, also for sparse X), or "auto": by the shape of X.
    tol : kept for compatibility.
    iterated_power, n_oversamples, power_iteration_normalizer : of the randomized solver.
    random_state : seed of the randomized solver and of parallel analysis.
    n_jobs : threads; the result does not depend on it.

    Attributes
    ----------
    embedding_, components_, explained_variance_, explained_variance_ratio_, singular_values_,
    mean_, n_components_, noise_variance_, n_samples_

    `transform(X_train)` equals `embedding_` to rounding; `inverse_transform` is the best linear
    decoder. Time n d min(n, d).
    """

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, objects: Objects) -> None:
        X = objects.vectors("PCA")
        n, d = X.shape
        most = min(n, d)
        k = self._components_to_compute(most)
        axes = principal_axes(
            X,
            k,
            solver=self.svd_solver,
            seed=self.random_state,
            power=self.iterated_power,
            oversamples=self.n_oversamples,
        )
        k = self._components_to_keep(X, axes.variances, axes.total)
        self.n_samples_, self.n_components_ = n, k
        self.mean_ = axes.mean.astype(X.dtype)
        self.components_ = axes.components[:k]
        self.explained_variance_ = axes.variances[:k].astype(X.dtype)
        share = axes.variances[:k] / axes.total if axes.total > 0 else np.zeros(k)
        self.explained_variance_ratio_ = share.astype(X.dtype)
        self.singular_values_ = np.sqrt(axes.variances[:k] * (n - 1)).astype(X.dtype)
        left = max(axes.total - float(axes.variances[:k].sum()), 0.0)
        self.noise_variance_ = left / (most - k) if most > k else 0.0
        self.embedding_ = self._scores(X)

    def _transform(self, new: NewObjects) -> Array:
        return self._scores(new.vectors())

    def _scores(self, X: Any) -> Array:
        return scores(X, self.mean_, self.components_) * self._scale()

    def _inverse(self, Y: Array) -> Array:
        return np.asarray((Y / self._scale()) @ self.components_ + self.mean_)

    def _scale(self) -> Array:
        if not self.whiten:
            return np.ones(len(self.components_), self.components_.dtype)
        deviation = np.sqrt(self.explained_variance_)
        tiny = np.finfo(deviation.dtype).eps * deviation.max(initial=0) or 1
        return np.asarray(1 / np.maximum(deviation, tiny))

    def _components_to_compute(self, most: int) -> int:
        asked = self.n_components
        if asked is None or asked == "parallel":
            return most
        if isinstance(asked, str):
            raise ValueError(
                f"n_components must be an integer, a share in (0, 1), 'parallel' or None; "
                f"got {asked!r}."
            )
        if isinstance(asked, numbers.Integral):
            return checks.integer(asked, "n_components", 1, most, " (min(n_samples, n_features))")
        checks.real(asked, "n_components", 0, 1, open_low=True)
        return most

    def _components_to_keep(self, X: Any, variances: Array, total: float) -> int:
        asked = self.n_components
        if asked == "parallel":
            return max(1, int((variances > self._chance_variances(X)).cumprod().sum()))
        if isinstance(asked, numbers.Real) and not isinstance(asked, numbers.Integral):
            share = np.cumsum(variances) / total if total > 0 else np.ones(len(variances))
            return min(len(variances), int(np.searchsorted(share, float(asked) * (1 - 1e-12))) + 1)
        return len(variances)

    def _chance_variances(self, X: Any, trials: int = 20) -> Array:
        """The 95th percentile of each variance when every column is permuted on its own."""
        from sklearn.utils import check_random_state

        random = check_random_state(0 if self.random_state is None else self.random_state)
        columns = dense(X).T
        found = []
        for _ in range(trials):
            shuffled = np.column_stack([random.permutation(column) for column in columns])
            axes = principal_axes(np.ascontiguousarray(shuffled), min(X.shape))
            found.append(axes.variances)
        return np.asarray(np.percentile(found, 95, axis=0))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
