"""Maximum variance unfolding, or semidefinite embedding (Weinberger and Saul 2004, 2006)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, links, neighbors
from lowdim.estimator.fitted_state import Numbers, any_number, graph_rule
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.operators import claim_factors
from lowdim.objects.landmarks import choose_landmarks
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.spectral.maximum_variance.common_neighbors import with_common_neighbors
from lowdim.spectral.maximum_variance.edge_lengths import Lengths, lengths_of
from lowdim.spectral.maximum_variance.factorized import factorizes
from lowdim.spectral.maximum_variance.graph_functions import landmark_functions, smooth_functions
from lowdim.spectral.maximum_variance.unfolding import (
    Programme,
    Unfolding,
    length_error,
    principal_coordinates,
    refined_coordinates,
    unfold_exactly,
    unfold_in_span,
    unfold_pair,
)
from lowdim.stress.curvilinear.placement import place_by_curvilinear_rule

CONSTRAINTS = ("equality", "inequality")
SOLVERS = ("auto", "interior-point", "factorized")
LONG_EDGES = 8000  # edges from which the interior-point method takes an hour or more
CLAIMED_FROM = 8000  # objects from which the memory of the factorised programme is estimated
SAMPLES = (500, 2000)  # objects of the samples for the estimate
EXACT_EDGES = 2000  # edges up to which solver="auto" is the interior-point method


class MaximumVarianceUnfolding(Embedder):
    """Maximum variance unfolding: the widest map that keeps the distances to neighbours.

    k-NN -> SDP(max trace, local isometry) -> top eigenvectors

    The Gram matrix K of the map has the largest trace, that is the largest variance, among the
    positive semidefinite matrices that keep the distances between neighbours.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    n_neighbors : int, default=5
        Number of neighbours of an object; None if radius is given. With few neighbours the graph
        can unfold, with many it becomes rigid.
    $radius
    constraint : {"equality", "inequality"}, default="equality"
        "equality" keeps the distances between neighbours; "inequality" permits them to shrink.
    slack : float, default=1e-4
        Mean relative error of the squared distances that is permitted. With 0 they are kept
        exactly, which may be impossible for noisy or non-Euclidean dissimilarities and leaves no
        freedom in a rigid graph.
    common_neighbors : bool, default=False
        Whether to keep the distances between neighbours of a common object, too (the angles).
    solver : {"auto", "interior-point", "factorized"}, default="auto"
        "interior-point" solves for all of K, n x n. "factorized" solves for K = Q L Q' in the span
        of few functions Q on the graph [3]_, then refines the coordinates. "auto" is the first for
        up to 2000 edges without landmarks.
    n_functions : int, default=10
        Number of functions Q, which are the smoothest ones on the graph.
    n_landmarks : int, default=None
        Take as Q the weights that reconstruct each object from this many random ones, through the
        locally linear weights of the neighbours [2]_. 20 to 60 are enough; time grows with the
        sixth power. Not for solver="interior-point".
    tol : float, default=1e-7
        Relative accuracy of the trace at which the solvers stop.
    max_iter : int, default=200
        Largest number of iterations of the interior-point method or of the refinement.
    $graph_metric
    $metric_params
    disconnected : {"join", "largest", "separate", "raise"}, default="join"
        What to do with a graph of several components, which could be moved apart without limit:
        "join" them by their shortest bridges with a warning, embed only the "largest", embed them
        "separate" and side by side, or "raise" an error.
    random_state : int, RandomState or None, default=None
        Start of the iterative eigensolver that computes Q, or seed of the landmarks.
    $run

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects.
    graph_ : NeighborGraph
        The neighbour graph.
    eigenvalues_ : array
        Eigenvalues of K, descending: all of them with solver "interior-point", one more than the
        coordinates (at least three) with "factorized". The number of large ones is the dimension
        of the data.
    kernel_ : array of shape (n_samples, n_samples)
        K; with solver "interior-point" only.
    landmarks_ : array of int
        Row numbers of the landmarks, ascending; with n_landmarks only.
    length_error_ : float
        Largest relative error in K of a distance that is to be kept.
    duality_gap_ : float
        Relative gap between the trace of K and an upper bound of it; with solver "interior-point"
        only.
    history_ : array of shape (n_iter,)
        The duality gap, or the objective of the refinement, after each iteration.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    Isomap : keeps the lengths of paths through the graph instead.

    Notes
    -----
    Time is m^3 for m edges and memory m^2. The factorised version takes time about proportional to
    n for data of low dimension.

    `transform` places a new object where it fits the distances to its neighbours best, near ones
    first, with the map fixed. ``transform(X_train)`` equals `embedding_`.

    References
    ----------
    .. [1] K. Q. Weinberger, L. K. Saul, "Unsupervised learning of image manifolds by semidefinite
       programming", International Journal of Computer Vision 70, 2006.
    .. [2] K. Q. Weinberger, B. D. Packer, L. K. Saul, "Nonlinear dimensionality reduction by
       semidefinite programming and kernel matrix factorization", AISTATS, 2005.
    .. [3] K. Q. Weinberger, F. Sha, Q. Zhu, L. K. Saul, "Graph Laplacian regularization for
       large-scale semidefinite programming", NIPS, 2006.

    Examples
    --------
    A bent chain of unit steps is pulled straight.

    >>> import numpy as np
    >>> import lowdim
    >>> X = np.array([[0.0, 0], [1, 0], [1, 1], [2, 1], [2, 2]])
    >>> unfolding = lowdim.MaximumVarianceUnfolding(1, n_neighbors=None, radius=1.0, slack=0)
    >>> Y = unfolding.fit_transform(X)
    >>> bool(abs(np.ptp(Y) - 4) < 1e-3)
    True
    """

    traits = Traits(
        sentence="k-NN -> SDP(max trace, local isometry) -> top eigenvectors",
        keeps="distances to neighbours, everything else pulled apart",
        when="lengths along the sheet must be exact and the points are few",
        cost="m^3 and m^2 memory for m edges; near n for the factorised version",
        extends="distances to neighbours kept against the frozen map; barycentric inverse",
        paper="Weinberger and Saul 2004, 2006; factorised: Weinberger, Sha, Zhu and Saul 2006; "
        "landmarks: Weinberger, Packer and Saul 2005",
        power=1.8,
        reduced_by="n_landmarks",
    )

    _attributes: ClassVar = {
        "graph_": graph_rule,
        "landmarks_": Numbers("m", "iu", 0, "n"),
        "eigenvalues_": Numbers("*", finite=False),
        "kernel_": Numbers("n n", finite=False),
        "duality_gap_": any_number,
        "length_error_": any_number,
    }
    _needed = ("graph_",)

    fit = neighbors.fit_with_graph
    _n_wanted = neighbors.n_neighbors_or_default
    _default_neighbors = 10
    _units: ClassVar = {"embedding_": 1, "radius": 1, "eigenvalues_": 2, "kernel_": 2}

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        constraint: str = "equality",
        slack: float = 1e-4,
        common_neighbors: bool = False,
        solver: str = "auto",
        n_functions: int = 10,
        n_landmarks: int | None = None,
        tol: float = 1e-7,
        max_iter: int = 200,
        metric: Any = "euclidean",
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
        self.constraint = constraint
        self.slack = slack
        self.common_neighbors = common_neighbors
        self.solver = solver
        self.n_functions = n_functions
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.metric = metric
        self.metric_params = metric_params
        self.disconnected = disconnected
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _memory(self, fit: Problem) -> float:
        return 60 * fit.arcs  # the programme claims its own

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        k = self._check_parameters(objects.n)
        self.graph_, parts = neighbors.connected_graph(self, objects, graph, k + 2)
        if parts:
            neighbors.fit_parts(self, objects, parts)
            return
        if self.n_landmarks is not None:
            self.landmarks_ = choose_landmarks(
                objects.n, self.n_landmarks, k + 1, self.random_state
            )
        edges = self.graph_.adjacency()
        if self.common_neighbors:
            edges = with_common_neighbors(objects, self.graph_, edges)
        lengths, points = lengths_of(edges)
        programme = Programme(lengths, self.constraint == "inequality", self.slack, self.tol)
        monitor = self._monitor(self.max_iter)

        def view(Y: Array) -> Array:
            return np.asarray(principal_coordinates(Y[points], k)[1] * lengths.unit)

        shown = None if self.callback is None else view
        if lengths.n < 3:
            unfolding = unfold_pair(lengths)
        elif self._exact(lengths):
            _warn_if_long(len(lengths.squares))
            unfolding = unfold_exactly(programme, monitor, shown)
        else:
            self._claim_steps(objects, edges, k)
            Q = self._functions(objects, edges, lengths, points, k)
            unfolding = unfold_in_span(programme, Q, k, monitor, shown)
        self.length_error_ = length_error(programme, unfolding.Y)
        self._keep(unfolding, lengths.unit, points, k, edges.dtype)

    def _claim_steps(self, objects: Objects, edges: Any, k: int) -> None:
        """Raise MemoryError if the steps of the refinement would take too much memory."""
        if objects.n <= CLAIMED_FROM or not objects.complete or self.radius is not None:
            return
        if not factorizes(edges):
            return
        graphs = []
        for size in SAMPLES:
            some = objects.subset(np.linspace(0, objects.n - 1, size).astype(np.int64))
            graphs.append(some.neighbor_graph(self._n_wanted(size), method="exact").adjacency())
        claim_factors(
            graphs,
            objects.n,
            refined_coordinates(k),
            f"MaximumVarianceUnfolding of {objects.n} objects",
            "Take a sample of the objects and place the others with transform, or set fewer "
            "neighbours.",
        )

    def _exact(self, lengths: Lengths) -> bool:
        """Whether to solve for all of K."""
        small = self.n_landmarks is None and len(lengths.squares) <= EXACT_EDGES
        return self.solver == "interior-point" or (self.solver == "auto" and small)

    def _functions(
        self, objects: Objects, edges: Any, lengths: Lengths, points: Array, k: int
    ) -> Array:
        """An orthonormal basis Q of the functions on the graph that the map is made of."""
        if self.n_landmarks is None:
            return smooth_functions(lengths, max(self.n_functions, k + 1), self.random_state)
        Q = landmark_functions(objects, self.graph_, edges, lengths, points, self.landmarks_)
        if Q.shape[1] < min(k, lengths.n - 1):
            raise ValueError(
                f"{argument('n_landmarks', self.n_landmarks)}: the landmarks are in too few "
                f"different places for {argument('n_components', k)}. Raise "
                f"{argument('n_landmarks')}, or set another {argument('random_state')}."
            )
        return Q

    def _keep(self, unfolding: Unfolding, unit: float, points: Array, k: int, dtype: Any) -> None:
        values, coordinates = principal_coordinates(unfolding.Y[points], k)
        self.embedding_ = (coordinates * unit).astype(dtype, copy=False)
        with np.errstate(over="ignore"):  # the coordinates may be representable where K is not
            self.eigenvalues_ = values * unit**2
            if unfolding.gram is not None:
                self.kernel_ = unfolding.gram[np.ix_(points, points)] * unit**2
        if unfolding.gap is not None:
            self.duality_gap_ = unfolding.gap
        self.history_, self.n_iter_ = unfolding.history, len(unfolding.history)

    def _check_parameters(self, n: int) -> int:
        checks.choice(self.constraint, "constraint", CONSTRAINTS)
        checks.choice(self.solver, "solver", SOLVERS)
        checks.choice(self.common_neighbors, "common_neighbors", (False, True))
        checks.real(self.slack, "slack", 0, 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.integer(self.n_functions, "n_functions", 1)
        checks.real(self.tol, "tol", 0, 1, open_low=True)
        k = self._check_n_components(n)
        if self.n_landmarks is not None and self.solver == "interior-point":
            raise ValueError(
                f"{argument('n_landmarks')} needs the factorised programme, but "
                f"{argument('solver', 'interior-point')} computes all of K. Set "
                f"{argument('solver', 'auto')} or 'factorized', or {argument('n_landmarks', None)}."
            )
        return k

    def _transform(self, new: NewObjects) -> Array:
        if hasattr(self, "parts_"):
            return links.transform_parts(self, new)
        nearest, distances = links.new_neighbors(self, new)
        counts = np.isfinite(distances).sum(axis=1)
        out = np.empty((len(nearest), self.embedding_.shape[1]), dtype=self.embedding_.dtype)
        for count in np.unique(counts):
            those = counts == count
            out[those] = place_by_curvilinear_rule(
                self.embedding_, nearest[those, :count], distances[those, :count]
            )
        return out


def _warn_if_long(n_edges: int) -> None:
    """The interior-point method takes about 30 iterations of 2 n_edges^3 operations each."""
    if n_edges >= LONG_EDGES:
        hours = 30 * 2 * n_edges**3 / 1e10 / 3600  # at 10 GFLOP/s, as one core has
        checks.warn(
            f"{argument('solver', 'interior-point')} will take about {hours:.0f} hours for "
            f"{n_edges} edges. Set {argument('solver', 'factorized')}, which takes minutes, or "
            "fewer neighbours."
        )
