"""Weighted graphs and their Laplacians (Belkin and Niyogi 2003; von Luxburg 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, dia_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph, add_edges

WEIGHTS = ("heat", "binary")


def heat_scale(adjacency: Any) -> float:
    """The default of t in `edge_weights`: the mean squared length of an edge."""
    mean = float(np.mean(np.square(adjacency.data, dtype=np.float64))) if adjacency.nnz else 0.0
    return mean if mean > 0 else 1.0


def heat_width(t: float | None, adjacency: Any) -> float:
    """The width of the heat kernel: t as it was given, or else its default."""
    return heat_scale(adjacency) if t is None else checks.real(t, "t", 0, open_low=True)


def edge_weights(distances: Array, weights: str, t: float) -> Array:
    """Weights exp(-d^2 / t) ("heat") or 1 ("binary") of edges of length d; 0 if d is infinite."""
    checks.choice(weights, "weights", WEIGHTS)
    if weights == "binary":
        return np.isfinite(distances).astype(distances.dtype)
    return np.asarray(np.exp(-np.square(distances) / np.asarray(t, dtype=distances.dtype)))


def weight_matrix(adjacency: Any, weights: str, t: float) -> Any:
    """The CSR matrix of edge weights for a CSR matrix of edge lengths."""
    data = edge_weights(adjacency.data, weights, t)
    return csr_array((data, adjacency.indices, adjacency.indptr), shape=adjacency.shape)


def graph_weights(graph: NeighborGraph, symmetry: str, weights: str, t: float) -> Any:
    """The symmetric CSR matrix of the edge weights of a neighbour graph.

    With symmetry "mean" the weight of a pair is the mean of the weights of its two directions, half
    the weight if there is only one.
    """
    if symmetry != "mean":
        return weight_matrix(graph.adjacency(symmetry), weights, t)
    W = backend().symmetrize(weight_matrix(graph.csr(), weights, t), "half-sum")
    if graph.bridges is None or graph.bridge_lengths is None or not len(graph.bridges):
        return W
    return add_edges(W, graph.bridges, edge_weights(graph.bridge_lengths, weights, t))


def degrees(W: Any) -> Array:
    """Row sums."""
    return np.asarray(W.sum(axis=1)).ravel()


def positive_degrees(W: Any, t: float) -> Array:
    """Row sums in float64; an error where the weights of an object vanish."""
    sums = degrees(W).astype(np.float64)
    if sums.min() <= 0:
        raise ValueError(
            f"The weights of object {int(sums.argmin())} to all its neighbours vanish, because "
            f"{argument('t', t)} is too small for its distances. Raise {argument('t')}, or set "
            f"{argument('weights', 'binary')}."
        )
    return sums


def without_loops(W: Any) -> Any:
    """W without its diagonal, the weights of objects to themselves; CSR or dense, as W is."""
    if not is_sparse(W):
        W = np.array(W)
        np.fill_diagonal(W, 0)
        return W
    coo = W.tocoo()
    off = coo.row != coo.col
    return csr_array((coo.data[off], (coo.row[off], coo.col[off])), shape=W.shape)


def laplacian(W: Any) -> Any:
    """L = D - W of a symmetric weight matrix; CSR or dense, as W is."""
    if not is_sparse(W):
        return np.diag(degrees(W)) - W
    n = W.shape[0]
    diagonal: Any = degrees(W)[None, :]
    D = dia_array((diagonal, [0]), shape=(n, n))
    return (D - W).tocsr()


def trivial_vector(degrees: Array, normalization: str) -> Array:
    """The eigenvector of eigenvalue 0 of a connected graph."""
    n, total = len(degrees), degrees.sum()
    if normalization == "symmetric":
        return np.asarray(np.sqrt(degrees / total))
    return np.full(n, 1 / np.sqrt(n if normalization == "none" else total))


def extend_eigenvectors(w: Array, images: Array, eigenvalues: Array) -> Array:
    """Coordinates of new points from L v = lambda v with L = D - W (Nystroem's formula).

    Written for a new point with weights w, of shape (m, k), to its neighbours, whose coordinates
    are `images`, of shape (m, k, dim), it is (sum_j w_j - lambda) v = sum_j w_j v_j (Bengio et al.
    2004). The result is float64.
    """
    w = np.asarray(w, dtype=np.float64)
    degree = np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
    total = np.einsum("mk,mkd->md", w, np.asarray(images, dtype=np.float64))
    return np.asarray(total / np.maximum(degree - eigenvalues, 1e-12 * degree))


def extend_normalized(
    w: Array, images: Array, eigenvalues: Array, degrees: Array | None = None
) -> Array:
    """The same from P v = (1 - lambda) v with P = D^-1 W.

    If the degrees of the neighbours are given, with P = D^(-1/2) W D^(-1/2).
    """
    w = np.asarray(w, dtype=np.float64)
    degree = np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
    w = w / degree if degrees is None else w / np.sqrt(degrees * degree)
    mean = np.einsum("mk,mkd->md", w, images.astype(np.float64))
    return np.asarray(mean / np.maximum(1 - eigenvalues, 1e-12))
