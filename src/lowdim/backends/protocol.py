"""What an engine must offer: the coarse operations on which every method is built.

Arrays are NumPy arrays (float32 or float64, C-contiguous), sparse matrices are SciPy CSR. Results
must not depend on the number of threads. The reference implementation in plain NumPy, against which
engines are tested, is `tests/backends/reference.py`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lowdim.backends.similarity import Similarity
from lowdim.checks import Array

Neighbors = tuple[Array, Array]
"""Indices (int32) and distances of each row's neighbours, ordered by (distance, index)."""


class Index(Protocol):
    """Rows prepared for searches of up to k neighbours, nearly all of which are found."""

    @property
    def recall(self) -> float:
        """The share of true neighbours found, as measured on a sample of the rows."""

    def neighbors(self) -> Neighbors:
        """Each row's k nearest other rows."""

    def query(self, queries: Any, k: int) -> Neighbors:
        """The k rows nearest to each query, which depend on that query alone."""


class Heaps(Protocol):
    """The k smallest scores offered to each of n rows, with the columns they came from."""

    def offer(
        self,
        tile: Array,
        first: tuple[int | None, int],
        *,
        rows: slice | Array | None = None,
        columns: bool = False,
    ) -> None:
        """Offer a tile's entries to the heaps of its rows, or of its columns.

        `first` numbers the objects of the tile's first row and column; an object is not offered to
        itself, and None says that the rows are no objects of the columns' set.
        """

    def clear(self, rows: Array) -> None:
        """Empty the heaps of some rows."""

    def incomplete(self) -> Array:
        """The rows that were offered fewer than k scores."""

    def sorted(self) -> Neighbors:
        """Columns and scores of each row, ordered by (score, column)."""


class Attraction(Protocol):
    """The attraction of points along the weighted edges of a graph."""

    def __call__(self, Y: Array, *, loss: bool) -> tuple[float, Array]:
        """sum_ij p_ij log w_ij (0 unless `loss`), and the forces sum_j p_ij u_ij (y_i - y_j)."""

    def renumber(self, order: Array) -> None:
        """Call vertex order[i] by the number i."""


class Repulsion(Protocol):
    """The repulsion between all points of a map."""

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        """sum_j m_j w_ij u_ij (y_i - y_j) and sum_j m_j w_ij over all j != i."""


