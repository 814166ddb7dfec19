"""Stress functions, their gradients, isotonic regression, and steps of stochastic descent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import or_empty
from lowdim.checks import Array
from lowdim.runtime.context import current

PairStress = Callable[[Array], tuple[float, Array]]
"""The stress of pairs with fixed targets, and V X - B(X) X, half of its gradient, at X."""


def stress_gradient(dissimilarities: Array, X: Array) -> tuple[float, Array]:
    """The raw stress at X and g = V X - B(X) X, half of its gradient.

    One pass over half of the matrix. The Guttman transform of X is X - g / n.
    """
    gradient = np.empty_like(X)
    stress = _native.stress_gradient(dissimilarities, X, gradient, current().threads)
    return float(stress), gradient


def sammon_gradient(
    dissimilarities: Array, X: Array, mass: Array, *, floor: float, epsilon: float
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
    first: Array, second: Array, distances: Array, targets: Array, weights: Array | None, X: Array
) -> tuple[float, Array]:
    """The weighted raw stress of listed pairs, whose distances at X are given, and
    V X - B(X) X, half of its gradient."""
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
    """One round of stochastic stress descent (see `lowdim.stress.mds.sampled`).

    Tile t consists of the 2 s objects order[2 s t : 2 s (t + 1)]; each of the first s objects
    is paired with each of the last s, with the dissimilarities targets[t] of shape (s, s). Both
    points of a pair move by min(1, weight * rate) / 2 of the error of their distance. X is
    updated in place. Returns the stress of these pairs before they moved.
    """
    return float(
        _native.stress_sgd_round(
            order, targets, or_empty(weights, X.dtype, 3), rate, X, current().threads
        )
    )


def isotonic(values: Array, weights: Array | None, ties: Array | None, primary: bool) -> Array:
    """Weighted isotonic regression.

    `ties` are the starts of the runs of tied items, with the number of items as the last entry.
    Tied items get equal values, or with `primary` values in the order of `values`.
    """
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
    """One sweep of curvilinear component analysis (see `lowdim.stress.curvilinear.rule`).

    The points `pins` are fixed one after the other, and each moves all other points; Y, of shape
    (dim, n), is updated in place. Row rows[i] of `distances`, times `unit`, belongs to pins[i].
    `alpha` is the learning rate, `reach` the lambda of the weighting F, which is a step function or
    exponential. Returns the sum of F (X - Y)^2 over all pins and points, before they moved.
    """
    loss = _native.curvilinear_sweep(
        distances, rows, pins, Y, unit, alpha, reach, step, current().threads
    )
    return float(loss)
