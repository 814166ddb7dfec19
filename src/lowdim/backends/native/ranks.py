"""Ranks of all objects seen from some of them."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def squared_distances(queries: Array, points: Array) -> Array:
    """|q - p|^2 of all queries and points, by differences: equal pairs get equal values."""
    out = np.empty((len(queries), len(points)), dtype=points.dtype)
    _native.squared_distances(queries, points, out, current().threads)
    return out


def compare_orders(
    first: Array, second: Array, own: Array, k: int, grid: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """How the order of all objects, seen from object own[r], differs between two distances.

    Row r of `first` and `second` holds the distances from own[r]; ties are ordered by number. The
    answer: the k nearest by the first distances and their ranks (from 1) by the second; the k
    nearest by the second and their ranks by the first; and how many objects are among the grid[g]
    nearest by both.
    """
    near = [np.empty((len(own), k), dtype=np.int32) for _ in range(4)]
    shared = np.empty((len(own), len(grid)), dtype=np.int32)
    _native.compare_orders(first, second, own, grid, *near, shared, current().threads)
    return near[0], near[1], near[2], near[3], shared
