"""Stress of distances, its gradients, and the steps that lower it."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def stress_gradient(dissimilarities: Array, X: Array) -> tuple[float, Array]:
    """The raw stress at X and its gradient V X - B(X) X, in one pass over half of the matrix.

    The Guttman transform of X is X - gradient / n.
    """
    gradient = np.empty_like(X)
    stress = _native.stress_gradient(dissimilarities, X, gradient, current().threads)
    return float(stress), gradient


def sammon_gradient(
    dissimilarities: Array,
    X: Array,
    mass: Array,
    *,
    floor: float,
    epsilon: float,
) -> tuple[float, Array]:
    """sum_{i<j} w_ij (delta_ij - d_ij)^2 and half of its gradient; coordinates in float64.

    The weights are mass_i mass_j / max(delta_ij, epsilon); pairs up to `floor` are left out unless
    epsilon > 0.
    """
    gradient = np.empty(X.shape)
    stress = _native.sammon_gradient(
        dissimilarities,
        np.ascontiguousarray(X.T),
        mass,
        gradient,
        floor,
        epsilon,
        current().threads,
    )
    return float(stress) / 2, gradient


def pair_distances(first: Array, second: Array, X: Array) -> Array:
    """|x_i - x_j| of the listed pairs."""
    distances = np.empty(len(first), dtype=X.dtype)
    _native.pair_distances(first, second, X, distances, current().threads)
    return distances


def pair_gradient(
    first: Array,
    second: Array,
    distances: Array,
    targets: Array,
    weights: Array | None,
    X: Array,
) -> tuple[float, Array]:
    """The weighted raw stress of listed pairs at given distances, and V X - B(X) X."""
    gradient = np.empty_like(X)
    own = np.empty(0, X.dtype) if weights is None else weights
    stress = _native.pair_gradient(
        first, second, distances, targets, own, X, gradient, current().threads
    )
    return float(stress), gradient


def meet_in_tiles(
    order: Array, targets: Array, weights: Array | None, rate: float, X: Array
) -> float:
    """Move the points X, in place, pair by pair in tiles of `order`; returns the stress met."""
    own = np.empty((0, 0, 0), X.dtype) if weights is None else weights
    return float(_native.meet_in_tiles(order, targets, own, rate, X, current().threads))


def isotonic(
    values: Array,
    weights: Array | None,
    ties: Array | None,
    primary: bool,
) -> Array:
    """The non-decreasing sequence nearest to the values, in weighted least squares.

    `ties` holds the starts of runs of tied items, and the number of items at the end; tied items
    may part in the order of their values (primary) or stay equal.
    """
    out = np.empty_like(values)
    own = np.empty(0, values.dtype) if weights is None else weights
    starts = np.empty(0, np.int64) if ties is None else ties
    _native.isotonic(values, own, starts, primary, out, current().threads)
    return out


def curvilinear_sweep(
    distances: Array,
    rows: Array,
    pins: Array,
    Y: Array,
    *,
    unit: float,
    alpha: float,
    reach: float,
    step: bool,
) -> float:
    """Let points pin one after the other: all others move, in place, and the error is returned.

    Y holds the points dimension by dimension; row r of `distances`, times `unit`, belongs to the
    pin that stands at the same place of `pins` as r does of `rows`.
    """
    found = _native.curvilinear_sweep(
        distances, rows, pins, Y, unit, alpha, reach, step, current().threads
    )
    return float(found)
