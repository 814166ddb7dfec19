"""The objective of neighbourhood components analysis."""

from __future__ import annotations

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array


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
    accuracy : float
        Squared distances may have errors of about this size.
    """

    def __init__(self, X: Array, codes: Array, accuracy: float) -> None:
        order = np.argsort(codes, kind="stable")
        self.X, self.codes = X[order], codes[order].astype(np.int32)
        self.X -= X.mean(axis=0, dtype=np.float64).astype(X.dtype)  # far from 0, L x loses digits
        self.accuracy = accuracy
        self.errors = backend().stochastic_neighbor_errors

    def map(self, L: Array) -> Array:
        """The coordinates L x of all objects, of mean 0, in the order of their classes."""
        return np.asarray(self.X @ self._in(L).T, dtype=np.float64)

    def __call__(self, L: Array) -> tuple[float, Array]:
        value, slope = self.errors(self.map(L), self.codes, self.accuracy)
        return value, np.asarray(self._in(slope).T @ self.X, dtype=np.float64)

    def _in(self, A: Array) -> Array:
        """An array in the precision of the vectors."""
        return A if A.dtype == self.X.dtype else A.astype(self.X.dtype)
