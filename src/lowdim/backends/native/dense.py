"""Products of dense matrices, orthonormal bases, small eigenproblems and sparse factors.

Sums are in an order that depends on the shapes alone, where BLAS and LAPACK choose it by the
processor, so that the bits of what starts from them are the same on all machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import csr_indices
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks

PANEL = 256  # columns of a panel of a factorisation
ELIMINATED_ROWS = 2048  # rows of it that are computed at once
EXTREME = 300  # powers of two beyond which matrices are scaled: squares may overflow or vanish


def product(A: Array, B: Array, *, precise: bool = False, out: Array | None = None) -> Array:
    """A B', with sums in float64 if `precise`; written to `out` if it is given."""
    kind = np.result_type(A, B, np.float32)
    left, right = (np.asarray(side, dtype=kind) for side in (A, B))
    if out is None:
        out = np.empty((len(A), len(B)), dtype=np.float64 if precise else kind)
    _native.dense_product(left, right, A is B, out, current().threads)
    return out


def stack_product(A: Array, B: Array) -> Array:
    """A B for matrices and stacks of matrices."""
    if A.ndim < 3 and B.ndim < 3:
        return product(A, B.T)
    count = len(A) if A.ndim > 2 else len(B)
    pairs = [(A[k] if A.ndim > 2 else A, B[k] if B.ndim > 2 else B) for k in range(count)]
    return np.stack([product(left, right.T) for left, right in pairs])


def orthonormal(V: Array) -> tuple[Array, Array]:
    """An orthonormal basis Q of the columns, and the triangular R of V = Q R."""
    if V.shape[1] > V.shape[0]:
        return np.linalg.qr(V)
    V = np.ascontiguousarray(V)
    Q, R = np.empty_like(V), np.empty((V.shape[1], V.shape[1]))
    _native.orthonormal_columns(V, Q, R)
    return Q, R.astype(V.dtype, copy=False)


def symmetric_eigen(A: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a small symmetric matrix, or of a stack."""
    count = int(np.prod(A.shape[:-2], dtype=int))
    stack = np.ascontiguousarray(A, dtype=np.float64).reshape(count, *A.shape[-2:])
    twos = int(np.frexp(np.abs(stack).max(initial=0.0))[1])
    twos = twos if abs(twos) > EXTREME else 0
    values, vectors = np.empty(stack.shape[:2]), np.empty_like(stack)
    if not _native.symmetric_eigen(np.ldexp(stack, -twos) if twos else stack, values, vectors):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return np.ldexp(values, twos).reshape(A.shape[:-1]), vectors.reshape(A.shape)


def cholesky_in_place(A: Array) -> None:
    """Overwrite the lower triangle of a positive definite A with its Cholesky factor.

    A left-looking algorithm by panels of columns, without a second n x n matrix.
    """
    for K in blocks(len(A), PANEL):
        known, diagonal = A[K, : K.start], A[K, K].astype(np.float64)
        if K.start:
            diagonal -= product(known, known)
        if not _native.cholesky(diagonal):
            raise np.linalg.LinAlgError("The matrix is not positive definite")
        A[K, K] = np.tril(diagonal)
        inverse = solve_triangle(diagonal, np.eye(len(diagonal))).astype(A.dtype, copy=False)
        for rows in blocks(len(A) - K.stop, ELIMINATED_ROWS):
            below = A[rows.start + K.stop : rows.stop + K.stop]
            left = below[:, K] - product(below[:, : K.start], known) if K.start else below[:, K]
            below[:, K] = product(left, inverse)


def solve_triangle(L: Array, B: Array, *, transposed: bool = False) -> Array:
    """X with L X = B, or L' X = B if `transposed`, for the lower triangle of L."""
    columns = np.array(B.T, dtype=np.float64, order="C")
    _native.solve_triangle(L, transposed, columns, columns)
    return np.ascontiguousarray(columns.T)


def singular_vectors(A: Array) -> tuple[Array, Array, Array]:
    """U, the singular values, descending, and V' of a small square matrix U diag(s) V'."""
    A = np.ascontiguousarray(A, dtype=np.float64)
    left, values, right = np.empty_like(A), np.empty(len(A)), np.empty_like(A)
    _native.small_singular(A, left, values, right)
    # Dependent rows have no direction of their own; they get one that is orthogonal to the others.
    U = orthonormal(left.T)[0] if np.isfinite(A).all() else np.full_like(A, np.nan)
    return U, values, right


def dot(a: Array, b: Array) -> float:
    """The inner product of two vectors in float64."""
    a, b = (np.ascontiguousarray(side, dtype=np.float64).reshape(-1) for side in (a, b))
    return float(_native.dot(a, b))


def sparse_inverse(A: Any) -> Callable[[Array], Array]:
    """The function from V to A^-1 V, for a sparse symmetric positive definite matrix in float64,
    of which no part is separate from the rest."""
    factor = _native.SparseFactor(*csr_indices(A), A.data)
    if not factor.positive:
        raise np.linalg.LinAlgError("The matrix is not positive definite")

    def solve(V: Array) -> Array:
        out = np.empty(V.shape)
        factor.solve(np.ascontiguousarray(V, dtype=np.float64), out)
        return out

    return solve
