"""New objects by the rule of curvilinear component analysis, against a map that stands still."""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

NEIGHBORS = 15
MAX_ITER = 200
TOLERANCE = 1e-9


def place_by_curvilinear_rule(images: Array, nearest: Array, distances: Array) -> Array:
    """Coordinates of new objects from their nearest known objects and the distances to them.

    A new object moves by the rule of the map, with all its neighbours as pins at once instead of
    one after the other: y <- sum_i w_i (y_i + X_i (y - y_i) / Y_i) / sum_i w_i. The weight is
    w_i = F(Y_i) / X_i: neighbours from which the map is torn away count little, and what
    comes near a known object lands near its image, as interpolation should. F is exponential
    with the distance of the farthest neighbour for its lambda, and the start the weighted mean
    of the images. Each row stops on its own.
    """
    out = np.empty((len(nearest), images.shape[1]), dtype=images.dtype)

    def place(part: slice) -> None:
        out[part] = _placed(
            images[nearest[part]].astype(np.float64), distances[part].astype(np.float64)
        )

    run(place, blocks(len(nearest), 512))
    return out


def _placed(images: Array, X: Array) -> Array:
    """(m, k, dim) images and (m, k) distances, ascending, to (m, dim) coordinates."""
    known = X[:, 0] == 0
    X = np.where(known[:, None], 1.0, X)
    reach = X[:, -1]
    base = np.log(X[:, :1]) - np.log(X)
    y = _mean(base - _lengths(images - images[:, :1]) / reach[:, None], images)
    y[known] = images[known, 0]
    moving = np.flatnonzero(~known)
    for _ in range(MAX_ITER):
        if not len(moving):
            break
        gap = y[moving, None, :] - images[moving]
        Y = _lengths(gap)
        stretch = np.where(Y > 0, X[moving] / np.where(Y > 0, Y, 1), 0)
        log_weights = base[moving] - Y / reach[moving, None]
        after = _mean(log_weights, images[moving] + stretch[:, :, None] * gap)
        change = np.abs(after - y[moving]).max(axis=1)
        y[moving] = after
        moving = moving[change > TOLERANCE * reach[moving]]
    return y


def _lengths(gap: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("mkd,mkd->mk", gap, gap)))


def _mean(log_weights: Array, points: Array) -> Array:
    """Means of points by weights known by their logarithms, the greatest of which counts 1."""
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    total = weights.sum(axis=1)
    return np.asarray(np.einsum("mk,mkd->md", weights, points) / total[:, None])
