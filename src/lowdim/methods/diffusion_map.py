"""Diffusion maps (Coifman and Lafon 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.base import GraphEmbedder
from lowdim.checks import Array
from lowdim.matrices.laplacian import degrees, edge_weights, heat_width, laplacian, weighted
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.solvers.spectral import bottom_eigenpairs


class DiffusionMap(GraphEmbedder):
    """Coordinates whose distances tell how easily a random walk joins two points.

    graph -> heat weights, density removed -> top eigenvectors of the random walk

    Parameters
    ----------
    n_components : dimension of the map.
    n_neighbors, radius : neighbours of a point: a number of them, or all within a distance;
        neither: 30 neighbours.
    t : width of the heat kernel exp(-d^2 / t); None: the mean squared distance between
        neighbours.
    alpha : how much of the sampling density to remove: 0 none, 1 all (the geometry alone).
    time : number of steps of the walk; coordinate j is lambda_j^time psi_j.
    eigen_solver, tol : see LaplacianEigenmaps.
    metric, metric_params : how neighbours are measured; also "precomputed".
    disconnected : "join", "largest", "separate" or "raise"; see Isomap.
    random_state : start of the iterative eigensolver.
    n_jobs : threads; the result does not depend on it.

    Attributes
    ----------
    embedding_, graph_, affinity_matrix_, t_
    eigenvalues_ : of the random walk, descending, the trivial 1 left out.

    `transform` is Nystroem's formula over the training objects that the rule of the graph links to
    a new object, and gives `embedding_` on the training objects. Each point is its own neighbour
    with weight 1, as in the paper. Time and memory n k and a sparse eigenproblem.
    """

    _default_neighbors = 30

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        t: float | None = None,
        alpha: float = 1.0,
        time: float = 1.0,
        eigen_solver: str = "auto",
        tol: float = 1e-10,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        disconnected: str = "join",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.t = t
        self.alpha = alpha
        self.time = time
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.metric = metric
        self.metric_params = metric_params
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        from scipy.sparse import csr_array, eye_array

        n = graph.n_objects
        k = self._check_n_components(n)
        alpha = checks.real(self.alpha, "alpha", 0, 1)
        time = checks.real(self.time, "time", 0)
        edges = graph.adjacency()
        self.t_ = heat_width(self.t, edges)
        kernel = weighted(edges, "heat", self.t_).astype(np.float64)
        kernel = csr_array(kernel + eye_array(n, format="csr"))
        self.density_ = degrees(kernel) ** alpha
        owners = np.repeat(np.arange(n), np.diff(kernel.indptr))
        kernel.data /= self.density_[owners] * self.density_[kernel.indices]
        mass = degrees(kernel)
        found = bottom_eigenpairs(
            laplacian(kernel),
            k,
            B=mass,
            null=np.ones(n),
            solver=self.eigen_solver,
            tol=self.tol,
            seed=self.random_state,
        )
        self.affinity_matrix_ = kernel
        self.eigenvalues_ = 1 - found.values
        psi = found.vectors * np.sqrt(mass.sum())  # the trivial eigenvector is 1
        self.embedding_ = (psi * self._decay(time)).astype(edges.dtype, copy=False)

    def _decay(self, time: float) -> Array:
        return np.asarray(np.abs(self.eigenvalues_) ** time)

    def _place(self, new: NewObjects) -> Array:
        """lambda psi(x) = sum_j p(x, j) psi_j, over the new object's neighbours."""
        nearest, distances = self._new_links(new, itself=True)
        w = edge_weights(distances, "heat", self.t_).astype(np.float64) / self.density_[nearest]
        w /= np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
        mean = np.einsum("mk,mkd->md", w, self.embedding_[nearest].astype(np.float64))
        used = np.where(np.abs(self.eigenvalues_) > 1e-12, self.eigenvalues_, 1)
        return np.asarray(mean / used).astype(self.embedding_.dtype, copy=False)