class FrozenField(Protocol):
    """The repulsion of a map that does not move."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """sum_j w u (y - x_j) and sum_j w over all points x of the map, for each point y."""


class Backend(Protocol):
    """An engine. A module with these functions is one."""

    def description(self) -> str:
        """What the engine runs on, for `lowdim.show_versions`."""

    # --- products -----------------------------------------------------------------------------

    def matmul(self, A: Array, V: Array, *, squared: bool = False) -> Array:
        """A @ V, or (A * A) @ V without the matrix of squares."""

    def spmm(self, A: Any, V: Array) -> Array:
        """A @ V for a CSR matrix and a few dense columns."""

    def squared_distances(self, queries: Array, points: Array) -> Array:
        """|q - p|^2 of all queries and points, by differences: equal pairs get equal values."""

    # --- nearest neighbours -------------------------------------------------------------------

    def nearest(self, X: Any, k: int, cosine: bool) -> Neighbors:
        """Each row's k nearest other rows, by the Euclidean or the cosine distance."""

    def nearest_to(self, points: Any, queries: Any, k: int, cosine: bool) -> Neighbors:
        """The k points nearest to each query; dense vectors."""

    def pairs_within(
        self, points: Array, queries: Array, reach: Array
    ) -> tuple[Array, Array, Array]:
        """Query, point and distance of every pair with |query - point| <= the point's reach."""

    def build_index(
        self, rows: Any, k: int, cosine: bool, recall: float, random: np.random.Generator
    ) -> Index | None:
        """An index with at least this recall, or None where comparing all rows is cheaper."""

    def exact_search_seconds(self, rows: Any) -> float:
        """How long `nearest` will take, roughly."""

    def heaps(self, n: int, k: int, dtype: Any) -> Heaps:
        """Empty heaps for the k smallest scores of n rows."""

    def smallest(self, values: Array, k: int, *, own: bool = False) -> Neighbors:
        """The k smallest entries of each row; without entry i of row i if `own`."""

    def compare_orders(
        self, first: Array, second: Array, own: Array, k: int, grid: Array
    ) -> tuple[Array, Array, Array, Array, Array]:
        """The k nearest by either of two distances with their ranks (from 1) by the other, and how
        many objects are among the grid[g] nearest by both. Row r is seen from object own[r]."""

    # --- graphs -------------------------------------------------------------------------------

    def symmetrize(self, graph: Any, how: str) -> Any:
        """A CSR graph combined with its transpose: "union", "mutual", "mean" or "half-sum"."""

    def fuzzy_union(self, graph: Any, mix: float) -> Any:
        """`mix` of the fuzzy union a + b - a b with the transpose, the rest intersection a b."""

    def shortest_paths(self, graph: Any, sources: Array) -> Array:
        """Lengths of the shortest paths from each source to every node."""

    def floyd_warshall(self, lengths: Array) -> None:
        """All shortest paths of a dense matrix of arc lengths, in place."""

    def level_structure(self, graph: Any) -> tuple[int, int]:
        """Number of breadth-first levels from a peripheral node, and the width of the widest."""

    # --- rows of neighbours -------------------------------------------------------------------

    def barycentric_weights(self, grams: Array, reg: float) -> Array:
        """Affine weights w with (G + reg tr(G) I) w proportional to 1, for each Gram matrix."""

    def perplexity_affinities(
        self, indptr: Array, squared: Array, perplexity: float
    ) -> tuple[Array, Array]:
        """Rows p ~ exp(-beta d^2) of sum one and entropy log(perplexity), and their betas."""

    def memberships(
        self, indptr: Array, distances: Array, target: float, connectivity: float
    ) -> tuple[Array, Array, Array]:
        """Fuzzy memberships of rows of neighbours, nearest first; their rho and sigma."""

    # --- forces and layouts -------------------------------------------------------------------

    def attraction(self, P: Any, similarity: Similarity) -> Attraction:
        """The attraction along the edges of a CSR matrix."""

    def repulsion(
        self, method: str, similarity: Similarity, n: int, dim: int, angle: float
    ) -> Repulsion:
        """Repulsion among n points by "exact", "barnes_hut", "fft", or "auto"."""

    def frozen_field(self, embedding: Array, similarity: Similarity, room: float) -> FrozenField:
        """The repulsion of a map that does not move, for points up to `room` outside of it."""

    def momentum_step(
        self,
        gradient: Array,
        Y: Array,
        velocity: Array,
        gains: Array,
        *,
        rate: float,
        momentum: float,
        least_gain: float,
        longest: float,
    ) -> float:
        """One step of descent, in place of Y, velocity and gains; returns the gradient's norm."""

    def curve_order(self, Y: Array) -> Array:
        """The points in the order of a space-filling curve."""

    def layout_arcs(self, graph: Any, rank: Array | None = None) -> Any:
        """The arcs of a CSR graph, for `layout_epochs`; vertices numbered by `rank`, or, without
        it, rows as vertices and columns as fixed points."""

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
        draws: int,
        epochs: tuple[int, int, int],
        seed: int,
        fixed: Array | None = None,
        density: tuple[Array, Array] | None = None,
        loss: bool = False,
    ) -> float:
        """Epochs [first, last) of a layout that ends at the third number; Y, velocity in place.
        Returns the cross-entropy before the last epoch if `loss`."""

    def layout_radii(self, arcs: Any, Y: Array, curve: tuple[float, float]) -> tuple[Array, Array]:
        """Each vertex's sum of nearness to its targets, and of nearness times squared distance."""

    # --- stress and divergence ----------------------------------------------------------------

    def stress_gradient(self, dissimilarities: Array, X: Array) -> tuple[float, Array]:
        """The raw stress at X and V X - B(X) X."""

    def sammon_gradient(
        self, dissimilarities: Array, X: Array, mass: Array, *, floor: float, epsilon: float
    ) -> tuple[float, Array]:
        """sum_{i<j} w_ij (delta_ij - d_ij)^2, w_ij = mass_i mass_j / max(delta_ij, epsilon), and
        half of its gradient; pairs up to `floor` are left out unless epsilon > 0."""

    def pair_distances(self, first: Array, second: Array, X: Array) -> Array:
        """|x_i - x_j| of the listed pairs."""

    def pair_gradient(
        self,
        first: Array,
        second: Array,
        distances: Array,
        targets: Array,
        weights: Array | None,
        X: Array,
    ) -> tuple[float, Array]:
        """The weighted raw stress of listed pairs at given distances, and V X - B(X) X."""

    def meet_in_tiles(
        self, order: Array, targets: Array, weights: Array | None, rate: float, X: Array
    ) -> float:
        """Move the points X, in place, pair by pair in tiles of `order`; returns their stress."""

    def isotonic(
        self, values: Array, weights: Array | None, ties: Array | None, primary: bool
    ) -> Array:
        """The non-decreasing sequence nearest to the values, in weighted least squares."""

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
        """One sweep of curvilinear component analysis: each pin moves all other points, in place
        of Y (dimensions in rows); returns the error."""

    def divergence_gradient(
        self, costs: Array, precisions: Array, trade_off: float, Y: Array
    ) -> tuple[float, float, Array]:
        """sum_i KL(p_i || q_i), sum_i KL(q_i || p_i), and the gradient of their sum weighted by
        trade_off and 1 - trade_off. Row i of `costs` holds -log p of all other objects."""

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
        """Points whose own row has the least divergence from a map that does not move."""
