"""Products of a dense or sparse matrix with a matrix of a few columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends import subspace
from lowdim.backends.native.sparse import csr_indices, csr_matrix
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

NARROW_COLUMNS = 16  # up to this width a product takes the time of reading the matrix
BLAS_ROWS = 512  # rows of A in a product by BLAS
SCALED_ROWS = 65536  # rows of a sparse matrix that are scaled at once


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


def scatter(X: Array, center: Array) -> tuple[Array, Array]:
    """(X - center)' (X - center) and the sums of the columns of X - center, in float64."""
    n, d = X.shape

    def share(rows: slice) -> tuple[Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller reports it
            block = X[rows] - center
            return block.T @ block, block.sum(axis=0)

    total, sums = np.zeros((d, d)), np.zeros(d)
    parts = blocks(n, int(np.clip(-(-n // 16), 1024, 8192)))
    for first in range(0, len(parts), 16):  # a few at a time, because each product is d x d
        for product, sum_of_rows in run(share, parts[first : first + 16]):
            total += product
            sums += sum_of_rows
    return total, sums


def smooth_modes(graph: Any, scale: Array, start: Array, k: int) -> Array:
    """The k leading eigenvectors of a CSR matrix scaled on both sides, to a few digits."""
    data = np.empty(len(graph.data), dtype=np.float32)
    for part in blocks(graph.shape[0], SCALED_ROWS):  # temporary arrays of all entries are large
        arcs = slice(graph.indptr[part.start], graph.indptr[part.stop])
        own = np.repeat(scale[part], np.diff(graph.indptr[part.start : part.stop + 1]))
        data[arcs] = graph.data[arcs] * own * scale[graph.indices[arcs]]
    walk = csr_matrix((graph.indptr, graph.indices, data), graph.shape)
    constant = (1 / scale)[:, None]
    constant = (constant / np.linalg.norm(constant)).astype(np.float32)

    def step(V: Array, a: float, b: float, W: Array | None) -> Array:
        out = spmm(walk, V)
        out *= a
        out += b * V
        if W is not None:
            out -= W
        return out

    found = subspace.smooth_modes(step, lambda V: np.linalg.qr(V)[0], constant, start, k, np)
    return np.ascontiguousarray(found)
