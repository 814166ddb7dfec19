"""Objectives of labelled vectors for linear maps: sums over pairs, stochastic neighbours.

A linear map L sends x to L x; ``M = L' L`` is the matrix of its Mahalanobis distance.
"""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

N_BLOCKS = 16  # blocks of rows of a matrix of all pairs: each keeps an (n, k) array of its own
SMALLEST_BLOCK = 128  # rows


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
        self.X, self.codes = X, codes

    def __call__(self, L: Array) -> tuple[float, Array]:
        Z = np.ascontiguousarray(self.X @ L.astype(self.X.dtype).T)
        norms = np.einsum("ij,ij->i", Z, Z)
        n = len(Z)

        def part(rows: slice) -> tuple[float, Array, Array, Array]:
            """Value, W Z and row sums of these rows, and their share of W' Z and column sums."""
            own = np.arange(rows.stop - rows.start)
            P = Z[rows] @ Z.T
            P *= 2
            P -= norms
            P -= norms[rows, None]
            P[own, own + rows.start] = -np.inf
            P -= P.max(axis=1, keepdims=True)
            np.exp(P, out=P)
            P /= P.sum(axis=1, keepdims=True)
            same = self.codes[rows, None] == self.codes
            right = np.einsum("ij,ij->i", P, same)
            value = float((1 - right).sum(dtype=np.float64))
            W = P * (right[:, None] - same)
            ones = np.hstack([Z, np.ones((n, 1), Z.dtype)])
            return value, W @ ones, W.T @ ones[rows], right

        found = run(part, pair_blocks(n))
        both = np.concatenate([f[1] for f in found])
        for f in found:
            both += f[2]
        pull = Z * both[:, -1:] - both[:, :-1]
        # The gradient of sum_i p_i is 2 pull' X.
        return sum(f[0] for f in found), -2 * (pull.T @ self.X).astype(np.float64)
