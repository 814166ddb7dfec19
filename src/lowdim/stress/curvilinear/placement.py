"""Out-of-sample extension of curvilinear component analysis (Demartines and Herault 1997)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.elementary import exp, log
from lowdim.runtime.scheduling import blocks, run

NEIGHBORS = 15  # number of nearest training objects that place a new one
MAX_ITER = 200
TOLERANCE = 1e-9  # smallest step, in units of the distance of the farthest neighbour
BLOCK_ROWS = 512  # new objects handled at once


def place_by_curvilinear_rule(images: Array, nearest: Array, distances: Array) -> Array:
    """Coordinates of new objects from the ascending distances to their nearest training objects.

    The training objects stay fixed, and a new object moves by the rule of the method, applied to
    all of its neighbours at once: y <- sum_i w_i (y_i + X_i (y - y_i) / Y_i) / sum_i w_i, where X_i
    is the given distance to neighbour i and Y_i that in the embedding. The weights are
    w_i = F(Y_i) / X_i with F(Y) = exp(-Y / lambda), lambda the distance of the farthest neighbour.
    So neighbours that are far away in the embedding have little influence, and an object near a
    training object is placed near it. The start is the weighted mean of the neighbours.
    """
    out = np.empty((len(nearest), images.shape[1]), dtype=images.dtype)

    def place(part: slice) -> None:
        out[part] = _place(
            images[nearest[part]].astype(np.float64), distances[part].astype(np.float64)
        )

    run(place, blocks(len(nearest), BLOCK_ROWS))
    return out


def place_among(images: Array, nearest: Callable[[int], tuple[Array, Array]]) -> Array:
    """The same for a function from k to the indices and distances of the k nearest objects."""
    return place_by_curvilinear_rule(images, *nearest(min(NEIGHBORS, len(images))))


def _place(images: Array, X: Array) -> Array:
    """(m, dim) coordinates from (m, k, dim) images and (m, k) ascending distances."""
    known = X[:, 0] == 0
    X = np.where(known[:, None], 1.0, X)
    reach = X[:, -1]
    base = log(X[:, :1]) - log(X)
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
    return np.asarray(np.sqrt((gap * gap).sum(axis=2)))


def _mean(log_weights: Array, points: Array) -> Array:
    """Weighted means of points; weights are given by their logarithms, to avoid underflow."""
    weights = exp(log_weights - log_weights.max(axis=1, keepdims=True))
    total = weights.sum(axis=1)
    return np.asarray((weights[:, :, None] * points).sum(axis=1) / total[:, None])
