"""Fuzzy graphs of neighbours (McInnes, Healy and Melville 2018), and what targets make of them.

An object's neighbours belong to it by exp(-max(d - rho, 0) / sigma): fully within rho, the distance
to the nearest, and beyond it so that the memberships sum to log2(k). The two opinions on an edge
are joined by the fuzzy union a + b - a b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.objects import objects_of

UNKNOWN = 1.0  # distance between labels of which one is unknown
ABSENT = 1e-8  # least membership of an edge that is not there, in an intersection


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

    Parameters
    ----------
    n_neighbors : k, the object itself counted: its memberships sum to log2(k).
    local_connectivity : number of nearest neighbours that belong fully; may be fractional.
    mix : 1 keeps an edge by the fuzzy union of both opinions, 0 by their intersection.
    disconnection : distance from which on neighbours are none.
    """
    arcs = graph.csr()
    distances = arcs.data
    if np.isfinite(disconnection):
        far = np.asarray(np.inf, distances.dtype)
        distances = np.where(distances >= disconnection, far, distances)
    values, rho, sigma = backend().memberships(
        arcs.indptr, distances, np.log2(n_neighbors), local_connectivity
    )
    return FuzzyGraph(backend().fuzzy_union(_like(arcs, values), mix), rho, sigma)


def directed(graph: NeighborGraph, n_neighbors: int) -> Any:
    """Each object's own opinion alone, not joined with its neighbours': a CSR matrix."""
    arcs = graph.csr()
    values, _, _ = backend().memberships(arcs.indptr, arcs.data, np.log2(n_neighbors), 1.0)
    matrix = _like(arcs, values)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def log_radii(matrix: Any, distances: Any) -> Array:
    """Logarithms of the mean squared distances of objects to their neighbours, by membership."""
    squares = _on(matrix, distances.astype(np.float64)) ** 2
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    total = np.bincount(rows, matrix.data, minlength=matrix.shape[0])
    spread = np.bincount(rows, matrix.data * squares, minlength=matrix.shape[0])
    return np.asarray(np.log(1e-8 + spread / np.where(total > 0, total, 1)), dtype=matrix.dtype)


def new_memberships(
    nearest: Array,
    distances: Array,
    n_neighbors: int,
    known: FuzzyGraph,
    reach: Array,
    *,
    local_connectivity: float = 1.0,
    mix: float = 1.0,
) -> Array:
    """Memberships of new objects' neighbours, as if the new ones had been there all along.

    A training object has the opinion on a new one that its own rho and sigma give, provided that
    the new one is within its reach.
    """
    m, k = distances.shape
    indptr = np.arange(m + 1, dtype=np.int64) * k
    flat = np.ascontiguousarray(distances).ravel()
    own, _, _ = backend().memberships(indptr, flat, np.log2(n_neighbors), local_connectivity)
    own = own.reshape(m, k)
    beyond = np.maximum(distances - known.rho[nearest], 0)
    sigma = known.sigma[nearest]
    with np.errstate(invalid="ignore", divide="ignore"):
        theirs = np.where(beyond > 0, np.exp(-beyond / sigma), 1)
    theirs = np.where(distances <= reach[nearest], theirs, 0).astype(own.dtype)
    both = own * theirs
    return np.asarray(mix * (own + theirs - both) + (1 - mix) * both, dtype=own.dtype)


