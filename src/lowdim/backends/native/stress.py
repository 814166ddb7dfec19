"""Stress functions, their gradients, isotonic regression, and steps of stochastic descent."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.backends.native.optional import or_empty
from lowdim.backends.protocol import PairStress
from lowdim.checks import Array
from lowdim.runtime.context import current


def stress_gradient(dissimilarities: Array, X: Array) -> tuple[float, Array]:
    """The raw stress at X and g = V X - B(X) X, half of its gradient.

    One pass over half of the matrix. The Guttman transform of X is X - g / n.
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

    The weights are mass_i mass_j / max(delta_ij, epsilon). Pairs with delta_ij <= floor are left
    out unless epsilon > 0.
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
    """|x_i - x_j| for i = first[k], j = second[k]."""
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
    """The weighted raw stress of listed pairs, whose distances are given, and V X - B(X) X."""
    gradient = np.empty_like(X)
    stress = _native.pair_gradient(
        first,
        second,
        distances,
        targets,
        or_empty(weights, X.dtype),
        X,
        gradient,
        current().threads,
    )
    return float(stress), gradient


def pair_stress(
    n: int, first: Array, second: Array, targets: Array, weights: Array | None
) -> PairStress:
    """The weighted raw stress of listed pairs of n objects, as a function of the coordinates."""

    def evaluate(X: Array) -> tuple[float, Array]:
        return pair_gradient(first, second, pair_distances(first, second, X), targets, weights, X)

    return evaluate


def stress_sgd_round(
    order: Array, targets: Array, weights: Array | None, rate: float, X: Array
) -> float:
    """One round of stochastic stress descent, X in place; returns the stress before the steps."""
    return float(
        _native.stress_sgd_round(
            order, targets, or_empty(weights, X.dtype, 3), rate, X, current().threads
        )
    )


def isotonic(
    values: Array,
    weights: Array | None,
    ties: Array | None,
    primary: bool,
) -> Array:
    """Weighted isotonic regression."""
    out = np.empty_like(values)
    optional = or_empty(weights, values.dtype), or_empty(ties, np.int64)
    _native.isotonic(values, *optional, primary, out, current().threads)
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
    """One sweep of curvilinear component analysis; updates Y; returns the error before it."""
    loss = _native.curvilinear_sweep(
        distances, rows, pins, Y, unit, alpha, reach, step, current().threads
    )
    return float(loss)
