"""The places of new objects on a map of UMAP, by their memberships to training objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.neighbor_embedding.umap.curved import SPACES
from lowdim.neighbor_embedding.umap.layout import negatives_per_epoch


def place_among_placed(
    nearest: Array, weights: Array, embedding: Array, metric: str, **options: Any
) -> Array:
    """Coordinates of new objects under a metric of the output, NaN if no edge determines them.

    Edges to training objects without coordinates (NaN) are ignored. On a curved surface a new
    object is placed at the weighted mean of its neighbours.
    """
    placed = np.asarray(np.isfinite(embedding).all(axis=1))
    number = np.maximum(np.cumsum(placed) - 1, 0)  # of each object among those with coordinates
    nearest, weights = number[nearest], np.where(placed[nearest], weights, 0)
    known = embedding[placed]
    if metric == "euclidean":
        Y = place_by_membership(nearest, weights, known, **options)
    else:
        Y = SPACES[metric].means(nearest, weights, known).astype(known.dtype)
    Y[~(weights > 0).any(axis=1)] = np.nan
    return Y


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
    """Coordinates of new objects of least cross-entropy, from their edges to training objects.

    The start is the mean of the neighbours' coordinates, weighted by membership. In each epoch all
    new objects are repelled by the same random training objects, drawn by (seed, epoch), so that
    the rows do not depend on each other. The options are those of `layout.Layout`.
    """
    m, k = nearest.shape
    share = weights.astype(np.float64)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    Y = (share[:, :, None] * embedding[nearest].astype(np.float64)).sum(axis=1)
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
        n_negatives=negatives_per_epoch(len(embedding), negative_sample_rate),
        epochs=(0, n_epochs, max(n_epochs, 1)),
        seed=seed,
        fixed=np.ascontiguousarray(embedding),
    )
    return Y
