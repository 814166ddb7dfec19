"""Passes over all entries of an array."""

from __future__ import annotations

from typing import Any, Protocol

from lowdim.checks import Array


class Scans(Protocol):
    """What one pass over all entries of an array finds out."""

    def extremes(self, A: Array) -> tuple[float, float]:
        """The smallest and the largest entry of an array; both are NaN if an entry is."""

    def asymmetry(self, D: Array) -> float:
        """The largest difference between a square matrix and its transpose."""

    def stable_order(self, values: Array) -> Array:
        """The indices that sort a vector; those of equal entries ascend."""

    def group_sums(self, X: Any, groups: Array, count: int) -> Array:
        """The sum of the rows of each of `count` groups, in float64; X may be sparse.

        `groups` has the number of the group of each row.
        """

    def digest(self, values: Array) -> Array:
        """The xxHash64 of each MiB of an array in C order, as uint64, to recognise data."""
