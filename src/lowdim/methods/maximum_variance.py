"""Maximum variance unfolding, or semidefinite embedding (Weinberger and Saul 2004, 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.base import GraphEmbedder
from lowdim.callbacks import Callback
from lowdim.checks import Array, dense
from lowdim.extend.curvilinear import place_by_curvilinear_rule
from lowdim.matrices.laplacian import laplacian, weighted
from lowdim.matrices.reconstruction import (
    local_grams,
    local_grams_from_distances,
    ragged_matrix,
    rebuilt_from,
)
from lowdim.relations.graph import NeighborGraph, add_edges
from lowdim.relations.landmarks import choose_landmarks
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects
from lowdim.solvers.edge_lengths import Lengths, compliance, lengths_of
from lowdim.solvers.factorized import factorized, low_rank
from lowdim.solvers.semidefinite import interior_point
from lowdim.solvers.spectral import bottom_eigenpairs, fix_signs

CONSTRAINTS = ("equality", "inequality")
SOLVERS = ("auto", "interior-point", "factorized")
EXACT_EDGES = 2000  # up to this many the interior-point method is used by itself
LOOSE = 0.1  # slack of the small programme, whose few functions cannot keep every distance
LEAST = 1e-8  # slack below which the factorised programme is treated as exact

REG = 1e-3  # ridge of the locally linear weights, as a share of the local trace
RIDGE = 1e-9  # share of the Laplacian in the reconstruction matrix
DEPENDENT = 1e-5  # relative size of a direction below which it is not one of its own


class MaximumVarianceUnfolding(GraphEmbedder):
    """Coordinates that pull all objects apart as far as the distances to neighbours allow.

    k-NN -> SDP(max trace, local isometry) -> top eigenvectors

    Parameters
    ----------
    n_components : dimension of the map.
    n_neighbors, radius : neighbours of a point: a number of them, or all within a distance. Few
        neighbours leave freedom to unfold; with many the graph becomes rigid.
    constraint : "equality" keeps the distances between neighbours, "inequality" lets them shrink.
    slack : what the distances may give: the penalty on errors is such that squared distances are
        off by this share on average. 0 keeps them exactly, which noise or dissimilarities that
        are not Euclidean can make impossible, and a rigid graph useless.
    common_neighbors : also keep the distances between neighbours of a common point (the angles).
    solver : "interior-point" for all of K, n x n; "factorized" for K = Q L Q' in the span of the
        smoothest functions Q on the graph (Weinberger, Sha, Zhu and Saul 2006), then refined in
        the coordinates; "auto": the first for up to 2000 edges, without landmarks.
    n_functions : number of these functions.
    n_landmarks : take for Q the weights that rebuild every object from this many random ones,
        along the locally linear weights of the neighbours (Weinberger, Packer and Saul 2005);
        20 to 60 do, and time grows with the sixth power. Excludes "interior-point".
    tol : relative accuracy of the trace at which the solvers stop.
    max_iter : most iterations of the interior-point method or of the refinement.
    metric, metric_params : how neighbours are measured; "precomputed" for dissimilarities, a
        sparse graph of distances, or a `NeighborGraph`.
    disconnected : "join", "largest", "separate" or "raise"; see Isomap. Pieces of a graph could
        be pulled apart without end.
    random_state : start of the iterative eigensolver of Q, or seed of the landmarks.
    n_jobs : threads; the result does not depend on it.
    callback : called after every iteration; a true answer stops.
    verbose : show the progress.

    Attributes
    ----------
    embedding_, graph_, n_iter_
    eigenvalues_ : of K, descending: all of them with solver "interior-point", one more than the
        coordinates (at least three) with "factorized". How many stand out is the dimension.
    kernel_ : K, with "interior-point".
    landmarks_ : with n_landmarks, their rows, ascending.
    length_error_ : the largest relative error in K of a distance that is to be kept.
    duality_gap_ : relative, with "interior-point": no K does better by more than this share.
    history_ : the duality gap, or the objective of the refinement, after each iteration.

    `transform` places a new object where the distances to its neighbours are kept best, near ones
    first, with the map as it is; a training object gets its own coordinates. Time m^3 for m edges
    and memory m^2, or near n for the factorised version on data of low dimension.
    """

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

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        checks.choice(self.constraint, "constraint", CONSTRAINTS)
        checks.choice(self.solver, "solver", SOLVERS)
        checks.choice(self.common_neighbors, "common_neighbors", (False, True))
        slack = checks.real(self.slack, "slack", 0, 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.integer(self.n_functions, "n_functions", 1)
        checks.real(self.tol, "tol", 0, 1, open_low=True)
        k = self._check_n_components(objects.n)
        if self.n_landmarks is not None:
            self._choose_landmarks(objects, k)
        edges = graph.adjacency()
        if self.common_neighbors:
            edges = self._with_common_neighbors(objects, graph, edges)
        lengths, points = lengths_of(edges)
        if lengths.n < 3:
            Y = self._pair(lengths)
        elif self.solver == "interior-point" or (
            self.solver == "auto"
            and self.n_landmarks is None
            and len(lengths.squares) <= EXACT_EDGES
        ):
            Y = self._exact(lengths, points, slack, k)
        elif self.n_landmarks is None:
            Y = self._factorized(lengths, self._smooth_functions(lengths, k), slack, k)
        else:
            Q = self._landmark_functions(objects, graph, edges, lengths, points, k)
            Y = self._factorized(lengths, Q, slack, k)
        self.length_error_ = _length_error(lengths, Y, self.constraint == "inequality")
        values, coordinates = _principal(Y[points], k)
        with np.errstate(over="ignore"):  # the coordinates may be representable where K is not
            self.eigenvalues_ = values * lengths.unit**2
        self.embedding_ = (coordinates * lengths.unit).astype(edges.dtype, copy=False)

    def _pair(self, lengths: Lengths) -> Array:
        """One or two distinct points: nothing to optimise."""
        self.history_, self.n_iter_ = np.zeros(0), 0
        Y = np.zeros((lengths.n, 1))
        if lengths.n == 2:
            Y[1] = np.sqrt(lengths.squares[0])
        return np.asarray(Y - lengths.mass @ Y / lengths.mass.sum())

    def _exact(self, lengths: Lengths, points: Array, slack: float, k: int) -> Array:
        """All of K, as coordinates in as many dimensions as there are points."""

        def view(gram: Array) -> Array:
            return np.asarray(_principal(_root(gram)[points], k)[1] * lengths.unit)

        found = interior_point(
            lengths,
            inequality=self.constraint == "inequality",
            compliance=compliance(lengths, slack),
            tol=self.tol,
            max_iter=self.max_iter,
            monitor=self._monitor(self.max_iter),
            view=None if self.callback is None else view,
        )
        with np.errstate(over="ignore"):
            self.kernel_ = found.gram[np.ix_(points, points)] * lengths.unit**2
        self.duality_gap_ = found.gap
        self.history_, self.n_iter_ = found.history, len(found.history)
        return _root(found.gram)

    def _choose_landmarks(self, objects: Objects, k: int) -> None:
        if self.solver == "interior-point":
            raise ValueError(
                "n_landmarks needs the factorised programme, but solver='interior-point' computes "
                "all of K. Set solver='auto' or 'factorized', or n_landmarks=None."
            )
        self.landmarks_ = choose_landmarks(objects.n, self.n_landmarks, k + 1, self.random_state)

    def _smooth_functions(self, lengths: Lengths, k: int) -> Array:
        """The bottom eigenvectors of the Laplacian, in the coordinates of `Lengths.incidence`."""
        found = bottom_eigenpairs(
            laplacian(weighted(lengths.adjacency(), "binary", 1.0)),
            min(max(self.n_functions, k + 1), lengths.n - 1),
            B=lengths.mass,
            null=np.ones(lengths.n),
            seed=self.random_state,
        )
        return np.asarray(found.vectors * np.sqrt(lengths.mass)[:, None])

    def _landmark_functions(
        self,
        objects: Objects,
        graph: NeighborGraph,
        edges: Any,
        lengths: Lengths,
        points: Array,
        k: int,
    ) -> Array:
        """An orthonormal basis of what is linear in the landmarks, in the same coordinates."""
        scaled = None
        if objects.euclidean:
            scaled = objects.vectors("n_landmarks").astype(np.float64) / lengths.unit

        def grams(members: Array, neighbors: Array) -> Array:
            if scaled is not None:
                centers = dense(scaled[members])
                return local_grams(scaled, neighbors, centers)
            own = np.arange(1, neighbors.shape[1] + 1)[None, :]
            found = []
            for together in np.column_stack([members, neighbors]):
                D = objects.between(together, "n_landmarks") / lengths.unit
                found.append(local_grams_from_distances(D, own, np.zeros(1, dtype=np.intp)))
            return np.concatenate(found)

        lists = graph.csr() if graph.bridges is None else edges
        M = ragged_matrix(grams, lists, REG)
        # Where no landmark determines a function through M, the smoothest one is taken.
        ridge = RIDGE * float(M.diagonal().mean())
        M = M + ridge * laplacian(weighted(edges, "binary", 1.0))
        root = np.sqrt(lengths.mass)[:, None]
        Q = rebuilt_from(M, self.landmarks_)[np.unique(points, return_index=True)[1]] * root
        u = root / np.linalg.norm(root)
        U, sizes, _ = np.linalg.svd(Q - u @ (u.T @ Q), full_matrices=False)
        U = U[:, sizes > DEPENDENT * np.linalg.norm(Q, 2)]  # Q 1 = 1, so at least one is left out
        if U.shape[1] < min(k, lengths.n - 1):
            raise ValueError(
                f"n_landmarks={self.n_landmarks}: the landmarks are in too few different places "
                f"for n_components={k}. Raise n_landmarks, or set another random_state."
            )
        return np.asarray(U)

    def _factorized(self, lengths: Lengths, Q: Array, slack: float, k: int) -> Array:
        """K = Q L Q' for an orthonormal Q, refined in coordinates."""
        inequality = self.constraint == "inequality"
        loose = compliance(lengths, max(LOOSE, slack))
        give = compliance(lengths, max(slack, LEAST))
        L = factorized(lengths, Q, inequality=inequality, compliance=loose)
        values, vectors = np.linalg.eigh(L)
        rank = min(max(k + 1, 3), len(values))
        top = fix_signs(vectors[:, ::-1][:, :rank]) * np.sqrt(values[::-1][:rank])

        def view(Y: Array) -> Array:
            return np.asarray(_principal(Y, k)[1] * lengths.unit)

        Y, self.history_ = low_rank(
            lengths,
            Q @ top / np.sqrt(lengths.mass)[:, None],
            self._monitor(self.max_iter),
            inequality=inequality,
            compliance=give,
            first_compliance=loose,
            tol=self.tol,
            view=None if self.callback is None else view,
        )
        self.n_iter_ = len(self.history_)
        return Y

    def _with_common_neighbors(self, objects: Objects, graph: NeighborGraph, edges: Any) -> Any:
        """The graph with edges between any two neighbours of a point."""
        lists = graph.csr()
        found: list[tuple[Array, Array]] = []
        for i in range(graph.n_objects):
            own = lists.indices[lists.indptr[i] : lists.indptr[i + 1]]
            a, b = np.triu_indices(len(own), 1)
            found.append(
                (
                    np.stack([own[a], own[b]], axis=1),
                    objects.between(own, "common_neighbors=True")[a, b],
                )
            )
        pairs = np.concatenate([pair for pair, _ in found]).astype(np.int64)
        distances = np.concatenate([d for _, d in found]).astype(edges.dtype)
        return add_edges(edges, pairs, distances)

    def _place(self, new: NewObjects) -> Array:
        nearest, distances = self._new_neighbors(new)
        counts = np.isfinite(distances).sum(axis=1)
        out = np.empty((len(nearest), self.embedding_.shape[1]), dtype=self.embedding_.dtype)
        for count in np.unique(counts):
            those = counts == count
            out[those] = place_by_curvilinear_rule(
                self.embedding_, nearest[those, :count], distances[those, :count]
            )
        return out


def _root(gram: Array) -> Array:
    """Y with Y Y' = gram, the largest axes first."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)))


def _principal(Y: Array, k: int) -> tuple[Array, Array]:
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
