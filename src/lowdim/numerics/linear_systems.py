"""Dense positive definite systems, and quadratic problems without negative coordinates."""

from __future__ import annotations

import numpy as np

from lowdim.backends.native.dense import PANEL, cholesky_in_place, solve_triangle
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks


def solve_positive(A: Array, B: Array) -> Array:
    """Solve A X = B for a positive definite A, which is overwritten."""
    from scipy.linalg import solve, solve_triangular

    n = len(A)
    if n <= 2 * PANEL:
        try:
            return np.asarray(solve(A, B, assume_a="pos", check_finite=False))
        except np.linalg.LinAlgError:
            return np.asarray(np.linalg.lstsq(A, B, rcond=None)[0])
    cholesky_in_place(A)
    X = np.array(B, dtype=A.dtype)
    parts = blocks(n, PANEL)
    for K in parts:
        X[K] -= A[K, : K.start] @ X[: K.start]
        X[K] = solve_triangular(A[K, K], X[K], lower=True, check_finite=False)
    for K in reversed(parts):
        X[K] -= A[K.stop :, K].T @ X[K.stop :]
        X[K] = solve_triangular(A[K, K], X[K], lower=True, trans="T", check_finite=False)
    return X


def nonnegative_minimum(A: Array, t: Array) -> Array:
    """The w >= 0 that minimises w'Aw - 2 w't, for a small positive definite A.

    Lawson and Hanson's (1974) method of active sets, on the normal equations.
    """
    n = len(t)
    w, free = np.zeros(n), np.zeros(n, dtype=bool)
    for _ in range(10 * n):
        gain = np.where(free, -np.inf, t - (A * w).sum(axis=1))
        if not gain.max() > 1e-12 * np.abs(t).max():
            break
        free[gain.argmax()] = True
        while True:
            inside = np.flatnonzero(free)
            L = np.ascontiguousarray(A[np.ix_(inside, inside)])
            cholesky_in_place(L)
            half = solve_triangle(L, t[inside][:, None])
            goal = np.zeros(n)
            goal[inside] = solve_triangle(L, half, transposed=True)[:, 0]
            leaving = free & (goal <= 0)
            if not leaving.any():
                break
            share = (w[leaving] / (w[leaving] - goal[leaving])).min()
            w += share * (goal - w)
            free &= w > 1e-15 * np.abs(w).max()
            w[~free] = 0
        w = goal
    return w
