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
        order = np.argsort(codes, kind="stable")  # each class in consecutive rows
        self.X = np.ascontiguousarray(X[order])
        ends = np.cumsum(np.bincount(codes))
        self.classes = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True) if a < b]

    def __call__(self, L: Array) -> tuple[float, Array]:
        Z = self.X @ L.astype(self.X.dtype).T
        ones = np.hstack([Z, np.ones((len(Z), 1), Z.dtype)])
        # 2 z_i.z_j - |z_j|^2 is the negative squared distance up to a constant of row i, which the
        # softmax does not see.
        scores = np.hstack([2 * Z, -np.einsum("ij,ij->i", Z, Z)[:, None]])

        def part(rows: slice) -> tuple[float, Array, Array]:
            """Value and W [Z, 1] of these rows, and their part of W' [Z, 1]."""
            own = np.arange(rows.stop - rows.start)
            W = ones[rows] @ scores.T
            W[own, own + rows.start] = -np.inf
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
            return float((1 - right).sum(dtype=np.float64)), W @ ones, W.T @ ones[rows]

        found = run(part, pair_blocks(len(Z)))
        both = np.concatenate([f[1] for f in found])
        for f in found:
            both += f[2]
        pull = Z * both[:, -1:] - both[:, :-1]
        # The gradient of sum_i p_i is 2 pull' X.
        return sum(f[0] for f in found), -2 * (pull.T @ self.X).astype(np.float64)
