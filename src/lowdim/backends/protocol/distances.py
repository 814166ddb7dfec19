"""Distances of pairs of objects, and the rankings that follow from them."""

from __future__ import annotations

from typing import Any, Protocol

from lowdim.checks import Array


class Distances(Protocol):
    """Distances of all pairs, what they are made of, and the rankings by them."""

    def squared_distances(self, queries: Array, points: Array) -> Array:
        """|q - p|^2 of all queries and points, from differences: equal pairs tie exactly."""

    def distance_matrix(self, X: Array) -> Array:
        """The Euclidean distances of all pairs of rows: symmetric, with a diagonal of zeros.

        They are infinite, not an error, where they overflow.
        """

    def sum_shared(self, A: Any, B: Any, term: str) -> Array:
        """Sums over the columns that two sparse rows share.

        Parameters
        ----------
        A, B : CSR matrices of shape (m, d) and (n, d)
            Without duplicate entries.
        term : {"count", "equal", "product", "root", "overlap", "opposite", "ratio"}
            What an entry a of a row of A and an entry b of a row of B in the same column
            contribute: 1, 1 if a = b, a b, sqrt(a b), |a| + |b| - |a - b|, |a| + |b| - |a + b|, or
            |a - b| / (|a| + |b|).

        Returns
        -------
        float64 array of shape (m, n)
            The terms are added in the order of the entries of a row of A.
        """

    def compare_orders(
        self, first: Array, second: Array, own: Array, k: int, grid: Array
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Compare the rankings of all objects by two distances.

        Parameters
        ----------
        first, second : arrays of shape (m, n)
            Row r holds the distances from object own[r] to all objects. Ties are ordered by index.
        own : array of shape (m,)
        k : int
        grid : array of int
            Sizes of neighbourhoods.

        Returns
        -------
        nearest_first, ranks_second : arrays of shape (m, k)
            The k nearest objects by `first`, and their ranks (from 1) by `second`.
        nearest_second, ranks_first : arrays of shape (m, k)
            The k nearest objects by `second`, and their ranks by `first`.
        shared : array of shape (m, len(grid))
            Number of objects among the grid[g] nearest by both distances.
        """
