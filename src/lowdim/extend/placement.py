"""New points by majorization of their stress against a configuration that stays as it is."""

from __future__ import annotations

import numpy as np

from lowdim.backends import native
from lowdim.checks import Array

MAX_ITER, TOL = 1000, {4: 1e-6, 8: 1e-10}  # tolerance by the size of a number in bytes


def place(targets: Array, weights: Array, X: Array, n_jobs: int | None = None) -> Array:
    """y with |y - x_j| nearest to target j, in least squares weighted by the rows of weights.

    Each row on its own, from the mean of the objects it should be nearest to; a row with no weight
    at all is NaN.
    """
    k = min(X.shape[1] + 1, X.shape[0])
    known = np.where(weights > 0, targets, np.inf)
    nearest = np.argsort(known, axis=1, kind="stable")[:, :k]
    reach = np.take_along_axis(known, nearest, axis=1).astype(np.float64)
    closeness = 1 / np.maximum(reach, 1e-12 * max(float(np.abs(X).max()), 1e-300))
    total = closeness.sum(axis=1, keepdims=True)
    share = closeness / np.where(total > 0, total, np.nan)
    start = np.einsum("mk,mkd->md", share, X[nearest].astype(np.float64))
    return native.place_points(
        np.ascontiguousarray(targets, dtype=X.dtype),
        np.ascontiguousarray(weights, dtype=X.dtype),
        X,
        start,
        MAX_ITER,
        TOL[X.itemsize],
        n_jobs,
    )
