"""Diffusion maps (Coifman and Lafon 2006)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, eye_array

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, Problem, Traits, declare_parameters, links, neighbors
from lowdim.estimator.fitted_state import Numbers, graph_rule, number
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.eigenpairs import bottom_eigenpairs
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.spectral.laplacian import degrees, edge_weights, heat_width, laplacian, weight_matrix


@declare_parameters
class DiffusionMap(Embedder):
    """Diffusion map: distances on the map are diffusion distances.

    graph -> heat weights, density removed -> top eigenvectors of the random walk

    The diffusion distance of two objects is small if a random walk of the given number of steps
    reaches the same objects from both.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=None
        Number of neighbours of an object; 30 if neither this nor radius is given.
    $radius
    t : float, default=None
        Width of the heat kernel exp(-d^2 / t); None: the mean squared length of the edges.
    alpha : float, default=1.0
        How much of the sampling density to remove: 0, nothing; 1, all, so that the geometry alone
        counts.
    time : float, default=1.0
        Number of steps of the random walk; coordinate j is lambda_j^time psi_j.
    eigen_solver : str, default="auto"
        "auto", "dense", "arpack", "shift-invert" or "lobpcg".
    tol : float, default=1e-10
        Accuracy of the iterative eigensolver.
    $graph_metric
    $disconnected
    $eigensolver

    Attributes
    ----------
    $embedding
    $graph
    eigenvalues_ : array of shape (n_components,)
        Eigenvalues of the random walk, descending, without the trivial 1.
    affinity_matrix_ : CSR matrix of shape (n_samples, n_samples)
        The symmetric weights with the density removed.
    density_ : array of shape (n_samples,)
        What the weights were divided by: the sum of the weights of each object, to the power
        alpha.
    t_ : float
        The width of the heat kernel.

    See Also
    --------
    LaplacianEigenmaps : keeps the density of the sample and does not scale the coordinates.

    Notes
    -----
    Time and memory are n k for k neighbours, and a sparse eigenproblem. Each object is its own
    neighbour with weight 1, as in [1]_.

    `transform` is Nystroem's formula over the training objects that the rule of the graph links to
    a new object. ``transform(X_train)`` equals `embedding_` to the accuracy of the eigensolver.

    References
    ----------
    .. [1] R. R. Coifman, S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis
       21, 2006.

    Examples
    --------
    Points of a circle, unevenly spaced, are mapped to a circle.

    >>> import numpy as np
    >>> import lowdim
    >>> angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> angles += 0.3 * np.sin(angles)
    >>> X = np.column_stack([np.cos(angles), np.sin(angles), np.cos(2 * angles)])
    >>> Y = lowdim.DiffusionMap(n_neighbors=4, t=0.2).fit_transform(X)
    >>> radii = np.linalg.norm(Y, axis=1)
    >>> bool(np.ptp(radii) < 0.1 * radii.mean())
    True
    """

    traits = Traits(
        keeps="diffusion distances: how easily a random walk joins two points",
        when="data along branches or trajectories, unevenly sampled or noisy",
        cost="n k and a sparse eigenproblem",
        extends="Nystroem's formula; barycentric inverse",
        paper="Coifman and Lafon 2006",
        power=1.6,
        scales_axes=True,
    )

    _reads_blocks = True
    _attributes: ClassVar = {
        "graph_": graph_rule,
        "affinity_matrix_": Numbers("n n", least=0, sparse=None),
        "density_": Numbers("n", positive=True),
        "eigenvalues_": Numbers("c"),
        "t_": number(0),
    }
    _needed = ("graph_", "affinity_matrix_", "density_", "eigenvalues_", "t_")

    fit = neighbors.fit_with_graph
    _n_wanted = neighbors.n_neighbors_or_default
    _default_neighbors = 30

    _units: ClassVar = {"embedding_": 0, "radius": 1, "t": 2, "t_": 2}

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int | None = None
    radius: float | None = None
    t: float | None = None
    alpha: float = 1.0
    time: float = 1.0
    eigen_solver: str = "auto"
    tol: float = 1e-10
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    disconnected: str = "join"
    random_state: Any = None
    n_jobs: int | None = None

    def _memory(self, fit: Problem) -> float:
        return fit.with_search(116 * fit.arcs + fit.eigenvectors)

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        n = objects.n
        k = self._check_n_components(n)
        alpha = checks.real(self.alpha, "alpha", 0, 1)
        time = checks.real(self.time, "time", 0)
        if not neighbors.connect(self, objects, graph, k + 2):
            return
        edges = self.graph_.adjacency()
        self.t_ = heat_width(self.t, edges)
        kernel = weight_matrix(edges, "heat", self.t_).astype(np.float64)
        kernel = csr_array(kernel + eye_array(n, format="csr"))
        self.density_ = degrees(kernel) ** alpha
        owners = np.repeat(np.arange(n), np.diff(kernel.indptr))
        kernel.data /= self.density_[owners] * self.density_[kernel.indices]
        mass = degrees(kernel)
        eigenpairs = bottom_eigenpairs(
            laplacian(kernel),
            k,
            B=mass,
            null=np.ones(n),
            solver=self.eigen_solver,
            tol=self.tol,
            seed=self.random_state,
        )
        self.affinity_matrix_ = kernel
        self.eigenvalues_ = 1 - eigenpairs.values
        psi = eigenpairs.vectors * np.sqrt(mass.sum())  # the trivial eigenvector is 1
        decay = np.abs(self.eigenvalues_) ** time
        self.embedding_ = (psi * decay).astype(edges.dtype, copy=False)

    def _transform(self, new: NewObjects) -> Array:
        """lambda psi(x) = sum_j p(x, j) psi_j, over the new object's neighbours."""
        nearest, distances = links.new_links(self, new, itself=True)
        w = edge_weights(distances, "heat", self.t_).astype(np.float64) / self.density_[nearest]
        w /= np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
        mean = np.einsum("mk,mkd->md", w, self.embedding_[nearest].astype(np.float64))
        used = np.where(np.abs(self.eigenvalues_) > 1e-12, self.eigenvalues_, 1)
        return np.asarray(mean / used).astype(self.embedding_.dtype, copy=False)
