"""Curvilinear distance analysis (Lee, Lendasse and Verleysen 2004)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.estimator import Embedder, links, neighbors
from lowdim.estimator.fitted_state import Numbers, any_number, graph_rule
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.neighbor_graphs.geodesics import place_by_geodesics, shortest_path_lengths
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.spectral.starts import classical_start
from lowdim.stress.curvilinear.placement import place_among
from lowdim.stress.curvilinear.prototypes import choose_prototypes
from lowdim.stress.curvilinear.rule import apply_rule


class CurvilinearDistanceAnalysis(Embedder):
    """Curvilinear distance analysis: curvilinear component analysis of geodesic distances.

    k-NN -> geodesics -> curvilinear component analysis

    Isomap fits all geodesics alike, also those around a hole. This map keeps the short ones and
    gives way in the long ones.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    n_neighbors : int, default=None
        Number of neighbours of an object. If neither this nor radius is given, 10, or all others if
        there are fewer.
    $radius
    n_prototypes : int, default=None
        Map this many objects only and place the others by interpolation: for Euclidean vectors
        those nearest to the centres of k-means, otherwise objects far from each other.
    max_iter : int, default=50
        Number of epochs, in each of which every object is pinned once.
    alpha : tuple of float, default=(0.5, 0.01)
        First and last step size of the rule.
    lambda_range : tuple of float or "auto", default="auto"
        First and last width of the neighbourhood F on the map, in units of the distances; "auto"
        goes from 3 to 0.1 standard deviations of the start along its widest axis.
    neighborhood : {"exponential", "step"}, default="exponential"
        F: exp(-Y / lambda), or 1 up to lambda and 0 beyond. A step tears more easily.
    init : str or array of shape (n_samples, n_components), default="auto"
        Start: "auto", classical scaling of the geodesics as in Isomap; "random"; or given
        coordinates.
    path_method : {"auto", "D", "FW"}, default="auto"
        Shortest paths by a search from every object ("D", Dijkstra) or for all pairs together
        ("FW", Floyd and Warshall).
    $minkowski
    p : float, default=2
        Exponent of metric="minkowski".
    $metric_params
    $disconnected
    random_state : int, RandomState or None, default=None
        Seed of the order of the pins, of the prototypes and of init="random"; None stands for 0.
    $n_jobs
    callback : callable, default=None
        Called after every epoch with its error and map; a true return value stops.
    $verbose
    $checkpoint

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects.
    graph_ : NeighborGraph
        The neighbour graph.
    dist_matrix_ : array of shape (n_samples, n_samples) or (n_prototypes, n_samples)
        Geodesics between all objects, or from the prototypes to all objects.
    error_ : float
        sum_{i<j} F(Y_ij) (X_ij - Y_ij)^2 at the last lambda, for geodesics X_ij and distances Y_ij
        on the map.
    history_ : array of shape (n_iter,)
        The same during each epoch, at its own lambda.
    stress_ : float
        (sum (X - Y)^2 / sum X^2)^(1/2) over all pairs.
    prototypes_ : array of int
        Row numbers of the prototypes; with n_prototypes only.
    n_iter_ : int
        Number of epochs.

    See Also
    --------
    CurvilinearComponentAnalysis : the same for distances through the input space.
    Isomap : classical scaling of the geodesics.

    Notes
    -----
    Time is n^2 log n, and n^2 per epoch, and memory n^2. With m prototypes time is n m log n, and
    m^2 per epoch, and memory n m.

    `transform` measures geodesics through the neighbours of a new object and moves it by the same
    rule, with the map fixed. ``transform(X_train)`` equals `embedding_`.

    References
    ----------
    .. [1] J. A. Lee, A. Lendasse, M. Verleysen, "Nonlinear projection with curvilinear distances:
       Isomap versus curvilinear distance analysis", Neurocomputing 57, 2004.

    Examples
    --------
    The arc of a circle becomes a straight line.

    >>> import numpy as np
    >>> import lowdim
    >>> angles = np.linspace(0, np.pi, 40)
    >>> X = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> analysis = lowdim.CurvilinearDistanceAnalysis(1, n_neighbors=2, random_state=0).fit(X)
    >>> bool(analysis.stress_ < 1e-3)
    True
    """

    traits = Traits(
        sentence="k-NN -> geodesics -> curvilinear component analysis",
        keeps="short distances along the data's manifold",
        when="as curvilinear component analysis, on data that is strongly folded",
        cost="n^2 log n and n^2 per epoch, n^2 memory; n m log n and n m with m prototypes",
        extends="geodesics through a new point's neighbours, then the same rule; barycentric "
        "inverse",
        paper="Lee, Lendasse and Verleysen 2004",
        power=2.0,
        reduced_by="n_prototypes",
    )

    _attributes: ClassVar = {
        "graph_": graph_rule,
        "prototypes_": Numbers("m", "iu", 0, "n"),
        "stress_": any_number,
        "error_": any_number,
        "dist_matrix_": Numbers("m|n n", least=0),
    }
    _needed = (
        "graph_",
        "dist_matrix_",
    )

    fit = neighbors.fit_with_graph
    _n_wanted = neighbors.n_neighbors_or_default
    _default_neighbors = 10
    _units: ClassVar = {
        **dict.fromkeys(("embedding_", "dist_matrix_", "init", "radius", "lambda_range"), 1),
        **dict.fromkeys(("error_", "history_"), 2),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = None,
        radius: float | None = None,
        n_prototypes: int | None = None,
        max_iter: int = 50,
        alpha: tuple[float, float] = (0.5, 0.01),
        lambda_range: Any = "auto",
        neighborhood: str = "exponential",
        init: Any = "auto",
        path_method: str = "auto",
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        disconnected: str = "join",
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_prototypes = n_prototypes
        self.max_iter = max_iter
        self.alpha = alpha
        self.lambda_range = lambda_range
        self.neighborhood = neighborhood
        self.init = init
        self.path_method = path_method
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _memory(self, fit: Problem) -> float:
        m = fit.object_count("n_prototypes")
        return (fit.geodesics(0.75 * m, 50e6) if m else fit.square) + 60 * fit.arcs

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        k, chosen = self._check_n_components(objects.n), None
        self.graph_, parts = neighbors.connected_graph(self, objects, graph, k + 2)
        if parts:
            neighbors.fit_parts(self, objects, parts)
            return
        if self.n_prototypes is not None:
            chosen = choose_prototypes(objects, self.n_prototypes, k + 1, self.random_state)
            self.prototypes_ = chosen
        D = shortest_path_lengths(self.graph_.adjacency(), chosen, self.path_method)
        self.dist_matrix_ = D
        if chosen is not None:
            D = D[:, chosen]
            D = np.minimum(D, D.T, order="C")  # lengths of a path, summed from its two ends
        apply_rule(self, D, len(D), D.dtype, lambda: classical_start(D, k))
        if chosen is not None:
            self.embedding_ = _place(self.embedding_, self.dist_matrix_.T)

    def _transform(self, new: NewObjects) -> Array:
        if hasattr(self, "parts_"):
            return links.transform_parts(self, new)
        images, lengths = self.embedding_, self.dist_matrix_
        if hasattr(self, "prototypes_"):
            images, lengths = images[self.prototypes_], lengths.T
        out = np.empty((new.n, images.shape[1]), dtype=images.dtype)
        place = partial(_place, images)
        return place_by_geodesics(*links.new_neighbors(self, new), lengths, place, out)


def _place(images: Array, D: Array) -> Array:
    """Objects placed by the rule from their geodesics to the mapped ones."""
    return place_among(images, lambda k: backend().smallest(D, k))
