"""Divergences between neighbour probabilities in the data and in the embedding."""

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


def listed_precisions(indptr: Array, squared: Array, weights: Array, perplexities: Array) -> Array:
    """The precisions at which the Gaussian probabilities of weighted lists have perplexities."""
    p, beta = np.empty_like(squared), np.empty((len(perplexities), len(indptr) - 1))
    for perplexity, out in zip(perplexities, beta, strict=True):
        _native.perplexity_affinities(
            indptr, squared, weights, float(perplexity), p, out, current().threads
        )
    return np.ascontiguousarray(beta.T)


def mixture_costs(indptr: Array, squared: Array, weights: Array, precisions: Array) -> Array:
    """-log p of weighted lists, p the mean over scales of Gaussian probabilities."""
    costs = np.empty_like(squared)
    precisions = np.ascontiguousarray(precisions, dtype=squared.dtype)
    _native.mixture_costs(indptr, squared, weights, precisions, costs, current().threads)
    return costs


def listed_divergence_gradient(
    indptr: Array,
    indices: Array,
    costs: Array,
    weights: Array,
    precisions: Array,
    trade_off: float,
    Y: Array,
) -> tuple[float, float, Array]:
    """`divergence_gradient` for weighted lists of other objects."""
    gradient = np.empty(Y.shape)
    forward, backward = _native.listed_divergence_gradient(
        indptr, indices, costs, weights, precisions, trade_off, Y, gradient, current().threads
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
    lists: tuple[Array, Array] | None = None,
) -> Array:
    """New points of least divergence from a fixed embedding, from the best of their starts."""
    Y = np.empty((len(costs), embedding.shape[1]))
    fixed = np.ascontiguousarray(embedding.T)
    indices, weights = lists or (np.empty((0, 0), np.int32), np.empty((0, 0), costs.dtype))
    setting = (precisions, trade_off, fixed, starts, Y, max_iter, tol, current().threads)
    _native.place_by_divergence(costs, indices, weights, *setting)
    return Y
