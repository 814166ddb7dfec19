"""Products with a few columns, and linear systems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends import subspace
from lowdim.backends.native.arrays import csr_indices, csr_matrix, or_empty
from lowdim.backends.native.dense import cholesky_in_place, orthonormal, product, solve_triangle
from lowdim.backends.numpy_blocks import Shifted, scale_entries
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

PROJECTED_ROWS = 1024  # rows of a block of `project`
NARROW_COLUMNS = 16  # up to this width a product takes the time of reading the matrix
SCATTER_ROWS = 8192  # rows of a block of `scatter`


def on_device(V: Array) -> Any:
    """The array itself, or a copy of it that stays on the device of the backend."""
    return V


def matmul(A: Array, V: Array, *, squared: bool = False) -> Array:
    """A @ V, or (A * A) @ V without storing A * A.

    V may be of the kind that `on_device` returns; the product is of the same kind.
    """
    if squared or (V.shape[1] <= NARROW_COLUMNS and A.flags.c_contiguous):
        out = np.empty((A.shape[0], V.shape[1]), dtype=A.dtype)
        columns = np.ascontiguousarray(V.T, dtype=A.dtype)
        _native.narrow_matmul(A, columns, out, squared, current().threads)
        return out
    return product(A, V.T)


def spmm(
    A: Any,
    V: Array,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    before: Array | None = None,
    out: Array | None = None,
) -> Array:
    """scale A V + shift V - before for a CSR matrix and a few dense columns.

    By default A V. With other values A must be square, and `before` has the shape of V. The result
    is written to `out`, which may be `before`.
    """
    V = np.ascontiguousarray(V, dtype=A.dtype)
    if out is None:
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
    """The function from g, of shape (n, k), to V^-1 g, in float64.

    V is a symmetric positive definite float64 matrix, which may be overwritten.
    """
    cholesky_in_place(V)
    return lambda g: solve_triangle(V, solve_triangle(V, g), transposed=True)


def project(X: Array, center: Array, axes: Array) -> Array:
    """(X - center) axes', for a few axes (rows), in their dtype."""
    out = np.empty((len(X), len(axes)), dtype=axes.dtype)
    shifted = Shifted(X, center.astype(axes.dtype))

    def part(rows: slice) -> None:
        _native.dense_product(shifted(rows), axes, False, out[rows], 1)

    run(part, blocks(len(X), PROJECTED_ROWS))
    return out


def scatter(X: Array, center: Array) -> tuple[Array, Array]:
    """(X - center)' (X - center) and the sums of the columns of X - center, in float64."""
    shifted, d = Shifted(X, center), X.shape[1]
    total, sums = np.zeros((d, d)), np.zeros(d)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller reports it
        for rows in blocks(len(X), SCATTER_ROWS):
            columns = shifted(rows).T
            total += product(columns, columns, precise=True)
            sums += columns.sum(axis=1)
    return total, sums


def smooth_modes(graphs: list[Any], k: int, seed: int) -> list[Array]:
    """The k smoothest eigenvectors of the random walks on connected graphs, to a few digits.

    The graphs are symmetric CSR matrices of edge weights A; the walk is diag(A 1)^-1 A. Each result
    is a float32 array of v with v' diag(A 1) v = 1, by descending eigenvalue, without the constant
    one.
    """
    random = np.random.RandomState(seed)
    return [_smooth_modes(graph, k, random) for graph in graphs]


def _smooth_modes(graph: Any, k: int, random: np.random.RandomState) -> Array:
    """Those of one graph: the smallest eigenvalues of its normalised Laplacian are in [0, 2]."""
    n = graph.shape[0]
    ones = np.ones((n, 1), dtype=graph.dtype)
    roots = np.sqrt(spmm(graph, ones)[:, 0].astype(np.float64))
    data = scale_entries(graph, 1 / roots, np.float32)
    walk = csr_matrix((graph.indptr, graph.indices, data), graph.shape)
    constant = (roots / np.sqrt(np.square(roots).sum())).astype(np.float32)[:, None]

    def step(V: Array, a: float, b: float, W: Array | None) -> Array:
        return spmm(walk, V, scale=-a, shift=a + b, before=W, out=W)

    problem = subspace.Problem(step, 2.0, constant, gram, times, lambda V: orthonormal(V)[0])
    shape = (n, subspace.width(k))  # the start is not kept
    modes = subspace.smooth_modes(problem, random.uniform(-1, 1, shape).astype(np.float32), k)
    return np.asarray(modes / roots[:, None], dtype=np.float32)


def barycentric_weights(grams: Array, reg: float) -> Array:
    """Weights w of sum 1 with (G + reg tr(G) I) w proportional to 1, for each Gram matrix G."""
    weights = np.empty(grams.shape[:2], dtype=grams.dtype)
    _native.barycentric_weights(grams, reg, weights, current().threads)
    return weights


def bregman_projections(
    gaps: Array, signs: Array, slack: float, multipliers: Array, targets: Array, matrix: Array
) -> None:
    """Projections of a Mahalanobis matrix onto bounds of z'Mz, one after the other.

    Row c of `gaps` is the difference z of a pair, signs[c] is 1 for an upper and -1 for a lower
    bound, and targets[c] the bound (see `metric_learning.bregman`). All are float64. The
    multipliers, the targets and the symmetric matrix are updated in place.
    """
    _native.bregman_projections(gaps, signs, slack, multipliers, targets, matrix)
