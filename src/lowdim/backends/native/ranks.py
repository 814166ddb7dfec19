"""Comparison of the rankings of all objects by two distances."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def squared_distances(queries: Array, points: Array) -> Array:
    """|q - p|^2 of all queries and points, from differences: equal pairs tie exactly."""
    out = np.empty((len(queries), len(points)), dtype=points.dtype)
    _native.squared_distances(queries, points, out, current().threads)
    return out


def compare_orders(
    first: Array, second: Array, own: Array, k: int, grid: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """The k nearest by each of two distances, their ranks by the other, and shared neighbours."""
    near = [np.empty((len(own), k), dtype=np.int32) for _ in range(4)]
    shared = np.empty((len(own), len(grid)), dtype=np.int32)
    _native.compare_orders(first, second, own, grid, *near, shared, current().threads)
    return near[0], near[1], near[2], near[3], shared
