"""New points by membership: each where the cross-entropy of its edges to the map is least."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.solvers.layout import drawn


def place_by_membership(
    nearest: Array,
    weights: Array,
    embedding: Array,
    *,
    curve: tuple[float, float],
    n_epochs: int,
    learning_rate: float = 1.0,
    repulsion: float = 1.0,
    negative_sample_rate: float = 5,
    seed: int = 0,
) -> Array:
    """New points on a map that stands still, by their memberships to some of its points.

    Each row on its own: all meet the same points of the map, drawn by (seed, epoch).
    """
    m, k = nearest.shape
    share = weights.astype(np.float64)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    Y = np.einsum("mk,mkd->md", share, embedding[nearest].astype(np.float64))
    Y = np.ascontiguousarray(Y, dtype=embedding.dtype)
    indptr = np.arange(m + 1) * k
    links = csr_array(
        (weights.ravel().astype(embedding.dtype, copy=False), nearest.ravel(), indptr),
        shape=(m, len(embedding)),
    )
    backend().layout_epochs(
        backend().layout_arcs(links),
        Y,
        np.zeros_like(Y),
        curve=curve,
        rate=learning_rate,
        momentum=0.0,
        repulsion=repulsion * negative_sample_rate,
        draws=drawn(len(embedding), negative_sample_rate),
        epochs=(0, n_epochs, max(n_epochs, 1)),
        seed=seed,
        fixed=np.ascontiguousarray(embedding),
    )
    return Y
