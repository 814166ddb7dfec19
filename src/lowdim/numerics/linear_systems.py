"""Dense positive definite systems by a blocked Cholesky factorisation, in place."""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

PANEL = 256  # columns of a panel of the factorisation
BLOCK_ROWS = 512  # rows of a panel that a thread computes at once


def cholesky_in_place(A: Array) -> None:
    """Overwrite the lower triangle of a positive definite A with its Cholesky factor.

    A left-looking algorithm by panels of columns. The rows below a diagonal block are independent,
    so they are computed on several threads, without a second n x n matrix.
    """
    for K in blocks(len(A), PANEL):
        known = A[K, : K.start]
        diagonal = np.linalg.cholesky(A[K, K] - known @ known.T)
        A[K, K] = diagonal
        inverse = np.linalg.inv(diagonal).T

        def eliminate(
            rows: slice, K: slice = K, known: Array = known, inverse: Array = inverse
        ) -> None:
            rows = slice(rows.start + K.stop, rows.stop + K.stop)
            A[rows, K] = (A[rows, K] - A[rows, : K.start] @ known.T) @ inverse

        run(eliminate, blocks(len(A) - K.stop, BLOCK_ROWS))


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
