"""Isomap (Tenenbaum, de Silva and Langford 2000)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.base import GraphEmbedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.extend.geodesics import place_by_geodesics
from lowdim.extend.projection import gower_projection
from lowdim.matrices.gram import gram_operator, squared_means
from lowdim.relations.geodesics import shortest_path_lengths
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.landmarks import choose_landmarks
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.runtime.scheduling import blas_on_one_thread, blocks
from lowdim.solvers.majorize import smacof
from lowdim.solvers.scaling import Scaling, classical_scaling


class Isomap(GraphEmbedder):
    """Coordinates that keep distances measured along the data's manifold.

    k-NN -> geodesics -> classical (or stress) MDS

    Parameters
    ----------
    n_neighbors, radius : neighbours of a point: a number of them, or all within a distance.
    n_components : dimension of the map.
    eigen_solver : "auto", "dense" or "arpack".
    tol, max_iter : of the iterative eigensolver.
    path_method : "D" (searches from every object), "FW" (Floyd and Warshall) or "auto".
    neighbors_algorithm : kept for compatibility; the neighbours are always exact.
    n_jobs : threads; the result does not depend on it.
    metric, p, metric_params : how neighbours are measured; "precomputed" for dissimilarities, a
        sparse graph of distances, or a `NeighborGraph`.
    n_landmarks : geodesics from this many random objects only (de Silva and Tenenbaum 2004):
        memory n_samples * n_landmarks instead of n_samples^2.
    mds : "classical" scaling of the geodesics, or "stress": majorization of the raw stress,
        started from it.
    disconnected : a graph in several pieces: "join" them by their shortest bridges with a
        warning, embed only the "largest", embed them "separate" and side by side, or "raise".
    random_state : seed of the landmarks.
    callback : called after every iteration of mds="stress"; a true answer stops.
    verbose : show the progress of mds="stress".

    Attributes
    ----------
    embedding_, graph_, eigenvalues_
    dist_matrix_ : geodesics between all objects, or from the landmarks to all objects.
    negative_share_ : share of negative eigenvalues, which curved manifolds cause.
    landmarks_ : with n_landmarks. stress_, history_ : with mds="stress".

    `transform` measures geodesics through a new object's neighbours and applies Gower's formula
    (the paper's note 34): on the training objects it gives `embedding_` to rounding for
    mds="classical". Time n^2 log n and memory n^2, or n m log n and n m with m landmarks.
    """

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        n_components: int = 2,
        eigen_solver: str = "auto",
        tol: float = 0.0,
        max_iter: int | None = None,
        path_method: str = "auto",
        neighbors_algorithm: str = "auto",
        n_jobs: int | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        mds: str = "classical",
        disconnected: str = "join",
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks
        self.mds = mds
        self.disconnected = disconnected
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        checks.choice(self.mds, "mds", ("classical", "stress"))
        k = self._check_n_components(objects.n)
        sources = None
        if self.n_landmarks is not None:
            sources = choose_landmarks(objects.n, self.n_landmarks, k + 1, self.random_state)
            self.landmarks_ = sources
        self.dist_matrix_ = shortest_path_lengths(graph.adjacency(), sources, self.path_method)
        scaling = self._scaling(k)
        self.negative_share_ = scaling.negative_share
        self.eigenvalues_ = scaling.values.astype(self.dist_matrix_.dtype)
        self.eigenvectors_ = scaling.vectors
        self.mean_squares_ = squared_means(self._between_landmarks())
        self.embedding_ = (
            scaling.coordinates if sources is None else self._project(self.dist_matrix_.T)
        )
        if self.mds == "stress":
            self._reduce_stress()

    def _scaling(self, k: int) -> Scaling:
        """Classical scaling of the geodesics between the landmarks (or all objects)."""
        D = self._between_landmarks()
        return classical_scaling(
            gram_operator(D),
            k,
            trace=float(squared_means(D).mean()) / 2 * len(D),
            solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _reduce_stress(self) -> None:
        if self.n_landmarks is not None:
            raise ValueError("mds='stress' needs all geodesics: set n_landmarks=None.")
        monitor = self._monitor(self.max_iter or 300)
        found = smacof(self.dist_matrix_, self.embedding_, monitor)
        self.embedding_, self.stress_, self.history_ = found
        self.n_iter_ = len(found.history) - 1

    def _between_landmarks(self) -> Array:
        if self.n_landmarks is None:
            return self.dist_matrix_
        return np.ascontiguousarray(self.dist_matrix_[:, self.landmarks_])

    def _place(self, new: NewObjects) -> Array:
        lengths = self.dist_matrix_.T if self.n_landmarks is not None else self.dist_matrix_
        out = np.empty((new.n, len(self.eigenvalues_)), dtype=self.embedding_.dtype)
        return place_by_geodesics(*self._new_neighbors(new), lengths, self._project, out)

    def _project(self, D: Array) -> Array:
        means = self.mean_squares_.astype(D.dtype)
        return gower_projection(D**2, means, self.eigenvalues_, self.eigenvectors_)

    @property
    def nbrs_(self) -> NeighborGraph:
        """The neighbour graph, by scikit-learn's name."""
        return self.graph_

    def reconstruction_error(self) -> float:
        """|B - B_embedding| / n in the Frobenius norm, B the doubly centred geodesics."""
        D = self._between_landmarks()
        B = gram_operator(D)
        total = sum(
            float((B.matmat(np.eye(len(D), dtype=D.dtype)[:, part]) ** 2).sum())
            for part in blocks(len(D))
        )
        kept = float((self.eigenvalues_.astype(np.float64) ** 2).sum())
        return float(np.sqrt(max(total - kept, 0.0)) / len(D))

    def residual_variance(self, n_components: int = 10) -> Array:
        """1 - R^2 between geodesic and embedded distances for 1, 2, ... dimensions.

        The elbow of this curve is the intrinsic dimension (the paper's figure 2).
        """
        D = self._between_landmarks()
        k = min(n_components, len(D) - 1)
        with blas_on_one_thread():
            coordinates = self._scaling(k).coordinates.astype(np.float64)
        sums = np.zeros((k, 3))
        flat = np.zeros(2)
        for part in blocks(len(D)):
            geodesic = D[part].astype(np.float64)
            flat += geodesic.sum(), (geodesic**2).sum()
            squares = np.zeros_like(geodesic)
            for c in range(k):
                squares += (coordinates[part, c, None] - coordinates[None, :, c]) ** 2
                embedded = np.sqrt(squares)
                sums[c] += embedded.sum(), squares.sum(), (embedded * geodesic).sum()
        m = len(D) ** 2
        spread = sums[:, 1] / m - (sums[:, 0] / m) ** 2
        width = flat[1] / m - (flat[0] / m) ** 2
        joint = sums[:, 2] / m - sums[:, 0] * flat[0] / m**2
        return np.asarray(1 - joint**2 / np.maximum(spread * width, 1e-300))
