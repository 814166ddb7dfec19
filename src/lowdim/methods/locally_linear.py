"""Locally linear embedding and its kin (Roweis and Saul 2000)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.base import GraphEmbedder
from lowdim.checks import Array
from lowdim.extend.barycentric import barycentric_map
from lowdim.matrices import reconstruction
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.solvers.spectral import bottom_eigenpairs

METHODS = ("standard", "modified", "hessian", "ltsa")


class LocallyLinearEmbedding(GraphEmbedder):
    """Coordinates in which every point is made of its neighbours as in the input space.

    k-NN -> reconstruction / alignment matrix -> bottom eigenvectors

    Parameters
    ----------
    n_neighbors : number of neighbours of a point.
    n_components : dimension of the map.
    reg : ridge of the local Gram matrices, as a share of their trace (standard).
    eigen_solver : "auto", "dense", "arpack" (Lanczos, on the inverse where the matrix factors
        cheaply) or "lobpcg".
    tol, max_iter : of the iterative eigensolver.
    method : "standard" (Roweis and Saul 2000), "modified" (Zhang and Wang 2007), "hessian"
        (Donoho and Grimes 2003) or "ltsa" (Zhang and Zha 2004).
    hessian_tol, modified_tol : below these a column sum or a reflection counts as zero.
    neighbors_algorithm : kept for compatibility; the neighbours are always exact.
    random_state : start of the iterative eigensolver.
    n_jobs : threads; the result does not depend on it.
    metric, metric_params : how neighbours are measured; "precomputed" for dissimilarities, from
        which the local Gram matrices are taken as well.
    disconnected : "join", "largest", "separate" or "raise"; see Isomap.

    Attributes
    ----------
    embedding_, graph_
    reconstruction_error_ : the sum of the eigenvalues that belong to the coordinates.

    `transform` rebuilds a new point from its neighbours and applies the weights to their
    coordinates (Saul and Roweis 2003); on training points it gives `embedding_` up to the ridge.
    Time n k^3 and a sparse eigenproblem; memory n k^2.
    """

    radius = None

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_components: int = 2,
        reg: float = 1e-3,
        eigen_solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        method: str = "standard",
        hessian_tol: float = 1e-4,
        modified_tol: float = 1e-12,
        neighbors_algorithm: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        disconnected: str = "join",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.hessian_tol = hessian_tol
        self.modified_tol = modified_tol
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.metric = metric
        self.metric_params = metric_params
        self.disconnected = disconnected

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        n = graph.n_objects
        dim = self._check_n_components(n)
        M = self._matrix(objects, graph, dim)
        found = bottom_eigenpairs(
            M,
            dim,
            null=np.ones(n),
            solver="auto" if self.eigen_solver == "arpack" else self.eigen_solver,
            tol=self.tol * 1e-3,
            max_iter=None,
            seed=self.random_state,
        )
        self.embedding_ = found.vectors.astype(objects.dtype, copy=False)
        self.reconstruction_error_ = float(found.values.sum())

    def _matrix(self, objects: Objects, graph: NeighborGraph, dim: int) -> Any:
        """The sparse M whose bottom eigenvectors are the coordinates."""
        checks.choice(self.method, "method", METHODS)
        if not objects.complete:
            raise ValueError(
                "X: a graph holds no distances between the neighbours of an object, which locally "
                "linear embedding needs. Give all dissimilarities, or vectors and fit(X, graph=)."
            )
        neighbors = graph.neighbor_lists()
        k = neighbors.shape[1]
        grams = reconstruction.gram_blocks(objects, neighbors, "locally linear embedding")
        if self.method == "standard":
            reg = checks.real(self.reg, "reg", 0)
            return reconstruction.standard_matrix(grams, neighbors, reg)
        if self.method == "modified":
            if k < dim:
                raise ValueError(
                    f"method='modified' needs n_neighbors >= n_components, got {k} < {dim}."
                )
            tol = self.modified_tol
            return reconstruction.modified_matrix(grams, neighbors, dim, tol)
        if self.method == "hessian":
            least = dim * (dim + 3) // 2 + 1
            if k < least:
                raise ValueError(
                    f"method='hessian' needs n_neighbors > n_components * (n_components + 3) / 2: "
                    f"at least {least}, got {k}."
                )
            tol = self.hessian_tol
            return reconstruction.hessian_matrix(grams, neighbors, dim, tol)
        if k <= dim:
            raise ValueError(f"method='ltsa' needs n_neighbors > n_components, got {k} <= {dim}.")
        return reconstruction.alignment_matrix(grams, neighbors, dim)

    def _place(self, new: NewObjects) -> Array:
        if not hasattr(self, "X_fit_") or self.X_fit_.ndim != 2:
            raise ValueError(
                "transform needs vectors: the weights of a new object depend on the distances "
                "between its neighbours as vectors. Fit on vectors, or use Isomap."
            )
        return barycentric_map(
            self.X_fit_,
            self.embedding_,
            new.vectors(),
            self.n_neighbors,
            metric=self._training.metric,
            reg=self.reg,
        )
