"""Dense positive definite systems, factored in place by tiles."""

from __future__ import annotations

import numpy as np

from lowdim.backends import native
from lowdim.checks import Array

TILE = 512


def cholesky_in_place(A: Array, n_jobs: int | None = None) -> None:
    """Overwrite the lower triangle of a positive definite A with its Cholesky factor.

    Right-looking by tiles, so that the work spreads over threads in a fixed order and no second
    n x n matrix is needed.
    """
    parts = native.blocks(len(A), TILE)
    for step, K in enumerate(parts):
        A[K, K] = np.linalg.cholesky(A[K, K])
        below = parts[step + 1 :]
        inverse = np.linalg.inv(A[K, K])

        def eliminate(rows: slice, K: slice = K, inverse: Array = inverse) -> None:
            A[rows, K] = A[rows, K] @ inverse.T

        native.run(eliminate, below, n_jobs)

        def update(pair: tuple[slice, slice], K: slice = K) -> None:
            I, J = pair
            A[I, J] -= A[I, K] @ A[J, K].T

        native.run(update, [(I, J) for a, I in enumerate(below) for J in below[: a + 1]], n_jobs)


def solve_positive(A: Array, B: Array, n_jobs: int | None = None) -> Array:
    """X with A X = B for a positive definite A, which is overwritten."""
    from scipy.linalg import solve, solve_triangular

    n = len(A)
    if n <= TILE:
        try:
            return np.asarray(solve(A, B, assume_a="pos", check_finite=False))
        except np.linalg.LinAlgError:
            return np.asarray(np.linalg.lstsq(A, B, rcond=None)[0])
    cholesky_in_place(A, n_jobs)
    X = np.array(B, dtype=A.dtype)
    parts = native.blocks(n, TILE)
    for K in parts:
        X[K] -= A[K, : K.start] @ X[: K.start]
        X[K] = solve_triangular(A[K, K], X[K], lower=True, check_finite=False)
    for K in reversed(parts):
        X[K] -= A[K.stop :, K].T @ X[K.stop :]
        X[K] = solve_triangular(A[K, K], X[K], lower=True, trans="T", check_finite=False)
    return X
