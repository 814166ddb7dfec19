"""Isomap (Tenenbaum, de Silva and Langford 2000)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters, neighbors
from lowdim.estimator.fitted_state import Numbers, any_number, graph_rule
from lowdim.estimator.links import new_neighbors
from lowdim.estimator.updating import Growth
from lowdim.messages import argument
from lowdim.neighbor_graphs.geodesics import place_by_geodesics, shortest_path_lengths
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.procrustes import rotation_to
from lowdim.objects.landmarks import choose_landmarks
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.scheduling import blas_on_one_thread, blocks
from lowdim.spectral.scaling import (
    Scaling,
    classical_scaling,
    gower_projection,
    gram_operator,
    squared_means,
)
from lowdim.stress.majorization import smacof_matrix


@declare_parameters
class Isomap(Iterative, Embedder):
    """Isomap: distances on the map fit distances along the data's manifold.

    k-NN -> geodesics -> classical (or stress) MDS

    Geodesics are the lengths of shortest paths through the neighbour graph.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours of an object. It must be None if radius is given; without radius, None
        stands for 10.
    $radius
    $n_components
    eigen_solver : {"auto", "dense", "arpack"}, default="auto"
        Solver of the eigenproblem.
    $tol
    max_iter : int, default=None
        Largest number of iterations of the eigensolver, or of mds="stress" (300 by default).
    $path_method
    $neighbors_algorithm
    $n_jobs
    $minkowski
    n_landmarks : int, default=None
        Compute geodesics from this many random objects only [2]_: memory n_samples * n_landmarks
        instead of n_samples^2.
    mds : {"classical", "stress"}, default="classical"
        Classical scaling of the geodesics, or majorization of their raw stress, started from it.
    $disconnected
    random_state : int, RandomState or None, default=None
        Seed of the landmarks.
    callback : callable, default=None
        Called after every iteration of mds="stress"; a true return value stops.
    verbose : int, default=0
        Whether to show a progress bar for mds="stress".
    $checkpoint

    Attributes
    ----------
    $embedding
    $graph
    dist_matrix_ : array of shape (n_samples, n_samples) or (n_landmarks, n_samples)
        Geodesics between all objects, or from the landmarks to all objects.
    eigenvalues_ : array of shape (n_components,)
        The largest eigenvalues of the doubly centred squared geodesics.
    negative_share_ : float
        Share of the negative eigenvalues, which curved manifolds cause.
    landmarks_ : array of int
        Row numbers of the landmarks; with n_landmarks only.
    stress_ : float
        Raw stress; with mds="stress" only.
    history_ : array
        Raw stress at the start and after each iteration; with mds="stress" only.

    See Also
    --------
    CurvilinearDistanceAnalysis : keeps short geodesics rather than long ones.
    geodesics : the distances alone.

    Notes
    -----
    Time is n^2 log n and memory n^2, or n m log n and n m with m landmarks.

    `transform` measures geodesics through the neighbours of a new object and applies Gower's
    formula (note 34 of [1]_). ``transform(X_train)`` equals `embedding_` to rounding for
    mds="classical".

    References
    ----------
    .. [1] J. B. Tenenbaum, V. de Silva, J. C. Langford, "A global geometric framework for nonlinear
       dimensionality reduction", Science 290, 2000.
    .. [2] V. de Silva, J. B. Tenenbaum, "Sparse multidimensional scaling using landmark points",
       Stanford University, 2004.

    Examples
    --------
    The arc of a circle becomes a line of almost the same length.

    >>> import numpy as np
    >>> import lowdim
    >>> angles = np.linspace(0, np.pi, 40)
    >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> Y = lowdim.Isomap(n_neighbors=2, n_components=1).fit_transform(X)
    >>> float(np.ptp(Y).round(2))
    3.14
    """

    traits = Traits(
        keeps="geodesic distances along the data's manifold",
        when="the data lies on one curved sheet without holes, evenly sampled",
        cost="n^2 log n time, n^2 memory; n m log n and n m with m landmarks",
        extends="geodesics through a new point's neighbours, Gower's formula; barycentric inverse",
        paper="Tenenbaum, de Silva and Langford 2000",
        power=2.2,
        reduced_by="n_landmarks",
        suggested=True,
        grows=True,
    )

    _reads_blocks = True
    _attributes: ClassVar = {
        "graph_": graph_rule,
        "landmarks_": Numbers("m", "iu", 0, "n"),
        "dist_matrix_": Numbers("m|n n", least=0),
        "eigenvalues_": Numbers("c"),
        "eigenvectors_": Numbers("m|n c"),
        "mean_squares_": Numbers("m|n"),
        "negative_share_": any_number,
        "stress_": any_number,
        "_fitted_rotation": Numbers("c c"),
    }
    _needed = ("graph_", "dist_matrix_", "eigenvalues_", "eigenvectors_", "mean_squares_")

    fit = neighbors.fit_with_graph
    _n_wanted = neighbors.n_neighbors_or_default
    _default_neighbors = 10

    _units: ClassVar = {
        **dict.fromkeys(("embedding_", "dist_matrix_", "radius"), 1),
        **dict.fromkeys(("eigenvalues_", "mean_squares_", "stress_", "history_"), 2),
    }

    _: KW_ONLY
    n_neighbors: int | None = 5
    radius: float | None = None
    n_components: int = 2
    eigen_solver: str = "auto"
    tol: float = 0.0
    max_iter: int | None = None
    path_method: str = "auto"
    neighbors_algorithm: str = "auto"
    metric: Any = "minkowski"
    p: float = 2
    metric_params: dict[str, Any] | None = None
    n_landmarks: int | None = None
    mds: str = "classical"
    disconnected: str = "join"

    def _memory(self, fit: Problem) -> float:
        m = fit.object_count("n_landmarks")
        paths = fit.geodesics(1.6 * m, 30e6) if m else fit.square + fit.scaling
        return fit.with_search(paths + 60 * fit.arcs)

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        checks.choice(self.mds, "mds", ("classical", "stress"))
        if self.mds == "stress" and self.n_landmarks is not None:
            raise ValueError(
                f"{argument('mds', 'stress')} needs all geodesics: set "
                f"{argument('n_landmarks', None)}."
            )
        k = self._check_n_components(objects.n)
        if not neighbors.connect(self, objects, graph, k + 2):
            return
        sources = None
        if self.n_landmarks is not None:
            if not hasattr(self, "landmarks_"):  # those of an update are the old ones
                self.landmarks_ = choose_landmarks(
                    objects.n, self.n_landmarks, k + 1, self.random_state
                )
            sources = self.landmarks_
        D = shortest_path_lengths(self.graph_.adjacency(), sources, self.path_method)
        self.dist_matrix_ = D
        scaling = self._scaling(k)
        self.negative_share_ = scaling.negative_share
        self.eigenvalues_ = scaling.values.astype(D.dtype)
        self.eigenvectors_ = scaling.vectors
        self.mean_squares_ = squared_means(self._between_landmarks())
        self.embedding_ = scaling.coordinates if sources is None else self._project(D.T)
        if self.mds == "stress":
            solution = smacof_matrix(D, self.embedding_, self._monitor(self.max_iter or 300))
            self.embedding_, self.stress_, self.history_ = solution
            self.n_iter_ = len(solution.history) - 1

    def _scaling(self, k: int) -> Scaling:
        """Classical scaling of the geodesics between the landmarks (or all objects)."""
        return classical_scaling(
            self._between_landmarks(),
            k,
            solver=self.eigen_solver,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _between_landmarks(self) -> Array:
        if not hasattr(self, "landmarks_"):
            return self.dist_matrix_
        return np.ascontiguousarray(self.dist_matrix_[:, self.landmarks_])

    def _update(self, new: NewObjects) -> Growth:
        """Embed the graph that the new objects have joined, and turn the map to the old one."""
        old = self.embedding_
        self.__dict__.pop("_fitted_rotation", None)
        graph = neighbors.refit(self, new)
        if not hasattr(self, "parts_"):
            self._fitted_rotation = rotation_to(old, self.embedding_[: len(old)])
            self.embedding_ = self.embedding_ @ self._fitted_rotation
        # Landmarks are chosen among the old objects, so that a fit to all might give another map.
        return Growth(graph if hasattr(self, "landmarks_") else None)

    def _transform(self, new: NewObjects) -> Array:
        lengths = self.dist_matrix_.T if hasattr(self, "landmarks_") else self.dist_matrix_
        out = np.empty((new.n, len(self.eigenvalues_)), dtype=self.embedding_.dtype)
        return place_by_geodesics(*new_neighbors(self, new), lengths, self._project, out)

    def _project(self, D: Array) -> Array:
        means = self.mean_squares_.astype(D.dtype)
        Y = gower_projection(D**2, means, self.eigenvalues_, self.eigenvectors_)
        return Y @ self._fitted_rotation if hasattr(self, "_fitted_rotation") else Y

    @property
    def nbrs_(self) -> NeighborGraph:
        """The neighbour graph, by scikit-learn's name."""
        graph: NeighborGraph = self.graph_
        return graph

    def reconstruction_error(self) -> float:
        """The error of the Gram matrix of the map, as in scikit-learn.

        Returns
        -------
        float
            `|B - B_map| / n` in the Frobenius norm, with B the doubly centred squared geodesics.
        """
        D = self._between_landmarks()
        B = gram_operator(D)
        total = 0.0
        for part in blocks(len(D)):  # columns of B
            unit = np.eye(len(D), part.stop - part.start, -part.start, dtype=D.dtype)
            total += float((B.matmat(unit) ** 2).sum())
        kept = float((self.eigenvalues_.astype(np.float64) ** 2).sum())
        return float(np.sqrt(max(total - kept, 0.0)) / len(D))

    def residual_variance(self, n_components: int = 10) -> Array:
        """The residual variance of maps of 1, 2, ... dimensions.

        The elbow of this curve is the intrinsic dimension (figure 2 of the paper).

        Parameters
        ----------
        n_components : int, default=10
            Largest number of dimensions.

        Returns
        -------
        array of shape (n_components,)
            1 - R^2 between geodesics and distances on the map.
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
