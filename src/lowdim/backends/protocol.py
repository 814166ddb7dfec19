"""The protocol of a backend: the coarse operations on which every method is built.

Arrays are NumPy arrays (float32 or float64, C-contiguous), sparse matrices are SciPy CSR. Results
must not depend on the number of threads. Backends are tested against `tests/backends/reference.py`,
an implementation in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np

from lowdim.backends.similarity import Similarity
from lowdim.checks import Array

Columns = TypeVar("Columns")
"""A NumPy array, or one of the kind that `Backend.on_device` returns."""

Neighbors = tuple[Array, Array]
"""Indices (int32) and distances of each row's neighbours, ordered by (distance, index)."""


class Index(Protocol):
    """A data structure that finds nearly all of the k nearest rows without comparing all pairs."""

    @property
    def recall(self) -> float:
        """The share of the true neighbours that is found, measured on a sample of the rows."""

    def neighbors(self) -> Neighbors:
        """Each row's k nearest other rows."""

    def query(self, queries: Any, k: int) -> Neighbors:
        """The k rows nearest to each query; they do not depend on the other queries."""


@runtime_checkable
class GrowingIndex(Index, Protocol):
    """An index that can be kept, and to which rows can be added."""

    @property
    def n_bytes(self) -> float:
        """The size of the index beside the rows."""

    def for_queries(self) -> Index:
        """The index without what only `neighbors` needs."""

    def joined(self, rows: Any, first: int) -> Neighbors | None:
        """Neighbours of rows[first:] among all rows, of which the index has those before them.

        At least k, and as many more as have been compared, nearest first; shorter lists are padded
        with infinite distances. None if the index cannot take more rows.
        """


class Ranking(NamedTuple):
    """Another metric than the Euclidean one, by which an index ranks the candidates that it finds.

    Attributes
    ----------
    metric, power : str and float
        As in `Backend.rank_candidates`.
    sample : array of int
        Some rows, ascending.
    reach : array of shape (len(sample),)
        The distance of each row of the sample to its k-th neighbour, slightly enlarged.
    """

    metric: str
    power: float
    sample: Array
    reach: Array


class Heaps(Protocol):
    """For each of n rows, the k smallest of the scores offered so far, and their columns."""

    def offer(
        self,
        tile: Array,
        first: tuple[int | None, int],
        *,
        rows: slice | Array | None = None,
        columns: bool = False,
    ) -> None:
        """Offer the entries of a tile of a larger matrix of scores.

        Parameters
        ----------
        tile : array of shape (a, b)
        first : (int or None, int)
            Object numbers of the tile's first row and first column. An object is not offered to
            itself. None: the objects of the rows are not among those of the columns.
        rows : slice or array of int, default=None
            The heaps that get the entries; default: all.
        columns : bool, default=False
            Offer each column of the tile to a heap, in place of each row.
        """

    def clear(self, rows: Array) -> None:
        """Empty the heaps of some rows."""

    def incomplete(self) -> Array:
        """The rows with fewer than k scores."""

    def sorted(self) -> Neighbors:
        """Columns and scores of each row, ordered by (score, column)."""


class Attraction(Protocol):
    """The attraction of points along the weighted edges of a graph."""

    def __call__(self, Y: Array, *, loss: bool) -> tuple[float, Array]:
        """sum_ij p_ij log w_ij (0 unless `loss`) and the forces sum_j p_ij u_ij (y_i - y_j).

        w and u are those of `Similarity`.
        """

    def renumber(self, order: Array) -> None:
        """Reorder the vertices: vertex i is from now on the former vertex order[i]."""


class Repulsion(Protocol):
    """The repulsion between all points of an embedding."""

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        """sum_j m_j w_ij u_ij (y_i - y_j) and sum_j m_j w_ij over all j != i; m = 1 by default."""


