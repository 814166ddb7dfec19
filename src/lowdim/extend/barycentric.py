"""New points as affine combinations of their neighbours (Saul and Roweis 2003)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array, dense
from lowdim.matrices.reconstruction import barycentric_weights, local_grams
from lowdim.relations.metrics import Metric, euclidean
from lowdim.relations.search import query
from lowdim.runtime.scheduling import blocks

REG = 1e-3


def barycentric_map(
    known: Any,
    images: Array,
    new: Any,
    k: int,
    *,
    metric: Metric | None = None,
    reg: float = REG,
    near: float = 0.0,
) -> Array:
    """Images of new points under a map known on some: the weights that rebuild a new point from
    its k nearest known points, applied to those points' images.

    `near` adds near * sum_j w_j^2 d_j^2 to what the weights minimise, so that of all the weights
    which rebuild a point alike the nearest known points get most; a known point gets itself.
    """
    metric = metric or euclidean()
    k = min(k, known.shape[0])
    out = np.empty((new.shape[0], images.shape[1]), dtype=images.dtype)
    for rows in blocks(new.shape[0], 1024):
        part = dense(new[rows])
        nearest, _ = query(known, new[rows], k, metric)
        grams = local_grams(known, nearest, part).astype(np.float64)
        grams[:, np.arange(k), np.arange(k)] *= 1 + near
        weights = barycentric_weights(grams, reg)
        out[rows] = np.einsum("mk,mkd->md", weights.astype(images.dtype), images[nearest])
    return out


def decode(embedding: Array, X: Any, Y: Array) -> Array:
    """Coordinates back to the input space: each point of the map as an affine combination of
    the vectors whose own coordinates are nearest to it.

    The general inverse where a method has none of its own. It returns the training vectors for
    the training coordinates (where those differ) and never leaves the affine hull of a few
    training vectors.
    """
    vectors = dense(X)
    k = embedding.shape[1] + 3
    wanted = Y.astype(embedding.dtype)
    return barycentric_map(embedding, vectors, wanted, k, reg=1e-10, near=0.1)
