"""Barycentric interpolation: affine combinations of neighbours (Saul and Roweis 2003)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array, dense
from lowdim.distances.metrics import Metric, euclidean
from lowdim.neighbor_graphs.exact import query
from lowdim.runtime.scheduling import blocks

REG = 1e-3  # default regularisation, as a share of the trace of the local Gram matrix
TINY = 1e-13  # regularisation when decoding: so small that training points return their vectors
# Decoding takes EXTRA_NEIGHBORS beyond the dimension of the map and adds
# DISTANCE_PENALTY * sum_j w_j^2 d_j^2 (d_j / u) to the objective, u being the median of the
# distances d_j, so that near ones are preferred. On maps of faces, digits and a roll by six methods
# these values gave a lower held-out error than the nearest training vector in every case, and fewer
# neighbours or a higher power of d_j did not.
EXTRA_NEIGHBORS = 10
DISTANCE_PENALTY = 0.3
BLOCK_ROWS = 1024  # new points handled at once
GATHERED_BYTES = 4 * 10**6  # of neighbours whose rows are copied at once, by a thread


def local_grams(rows: Any, neighbors: Array, centers: Any, numbers: Array | None = None) -> Array:
    """The (m, k, k) Gram matrices of k neighbours among `rows` about m centres.

    The centres are `centers`, or those of its rows that have the given numbers. At most
    GATHERED_BYTES of neighbours, or one neighbourhood, are copied at once.
    """
    m, k = neighbors.shape
    size = max(1, GATHERED_BYTES // max(1, k * rows.shape[1] * rows.dtype.itemsize))
    parts = []
    for part in blocks(m, size):
        points = dense(rows[neighbors[part].ravel()]).reshape(-1, k, rows.shape[1])
        about = dense(centers[part if numbers is None else numbers[part]])
        offsets = points - about[:, None, :]
        parts.append(offsets @ offsets.transpose(0, 2, 1))
    return np.concatenate(parts)


def barycentric_weights(grams: Array, reg: float) -> Array:
    """Weights of sum 1 that minimise |x_i - sum_j w_j x_j|^2 (Roweis and Saul 2000).

    They solve (G + reg trace(G) I) w = 1 up to a factor.
    """
    return backend().barycentric_weights(np.ascontiguousarray(grams), reg)


def barycentric_map(
    known: Any, images: Array, new: Any, k: int, *, metric: Metric | None = None, reg: float = REG
) -> Array:
    """Extend a map from known points to new ones.

    The weights that best reconstruct a new point from its k nearest known points, under a metric
    that is Euclidean by default, are applied to the images of these points.
    """
    metric = metric or euclidean()
    k = min(k, known.shape[0])
    out = np.empty((new.shape[0], images.shape[1]), dtype=images.dtype)
    for rows in blocks(new.shape[0], BLOCK_ROWS):
        part = dense(new[rows])
        nearest, _ = query(known, new[rows], k, metric)
        grams = local_grams(known, nearest, part).astype(np.float64)
        weights = barycentric_weights(grams, reg)
        out[rows] = np.einsum("mk,mkd->md", weights.astype(images.dtype), images[nearest])
    return out


def barycentric_lists(known: Array, new: Array) -> tuple[Array, Array]:
    """The nearest known points of each new point, and the weights that `decode` gives them."""
    k = min(known.shape[1] + EXTRA_NEIGHBORS, len(known))
    nearest, distances = query(known, new, k, euclidean())
    grams = local_grams(known, nearest, new).astype(np.float64)
    unit = np.median(distances, axis=1, keepdims=True)
    relative = distances / np.where(unit > 0, unit, 1)
    grams[:, np.arange(k), np.arange(k)] *= 1 + DISTANCE_PENALTY * relative
    return nearest, barycentric_weights(grams, TINY).astype(known.dtype)


def decode(embedding: Array, X: Any, Y: Array) -> Array:
    """The inverse map of methods that have none of their own.

    Each point Y is mapped to the affine combination of the training vectors X whose coordinates
    (`embedding`) are nearest to it. Training coordinates, if they differ from each other, are
    mapped to their training vectors.
    """
    vectors = dense(X)
    out = np.empty((len(Y), vectors.shape[1]), dtype=vectors.dtype)
    for rows in blocks(len(Y), BLOCK_ROWS):
        nearest, weights = barycentric_lists(embedding, Y[rows].astype(embedding.dtype))
        out[rows] = np.einsum("mk,mkd->md", weights.astype(vectors.dtype), vectors[nearest])
    return out
