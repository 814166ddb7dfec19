"""Conversion of arguments to the arrays that the extension takes."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def or_empty(values: Array | None, dtype: Any, ndim: int = 1) -> Array:
    """The array, or an empty one of this dtype and number of dimensions if it is None."""
    return np.empty((0,) * ndim, dtype) if values is None else values
