"""UMAP's fuzzy graphs of neighbours (McInnes, Healy and Melville 2018).

The membership of object i's neighbour at distance d is exp(-max(d - rho_i, 0) / sigma_i). rho_i is
the distance to the nearest neighbour, and sigma_i is such that the memberships of i's neighbours
sum to log2(k). The memberships a and b of the two arcs of an edge are combined by the fuzzy union
a + b - a b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.neighbor_graphs.graph import NeighborGraph, row_of_entries
from lowdim.objects.neighbors import neighbors
from lowdim.runtime.elementary import exp, log, log2, power

MIN_MEMBERSHIP = 1e-8  # of a missing edge, in an intersection


@dataclass(frozen=True)
class FuzzyGraph:
    """A symmetric CSR matrix of memberships, and each object's rho and sigma."""

    matrix: Any
    rho: Array
    sigma: Array


def fuzzy_graph(
    graph: NeighborGraph,
    n_neighbors: int,
    *,
    local_connectivity: float = 1.0,
    mix: float = 1.0,
    disconnection: float = np.inf,
) -> FuzzyGraph:
    """The fuzzy graph of a neighbour graph (the paper's algorithms 2 and 3).

    `n_neighbors` counts the object itself. `local_connectivity`, which may be fractional, is the
    number of nearest neighbours with membership 1. `mix` 1 combines the two arcs of an edge by the
    fuzzy union, 0 by the intersection. Neighbours at the distance `disconnection` or farther get
    membership 0.
    """
    arcs = graph.csr()
    distances = arcs.data
    if np.isfinite(disconnection):
        far = np.asarray(np.inf, distances.dtype)
        distances = np.where(distances >= disconnection, far, distances)
    values, rho, sigma = backend().memberships(
        arcs.indptr, distances, log2(n_neighbors), local_connectivity
    )
    return FuzzyGraph(backend().fuzzy_union(with_data(arcs, values), mix), rho, sigma)


def directed_graph(graph: NeighborGraph, n_neighbors: int) -> Any:
    """The directed fuzzy graph, without the union with its transpose: a CSR matrix."""
    arcs = graph.csr()
    values, _, _ = backend().memberships(arcs.indptr, arcs.data, log2(n_neighbors), 1.0)
    matrix = with_data(arcs, values)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def log_radii(matrix: Any, distances: Any) -> Array:
    """densMAP's log radii: log of the mean squared distance to neighbours, by membership.

    `distances` is a CSR matrix with sorted indices (Narayan, Berger and Cho 2021).
    """
    squares = _on(matrix, distances.astype(np.float64)) ** 2
    rows = row_of_entries(matrix.indptr)
    total = np.bincount(rows, matrix.data, minlength=matrix.shape[0])
    spread = np.bincount(rows, matrix.data * squares, minlength=matrix.shape[0])
    return np.asarray(log(1e-8 + spread / np.where(total > 0, total, 1)), dtype=matrix.dtype)


def log_radii_of_points(Y: Array, n_neighbors: int) -> Array:
    """densMAP's log radii of points, from their own fuzzy graph; NaN for points that are NaN."""
    placed = np.isfinite(Y).all(axis=1)
    k = min(n_neighbors, int(placed.sum()))
    graph = neighbors(Y[placed], k - 1)
    radii = np.full(len(Y), np.nan, dtype=Y.dtype)
    radii[placed] = log_radii(fuzzy_graph(graph, k).matrix, graph.adjacency("union"))
    return radii


def new_memberships(
    nearest: Array,
    distances: Array,
    n_neighbors: int,
    graph: FuzzyGraph,
    reach: Array,
    *,
    local_connectivity: float = 1.0,
    mix: float = 1.0,
) -> Array:
    """Memberships (m, k) of the edges between new objects and their nearest training objects.

    Both arcs of an edge are combined, as in training. The arc from a training object to a new one
    has the membership that the training object's rho and sigma give, or 0 if the new object is
    farther away than its `reach`, the distance to its farthest neighbour.
    """
    m, k = distances.shape
    indptr = np.arange(m + 1, dtype=np.int64) * k
    flat = np.ascontiguousarray(distances).ravel()
    own, _, _ = backend().memberships(indptr, flat, log2(n_neighbors), local_connectivity)
    own = own.reshape(m, k)
    beyond = np.maximum(distances - graph.rho[nearest], 0)
    sigma = graph.sigma[nearest]
    with np.errstate(invalid="ignore", divide="ignore"):
        theirs = np.where(beyond > 0, exp(-beyond / sigma), 1)
    theirs = np.where(distances <= reach[nearest], theirs, 0).astype(own.dtype)
    both = own * theirs
    return np.asarray(mix * (own + theirs - both) + (1 - mix) * both, dtype=own.dtype)


