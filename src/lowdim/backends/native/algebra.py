"""Products of matrices with a few columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.sparse import csr_indices
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

NARROW = 16  # columns up to which a product is bound by reading the matrix


def matmul(A: Array, V: Array, *, squared: bool = False) -> Array:
    """A @ V, or (A * A) @ V without the matrix of squares.

    A few columns are multiplied at the speed of reading A; more than that by BLAS, in blocks.
    """
    if squared or (V.shape[1] <= NARROW and A.flags.c_contiguous):
        out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
        columns = np.ascontiguousarray(V.T, dtype=A.dtype)
        _native.narrow_matmul(A, columns, out, squared, current().threads)
        return out
    out = np.empty((A.shape[0], V.shape[1]), dtype=np.result_type(A, V))
    run(lambda rows: np.matmul(A[rows], V, out=out[rows]), blocks(A.shape[0], 512))
    return out


def spmm(A: Any, V: Array) -> Array:
    """A @ V for a CSR matrix and a few dense columns."""
    V = np.ascontiguousarray(V, dtype=A.dtype)
    out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
    _native.spmm(*csr_indices(A), A.data, V, out, current().threads)
    return out
