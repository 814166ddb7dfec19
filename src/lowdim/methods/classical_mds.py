"""Classical multidimensional scaling (Torgerson 1952; Gower 1966)."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.base import Embedder
from lowdim.checks import Array
from lowdim.extend.projection import gower_projection
from lowdim.matrices.gram import corrected, gram_operator, squared_means
from lowdim.matrices.kernels import kernel_metric, resolve_kernel
from lowdim.relations.landmarks import choose_landmarks
from lowdim.relations.metrics import Metric
from lowdim.relations.new_objects import NewObjects, as_new
from lowdim.relations.objects import MeasuredObjects, Objects
from lowdim.runtime.scheduling import blocks
from lowdim.solvers.scaling import Scaling, classical_scaling, pivoted_cholesky_scaling
from lowdim.solvers.svd import principal_axes, scores


class ClassicalMDS(Embedder):
    """Coordinates whose inner products come closest to those that the distances imply.

    double-centre(D^2) -> top eigenvectors

    Parameters
    ----------
    n_components : int, or a float in (0, 1): the fewest dimensions that hold this share of the
        positive eigenvalues (all eigenvalues are computed then, n^3).
    metric : a SciPy metric name, "gower", "nan_euclidean", a callable, or "precomputed".
    metric_params : further arguments of the metric.
    method : "eigh", or "cholesky": pivoted Cholesky factorisation, which looks at one row of B
        per dimension and is exact where D is Euclidean of dimension n_components.
    correction : "none", "lingoes" or "cailliez": make D Euclidean by an additive constant.
    n_landmarks : scale this many objects and place the others by their distances to them
        (landmark MDS, de Silva and Tenenbaum 2004); memory n_samples * n_landmarks.
    kernel, kernel_params : kernel (generalised) MDS: distances in the feature space of a kernel
        (see KernelPCA for the names), in place of metric.
    eigen_solver : "auto", "dense" or "arpack".
    tol : of the iterative eigensolver.
    random_state : seed of the landmarks.
    n_jobs : threads; the result does not depend on it.

    Attributes
    ----------
    embedding_, eigenvalues_
    negative_share_ : share of the negative eigenvalues of B, 0 for Euclidean distances;
        estimated within about 0.04 where n_samples > 1000. Above 0.05 a warning says so.
    dissimilarity_matrix_ : the distances, n x n (computed on demand for Euclidean vectors).
    landmarks_ : the landmarks' row numbers, with n_landmarks.

    Euclidean distances between vectors are never computed: the result is that of PCA, at cost
    n d^2. Otherwise time n^2 per iteration and memory n^2. `transform` is Gower's formula and
    returns `embedding_` on the training objects, to rounding.
    """

    def __init__(
        self,
        n_components: int | float = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        method: str = "eigh",
        correction: str = "none",
        n_landmarks: int | None = None,
        kernel: Any = None,
        kernel_params: dict[str, Any] | None = None,
        eigen_solver: str = "auto",
        tol: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.correction = correction
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, objects: Objects) -> None:
        checks.choice(self.method, "method", ("eigh", "cholesky"))
        checks.choice(self.eigen_solver, "eigen_solver", ("auto", "dense", "arpack"))
        if not isinstance(self.n_components, numbers.Integral):
            checks.real(self.n_components, "n_components", 0, 1, open_low=True)
        linear = self.correction == "none" and self.method == "eigh" and objects.euclidean
        if self.n_landmarks is not None:
            self._fit_landmarks(objects)
        elif linear:
            self._fit_vectors(objects.vectors("classical scaling of Euclidean distances"))
        else:
            self._fitted_distances = objects.all_pairs()
            self.embedding_ = self._scale(self._fitted_distances)

    def _fit_vectors(self, X: Any) -> None:
        """Euclidean distances of vectors: B is the Gram matrix of the centred vectors."""
        n, d = X.shape
        share = not isinstance(self.n_components, numbers.Integral)
        k = min(n - 1, d) if share else min(self._check_n_components(n), d)
        axes = principal_axes(X, k)
        values = axes.variances * (n - 1)
        if share:
            k = _share(values, self.n_components)
        self.mean_, self.components_ = axes.mean, axes.components[:k]
        self.negative_share_ = 0.0
        self.eigenvalues_ = values[:k].astype(X.dtype)
        self.embedding_ = scores(X, self.mean_, self.components_)
        if not share and k < self.n_components:  # more dimensions than the vectors have
            self._pad(self.n_components - k)

    def _fit_landmarks(self, objects: Objects) -> None:
        least = self.n_components + 1 if isinstance(self.n_components, numbers.Integral) else 2
        chosen = choose_landmarks(objects.n, self.n_landmarks, least, self.random_state)
        self.landmarks_ = chosen
        self._fitted_distances = objects.between(chosen, "n_landmarks")
        self._scale(self._fitted_distances)
        self.embedding_ = self._place(as_new(objects).among(chosen))

    def _scale(self, D: Array) -> Array:
        """Eigenpairs of B, kept for new objects; returns the coordinates."""
        D, self.correction_constant_ = corrected(D, self.correction)
        share = not isinstance(self.n_components, numbers.Integral)
        k = len(D) - 1 if share else self._check_n_components(len(D))
        if self.method == "cholesky":
            found = pivoted_cholesky_scaling(D, k)
        else:
            found = classical_scaling(
                gram_operator(D),
                k,
                trace=float(squared_means(D).mean()) / 2 * len(D),
                solver="dense" if share else self.eigen_solver,
                tol=self.tol,
            )
        if share:
            k = _share(found.values, self.n_components)
            found = Scaling(found.values[:k], found.vectors[:, :k], found.negative_share)
        self._warn_if_not_euclidean(found)
        self.negative_share_ = found.negative_share
        self.eigenvalues_, self.eigenvectors_ = found.values.astype(D.dtype), found.vectors
        self.mean_squares_ = squared_means(D)
        return found.coordinates

    def _transform(self, new: NewObjects) -> Array:
        if hasattr(self, "components_"):
            return scores(new.vectors(), self.mean_, self.components_)
        return self._place(new.among(self.landmarks_) if hasattr(self, "landmarks_") else new)

    def _place(self, new: NewObjects) -> Array:
        """Gower's formula from distances to the training objects or the landmarks."""
        out = np.empty((new.n, len(self.eigenvalues_)), dtype=self.eigenvectors_.dtype)
        means = self.mean_squares_.astype(out.dtype)
        for part in blocks(new.n, 4096):
            D = np.asarray(new.subset(part).distances(), dtype=out.dtype)
            squares = self._corrected_squares(D)
            out[part] = gower_projection(squares, means, self.eigenvalues_, self.eigenvectors_)
        return out

    def _corrected_squares(self, D: Array) -> Array:
        constant = np.asarray(self.correction_constant_, dtype=D.dtype)
        if self.correction == "cailliez":
            return np.asarray(np.where(D > 0, D + constant, 0) ** 2)
        return np.asarray(np.where(D > 0, D**2 + 2 * constant, 0))

    def _inverse(self, Y: Array) -> Array:
        if not hasattr(self, "components_"):
            return super()._inverse(Y)
        return np.asarray(Y @ self.components_ + self.mean_.astype(Y.dtype))

    @property
    def dissimilarity_matrix_(self) -> Array:
        """Distances between the training objects (between the landmarks, where there are any)."""
        return (
            self._fitted_distances
            if hasattr(self, "_fitted_distances")
            else self._training.all_pairs()
        )

    def _objects(self, X: Any) -> Objects:
        objects = super()._objects(X)
        if self.kernel is None:
            return objects
        if not isinstance(objects, MeasuredObjects):
            raise ValueError(
                "kernel needs vectors, but metric='precomputed'. For a kernel matrix use "
                "KernelPCA(kernel='precomputed')."
            )
        return MeasuredObjects(objects.rows, self._kernel_metric(objects.rows))

    @property
    def _training(self) -> MeasuredObjects:
        if self.kernel is not None and not hasattr(self, "_cached_training"):
            metric = self._kernel_metric(self.X_fit_)
            self._cached_training = MeasuredObjects(self.X_fit_, metric)
        return super()._training

    def _kernel_metric(self, rows: Any) -> Metric:
        """The distance in the kernel's feature space."""
        params = dict(self.kernel_params or {})
        known = {name: params.pop(name) for name in ("gamma", "degree", "coef0") if name in params}
        return kernel_metric(
            resolve_kernel(self.kernel, params=params, n_features=rows.shape[1], **known)
        )

    def _pad(self, missing: int) -> None:
        zeros = np.zeros((len(self.embedding_), missing), self.embedding_.dtype)
        self.embedding_ = np.concatenate([self.embedding_, zeros], axis=1)
        self.eigenvalues_ = np.concatenate([self.eigenvalues_, zeros[0]])
        flat = np.zeros((missing, self.components_.shape[1]), self.components_.dtype)
        self.components_ = np.concatenate([self.components_, flat])

    def _warn_if_not_euclidean(self, found: Scaling) -> None:
        if found.negative_share > 0.05:
            checks.warn(
                f"The dissimilarities are not Euclidean: negative eigenvalues hold "
                f"{found.negative_share:.0%} of the spectrum and cannot be shown. See "
                "lowdim.is_euclidean, and correction='lingoes' or 'cailliez'."
            )


def _share(values: Array, share: float) -> int:
    positive = np.maximum(values, 0)
    if positive.sum() == 0:
        return 1
    part = np.cumsum(positive) / positive.sum()
    return min(len(values), int(np.searchsorted(part, share * (1 - 1e-12))) + 1)
