"""Divergences between the probabilities of all neighbours, in the data and on the map."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def divergence_gradient(
    costs: Array, precisions: Array, trade_off: float, Y: Array
) -> tuple[float, float, Array]:
    """sum_i KL(p_i || q_i), sum_i KL(q_i || p_i), and the gradient of their weighted sum.

    The weights are trade_off and 1 - trade_off.

    Row i of `costs` (n, n - 1) holds -log p of all other objects, q is the mean over the scales of
    softmax(-precision |y_i - y_j|^2), and `precisions` (n, scales) ascend. Coordinates are float64.
    """
    gradient = np.empty(Y.shape)
    transposed = np.ascontiguousarray(Y.T)
    missed, wrong = _native.divergence_gradient(
        costs, precisions, trade_off, transposed, gradient, current().threads
    )
    return float(missed), float(wrong), gradient


def place_by_divergence(
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    starts: Array,
    max_iter: int,
    tol: float,
) -> Array:
    """Points whose own row has the least divergence from a map that stands still, each on its own,
    from the best of its starts (new, starts, dim)."""
    Y = np.empty((len(costs), embedding.shape[1]))
    fixed = np.ascontiguousarray(embedding.T)
    _native.place_by_divergence(
        costs, precisions, trade_off, fixed, starts, Y, max_iter, tol, current().threads
    )
    return Y
