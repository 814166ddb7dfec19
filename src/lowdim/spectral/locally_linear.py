"""Locally linear embedding and its kin (Roweis and Saul 2000)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, Problem, Traits, declare_parameters, neighbors
from lowdim.estimator.barycentric import barycentric_map
from lowdim.estimator.fitted_state import any_number, graph_rule
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.eigenpairs import bottom_eigenpairs
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.spectral import reconstruction

METHODS = ("standard", "modified", "hessian", "ltsa")


@declare_parameters
class LocallyLinearEmbedding(Embedder):
    """Locally linear embedding: objects are reconstructed from neighbours as in the input space.

    k-NN -> reconstruction / alignment matrix -> bottom eigenvectors

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours of an object.
    $n_components
    reg : float, default=1e-3
        Ridge of the local Gram matrices, as a share of their trace; for method="standard".
    eigen_solver : {"auto", "dense", "arpack", "lobpcg"}, default="auto"
        Solver of the eigenproblem; "arpack" is Lanczos, on the inverse of a matrix that can be
        factored cheaply.
    tol : float, default=1e-6
        Accuracy of the iterative eigensolver.
    max_iter : int, default=100
        Ignored; accepted for compatibility with scikit-learn. The solver iterates to convergence.
    method : {"standard", "modified", "hessian", "ltsa"}, default="standard"
        Locally linear embedding [1]_, modified LLE [2]_, Hessian LLE [3]_ or local tangent space
        alignment [4]_.
    hessian_tol : float, default=1e-4
        Column sums below this count as zero; for method="hessian".
    modified_tol : float, default=1e-12
        Reflections shorter than this count as zero; for method="modified".
    $neighbors_algorithm
    $eigensolver
    metric : str or callable, default="euclidean"
        Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or
        "precomputed": X is a matrix of dissimilarities, which also give the local Gram matrices.
    $metric_params
    $disconnected

    Attributes
    ----------
    $embedding
    $graph
    reconstruction_error_ : float
        Sum of the eigenvalues that belong to the coordinates.

    See Also
    --------

    Notes
    -----
    Time is n k^3 for k neighbours, and a sparse eigenproblem; memory n k^2.

    `transform` computes the weights that reconstruct a new object from its neighbours and applies
    them to their coordinates [5]_. ``transform(X_train)`` equals `embedding_` up to the ridge.

    References
    ----------
    .. [1] S. T. Roweis, L. K. Saul, "Nonlinear dimensionality reduction by locally linear
       embedding", Science 290, 2000.
    .. [2] Z. Zhang, J. Wang, "MLLE: modified locally linear embedding using multiple weights",
       NIPS, 2007.
    .. [3] D. L. Donoho, C. Grimes, "Hessian eigenmaps: locally linear embedding techniques for
       high-dimensional data", PNAS 100, 2003.
    .. [4] Z. Zhang, H. Zha, "Principal manifolds and nonlinear dimensionality reduction via tangent
       space alignment", SIAM Journal on Scientific Computing 26, 2004.
    .. [5] L. K. Saul, S. T. Roweis, "Think globally, fit locally: unsupervised learning of low
       dimensional manifolds", Journal of Machine Learning Research 4, 2003.

    Examples
    --------
    The order of points on a spiral is recovered.

    >>> import numpy as np
    >>> import lowdim
    >>> t = np.linspace(1, 3, 60)
    >>> X = np.column_stack([t * np.cos(3 * t), t * np.sin(3 * t)])
    >>> Y = lowdim.LocallyLinearEmbedding(n_neighbors=4, n_components=1).fit_transform(X)
    >>> bool(abs(np.sign(np.diff(Y[:, 0])).sum()) == 59)
    True
    """

    traits = Traits(
        keeps="how each point is made of its neighbours",
        when="as Isomap, for more points; method=modified or ltsa where the map collapses",
        cost="n k^3 and a sparse eigenproblem",
        extends="barycentric weights both ways",
        paper="Roweis and Saul 2000; modified: Zhang and Wang 2007; Hessian: Donoho and Grimes "
        "2003; LTSA: Zhang and Zha 2004",
        power=1.8,
        scales_axes=True,
    )

    _attributes: ClassVar = {"graph_": graph_rule, "reconstruction_error_": any_number}
    _needed = ("graph_",)
    _units: ClassVar = {"embedding_": 0}

    fit = neighbors.fit_with_graph
    _n_wanted = neighbors.n_neighbors_or_default
    _default_neighbors = 10
    radius = None

    _: KW_ONLY
    n_neighbors: int = 5
    n_components: int = 2
    reg: float = 1e-3
    eigen_solver: str = "auto"
    tol: float = 1e-6
    max_iter: int = 100
    method: str = "standard"
    hessian_tol: float = 1e-4
    modified_tol: float = 1e-12
    neighbors_algorithm: str = "auto"
    random_state: Any = None
    n_jobs: int | None = None
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    disconnected: str = "join"

    def _memory(self, fit: Problem) -> float:
        k = fit.arcs / fit.n
        copies = 1.5 if fit.is_set("method", "standard") else 3.6
        matrix = copies * fit.arcs * k * 8 + 60 * fit.arcs
        return fit.with_search(matrix + fit.bottom_eigenvectors)

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        dim = self._check_n_components(objects.n)
        if not neighbors.connect(self, objects, graph, dim + 2):
            return
        eigenpairs = bottom_eigenpairs(
            self._matrix(objects, self.graph_, dim),
            dim,
            null=np.ones(objects.n),
            solver="auto" if self.eigen_solver == "arpack" else self.eigen_solver,
            tol=checks.real(self.tol, "tol", 0) * 1e-3,
            max_iter=None,
            seed=self.random_state,
        )
        self.embedding_ = eigenpairs.vectors.astype(objects.dtype, copy=False)
        self.reconstruction_error_ = float(eigenpairs.values.sum())

    def _matrix(self, objects: Objects, graph: NeighborGraph, dim: int) -> Any:
        """The sparse M whose bottom eigenvectors are the coordinates."""
        checks.choice(self.method, "method", METHODS)
        if not objects.complete:
            raise ValueError(
                "X: a graph holds no distances between the neighbours of an object, which locally "
                "linear embedding needs. Give all dissimilarities, or vectors and fit(X, graph=)."
            )
        neighbors = graph.neighbor_lists()
        k, components = neighbors.shape[1], argument("n_components")
        least, bound = {
            "standard": (1, ""),
            "modified": (dim, f">= {components}"),
            "hessian": (dim * (dim + 3) // 2 + 1, f"> {components} * ({components} + 3) / 2"),
            "ltsa": (dim + 1, f"> {components}"),
        }[self.method]
        if k < least:
            raise ValueError(
                f"{argument('method', self.method)} needs {argument('n_neighbors')} {bound}: at "
                f"least {least}, got {k}."
            )
        grams = reconstruction.gram_blocks(objects, neighbors, "locally linear embedding")
        if self.method == "standard":
            reg = checks.real(self.reg, "reg", 0)
            return reconstruction.standard_matrix(grams, neighbors, reg)
        if self.method == "modified":
            return reconstruction.modified_matrix(grams, neighbors, dim, self.modified_tol)
        if self.method == "hessian":
            return reconstruction.hessian_matrix(grams, neighbors, dim, self.hessian_tol)
        return reconstruction.alignment_matrix(grams, neighbors, dim)

    def _transform(self, new: NewObjects) -> Array:
        if not hasattr(self, "X_fit_") or self.X_fit_.ndim != 2:
            raise ValueError(
                "transform needs vectors: the weights of a new object depend on the distances "
                "between its neighbours as vectors. Fit on vectors, or use Isomap."
            )
        k = self.graph_.n_neighbors
        assert k is not None  # the matrix of the fit needs lists of one length
        return barycentric_map(
            self.X_fit_,
            self.embedding_,
            new.vectors(),
            k,
            metric=self._training_objects.metric,
            reg=self.reg,
        )
