"""Rows of the distance matrix on request, for solvers that need a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.distances.matrices import TILE_OBJECTS, cross_distances
from lowdim.distances.metrics import Metric, straightened
from lowdim.runtime.scheduling import blocks, run


def distances_from(rows: Any, metric: Metric) -> Callable[[Array], Array]:
    """A function from row numbers to the distances of these rows to all rows."""
    rows, metric = straightened(rows, metric)
    if metric.euclidean and isinstance(rows, np.ndarray):
        return _euclidean(rows)

    def measure(chosen: Array) -> Array:
        return np.ascontiguousarray(cross_distances(rows, rows[chosen], metric).T)

    return measure


def _euclidean(rows: Array) -> Callable[[Array], Array]:
    """Euclidean distances as matrix products, of centred vectors in float64.

    |a - b|^2 is the inner product of (-2 a, |a|^2, 1) and (b, 1, |b|^2).
    """
    n, d = rows.shape
    right = np.empty((d + 2, n))
    right[:d] = rows.T
    right[:d] -= right[:d].mean(axis=1, keepdims=True)
    right[d] = 1
    right[d + 1] = np.einsum("dn,dn->n", right[:d], right[:d])

    def measure(chosen: Array) -> Array:
        left = np.empty((len(chosen), d + 2))
        left[:, :d] = -2 * right[:d, chosen].T
        left[:, d], left[:, d + 1] = right[d + 1, chosen], 1
        out = np.empty((len(chosen), n))

        def fill(part: slice) -> None:
            squares = left @ right[:, part]
            np.sqrt(np.maximum(squares, 0, out=squares), out=out[:, part])

        run(fill, blocks(n, TILE_OBJECTS))
        out[np.arange(len(chosen)), chosen] = 0
        return out

    return measure