def as_matrix(nearest: Array, weights: Array, n: int) -> Any:
    """The CSR matrix of memberships of the edges between new objects and n training objects."""
    m, k = nearest.shape
    indptr = np.arange(m + 1, dtype=np.int32) * k
    matrix = csr_array((weights.ravel(), nearest.astype(np.int32).ravel(), indptr), shape=(m, n))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def unite(left: Any, right: Any) -> Any:
    """The union a + b - a b of two fuzzy graphs.

    An edge that is missing in one of the graphs gets half of the smallest membership there.
    """
    either, a, b = _on_both(left, right)
    a, b = np.where(a > 0, a, _least(left)), np.where(b > 0, b, _least(right))
    return connect_locally(with_data(either, (a + b - a * b).astype(left.dtype)))


def subtract(left: Any, right: Any) -> Any:
    """The intersection of a fuzzy graph with the complement 1 - b of another one."""
    either, a, b = _on_both(left, right)
    least = min(max(float((1 - right.data).min(initial=1.0)) / 2, MIN_MEMBERSHIP), 1e-4)
    missing = b == 0
    a, rest = np.where(a > 0, a, _least(left)), np.where(missing, least, 1 - b)
    data = np.where(missing & (a <= _least(left)), 0.0, a * rest)
    return connect_locally(with_data(either, data.astype(left.dtype)))


def _on_both(left: Any, right: Any) -> tuple[Any, Array, Array]:
    """The edges of either graph as a CSR matrix, and their memberships in each; 0 if missing."""
    either = csr_array(_ones(left) + _ones(right))
    either.sort_indices()
    return either, _on(either, left), _on(either, right)


def intersect(left: Any, right: Any, weight: float = 0.5) -> Any:
    """The weighted intersection of two fuzzy graphs: left right^(w / (1 - w)) for weights w < 1/2,
    else left^((1 - w) / w) right.

    An edge that is missing in one of the graphs gets half of the smallest membership there.
    """
    either, a, b = _on_both(left, right)
    least_a, least_b = _least(left), min(_least(right), 1e-4)
    in_a, in_b = np.where(a > 0, a, least_a), np.where(b > 0, b, least_b)
    if weight < 0.5:
        data = in_a * power(in_b, weight / (1 - weight))
    else:
        data = power(in_a, (1 - weight) / weight) * in_b
    data = np.where((in_a > least_a) | (in_b > least_b), data, a + b)
    return connect_locally(with_data(either, data.astype(left.dtype)))


def connect_locally(matrix: Any) -> Any:
    """Divide each row by its largest membership, and take the fuzzy union with the transpose.

    Afterwards each object again has a neighbour of membership 1.
    """
    rows = row_of_entries(matrix.indptr)
    largest = np.zeros(matrix.shape[0], dtype=matrix.dtype)
    np.maximum.at(largest, rows, matrix.data)
    data = matrix.data / np.where(largest > 0, largest, 1)[rows]
    return backend().fuzzy_union(with_data(matrix, data), 1.0)


def with_data(matrix: Any, data: Array) -> Any:
    """A CSR matrix with the same stored entries and other values."""
    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _ones(matrix: Any) -> Any:
    return with_data(matrix, np.ones(len(matrix.data)))


def _on(pattern: Any, matrix: Any) -> Array:
    """The values of a CSR matrix at the stored entries of another; 0 where it has none.

    Both must have sorted indices.
    """

    def places(csr: Any) -> Array:
        return np.asarray(row_of_entries(csr.indptr) * csr.shape[1] + csr.indices)

    wanted, known = places(pattern), places(matrix)
    at = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    if not len(known):
        return np.zeros(len(wanted))
    return np.where(known[at] == wanted, matrix.data[at], 0.0)


def _least(matrix: Any) -> float:
    """The membership of a missing edge in an intersection: half of the smallest one."""
    return max(float(matrix.data.min(initial=1.0)) / 2, MIN_MEMBERSHIP)
