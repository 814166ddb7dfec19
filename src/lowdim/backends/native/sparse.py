"""Conversion between SciPy's CSR matrices and the arrays that the extension takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.checks import Array


def csr_indices(A: Any) -> tuple[Array, Array]:
    """The index arrays of a CSR matrix as int64 and int32."""
    return A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)


def csr_matrix(parts: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    """A SciPy CSR array, with int32 indices if they fit, because scikit-learn requires them."""
    from scipy.sparse import csr_array

    indptr, indices, data = parts
    if len(indices) <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32, copy=False)
    return csr_array((data, indices, indptr), shape=shape)


def sum_shared(A: Any, B: Any, term: str) -> Array:
    """Sums of a term over the columns that rows of A and rows of B share, of shape (m, n)."""
    columns = B.tocsc()
    columns.sort_indices()
    out = np.empty((A.shape[0], B.shape[0]))
    dtype = np.result_type(A.dtype, B.dtype)
    rows, parts = (
        (*csr_indices(side), side.data.astype(dtype, copy=False)) for side in (A, columns)
    )
    _native.sum_shared(*rows, *parts, term, out)
    return out
