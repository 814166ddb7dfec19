"""Kernel principal component analysis (Schoelkopf, Smola and Mueller 1998)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_square
from lowdim.distances.metrics import euclidean
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers, Rule, graph_rule, number
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
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
from lowdim.objects.new_objects import MeasuredNewObjects, NewDissimilarities, NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects, is_precomputed
from lowdim.runtime.context import current
from lowdim.spectral.kernel_pca.graph_kernels import (
    GRAPH_KERNELS,
    STATE_RULES,
    GraphKernel,
    graph_kernel,
)
from lowdim.spectral.kernel_pca.kernel_eigenpairs import positive_part
from lowdim.spectral.kernel_pca.preimage import (
    fixed_point_preimages,
    learn_preimages,
    learned_preimages,
)
from lowdim.spectral.projection import kernel_projection, unit_axes
from lowdim.spectral.similarities import Similarities, similarities_of

KERNELS = (*NAMES, *ALIASES, *GRAPH_KERNELS, "precomputed")


class KernelPCA(Embedder):
    """Kernel principal component analysis: principal components in the feature space of a kernel.

    centre(K) -> top eigenvectors

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the map; None: the number of non-zero eigenvalues.
    kernel : str or callable, default="linear"
        "linear", "poly" ("polynomial"), "rbf" ("gaussian"), "laplacian", "sigmoid" or "cosine";
        "isomap", "lle", "diffusion" or "commute_time", which the neighbour graph of the training
        objects defines (see Notes); "precomputed"; or a function k(x, y) of two vectors.
    gamma : float, default=None
        Factor in "rbf", "poly", "laplacian" and "sigmoid"; None: 1 / n_features.
    degree : float, default=3
        Exponent of "poly".
    coef0 : float, default=1
        Constant in "poly" and "sigmoid".
    kernel_params : dict, default=None
        Further arguments of a kernel function, or parameters of a graph kernel. "isomap" has
        n_neighbors (5) or radius; "lle" n_neighbors (5) and reg (1e-3); "diffusion" and
        "commute_time" n_neighbors (10) or radius, symmetry, weights and t as in
        LaplacianEigenmaps; "diffusion" also time (1.0). All have disconnected ("join" or "raise").
    alpha : float, default=1.0
        Ridge of the learned pre-images.
    fit_inverse_transform : bool, default=False
        Learn pre-images by kernel ridge regression. Without it, pre-images of the Gaussian kernel
        are found by fixed-point iteration, and those of graph kernels by interpolation.
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        Solver of the eigenproblem; "randomized" is the same as "arpack".
    tol : float, default=0.0
        Accuracy of the iterative eigensolver; 0 stands for machine precision.
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
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects.
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
    graph_ : NeighborGraph
        The neighbour graph; with graph kernels only.

    See Also
    --------
    is_positive_semidefinite : tests whether a matrix is a kernel matrix.
    ClassicalMDS : kernel MDS, from the distances in feature space.

    Notes
    -----
    Time is n^2 per iteration and memory one n x n matrix. The kernels "lle", "diffusion" and
    "commute_time" take time n^3; the methods named below compute the same axes from sparse
    matrices.

    `transform` is equation 15 of [1]_, with the new kernel values centred as those of the training
    objects were. ``transform(X_train)`` equals `embedding_` to rounding.

    Graph kernels show that other spectral methods are kernel PCA [2]_. Their maps are equal up to
    the sign and the stated scale of each coordinate, and so are those of new objects [3]_:

    - "isomap", -1/2 J D^2 J of geodesic distances D: `Isomap`, with the same scale. It is not
      positive semidefinite where the manifold is not flat.
    - "lle", lambda_max I - M: `LocallyLinearEmbedding`, coordinates times the root of
      lambda_max - mu for eigenvalues mu of M. A new object is reconstructed from its neighbours,
      so that ``transform(X_train)`` equals `embedding_` up to the ridge.
    - "commute_time", the pseudo-inverse of the graph Laplacian L:
      ``LaplacianEigenmaps(normalization="none")``, coordinates over the root of its eigenvalues
      lambda. Squared distances are proportional to commute times of the random walk.
    - "diffusion", exp(-time L) [4]_: the same axes times exp(-time lambda / 2). These are the axes
      of `DiffusionMap`, too, if all degrees of the graph are equal.

    References
    ----------
    .. [1] B. Schoelkopf, A. Smola, K.-R. Mueller, "Nonlinear component analysis as a kernel
       eigenvalue problem", Neural Computation 10, 1998.
    .. [2] J. Ham, D. D. Lee, S. Mika, B. Schoelkopf, "A kernel view of the dimensionality reduction
       of manifolds", ICML, 2004.
    .. [3] Y. Bengio et al., "Out-of-sample extensions for LLE, Isomap, MDS, Eigenmaps, and spectral
       clustering", NIPS, 2004.
    .. [4] R. I. Kondor, J. Lafferty, "Diffusion kernels on graphs and other discrete input spaces",
       ICML, 2002.

    Examples
    --------
    With a linear kernel this is principal component analysis.

    >>> import numpy as np
    >>> import lowdim
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> Y = lowdim.KernelPCA(2).fit_transform(X)
    >>> np.allclose(abs(Y), abs(lowdim.PCA(2).fit_transform(X)))
    True

    With the kernel of Isomap it is Isomap.

    >>> X, _ = lowdim.data.swiss_roll(100, random_state=0)
    >>> model = lowdim.KernelPCA(2, kernel="isomap", kernel_params={"n_neighbors": 8}).fit(X)
    >>> np.allclose(abs(model.embedding_), abs(lowdim.Isomap(n_neighbors=8).fit_transform(X)))
    True
    """

    traits = Traits(
        sentence="centre(K) -> top eigenvectors",
        keeps="variance in feature space",
        when="a kernel knows what makes your objects alike",
        cost="n^2 per iteration, n^2 memory",
        extends="kernel projection; pre-images by fixed point or ridge regression",
        paper="Schoelkopf, Smola and Mueller 1998; Mika et al. 1999; Bakir et al. 2004",
        power=2.9,
    )

    _attributes: ClassVar = {
        "embedding_": Numbers("n c", empty=True),
        "graph_": graph_rule,
        "eigenvalues_": Numbers("c"),
        "eigenvectors_": Numbers("n c"),
        "kernel_means_": Numbers("n"),
        "kernel_mean_": number(),
        "gamma_": number(),
        "dual_coef_": Numbers("n d"),
    }
    _needed = ("eigenvalues_", "eigenvectors_", "kernel_means_", "kernel_mean_", "gamma_")

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
        remove_zero_eig: bool = False,
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

    def _memory(self, fit: Problem) -> float:
        graph_kernels = {"isomap": 3.0, "lle": 4.0, "diffusion": 5.0, "commute_time": 5.0}
        kernel = self.kernel if isinstance(self.kernel, str) else ""
        tiles = {"cosine": 2, "rbf": 4}.get(kernel, 0) * min(1.0, TILE * current().threads / fit.n)
        search = fit.search if kernel in graph_kernels else 0.0
        copies = (float(bool(self.copy_X)) + tiles) * fit.vectors + search
        return graph_kernels.get(kernel, 1.0) * fit.square + copies + fit.eigenvectors

    def _variants(self, state: dict[str, Any]) -> dict[str, Rule]:
        known = isinstance(self.kernel, str) and self.kernel in GRAPH_KERNELS
        return {"_fitted_kernel_state": STATE_RULES[self.kernel]} if known else {}

    def _needs(self, state: dict[str, Any]) -> set[str]:
        own = {"graph_", "_fitted_kernel_state"} if self._variants(state) else set()
        return super()._needs(state) | own

    def _unit_of(self, name: str) -> float:
        state = ("_fitted_kernel_state.geodesics", "_fitted_kernel_state.vectors")
        if name in ("kernel_params.radius", *state):
            return 1
        if name in ("kernel_params.t", "_fitted_kernel_state.t"):
            return 2
        if name == "dual_coef_":
            return -1 if self.kernel == "linear" else 1
        if self.kernel not in ("linear", "isomap"):
            return 0
        products = ("eigenvalues_", "kernel_means_", "kernel_mean_")
        return 1 if name == "embedding_" else 2 if name in products else 0

    @property
    def _follows_unit(self) -> bool:  # type: ignore[override]
        """Other kernels are functions of vectors in the user's unit."""
        return isinstance(self.kernel, str) and (
            self.kernel in ("linear", "cosine") or self._from_graph
        )

    def _fit(self, objects: Objects) -> None:
        self._check_parameters()
        K = self._kernel_matrix(objects)
        center = KernelCenter.from_kernel(K)
        self.kernel_means_, self.kernel_mean_ = center.means, center.mean
        n, k = objects.n, self.n_components
        eigenpairs = top_eigenpairs(
            centered_kernel(K),
            n if k is None else min(n, checks.integer(k, "n_components", 1)),
            solver=self._eigen_solver(),
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self.random_state,
        )
        del K
        values, vectors = positive_part(eigenpairs, k, drop_zeros=self.remove_zero_eig)
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
        if not self._from_graph:
            return kernel_matrix(self.X_fit_, self._kernel)
        kernel = graph_kernel(self.kernel, self.kernel_params)
        K = kernel.matrix(objects)
        self.graph_, self._fitted_kernel_state = kernel.graph_, kernel.state_
        return K

    def _transform(self, new: NewObjects) -> Array:
        if self._from_graph:
            eigenpairs = Eigenpairs(self.eigenvalues_, self.eigenvectors_)
            Y = self._graph_kernel().place(new, eigenpairs)
            return Y.astype(self.embedding_.dtype, copy=False)
        K = new.vectors()
        if hasattr(self, "X_fit_"):
            K = cross_kernel(K, self.X_fit_, self._kernel)
        centered = KernelCenter(self.kernel_means_, self.kernel_mean_).new_rows(K)
        return kernel_projection(centered, self.eigenvalues_, self.eigenvectors_)

    def _inverse(self, Y: Array) -> Any:
        Y = Y.astype(self.embedding_.dtype, copy=False)
        if self._from_graph:
            return super()._inverse(Y)
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

    @property
    def _from_graph(self) -> bool:
        """Whether the neighbour graph of the training objects defines the kernel."""
        return isinstance(self.kernel, str) and self.kernel in GRAPH_KERNELS

    def _graph_kernel(self) -> GraphKernel:
        """The graph kernel with what was fitted."""
        kernel = graph_kernel(self.kernel, self.kernel_params)
        kernel.graph_, kernel.state_ = self.graph_, self._fitted_kernel_state
        return kernel

    def _eigen_solver(self) -> str:
        if self._from_graph and self.eigen_solver == "auto":
            return GRAPH_KERNELS[self.kernel].eigen_solver
        return self.eigen_solver

    def _check_parameters(self) -> None:
        if not callable(self.kernel):
            checks.choice(self.kernel, "kernel", KERNELS)
        checks.choice(self.remove_zero_eig, "remove_zero_eig", (True, False))
        if self.fit_inverse_transform and is_precomputed(self.kernel):
            raise ValueError(
                f"Cannot {argument('fit_inverse_transform')} with a precomputed kernel."
            )
        if self.fit_inverse_transform and self._from_graph:
            raise ValueError(
                f"{argument('fit_inverse_transform', True)} needs a kernel that is a function of "
                f"two vectors, but {argument('kernel', self.kernel)} is defined by the training "
                f"objects alone. Set {argument('fit_inverse_transform', False)}: inverse_transform "
                "then interpolates."
            )

    def _objects(self, X: Any) -> Objects:
        if not is_precomputed(self.kernel):
            return super()._objects(X)
        objects = similarities_of(check_square(X), "kernel")
        self._check_features(objects.matrix, "euclidean", fitting=True)
        return objects

    def _new_objects(self, X: Any) -> NewObjects:
        if not is_precomputed(self.kernel):
            new = super()._new_objects(X)
            if not self._from_graph:
                return new
            known = self._in_unit.X_fit_
            return MeasuredNewObjects(new.vectors(), MeasuredObjects(known, euclidean()))
        K = checks.vectors(X)
        self._check_features(K, "euclidean", fitting=False)
        return NewDissimilarities(K)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags
