"""Kernel principal component analysis (Schoelkopf, Smola and Mueller 1998)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_square
from lowdim.estimator import Embedder, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers, number
from lowdim.messages import argument
from lowdim.numerics.eigenpairs import top_eigenpairs
from lowdim.numerics.eigensolvers import Eigenpairs
from lowdim.numerics.kernels import (
    ALIASES,
    NAMES,
    TILE,
    Kernel,
    KernelCenter,
    centered_kernel,
    cross_kernel,
    kernel_matrix,
    resolve_kernel,
)
from lowdim.objects.new_objects import NewDissimilarities, NewObjects
from lowdim.objects.objects import Objects, is_precomputed
from lowdim.runtime.context import current
from lowdim.spectral.kernel_pca.preimage import (
    fixed_point_preimages,
    learn_preimages,
    learned_preimages,
)
from lowdim.spectral.scaling import kernel_projection, unit_axes
from lowdim.spectral.similarities import Similarities, similarities_of

NEGATIVE = {np.float32: 1e-5, np.float64: 1e-10}  # share of the largest that is no rounding error
ZERO = {np.float32: 2e-7, np.float64: 1e-12}  # share of the largest up to which a value counts as 0
KERNELS = (*NAMES, *ALIASES, "precomputed")


@declare_parameters
class KernelPCA(Embedder):
    """Kernel principal component analysis: principal components in the feature space of a kernel.

    centre(K) -> top eigenvectors

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the map; None: the number of non-zero eigenvalues.
    kernel : str or callable, default="linear"
        "linear", "poly" ("polynomial"), "rbf" ("gaussian"), "laplacian", "sigmoid" or "cosine";
        "precomputed"; or a function k(x, y) of two vectors.
    $gamma
    $kernel_constants
    kernel_params : dict, default=None
        Further arguments of a kernel function.
    alpha : float, default=1.0
        Ridge of the learned pre-images.
    fit_inverse_transform : bool, default=False
        Learn pre-images by kernel ridge regression. Without it, pre-images of the Gaussian kernel
        are found by fixed-point iteration.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        Solver of the eigenproblem; "randomized" is the same as "arpack".
    $tol
    max_iter : int, default=None
        Largest number of iterations of the eigensolver.
    iterated_power : int or "auto", default="auto"
        Ignored; accepted for compatibility with scikit-learn.
    remove_zero_eig : bool, default=False
        Whether to leave out components with eigenvalue zero, if n_components exceeds the number of
        non-zero eigenvalues. If False, they are kept as columns of zeros, with a warning.
    random_state : int, RandomState or None, default=None
        Start of the iterative eigensolver.
    copy_X : bool, default=True
        Whether to keep a copy of X for `transform`, so that X may be changed after `fit`.
    $n_jobs

    Attributes
    ----------
    $embedding
    eigenvalues_ : array of shape (n_components,)
        Eigenvalues of the centred kernel matrix, descending.
    eigenvectors_ : array of shape (n_samples, n_components)
        Its eigenvectors.
    X_fit_ : array or sparse matrix of shape (n_samples, n_features)
        The training vectors; not with kernel="precomputed".
    gamma_ : float
        The factor used.
    dual_coef_ : array of shape (n_samples, n_features)
        Coefficients of the learned pre-images; with fit_inverse_transform only.

    See Also
    --------
    is_positive_semidefinite : tests whether a matrix is a kernel matrix.
    ClassicalMDS : the same from distances.

    Notes
    -----
    Time is n^2 per iteration and memory one n x n matrix.

    `transform` is equation 15 of [1]_, with the new kernel values centred as those of the training
    objects were. ``transform(X_train)`` equals `embedding_` to rounding.

    Isomap, locally linear embedding and Laplacian eigenmaps are kernel PCA too, with kernels that
    the neighbour graph defines [2]_.

    References
    ----------
    .. [1] B. Schoelkopf, A. Smola, K.-R. Mueller, "Nonlinear component analysis as a kernel
       eigenvalue problem", Neural Computation 10, 1998.
    .. [2] J. Ham, D. D. Lee, S. Mika, B. Schoelkopf, "A kernel view of the dimensionality reduction
       of manifolds", ICML, 2004.

    Examples
    --------
    With a linear kernel this is principal component analysis.

    >>> import numpy as np
    >>> import lowdim
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> Y = lowdim.KernelPCA(2).fit_transform(X)
    >>> np.allclose(abs(Y), abs(lowdim.PCA(2).fit_transform(X)))
    True
    """

    traits = Traits(
        keeps="variance in feature space",
        when="a kernel describes which objects are similar",
        cost="n^2 per iteration, n^2 memory",
        extends="kernel projection; pre-images by fixed point or ridge regression",
        paper="Schoelkopf, Smola and Mueller 1998; Mika et al. 1999; Bakir et al. 2004",
        power=2.9,
    )

    _attributes: ClassVar = {
        "embedding_": Numbers("n c", empty=True),
        "eigenvalues_": Numbers("c"),
        "eigenvectors_": Numbers("n c"),
        "kernel_means_": Numbers("n"),
        "kernel_mean_": number(),
        "gamma_": number(),
        "dual_coef_": Numbers("n d"),
    }
    _needed = ("eigenvalues_", "eigenvectors_", "kernel_means_", "kernel_mean_", "gamma_")

    n_components: int | None = None
    _: KW_ONLY
    kernel: Any = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: str = "auto"
    tol: float = 0.0
    max_iter: int | None = None
    iterated_power: int | str = "auto"
    remove_zero_eig: bool = False
    random_state: Any = None
    copy_X: bool = True
    n_jobs: int | None = None

    def _memory(self, fit: Problem) -> float:
        kernel = self.kernel if isinstance(self.kernel, str) else ""
        tiles = {"cosine": 2, "rbf": 4}.get(kernel, 0) * min(1.0, TILE * current().threads / fit.n)
        copies = (float(bool(self.copy_X)) + tiles) * fit.vectors
        return copies + fit.square + fit.eigenvectors

    def _unit_of(self, name: str) -> float:
        if name == "dual_coef_":
            return -1 if self.kernel == "linear" else 1
        if self.kernel != "linear":
            return 0
        products = ("eigenvalues_", "kernel_means_", "kernel_mean_")
        return 1 if name == "embedding_" else 2 if name in products else 0

    @property
    def _follows_unit(self) -> bool:  # type: ignore[override]
        """Other kernels are functions of vectors in the user's unit."""
        return isinstance(self.kernel, str) and self.kernel in ("linear", "cosine")

    def _fit(self, objects: Objects) -> None:
        self._check_parameters()
        K = self._kernel_matrix(objects)
        center = KernelCenter.from_kernel(K)
        self.kernel_means_, self.kernel_mean_ = center.means, center.mean
        n, k = objects.n, self.n_components
        eigenpairs = top_eigenpairs(
            centered_kernel(K),
            n if k is None else min(n, checks.integer(k, "n_components", 1)),
            solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self.random_state,
        )
        del K
        values, vectors = _positive_part(eigenpairs, k, drop_zeros=self.remove_zero_eig)
        self.eigenvalues_ = values.astype(objects.dtype, copy=False)
        self.eigenvectors_ = vectors.astype(objects.dtype, copy=False)
        self.embedding_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        if self.fit_inverse_transform:
            alpha = checks.real(self.alpha, "alpha", 0)
            self.dual_coef_ = learn_preimages(self.embedding_, self.X_fit_, self._kernel, alpha)

    def _kernel_matrix(self, objects: Objects) -> Array:
        if isinstance(objects, Similarities):
            self.gamma_ = 1.0 / objects.n if self.gamma is None else self.gamma
            return np.asarray(objects.matrix)
        rows = objects.vectors("a kernel")
        if is_sparse(rows) and self.fit_inverse_transform:
            raise ValueError(
                f"{argument('fit_inverse_transform')} needs dense X: pre-images of sparse rows "
                "are dense."
            )
        self.X_fit_ = rows.copy() if self.copy_X else rows
        self.gamma_ = 1.0 / rows.shape[1] if self.gamma is None else self.gamma
        return kernel_matrix(self.X_fit_, self._kernel)

    def _transform(self, new: NewObjects) -> Array:
        K = new.vectors()
        if hasattr(self, "X_fit_"):
            K = cross_kernel(K, self.X_fit_, self._kernel)
        centered = KernelCenter(self.kernel_means_, self.kernel_mean_).new_rows(K)
        return kernel_projection(centered, self.eigenvalues_, self.eigenvectors_)

    def _inverse(self, Y: Array) -> Any:
        Y = Y.astype(self.embedding_.dtype, copy=False)
        if hasattr(self, "dual_coef_"):
            return learned_preimages(Y, self.embedding_, self.dual_coef_, self._kernel)
        if self._kernel.name != "rbf" or is_sparse(self.X_fit_):
            raise NotFittedError(
                f"inverse_transform without {argument('fit_inverse_transform', True)} is available "
                "for a Gaussian kernel on dense vectors only. Set "
                f"{argument('fit_inverse_transform', True)} and fit again."
            )
        axes = unit_axes(self.eigenvalues_, self.eigenvectors_)
        return fixed_point_preimages(Y, self.X_fit_, self.embedding_, axes, self.gamma_)

    # --- which kernel -----------------------------------------------------------------------

    @property
    def _kernel(self) -> Kernel:
        return resolve_kernel(
            self.kernel,
            gamma=self.gamma_,
            degree=self.degree,
            coef0=self.coef0,
            params=self.kernel_params,
        )

    def _check_parameters(self) -> None:
        if not callable(self.kernel):
            checks.choice(self.kernel, "kernel", KERNELS)
        checks.choice(self.remove_zero_eig, "remove_zero_eig", (True, False))
        if self.fit_inverse_transform and is_precomputed(self.kernel):
            raise ValueError(
                f"Cannot {argument('fit_inverse_transform')} with a precomputed kernel."
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


def _positive_part(
    eigenpairs: Eigenpairs, n_components: int | None, *, drop_zeros: bool
) -> tuple[Array, Array]:
    """Eigenpairs without negative values; values that are rounding errors are set to zero.

    n_components is the number that the user asked for; None: as many as are positive. With
    `drop_zeros` eigenvalues that are zero are left out, rather than kept with a warning.
    """
    values, vectors = eigenpairs
    precision = np.float32 if values.dtype == np.float32 else np.float64
    size = max(float(values.max(initial=0.0)), 0.0)
    worst = float(values.min(initial=0.0))
    if -worst > max(NEGATIVE[precision] * size, 1e-10) and n_components is not None:
        raise ValueError(
            "There are significant negative eigenvalues among the "
            f"{argument('n_components', n_components)} largest ({worst:g} against {size:g}): the "
            "kernel is not positive semidefinite. Ask for fewer components."
        )
    values = np.where(values > ZERO[precision] * size, values, 0).astype(vectors.dtype)
    positive = int((values > 0).sum())
    if n_components is None or drop_zeros:
        return values[:positive], vectors[:, :positive]
    if len(values) > positive:
        checks.warn(
            f"{argument('n_components', n_components)} exceeds the number of non-zero eigenvalues "
            f"of the centred kernel matrix, {positive}: the other components are 0. Ask for fewer "
            f"components, or set {argument('remove_zero_eig', True)}."
        )
    return values, vectors
