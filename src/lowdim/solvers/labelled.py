"""Objectives of labelled vectors for linear maps: sums over pairs, stochastic neighbours.

A linear map L sends x to L x; ``M = L' L`` is the matrix of its Mahalanobis distance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

N_BLOCKS = 16  # blocks of rows of a matrix of all pairs: each keeps an (n, k) array of its own
SMALLEST_BLOCK = 128  # rows
NEGLIGIBLE = 32.0  # probabilities exp(-32) = 1e-14 times the largest of their row are left out
LARGEST_ERROR = 4.0  # of exponents in float32 that tell which ones these are
FEW = 0.1  # largest share of pairs that are computed one by one instead of in a full matrix
SAMPLE = 32  # rows from which this share is estimated


def pair_blocks(n: int) -> list[slice]:
    """Blocks of rows that depend on n alone."""
    return blocks(n, max(SMALLEST_BLOCK, -(-n // N_BLOCKS)))


class StochasticNeighbors:
    """The loss of neighbourhood components analysis and its gradient.

    The value is the expected number of errors of leave-one-out classification by a stochastic
    neighbour: ``n - sum_i p_i`` with ``p_i = sum_{j: y_j = y_i} p_ij`` and p_ij the softmax of
    ``-|L x_i - L x_j|^2`` over all j other than i (Goldberger et al. 2005, equations 1 to 5).

    Parameters
    ----------
    X : array of shape (n, d)
    codes : array of int of shape (n,)
        Classes.
    """

    def __init__(self, X: Array, codes: Array) -> None:
        order = np.argsort(codes, kind="stable")  # each class in consecutive rows
        self.X, self.codes = np.ascontiguousarray(X[order]), codes[order]
        ends = np.cumsum(np.bincount(codes))
        self.classes = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True) if a < b]

    def __call__(self, L: Array) -> tuple[float, Array]:
        Z = self.X @ L.astype(self.X.dtype).T
        Z -= Z.mean(axis=0)
        ones, scores = _factors(Z)
        near = _near_pairs(Z)

        def part(rows: slice) -> tuple[float, Array, Array]:
            """Value and W [Z, 1] of these rows, and their part of W' [Z, 1]."""
            errors, W = (
                self._all_pairs(rows, ones, scores)
                if near is None
                else self._some_pairs(rows, near(rows), Z)
            )
            return errors, W @ ones, W.T @ ones[rows]

        found = run(part, pair_blocks(len(Z)))
        both = np.concatenate([f[1] for f in found])
        for f in found:
            both += f[2]
        pull = Z * both[:, -1:] - both[:, :-1]
        # The gradient of sum_i p_i is 2 pull' X.
        return sum(f[0] for f in found), -2 * (pull.T @ self.X).astype(np.float64)

    def _some_pairs(self, rows: slice, W: csr_array, Z: Array) -> tuple[float, csr_array]:
        """What `_all_pairs` returns, with only the pairs of W."""
        first, lengths = W.indptr[:-1], np.diff(W.indptr)
        own = np.repeat(np.arange(rows.start, rows.stop, dtype=np.int32), lengths)
        squares = np.square(backend().pair_distances(own, W.indices, Z))
        squares -= np.repeat(np.minimum.reduceat(squares, first), lengths)
        p = np.exp(-squares)
        p /= np.repeat(np.add.reduceat(p, first), lengths)
        same = self.codes[own] == self.codes[W.indices]
        right = np.add.reduceat(p * same, first)
        W.data = p * (np.repeat(right, lengths) - same)
        return float((1 - right).sum(dtype=np.float64)), W

    def _all_pairs(self, rows: slice, ones: Array, scores: Array) -> tuple[float, Array]:
        """The expected errors of some rows, and ``W_ij = p_ij (p_i - [y_i = y_j])``."""
        W = _exponents(rows, ones, scores)
        W -= W.max(axis=1, keepdims=True)
        np.exp(W, out=W)
        total = W.sum(axis=1, keepdims=True)
        right = np.empty_like(total)
        same = []
        for known in self.classes:
            mine = slice(max(known.start, rows.start) - rows.start, known.stop - rows.start)
            if known.start < rows.stop and mine.stop > 0:
                block = W[mine, known] / total[mine]
                right[mine] = block.sum(axis=1, keepdims=True)
                same.append((mine, known, block))
        W *= right / total
        for mine, known, block in same:
            W[mine, known] -= block
        return float((1 - right).sum(dtype=np.float64)), W


def _factors(Z: Array) -> tuple[Array, Array]:
    """``[z_i, 1]`` and ``[2 z_j, -|z_j|^2]`` in the rows, the factors of `_exponents`."""
    ones = np.hstack([Z, np.ones((len(Z), 1), Z.dtype)])
    return ones, np.hstack([2 * Z, -np.einsum("ij,ij->i", Z, Z)[:, None]])


def _exponents(rows: Array | slice, ones: Array, scores: Array) -> Array:
    """``2 z_i.z_j - |z_j|^2`` for some i, -inf for j = i.

    That is the negative squared distance up to a constant of row i, which the softmax does not see.
    """
    W = ones[rows] @ scores.T
    own = np.arange(len(ones))[rows]
    W[np.arange(len(own)), own] = -np.inf
    return W


def _near_pairs(Z: Array) -> Callable[[slice], csr_array] | None:
    """A function from some rows to their pairs that are not negligible; None if these are many.

    They are found by exponents in float32, with a margin for their rounding error.
    """
    n = len(Z)
    largest = float(np.square(Z, dtype=np.float64).sum(axis=1).max())
    error = 16 * float(np.finfo(np.float32).eps) * largest
    if not error < LARGEST_ERROR:
        return None
    ones, scores = _factors(Z.astype(np.float32))

    def relevant(rows: Array | slice) -> Array:
        W = _exponents(rows, ones, scores)
        found = W.max(axis=1, keepdims=True) - np.float32(NEGLIGIBLE + error) < W
        return np.asarray(found)

    def near(rows: slice) -> csr_array:
        found = relevant(rows)
        first = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int32)
        column = (np.flatnonzero(found) % n).astype(np.int32)
        return csr_array((np.empty(len(column), Z.dtype), column, first), shape=found.shape)

    sample = np.linspace(0, n - 1, min(n, SAMPLE)).astype(int)
    return near if relevant(sample).mean() < FEW else None