def intersect_targets(
    matrix: Any,
    targets: Any,
    weight: float,
    *,
    metric: Any = "categorical",
    metric_params: dict[str, Any] | None = None,
    n_neighbors: int = 15,
) -> Any:
    """A fuzzy graph intersected with that of the objects' targets.

    Parameters
    ----------
    matrix : CSR matrix of shape (n, n)
        Memberships.
    targets : array of shape (n,) or (n, n_targets)
        Labels, of which the number -1 is an unknown one; or numbers.
    weight : float
        From 0, where only the graph counts, to 1, where only the targets count.
    metric : str or callable
        "categorical" for labels, or the metric of numbers.
    metric_params : dict
        Further arguments of the metric.
    n_neighbors : int
        Size of a neighbourhood of numbers, including the object itself.
    """
    n = matrix.shape[0]
    if isinstance(metric, str) and metric == "categorical":
        labels = _of_length(column_or_1d(targets, warn=True), n)
        codes = np.unique(labels, return_inverse=True)[1]
        if labels.dtype.kind in "iuf":
            codes = np.where(labels == -1, -1, codes)
        far = 2.5 / (1 - weight) if weight < 1 else 1e12
        return intersect_labels(matrix, codes, far)
    numbers = checks.vectors(_of_length(np.asarray(targets), n).reshape(n, -1), name="y")
    size = min(n_neighbors, n)
    graph = objects_of(numbers, metric, metric_params).neighbor_graph(size - 1)
    return intersect(matrix, directed(graph, size), weight)


def _of_length(targets: Array, n: int) -> Array:
    if len(targets) != n:
        raise ValueError(f"y has {len(targets)} targets, but X has {n} objects.")
    return targets


def intersect_labels(matrix: Any, labels: Array, far: float) -> Any:
    """A fuzzy graph intersected with that of labels, -1 standing for an unknown one.

    Memberships count exp(-far) as much between different labels, exp(-1) where one is unknown.
    """
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    one, other = labels[rows], labels[matrix.indices]
    unknown = (one == -1) | (other == -1)
    factor = np.where(unknown, np.exp(-UNKNOWN), np.where(one != other, np.exp(-far), 1.0))
    data = matrix.data * factor.astype(matrix.dtype)
    return connect_locally(_like(matrix, data))


def intersect(left: Any, right: Any, weight: float) -> Any:
    """Two fuzzy graphs intersected: left^(1 - w) right^w, to the power that gives one of them 1.

    An edge that only one of them has counts in the other as half of its least membership.
    """
    from scipy.sparse import csr_array

    either = csr_array(_ones(left) + _ones(right))
    either.sort_indices()
    a, b = _on(either, left), _on(either, right)
    least_a, least_b = _least(left), min(_least(right), 1e-4)
    in_a, in_b = np.where(a > 0, a, least_a), np.where(b > 0, b, least_b)
    if weight < 0.5:
        data = in_a * in_b ** (weight / (1 - weight))
    else:
        data = in_a ** ((1 - weight) / weight) * in_b
    data = np.where((in_a > least_a) | (in_b > least_b), data, a + b)
    return connect_locally(_like(either, data.astype(left.dtype)))


def connect_locally(matrix: Any) -> Any:
    """Each object made sure of its nearest again: rows divided by their largest, then united."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    largest = np.zeros(matrix.shape[0], dtype=matrix.dtype)
    np.maximum.at(largest, rows, matrix.data)
    data = matrix.data / np.where(largest > 0, largest, 1)[rows]
    return backend().fuzzy_union(_like(matrix, data), 1.0)


def _like(matrix: Any, data: Array) -> Any:
    from scipy.sparse import csr_array

    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _ones(matrix: Any) -> Any:
    return _like(matrix, np.ones(len(matrix.data)))


def _on(pattern: Any, matrix: Any) -> Array:
    """The values of a matrix at the places of a pattern, 0 where it has none; rows sorted."""

    def places(csr: Any) -> Array:
        rows = np.repeat(np.arange(csr.shape[0], dtype=np.int64), np.diff(csr.indptr))
        return np.asarray(rows * csr.shape[1] + csr.indices)

    wanted, known = places(pattern), places(matrix)
    at = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    if not len(known):
        return np.zeros(len(wanted))
    return np.where(known[at] == wanted, matrix.data[at], 0.0)


def _least(matrix: Any) -> float:
    """What stands for the membership of an edge that is not there."""
    return max(float(matrix.data.min(initial=1.0)) / 2, ABSENT)
