"""NumPy operations on blocks of rows, on the threads of the computation."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.runtime.scheduling import blocks, run

ROWS = 4096  # of a block of a matrix
ENTRIES = 1 << 16  # of a block of a vector


class Shifted:
    """Rows minus a center, block by block, in a buffer that each thread uses again.

    New memory for every block would cost about as much time as the subtraction.
    """

    def __init__(self, X: Array, center: Array) -> None:
        self.X, self.center, self.local = X, center, threading.local()

    def __call__(self, rows: slice) -> Array:
        """The rows of a block minus the center, until the thread asks for the next block."""
        some = self.X[rows]
        if len(getattr(self.local, "buffer", ())) < len(some):
            self.local.buffer = np.empty(some.shape, np.result_type(some, self.center))
        return np.asarray(np.subtract(some, self.center, out=self.local.buffer[: len(some)]))


def elementwise(function: Any, out: Array, *vectors: Any) -> Array:
    """Write a NumPy function of vectors (or numbers) to the vector `out`, and return it."""

    def part(entries: slice) -> None:
        function(*(v[entries] if isinstance(v, np.ndarray) else v for v in vectors), out[entries])

    run(part, blocks(len(out), ENTRIES))
    return out


def fill_symmetric(out: Array, tile: Callable[[slice, slice], Array], size: int) -> Array:
    """Write a symmetric matrix of which `tile` computes rows and columns, and return it.

    Of two tiles of at most `size` rows and columns that mirror each other, one is computed.
    """

    def fill(pair: tuple[slice, slice]) -> None:
        left, right = pair
        out[left, right] = block = tile(left, right)
        if left != right:
            out[right, left] = block.T

    run(fill, combinations_with_replacement(blocks(len(out), size), 2))
    return out


def unit_length(X: Any) -> Any:
    """The rows of an array or of a CSR matrix divided by their Euclidean norms; zero rows stay.

    As `sklearn.preprocessing.normalize`, whose import takes longer than many a fit.
    """
    if is_sparse(X):
        units, sums = X.copy(), X.multiply(X).sum(axis=1, dtype=np.float64)
        units.data /= np.repeat(_divisors(np.asarray(sums).ravel()), np.diff(X.indptr))
        return units
    units = np.empty_like(X)

    def divide(rows: slice) -> None:
        some = X[rows]
        np.divide(some, _divisors(np.square(some).sum(axis=1))[:, None], out=units[rows])

    run(divide, blocks(len(X), ROWS))
    return units


def _divisors(squares: Array) -> Array:
    """The square roots; 1 instead of 0."""
    roots = np.sqrt(squares)
    roots[roots == 0] = 1
    return np.asarray(roots)


def scale_entries(csr: Any, scale: Array, dtype: Any) -> Array:
    """The entries of diag(scale) A diag(scale) for a CSR matrix A."""
    out = np.empty(len(csr.data), dtype=dtype)

    def part(rows: slice) -> None:
        own = slice(csr.indptr[rows.start], csr.indptr[rows.stop])
        sizes = np.diff(csr.indptr[rows.start : rows.stop + 1])
        factors = np.repeat(scale[rows], sizes)
        factors *= scale[csr.indices[own]]
        np.multiply(csr.data[own], factors, out=out[own], casting="same_kind")

    run(part, blocks(csr.shape[0], ROWS))
    return out
