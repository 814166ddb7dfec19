"""Symmetric matrices as functions that multiply them with a few columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array, is_sparse


@dataclass(frozen=True)
class Operator:
    """A symmetric n x n matrix that is defined by its products and need not be stored.

    Parameters
    ----------
    n : int
    dtype : dtype
    matmat : callable
        From V of shape (n, k) to the product with V.
    dense : bool
        Whether a product reads n^2 numbers, so that its time hardly depends on k.
    """

    n: int
    dtype: Any
    matmat: Callable[[Array], Array]
    dense: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n


def as_operator(A: Any) -> Operator:
    """A symmetric array, sparse matrix or `Operator` as an `Operator`."""
    if isinstance(A, Operator):
        return A
    if is_sparse(A):
        csr = A.tocsr()
        return Operator(csr.shape[0], csr.dtype, lambda V: backend().spmm(csr, V))
    return Operator(len(A), A.dtype, lambda V: backend().matmul(A, V), dense=True)


def symmetric_lu(A: Any) -> Any:
    """SuperLU factors of a sparse symmetric matrix, ordered by minimum degree without pivoting."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    return splu(
        csc_array(A),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def centered(A: Operator) -> Operator:
    """J A J with the centring matrix J = I - 11'/n."""

    def product(V: Array) -> Array:
        out = A.matmat(V - V.mean(axis=0, dtype=np.float64).astype(V.dtype))
        return np.asarray(out - out.mean(axis=0, dtype=np.float64).astype(out.dtype))

    return Operator(A.n, A.dtype, product, A.dense)
