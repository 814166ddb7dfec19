"""Kernel principal component analysis (Schoelkopf, Smola and Mueller 1998)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from lowdim import checks
from lowdim.base import Embedder
from lowdim.checks import Array, is_sparse
from lowdim.extend.preimage import fixed_point_preimages, learn_preimages, learned_preimages
from lowdim.extend.projection import kernel_projection
from lowdim.matrices.kernels import (
    Kernel,
    KernelCenter,
    centered_kernel,
    cross_kernel,
    kernel_matrix,
    resolve_kernel,
)
from lowdim.relations.distances import check_square
from lowdim.relations.new_objects import NewDissimilarities, NewObjects
from lowdim.relations.objects import Objects, is_precomputed
from lowdim.relations.similarities import Similarities, similarities_of
from lowdim.solvers.eigensolvers import Eigenpairs
from lowdim.solvers.spectral import top_eigenpairs


class KernelPCA(Embedder):
    """Principal components in the feature space of a kernel.

    centre(K) -> top eigenvectors

    Parameters
    ----------
    n_components : number of coordinates; None: as many as there are non-zero eigenvalues.
    kernel : "linear", "poly" ("polynomial"), "rbf" ("gaussian"), "laplacian", "sigmoid",
        "cosine", "precomputed", or a function k(x, y) of two vectors.
    gamma : of rbf, poly, laplacian and sigmoid; None: 1 / n_features.
    degree, coef0 : of poly and sigmoid.
    kernel_params : further arguments of a kernel function.
    alpha : ridge of the learned pre-images.
    fit_inverse_transform : learn pre-images by kernel ridge regression, for any kernel. Without
        it, a Gaussian kernel's pre-images are found by fixed-point iteration.
    eigen_solver : "auto", "dense", "arpack" or "randomized" (as "arpack").
    tol, max_iter : of the iterative eigensolver.
    iterated_power : kept for compatibility.
    remove_zero_eig : what to do when n_components exceeds the number of non-zero eigenvalues:
        "error"; True: leave those components out; False: keep them as zeros.
    random_state : start of the iterative eigensolver.
    copy_X : keep a copy of X for transform, so that X may be changed after fit.
    n_jobs : threads; the result does not depend on it.

    Attributes
    ----------
    embedding_, eigenvalues_, eigenvectors_, X_fit_, gamma_, dual_coef_

    `transform` is the formula of the paper (its equation 15), with the new kernels centred as
    the training ones were; it returns `embedding_` on the training objects, to rounding. Time n^2
    per iteration, memory one n x n matrix.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0.0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool | str = "error",
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def _fit(self, objects: Objects) -> None:
        checks.choice(self.remove_zero_eig, "remove_zero_eig", ("error", True, False))
        n = objects.n
        if isinstance(objects, Similarities):
            if self.fit_inverse_transform:
                raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
            K = objects.matrix
            self.gamma_ = 1.0 / n if self.gamma is None else self.gamma
        else:
            rows = objects.vectors("a kernel")
            if is_sparse(rows) and self.fit_inverse_transform:
                raise ValueError(
                    "fit_inverse_transform needs dense X: pre-images of sparse rows are dense."
                )
            self.X_fit_ = rows = rows.copy() if self.copy_X else rows
            self.gamma_ = 1.0 / rows.shape[1] if self.gamma is None else self.gamma
            K = kernel_matrix(rows, self._kernel)
        center = KernelCenter.of(K)
        self.kernel_means_, self.kernel_mean_ = center.means, center.mean
        k = (
            n
            if self.n_components is None
            else min(n, checks.integer(self.n_components, "n_components", 1))
        )
        found = top_eigenpairs(
            centered_kernel(K),
            k,
            solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self.random_state,
        )
        del K
        values, vectors = self._admissible(found, n)
        self.eigenvalues_, self.eigenvectors_ = values, vectors
        self.embedding_ = vectors * np.sqrt(values)
        if self.fit_inverse_transform:
            alpha = checks.real(self.alpha, "alpha", 0)
            self.dual_coef_ = learn_preimages(self.embedding_, rows, self._kernel, alpha)

    def _transform(self, new: NewObjects) -> Array:
        K = new.vectors()
        if hasattr(self, "X_fit_"):
            K = cross_kernel(K, self.X_fit_, self._kernel)
        centered = KernelCenter(self.kernel_means_, self.kernel_mean_).new_rows(K)
        return kernel_projection(centered, self.eigenvalues_, self.eigenvectors_)

    def _inverse(self, Y: Array) -> Array:
        Y = Y.astype(self.embedding_.dtype, copy=False)
        if self.fit_inverse_transform:
            return learned_preimages(Y, self.embedding_, self.dual_coef_, self._kernel)
        if self._kernel.name != "rbf" or is_sparse(self.X_fit_):
            raise NotFittedError(
                "inverse_transform without fit_inverse_transform=True is available for a Gaussian "
                "kernel on dense vectors only. Set fit_inverse_transform=True and fit again."
            )
        used = self.eigenvalues_ > 0
        lengths = np.sqrt(np.where(used, self.eigenvalues_, 1))
        axes = (self.eigenvectors_ * np.where(used, 1 / lengths, 0)).T
        return fixed_point_preimages(Y, self.X_fit_, self.embedding_, axes, self.gamma_)

    def _admissible(self, found: Eigenpairs, n: int) -> tuple[Array, Array]:
        """Eigenpairs without negative values, rounding errors set to zero, zeros as asked for."""
        values, vectors = found
        single = values.dtype == np.float32
        size = max(float(values.max(initial=0.0)), 0.0)
        worst = float(values.min(initial=0.0))
        all_asked = self.n_components is None
        if -worst > max((1e-5 if single else 1e-10) * size, 1e-10) and not all_asked:
            raise ValueError(
                "There are significant negative eigenvalues among the n_components="
                f"{self.n_components} largest ({worst:g} against {size:g}): the kernel is not "
                "positive semidefinite. Ask for fewer components."
            )
        values = np.where(values > (2e-7 if single else 1e-12) * size, values, 0)
        values = values.astype(vectors.dtype)
        positive = int((values > 0).sum())
        if all_asked or self.remove_zero_eig is True:
            return values[:positive], vectors[:, :positive]
        if self.remove_zero_eig == "error" and len(values) > positive:
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of non-zero eigenvalues of "
                f"the centred kernel matrix, {positive}. Ask for at most {positive}, or set "
                "remove_zero_eig to True (leave the others out) or False (keep zeros)."
            )
        return values, vectors

    @property
    def _kernel(self) -> Kernel:
        return resolve_kernel(
            self.kernel,
            gamma=self.gamma_,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def _objects(self, X: Any) -> Objects:
        if not is_precomputed(self.kernel):
            return super()._objects(X)
        objects = similarities_of(check_square(X), "kernel")
        self._check_features(objects.matrix, "euclidean", fitting=True)
        return objects

    def _new_objects(self, X: Any) -> NewObjects:
        if not is_precomputed(self.kernel):
            return super()._new_objects(X)
        K = checks.vectors(X)
        self._check_features(K, "euclidean", fitting=False)
        return NewDissimilarities(K)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags
