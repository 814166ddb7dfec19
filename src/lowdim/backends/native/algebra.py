"""Products of a dense or sparse matrix with a matrix of a few columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.sparse import csr_indices
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

NARROW_COLUMNS = 16  # up to this width a product takes the time of reading the matrix
BLAS_ROWS = 512  # rows of A in a product by BLAS


def matmul(A: Array, V: Array, *, squared: bool = False) -> Array:
    """A @ V, or (A * A) @ V without storing A * A.

    A kernel of our own multiplies up to 16 columns, BLAS more of them.
    """
    if squared or (V.shape[1] <= NARROW_COLUMNS and A.flags.c_contiguous):
        out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
        columns = np.ascontiguousarray(V.T, dtype=A.dtype)
        _native.narrow_matmul(A, columns, out, squared, current().threads)
        return out
    out = np.empty((A.shape[0], V.shape[1]), dtype=np.result_type(A, V))
    run(lambda rows: np.matmul(A[rows], V, out=out[rows]), blocks(A.shape[0], BLAS_ROWS))
    return out


def spmm(A: Any, V: Array) -> Array:
    """A @ V for a CSR matrix and a few dense columns."""
    V = np.ascontiguousarray(V, dtype=A.dtype)
    out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
    _native.spmm(*csr_indices(A), A.data, V, out, current().threads)
    return out
