"""Weighted graphs and their Laplacians (Belkin and Niyogi 2003; von Luxburg 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, is_sparse

WEIGHTS = ("heat", "binary")


def heat_scale(adjacency: Any) -> float:
    """The default of t in `edge_weights`: the mean squared length of an edge."""
    mean = float(np.mean(np.square(adjacency.data, dtype=np.float64))) if adjacency.nnz else 0.0
    return mean if mean > 0 else 1.0


def edge_weights(distances: Array, weights: str, t: float) -> Array:
    """Weights exp(-d^2 / t) ("heat") or 1 ("binary") of edges of length d; 0 if d is infinite."""
    checks.choice(weights, "weights", WEIGHTS)
    if weights == "binary":
        return np.isfinite(distances).astype(distances.dtype)
    return np.asarray(np.exp(-np.square(distances) / np.asarray(t, dtype=distances.dtype)))


def weighted(adjacency: Any, weights: str, t: float) -> Any:
    """The CSR matrix of edge weights for a CSR matrix of edge lengths."""
    from scipy.sparse import csr_array

    data = edge_weights(adjacency.data, weights, t)
    return csr_array((data, adjacency.indices, adjacency.indptr), shape=adjacency.shape)


def degrees(W: Any) -> Array:
    """Row sums."""
    return np.asarray(W.sum(axis=1)).ravel()


def laplacian(W: Any) -> Any:
    """L = D - W of a symmetric weight matrix; CSR or dense, as W is."""
    if not is_sparse(W):
        return np.diag(degrees(W)) - W
    from scipy.sparse import dia_array

    n = W.shape[0]
    diagonal: Any = degrees(W)[None, :]
    D = dia_array((diagonal, [0]), shape=(n, n))
    return (D - W).tocsr()
