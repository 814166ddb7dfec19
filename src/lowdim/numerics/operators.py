"""Symmetric matrices as functions that multiply them with a few columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.backends.generic import column_means
from lowdim.checks import is_sparse
from lowdim.runtime import memory

BYTES_PER_ENTRY = 12  # of SuperLU's factors: a number and an index


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
        Whether a product reads n^2 numbers, so that its time hardly depends on k. `matmat` then
        takes arrays of either kind that `Backend.matmul` does.
    """

    n: int
    dtype: Any
    matmat: Callable[[Any], Any]
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


def claim_factors(graphs: list[Any], n: int, block: int, what: str, instead: str) -> None:
    """Raise MemoryError if `symmetric_lu` of a large matrix would take too much memory.

    How many entries the factors have depends on the dimension of the data: of order n log n in two
    dimensions, n^2 in many. They are counted for two samples of the objects and extrapolated by a
    power law.

    Parameters
    ----------
    graphs : list of two sparse matrices
        Neighbour graphs of two samples, the smaller one first.
    n : int
        Number of all objects.
    block : int
        Rows of the matrix for each object.
    what, instead : str
        See `lowdim.runtime.memory.claim`.
    """
    from scipy.sparse import csr_array, eye_array

    counts = []
    for graph in graphs:
        pattern = csr_array(graph, copy=True)
        pattern.data[:] = 1
        degrees = 1 + pattern.sum(axis=1).max()
        counts.append(symmetric_lu(degrees * eye_array(graph.shape[0]) - pattern).nnz)
    sizes = [graph.shape[0] for graph in graphs]
    power = np.log(counts[1] / counts[0]) / np.log(sizes[1] / sizes[0])
    entries = min(float(n) * n, counts[1] * (n / sizes[1]) ** power)
    memory.claim(int(BYTES_PER_ENTRY * block**2 * entries), what, instead)


def center(A: Operator) -> Operator:
    """J A J with the centring matrix J = I - 11'/n."""

    def product(V: Any) -> Any:
        out = A.matmat(V - column_means(V))
        return out - column_means(out)

    return Operator(A.n, A.dtype, product, A.dense)
