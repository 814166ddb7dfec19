"""Divergences between neighbour probabilities of all pairs, in the data and in the embedding."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def divergence_gradient(
    costs: Array, precisions: Array, trade_off: float, Y: Array
) -> tuple[float, float, Array]:
    """sum_i KL(p_i || q_i), sum_i KL(q_i || p_i), and the gradient of their weighted sum."""
    gradient = np.empty(Y.shape)
    transposed = np.ascontiguousarray(Y.T)
    forward, backward = _native.divergence_gradient(
        costs, precisions, trade_off, transposed, gradient, current().threads
    )
    return float(forward), float(backward), gradient


def place_by_divergence(
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    starts: Array,
    max_iter: int,
    tol: float,
) -> Array:
    """New points of least divergence from a fixed embedding, from the best of their starts."""
    Y = np.empty((len(costs), embedding.shape[1]))
    fixed = np.ascontiguousarray(embedding.T)
    _native.place_by_divergence(
        costs, precisions, trade_off, fixed, starts, Y, max_iter, tol, current().threads
    )
    return Y