class FrozenField(Protocol):
    """The repulsion of the fixed points of an embedding on new points."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """sum_j w u (y - x_j) and sum_j w over all fixed points x_j, for each new point y."""


class PairStress(Protocol):
    """The stress of pairs with fixed targets as a function of the coordinates."""

    def __call__(self, X: Array, /) -> tuple[float, Array]:
        """The stress at X and V X - B(X) X, half of its gradient."""


class Backend(Protocol):
    """A module that defines these functions is a backend."""

    def description(self) -> str:
        """The hardware features in use, for `lowdim.show_versions`."""

    # --- products -----------------------------------------------------------------------------

    def on_device(self, V: Array) -> Any:
        """The array itself, or a copy of it that stays on the device of the backend.

        `matmul` takes either as V, and returns the same kind.
        """

    def matmul(self, A: Array, V: Columns, *, squared: bool = False) -> Columns:
        """A @ V, or (A * A) @ V without storing A * A."""

    def spmm(
        self,
        A: Any,
        V: Array,
        *,
        scale: float = 1.0,
        shift: float = 0.0,
        before: Array | None = None,
    ) -> Array:
        """scale A V + shift V - before for a CSR matrix and a few dense columns.

        By default A V. With other values A must be square, and `before` has the shape of V.
        """

    def scatter(self, X: Array, center: Array) -> tuple[Array, Array]:
        """(X - center)' (X - center) and the sums of the columns of X - center, in float64."""

    def project(self, X: Array, center: Array, axes: Array) -> Array:
        """(X - center) axes', for a few axes (rows), in their dtype."""

    def smooth_modes(self, graphs: list[Any], k: int, seed: int) -> list[Array]:
        """The smoothest eigenvectors of the random walks on connected graphs, to a few digits.

        Parameters
        ----------
        graphs : list of symmetric CSR matrices
            Edge weights A; the random walk is diag(A 1)^-1 A.
        k : int
            Number of eigenvectors. The constant one, of the eigenvalue 1, is left out.
        seed : int
            Of the random start.

        Returns
        -------
        list of float32 arrays of shape (n, k)
            v with v' diag(A 1) v = 1, in the order of descending eigenvalues.
        """

    def squared_distances(self, queries: Array, points: Array) -> Array:
        """|q - p|^2 of all queries and points, from differences: equal pairs tie exactly."""

    def distance_matrix(self, X: Array) -> Array:
        """The Euclidean distances of all pairs of rows: symmetric, with a diagonal of zeros.

        They are infinite, not an error, where they overflow.
        """

    # --- passes over arrays -------------------------------------------------------------------

    def extremes(self, A: Array) -> tuple[float, float]:
        """The smallest and the largest entry of an array; both are NaN if an entry is."""

    def asymmetry(self, D: Array) -> float:
        """The largest difference between a square matrix and its transpose."""

    def stable_order(self, values: Array) -> Array:
        """The indices that sort a vector; those of equal entries ascend."""

    def group_sums(self, X: Any, groups: Array, count: int) -> Array:
        """The sum of the rows of each of `count` groups, in float64; X may be sparse.

        `groups` has the number of the group of each row.
        """

    # --- nearest neighbours -------------------------------------------------------------------

    def nearest(self, X: Any, k: int, cosine: bool) -> Neighbors:
        """Each row's k nearest other rows, by the Euclidean or the cosine distance."""

    def nearest_to(self, points: Any, queries: Any, k: int, cosine: bool) -> Neighbors:
        """The k points nearest to each query, for dense vectors."""

    def rank_candidates(
        self,
        points: Array,
        queries: Array,
        candidates: Array,
        k: int,
        metric: str,
        power: float = 2.0,
    ) -> Neighbors:
        """The k nearest of the points that are listed as each query's candidates.

        Parameters
        ----------
        points, queries : arrays of shape (n, d) and (m, d)
        candidates : array of shape (m, c), int32
            Numbers of points, different ones in a row; -1: none.
        k : int
            At most c.
        metric : str
            "euclidean", "cosine", for rows of length 1 or 0, "cityblock", "chebyshev", "canberra",
            "braycurtis" or "minkowski".
        power : float
            That of "minkowski".
        """

    def pairs_within(
        self, points: Array, queries: Array, reach: Array
    ) -> tuple[Array, Array, Array]:
        """Query, point and distance of every pair with |query - point| <= reach[point]."""

    def build_index(
        self,
        rows: Any,
        k: int,
        cosine: bool,
        recall: float,
        random: np.random.Generator,
        ranking: Ranking | None = None,
    ) -> Index | None:
        """An index of at least this recall, or None if the exact search is cheaper.

        With a `ranking`, neighbours, distances and recall are those of its metric.
        """

    def exact_search_seconds(self, rows: Any) -> float:
        """A rough estimate of the time that `nearest` takes."""

    def heaps(self, n: int, k: int, dtype: Any) -> Heaps:
        """Empty heaps for the k smallest scores of n rows."""

    def smallest(self, values: Array, k: int, *, own: bool = False) -> Neighbors:
        """The k smallest entries of each row; entry i of row i is left out if `own`."""

    def sum_shared(self, A: Any, B: Any, term: str) -> Array:
        """Sums over the columns that two sparse rows share.

        Parameters
        ----------
        A, B : CSR matrices of shape (m, d) and (n, d)
            Without duplicate entries.
        term : {"count", "equal", "product", "root", "overlap", "opposite", "ratio"}
            What an entry a of a row of A and an entry b of a row of B in the same column
            contribute: 1, 1 if a = b, a b, sqrt(a b), |a| + |b| - |a - b|, |a| + |b| - |a + b|, or
            |a - b| / (|a| + |b|).

        Returns
        -------
        float64 array of shape (m, n)
            The terms are added in the order of the entries of a row of A.
        """

    def compare_orders(
        self, first: Array, second: Array, own: Array, k: int, grid: Array
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Compare the rankings of all objects by two distances.

        Parameters
        ----------
        first, second : arrays of shape (m, n)
            Row r holds the distances from object own[r] to all objects. Ties are ordered by index.
        own : array of shape (m,)
        k : int
        grid : array of int
            Sizes of neighbourhoods.

        Returns
        -------
        nearest_first, ranks_second : arrays of shape (m, k)
            The k nearest objects by `first`, and their ranks (from 1) by `second`.
        nearest_second, ranks_first : arrays of shape (m, k)
            The k nearest objects by `second`, and their ranks by `first`.
        shared : array of shape (m, len(grid))
            Number of objects among the grid[g] nearest by both distances.
        """

    # --- graphs -------------------------------------------------------------------------------

    def symmetrize(self, graph: Any, how: str) -> Any:
        """A CSR graph combined with its transpose: "union", "mutual", "mean" or "half-sum"."""

    def fuzzy_union(self, graph: Any, mix: float) -> Any:
        """mix (a + b - a b) + (1 - mix) a b of a CSR graph and its transpose."""

    def shortest_paths(self, graph: Any, sources: Array, *, symmetric: bool = False) -> Array:
        """Lengths of the shortest paths from each source to every node of a CSR graph.

        With `symmetric` the graph is undirected and the sources are all nodes. The result is then
        symmetric: of the two lengths of a path, which differ by rounding, the smaller is taken.
        """

    def components(self, graph: Any) -> tuple[int, Array]:
        """Number of connected components of an undirected CSR graph and each node's component.

        An edge may be stored in one direction only. Components are numbered in the order of their
        first nodes.
        """

    def split(self, graph: Any, groups: Array, count: int) -> list[Any]:
        """The graphs of groups of vertices of a CSR graph, between which there are no edges.

        `groups` has the number of the group of each vertex, or -1 if it is in none. The vertices of
        a group keep their order.
        """

    def floyd_warshall(self, lengths: Array) -> None:
        """Replace a dense matrix of arc lengths by the lengths of the shortest paths."""

    def level_structure(self, graph: Any, limit: int | None = None) -> tuple[int, int]:
        """Number of breadth-first levels from a peripheral node, and size of the largest level.

        With a `limit` the search may end at a level of more nodes; its size is then that of this
        level, and the number of levels that of those found.
        """

    def digest(self, values: Array) -> Array:
        """The xxHash64 of each MiB of an array in C order, as uint64, to recognise data."""

    # --- rows of neighbours -------------------------------------------------------------------

    def barycentric_weights(self, grams: Array, reg: float) -> Array:
        """Weights w of sum 1 with (G + reg tr(G) I) w proportional to 1, for each Gram matrix G."""

    def bregman_projections(
        self,
        gaps: Array,
        signs: Array,
        slack: float,
        multipliers: Array,
        targets: Array,
        matrix: Array,
    ) -> None:
        """Projections of a Mahalanobis matrix onto bounds of z'Mz, one after the other.

        Row c of `gaps` is the difference z of a pair, signs[c] is 1 for an upper and -1 for a lower
        bound, and targets[c] the bound (see `lowdim.solvers.bregman`). All are float64. The
        multipliers, the targets and the symmetric matrix are updated in place.
        """

    def perplexity_affinities(
        self, indptr: Array, distances: Array, perplexity: float, *, squared: bool = False
    ) -> tuple[Array, Array]:
        """p proportional to exp(-beta d^2), with sum 1 and entropy log(perplexity) in each row.

        Rows are those of a CSR matrix. `squared` says that the distances have been squared. Returns
        p and the beta of each row.
        """

    def joint_probabilities(self, P: Any) -> Any:
        """(P + P') / 2, divided by the sum of its entries, for a CSR matrix P."""

    def negative_entropy(self, p: Array) -> float:
        """The sum of p log p, in double precision and in a fixed order; 0 log 0 is 0."""

    def memberships(
        self, indptr: Array, distances: Array, target: float, connectivity: float
    ) -> tuple[Array, Array, Array]:
        """Fuzzy memberships exp(-max(d - rho, 0) / sigma) that sum to `target` in each row.

        Rows are those of a CSR matrix, ascending. rho is the distance to the
        `connectivity`-th nearest neighbour, interpolated for fractions. Returns the memberships,
        rho and sigma.
        """

    # --- forces and layouts -------------------------------------------------------------------

    def attraction(self, P: Any, similarity: Similarity) -> Attraction:
        """The attraction along the edges of a CSR matrix."""

    def repulsion(
        self, method: str, similarity: Similarity, n: int, dim: int, angle: float
    ) -> Repulsion:
        """Repulsion among n points by "exact", "barnes_hut", "fft", or "auto"."""

    def frozen_field(self, embedding: Array, similarity: Similarity, margin: float) -> FrozenField:
        """Repulsion of a fixed embedding, for points up to `margin` outside its bounding box."""

    def momentum_step(
        self,
        gradient: Array,
        Y: Array,
        velocity: Array,
        gains: Array,
        *,
        rate: float,
        momentum: float,
        min_gain: float,
        max_step: float,
    ) -> float:
        """One step of gradient descent with momentum and gains (Jacobs 1988).

        Updates Y, velocity and gains in place. A point moves at most by `max_step`. Returns the
        norm of the gradient.
        """

    def quasi_newton_direction(self, gradient: Array, steps: Array, changes: Array) -> Array:
        """The direction of descent of the limited-memory BFGS method.

        Parameters
        ----------
        gradient : float64 array of shape (n,)
        steps, changes : float64 arrays of shape (m, n)
            Steps, the oldest one first, and the changes of the gradient over them. The product of a
            step and its change is positive.
        """

    def descend(
        self,
        field: Any,
        Y: Array,
        velocity: Array,
        gains: Array,
        *,
        steps: int,
        value: bool,
        rate: float,
        momentum: float,
        min_gain: float,
        max_step: float,
    ) -> tuple[float, float]:
        """Some iterations of gradient descent with momentum and gains.

        `field` is a function of Y and of the keyword `value` that returns the loss (NaN unless
        `value`) and the gradient (see `lowdim.solvers.objective.ForceField`). A backend may call it
        with arrays of its own, for which the attraction and the repulsion of the same backend are
        made. Each iteration is a `momentum_step`, whose other parameters it takes.

        Parameters
        ----------
        steps : int
            Number of iterations.
        value : bool
            Whether to compute the loss in the last iteration.

        Returns
        -------
        loss : float
            At Y before the last iteration; NaN unless `value`.
        norm : float
            Of the gradient in the last iteration.
        """

    def curve_order(self, Y: Array) -> Array:
        """The indices of the points in the order of a space-filling curve."""

    def layout_arcs(self, graph: Any, rank: Array | None = None) -> Any:
        """The arcs of a CSR graph in the form that `layout_epochs` takes.

        Vertex i becomes vertex rank[i]. Without `rank`, rows are vertices and columns are fixed
        points.
        """

    def layout_epochs(
        self,
        arcs: Any,
        Y: Array,
        velocity: Array,
        *,
        curve: tuple[float, float],
        rate: float,
        momentum: float,
        repulsion: float,
        n_negatives: int,
        epochs: tuple[int, int, int],
        seed: int,
        fixed: Array | None = None,
        density: tuple[Array, Array] | None = None,
        loss: bool = False,
    ) -> float:
        """Run epochs of a cross-entropy layout (see `lowdim.solvers.layout`).

        Parameters
        ----------
        arcs : from `layout_arcs`
        Y, velocity : arrays of shape (n, dim)
            Coordinates and velocities, updated in place.
        curve : (a, b)
            Points at distance d have the membership 1 / (1 + a d^2b).
        rate, momentum : float
            Learning rate and momentum of the first epoch; both decrease linearly to 0.
        repulsion : float
            Weight of the repulsion.
        n_negatives : int
            Number of random points that repel a vertex in an epoch; 0: all points do.
        epochs : (first, last, total)
            Run the epochs first <= e < last of a layout of `total` epochs.
        seed : int
            Key of the random numbers, with the epoch and the vertex.
        fixed : array of shape (n_fixed, dim), default=None
            The targets of the arcs, if these are not the vertices themselves.
        density : pair of arrays of shape (n,), default=None
            densMAP's force on each vertex (see `Layout`).
        loss : bool
            Whether to compute the cross-entropy before the last epoch.

        Returns
        -------
        float
            The cross-entropy, 0 unless `loss`.
        """

    def layout_radii(self, arcs: Any, Y: Array, curve: tuple[float, float]) -> tuple[Array, Array]:
        """For each vertex, the sums of w and of w d^2 over its arcs, w = 1 / (1 + a d^2b)."""

    # --- stress and divergence ----------------------------------------------------------------

    def stress_gradient(self, dissimilarities: Array, X: Array) -> tuple[float, Array]:
        """The raw stress at X, and V X - B(X) X, half of its gradient."""

    def sammon_gradient(
        self, dissimilarities: Array, X: Array, mass: Array, *, floor: float, epsilon: float
    ) -> tuple[float, Array]:
        """sum_{i<j} w_ij (delta_ij - d_ij)^2, w_ij = mass_i mass_j / max(delta_ij, epsilon), and
        half of its gradient; pairs with delta_ij <= floor are left out unless epsilon > 0."""

    def pair_distances(self, first: Array, second: Array, X: Array) -> Array:
        """|x_i - x_j| for i = first[k], j = second[k]."""

    def pair_gradient(
        self,
        first: Array,
        second: Array,
        distances: Array,
        targets: Array,
        weights: Array | None,
        X: Array,
    ) -> tuple[float, Array]:
        """The weighted raw stress of listed pairs, whose distances at X are given, and
        V X - B(X) X, half of its gradient."""

    def pair_stress(
        self, n: int, first: Array, second: Array, targets: Array, weights: Array | None
    ) -> PairStress:
        """The weighted raw stress of listed pairs of n objects, first[k] < second[k]."""

    def inverse(self, V: Array) -> Callable[[Array], Array]:
        """The function from g, of shape (n, k), to V^-1 g, in float64.

        V is a symmetric positive definite float64 matrix, which may be overwritten.
        """

    def stress_sgd_round(
        self, order: Array, targets: Array, weights: Array | None, rate: float, X: Array
    ) -> float:
        """One round of stochastic stress descent (see `lowdim.solvers.sampled`).

        Tile t consists of the 2 s objects order[2 s t : 2 s (t + 1)]; each of the first s objects
        is paired with each of the last s, with the dissimilarities targets[t] of shape (s, s). Both
        points of a pair move by min(1, weight * rate) / 2 of the error of their distance. X is
        updated in place. Returns the stress of these pairs before they moved.
        """

    def isotonic(
        self, values: Array, weights: Array | None, ties: Array | None, primary: bool
    ) -> Array:
        """Weighted isotonic regression.

        Parameters
        ----------
        values : array
        weights : array or None
            None: all equal.
        ties : array of int or None
            Starts of the runs of tied items, with the number of items as the last entry.
        primary : bool
            Whether tied items may get different values, in the order of `values`; otherwise they
            get equal ones.
        """

    def curvilinear_sweep(
        self,
        distances: Array,
        rows: Array,
        pins: Array,
        Y: Array,
        *,
        unit: float,
        alpha: float,
        reach: float,
        step: bool,
    ) -> float:
        """One sweep of curvilinear component analysis (see `lowdim.solvers.curvilinear`).

        The points `pins` are fixed one after the other, and each moves all other points.

        Parameters
        ----------
        distances : array of shape (m, n)
        rows : array of int
            Row of `distances`, in units of 1 / `unit`, that belongs to each pin.
        pins : array of int
        Y : array of shape (dim, n)
            Coordinates, updated in place.
        unit, alpha, reach : float
            Factor of the distances, learning rate, and lambda of the weighting F.
        step : bool
            Whether F is a step function; otherwise it is exponential.

        Returns
        -------
        float
            The sum of F (X - Y)^2 over all pins and points, before they moved.
        """

    def divergence_gradient(
        self, costs: Array, precisions: Array, trade_off: float, Y: Array
    ) -> tuple[float, float, Array]:
        """Divergences between neighbour probabilities of all pairs, and their gradient.

        Parameters
        ----------
        costs : array of shape (n, n - 1)
            -log p of all other objects, in ascending order of their index.
        precisions : array of shape (n, n_scales)
            Ascending; q_i is the mean over the scales of softmax(-precision |y_i - y_j|^2).
        trade_off : float
            Weight t of the first divergence.
        Y : float64 array of shape (n, dim)

        Returns
        -------
        forward, backward : float
            sum_i KL(p_i || q_i) and sum_i KL(q_i || p_i).
        gradient : array of shape (n, dim)
            Of t * forward + (1 - t) * backward.
        """

    def place_by_divergence(
        self,
        costs: Array,
        precisions: Array,
        trade_off: float,
        embedding: Array,
        starts: Array,
        max_iter: int,
        tol: float,
    ) -> Array:
        """New points that minimise the same divergences against a fixed embedding.

        `costs` has one row per new point and one column per fixed point. `starts`, of shape
        (n_new, n_starts, dim), are tried and the best one is followed for at most `max_iter` steps,
        until a step is shorter than `tol` in units of the narrowest Gaussian. Each point is
        computed independently.
        """

    def stochastic_neighbor_errors(
        self, Z: Array, classes: Array, accuracy: float
    ) -> tuple[float, Array]:
        """Expected errors of classification by a stochastic neighbour, and their gradient.

        Point i takes the class of another point j with probability p_ij, the softmax of
        ``-|z_i - z_j|^2`` over all j other than i.

        Parameters
        ----------
        Z : float64 array of shape (n, dim)
        classes : int32 array of shape (n,)
            In ascending order.
        accuracy : float
            Squared distances may have errors of about this size; 0 for double precision. Of a row,
            probabilities that add up to less than a tenth of it may be left out if none is above
            1e-9 of the largest one, and those below 1e-13 of that in any case.

        Returns
        -------
        value : float
            The sum of ``1 - sum_j p_ij`` over all i, with the j of the class of i.
        gradient : array of shape (n, dim)
        """
