"""Products of a dense or sparse matrix with a matrix of a few columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends import subspace
from lowdim.backends.native.optional import or_empty
from lowdim.backends.native.sparse import csr_indices, csr_matrix
from lowdim.backends.numpy_blocks import Shifted, scale_entries
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

PROJECTED_ROWS = 1024  # rows of a block of `project`
NARROW_COLUMNS = 16  # up to this width a product takes the time of reading the matrix
LEAST_BLAS_ROWS, BLAS_ROWS = 64, 512  # rows of A in a product by BLAS
ADDED_ROWS = 128  # of a d x d matrix, that a thread adds at once


def on_device(V: Array) -> Any:
    """The array itself."""
    return V


def matmul(A: Array, V: Any, *, squared: bool = False) -> Any:
    """A @ V, or (A * A) @ V without storing A * A.

    A kernel of our own multiplies up to 16 columns, BLAS more of them.
    """
    if squared or (V.shape[1] <= NARROW_COLUMNS and A.flags.c_contiguous):
        out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
        columns = np.ascontiguousarray(V.T, dtype=A.dtype)
        _native.narrow_matmul(A, columns, out, squared, current().threads)
        return out
    out = np.empty((A.shape[0], V.shape[1]), dtype=np.result_type(A, V))
    block = min(max(A.shape[0] // 32, LEAST_BLAS_ROWS), BLAS_ROWS)
    run(lambda rows: np.matmul(A[rows], V, out=out[rows]), blocks(A.shape[0], block))
    return out


def spmm(
    A: Any, V: Array, *, scale: float = 1.0, shift: float = 0.0, before: Array | None = None
) -> Array:
    """scale A V + shift V - before for a CSR matrix and a few dense columns."""
    V = np.ascontiguousarray(V, dtype=A.dtype)
    out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
    less = or_empty(before, A.dtype, 2)
    _native.spmm(*csr_indices(A), A.data, V, scale, shift, less, out, current().threads)
    return out


def gram(V: Array, W: Array) -> Array:
    """V' W of matrices of a few columns, in float64."""
    out = np.empty((V.shape[1], W.shape[1]))
    _native.gram(np.ascontiguousarray(V), np.ascontiguousarray(W), out, current().threads)
    return out


def times(V: Array, S: Array) -> Array:
    """V S for a matrix V of a few columns, in its dtype."""
    out = np.empty((len(V), S.shape[1]), dtype=V.dtype)
    small = np.ascontiguousarray(S, dtype=V.dtype)
    _native.times(np.ascontiguousarray(V), small, out, current().threads)
    return out


def inverse(V: Array) -> Callable[[Array], Array]:
    """The function from g to V^-1 g, by a Cholesky factor of V, which is overwritten."""
    from scipy.linalg import cho_factor, cho_solve

    # V is symmetric: its transpose has LAPACK's order of entries, and so is not copied
    factor = cho_factor(V.T, lower=True, overwrite_a=True, check_finite=False)
    return lambda g: np.asarray(cho_solve(factor, g.astype(np.float64), check_finite=False))


def project(X: Array, center: Array, axes: Array) -> Array:
    """(X - center) axes', for a few axes (rows), in their dtype."""
    out = np.empty((len(X), len(axes)), dtype=axes.dtype)
    shifted = Shifted(X, center.astype(axes.dtype))

    def part(rows: slice) -> None:
        np.matmul(shifted(rows), axes.T, out=out[rows])

    run(part, blocks(len(X), PROJECTED_ROWS))
    return out


def scatter(X: Array, center: Array) -> tuple[Array, Array]:
    """(X - center)' (X - center) and the sums of the columns of X - center, in float64."""
    n, d = X.shape
    shifted = Shifted(X, center)

    def share(rows: slice) -> tuple[Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # the caller reports it
            block = shifted(rows)
            # BLAS adds in several lanes: faster than NumPy's sum of columns, and more accurate.
            return block.T @ block, np.ones(len(block), block.dtype) @ block

    total, sums = np.zeros((d, d)), np.zeros(d)
    parts = blocks(n, int(np.clip(-(-n // 16), 1024, 8192)))
    for first in range(0, len(parts), 16):  # a few at a time, because each product is d x d
        shares = run(share, parts[first : first + 16])
        run(partial(_add, total, [product for product, _ in shares]), blocks(d, ADDED_ROWS))
        for _, sum_of_rows in shares:
            sums += sum_of_rows
    return total, sums


def _add(total: Array, matrices: list[Array], rows: slice) -> None:
    """Add some rows of matrices to those of a sum, in the order of the matrices."""
    for matrix in matrices:
        total[rows] += matrix[rows]


def smooth_modes(graphs: list[Any], k: int, seed: int) -> list[Array]:
    """The k smoothest eigenvectors of the random walk on each graph, to a few digits."""
    random = np.random.RandomState(seed)
    return [_smooth_modes(graph, k, random) for graph in graphs]


def _smooth_modes(graph: Any, k: int, random: np.random.RandomState) -> Array:
    """Those of one graph: the smallest eigenvalues of its normalised Laplacian are in [0, 2]."""
    n = graph.shape[0]
    ones = np.ones((n, 1), dtype=graph.dtype)
    roots = np.sqrt(spmm(graph, ones)[:, 0].astype(np.float64))
    data = scale_entries(graph, 1 / roots, np.float32)
    walk = csr_matrix((graph.indptr, graph.indices, data), graph.shape)
    constant = (roots / np.linalg.norm(roots)).astype(np.float32)[:, None]

    def step(V: Array, a: float, b: float, W: Array | None) -> Array:
        return spmm(walk, V, scale=-a, shift=a + b, before=W)

    problem = subspace.Problem(step, 2.0, constant, gram, times, lambda V: np.linalg.qr(V)[0])
    start = random.uniform(-1, 1, (n, subspace.width(k))).astype(np.float32)
    modes = subspace.smooth_modes(problem, start, k)
    return np.asarray(modes / roots[:, None], dtype=np.float32)
