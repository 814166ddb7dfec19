"""Distances of all pairs, what they are made of, and the rankings by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import csr_indices
from lowdim.backends.numpy_blocks import fill_symmetric
from lowdim.checks import Array
from lowdim.runtime.context import current

DISTANCE_ROWS = 512  # rows and columns of a block of distances: 2 MB in float64


def squared_distances(queries: Array, points: Array) -> Array:
    """|q - p|^2 of all queries and points, from differences: equal pairs tie exactly."""
    out = np.empty((len(queries), len(points)), dtype=points.dtype)
    _native.squared_distances(queries, points, out, current().threads)
    return out


def distance_matrix(X: Array) -> Array:
    """The Euclidean distances of all pairs of rows: symmetric, with a diagonal of zeros.

    They are infinite, not an error, where they overflow.
    """

    def tile(*parts: slice) -> Array:
        exact = (np.ascontiguousarray(X[part], dtype=np.float64) for part in parts)
        with np.errstate(over="ignore"):  # the caller reports it
            return np.asarray(np.sqrt(squared_distances(*exact)), dtype=X.dtype)

    D = fill_symmetric(np.empty((len(X), len(X)), dtype=X.dtype), tile, DISTANCE_ROWS)
    np.fill_diagonal(D, 0)
    return D


def sum_shared(A: Any, B: Any, term: str) -> Array:
    """Sums over the columns that a row of A and a row of B share, of shape (m, n), in float64.

    An entry a of A and an entry b of B contribute, by `term`: "count" 1, "equal" 1 if a = b,
    "product" a b, "root" sqrt(a b), "overlap" |a| + |b| - |a - b|, "opposite" |a| + |b| - |a + b|,
    "ratio" |a - b| / (|a| + |b|), in the order of the entries of A. The CSR matrices have no
    duplicate entries.
    """
    columns = B.tocsc()
    columns.sort_indices()
    out = np.empty((A.shape[0], B.shape[0]))
    dtype = np.result_type(A.dtype, B.dtype)
    rows, parts = (
        (*csr_indices(side), side.data.astype(dtype, copy=False)) for side in (A, columns)
    )
    _native.sum_shared(*rows, *parts, term, out)
    return out


def compare_orders(
    first: Array, second: Array, own: Array, k: int, grid: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Compare the rankings of all objects by two distances.

    Row r of `first` and `second` holds the distances from object own[r] to all objects; ties are
    ordered by index. Returns the k nearest objects by `first` and their ranks (from 1) by `second`,
    the k nearest by `second` and their ranks by `first`, and for each entry g of `grid` the number
    of objects that are among the g nearest by both.
    """
    near = [np.empty((len(own), k), dtype=np.int32) for _ in range(4)]
    shared = np.empty((len(own), len(grid)), dtype=np.int32)
    _native.compare_orders(first, second, own, grid, *near, shared, current().threads)
    return near[0], near[1], near[2], near[3], shared
