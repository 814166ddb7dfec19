"""Symmetric matrices known by their products with a few columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array, is_sparse


@dataclass(frozen=True)
class Operator:
    """A symmetric n x n matrix that need not be stored: `matmat(V)` is its product with V.

    `dense` tells that a product reads n^2 numbers, whatever the number of columns.
    """

    n: int
    dtype: Any
    matmat: Callable[[Array], Array]
    dense: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n


def as_operator(A: Any) -> Operator:
    """A dense, sparse or implicit symmetric matrix as an operator."""
    if isinstance(A, Operator):
        return A
    if is_sparse(A):
        csr = A.tocsr()
        return Operator(csr.shape[0], csr.dtype, lambda V: backend().spmm(csr, V))
    return Operator(len(A), A.dtype, lambda V: backend().matmul(A, V), dense=True)


def centered(A: Operator) -> Operator:
    """J A J with the centring matrix J = I - 11'/n."""

    def product(V: Array) -> Array:
        out = A.matmat(V - V.mean(axis=0, dtype=np.float64).astype(V.dtype))
        return np.asarray(out - out.mean(axis=0, dtype=np.float64).astype(out.dtype))

    return Operator(A.n, A.dtype, product, A.dense)
