"""Maximum variance unfolding, or semidefinite embedding (Weinberger and Saul 2004, 2006)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters, neighbors
from lowdim.estimator.fitted_state import Numbers, any_number, graph_rule
from lowdim.estimator.links import new_neighbors
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Monitor
from lowdim.spectral.maximum_variance.factorized import (
    claim_factors,
    factorizes,
    low_rank,
    smooth_functions,
    solve_in_span,
)
from lowdim.spectral.maximum_variance.lengths import (
    Lengths,
    compliance,
    lengths_of,
    with_common_neighbors,
)
from lowdim.spectral.maximum_variance.semidefinite import interior_point
from lowdim.stress.curvilinear.placement import place_by_curvilinear_rule

CONSTRAINTS = ("equality", "inequality")
SOLVERS = ("auto", "interior-point", "factorized")
LONG_EDGES = 8000  # edges from which the interior-point method takes an hour or more
CLAIMED_FROM = 8000  # objects from which the memory of the factorised programme is estimated
EXACT_EDGES = 2000  # edges up to which solver="auto" is the interior-point method
LOOSE = 0.1  # slack of the small programme, whose few functions cannot keep every distance
LEAST = 1e-8  # slack below which the factorised programme is treated as exact

View = Callable[[Array], Array]
"""From coordinates of the points to the coordinates that a callback sees."""


@declare_parameters
class MaximumVarianceUnfolding(Iterative, Embedder):
    """Maximum variance unfolding: the widest map that keeps the distances to neighbours.

    k-NN -> SDP(max trace, local isometry) -> top eigenvectors

    The Gram matrix K of the map has the largest trace, that is the largest variance, among the
    positive semidefinite matrices that keep the distances between neighbours.

    Parameters
    ----------
    $n_components
    n_neighbors : int, default=5
        Number of neighbours of an object. It must be None if radius is given; without radius, None
        stands for 10. With few neighbours the graph can unfold, with many it becomes rigid.
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
        of few functions Q on the graph [2]_, then refines the coordinates. "auto" is the first for
        up to 2000 edges.
    n_functions : int, default=10
        Number of functions Q, which are the smoothest ones on the graph. Time grows with the sixth
        power.
    tol : float, default=1e-7
        Relative accuracy of the trace at which the solvers stop.
    max_iter : int, default=200
        Largest number of iterations of the interior-point method or of the refinement.
    $graph_metric
    disconnected : {"join", "largest", "separate", "raise"}, default="join"
        What to do with a graph of several components, which could be moved apart without limit:
        "join" them by their shortest bridges with a warning, embed only the "largest", embed them
        "separate" and side by side, or "raise" an error.
    random_state : int, RandomState or None, default=None
        Start of the iterative eigensolver that computes Q.
    $run

    Attributes
    ----------
    $embedding
    $graph
    eigenvalues_ : array
        Eigenvalues of K, descending: all of them with solver "interior-point", one more than the
        coordinates (at least three) with "factorized". The number of large ones is the dimension
        of the data.
    kernel_ : array of shape (n_samples, n_samples)
        K; with solver "interior-point" only.
    length_error_ : float
        Largest relative error in K of a distance that is to be kept.
    duality_gap_ : float
        Relative gap between the trace of K and an upper bound of it; with solver "interior-point"
        only.
    history_ : array of shape (n_iter,)
        The duality gap, or the objective of the refinement, after each iteration.
    $n_iter

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
    .. [2] K. Q. Weinberger, F. Sha, Q. Zhu, L. K. Saul, "Graph Laplacian regularization for
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
        keeps="distances to neighbours, everything else pulled apart",
        when="lengths along the sheet must be exact and the points are few",
        cost="m^3 and m^2 memory for m edges; near n for the factorised version",
        extends="distances to the neighbours on the fixed map; barycentric inverse",
        paper="Weinberger and Saul 2004, 2006; factorised: Weinberger, Sha, Zhu and Saul 2006",
        power=1.8,
    )

    _attributes: ClassVar = {
        "graph_": graph_rule,
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

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int | None = 5
    radius: float | None = None
    constraint: str = "equality"
    slack: float = 1e-4
    common_neighbors: bool = False
    solver: str = "auto"
    n_functions: int = 10
    tol: float = 1e-7
    max_iter: int = 200
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    disconnected: str = "join"

    def _memory(self, fit: Problem) -> float:
        return 60 * fit.arcs  # the programme claims its own

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        k = self._check_parameters(objects.n)
        if not neighbors.connect(self, objects, graph, k + 2):
            return
        edges = self.graph_.adjacency()
        if self.common_neighbors:
            edges = with_common_neighbors(objects, self.graph_, edges)
        lengths, points = lengths_of(edges)
        monitor = self._monitor(self.max_iter)

        def view(Y: Array) -> Array:
            return np.asarray(_principal_coordinates(Y[points], k)[1] * lengths.unit)

        shown = None if self.callback is None else view
        if lengths.n < 3:
            Y, self.history_ = _two_points(lengths), np.zeros(0)
        elif self.solver == "interior-point" or (
            self.solver == "auto" and len(lengths.squares) <= EXACT_EDGES
        ):
            Y = self._unfold_exactly(lengths, points, monitor, shown)
        else:
            known = objects.complete and self.radius is None
            if objects.n > CLAIMED_FROM and known and factorizes(edges):
                claim_factors(objects, self._n_wanted, _refined_coordinates(k))
            Q = smooth_functions(lengths, max(self.n_functions, k + 1), self.random_state)
            Y = self._unfold_in_span(lengths, Q, k, monitor, shown)
        self.n_iter_ = len(self.history_)
        self.length_error_ = _length_error(lengths, Y, self.constraint == "inequality")
        values, coordinates = _principal_coordinates(Y[points], k)
        self.embedding_ = (coordinates * lengths.unit).astype(edges.dtype, copy=False)
        with np.errstate(over="ignore"):  # the coordinates may be representable where K is not
            self.eigenvalues_ = values * lengths.unit**2

    def _unfold_exactly(
        self, lengths: Lengths, points: Array, monitor: Monitor, view: View | None
    ) -> Array:
        """The root of K, of as many dimensions as there are points."""
        _warn_if_long(len(lengths.squares))
        solution = interior_point(
            lengths,
            inequality=self.constraint == "inequality",
            compliance=compliance(lengths, self.slack),
            tol=self.tol,
            monitor=monitor,
            view=None if view is None else lambda gram: view(_root(gram)),
        )
        with np.errstate(over="ignore"):
            self.kernel_ = solution.gram[np.ix_(points, points)] * lengths.unit**2
        self.duality_gap_, self.history_ = solution.gap, solution.history
        return _root(solution.gram)

    def _unfold_in_span(
        self, lengths: Lengths, Q: Array, k: int, monitor: Monitor, view: View | None
    ) -> Array:
        """K = Q L Q', then refined in more than k coordinates."""
        inequality, loose = self.constraint == "inequality", max(LOOSE, self.slack)
        first = compliance(lengths, loose)
        L = solve_in_span(lengths, Q, inequality=inequality, compliance=first)
        values, vectors = np.linalg.eigh(L)
        rank = min(_refined_coordinates(k), len(values))
        top = fix_signs(vectors[:, ::-1][:, :rank]) * np.sqrt(values[::-1][:rank])
        Y, self.history_ = low_rank(
            lengths,
            Q @ top / np.sqrt(lengths.mass)[:, None],
            monitor,
            inequality=inequality,
            compliance=compliance(lengths, max(self.slack, LEAST)),
            first_compliance=first,
            tol=self.tol,
            view=view,
        )
        return Y

    def _check_parameters(self, n: int) -> int:
        checks.choice(self.constraint, "constraint", CONSTRAINTS)
        checks.choice(self.solver, "solver", SOLVERS)
        checks.choice(self.common_neighbors, "common_neighbors", (False, True))
        checks.real(self.slack, "slack", 0, 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.integer(self.n_functions, "n_functions", 1)
        checks.real(self.tol, "tol", 0, 1, open_low=True)
        return self._check_n_components(n)

    def _transform(self, new: NewObjects) -> Array:
        nearest, distances = new_neighbors(self, new)
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


def _two_points(lengths: Lengths) -> Array:
    """One or two points, for which there is nothing to optimise."""
    Y = np.zeros((lengths.n, 1))
    if lengths.n == 2:
        Y[1] = np.sqrt(lengths.squares[0])
    return np.asarray(Y - lengths.mass @ Y / lengths.mass.sum())


def _refined_coordinates(k: int) -> int:
    """Coordinates in which the map is refined: with more of them there are fewer local minima."""
    return max(k + 1, 3)


def _principal_coordinates(Y: Array, k: int) -> tuple[Array, Array]:
    """Eigenvalues of Y Y' and k coordinates along its principal axes (zero where it has fewer)."""
    U, lengths, _ = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)
    coordinates = np.zeros((len(Y), k))
    shown = min(k, len(lengths))
    coordinates[:, :shown] = fix_signs(U[:, :shown]) * lengths[:shown]
    return lengths**2, coordinates


def _length_error(lengths: Lengths, Y: Array, inequality: bool) -> float:
    gaps = Y[lengths.heads] - Y[lengths.tails]
    ratio = np.sqrt(np.einsum("mp,mp->m", gaps, gaps) / lengths.squares)
    error = ratio - 1 if inequality else np.abs(ratio - 1)
    return float(np.maximum(error, 0).max(initial=0.0))


def _root(gram: Array) -> Array:
    """Y with Y Y' = gram, the largest axes first."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)))
