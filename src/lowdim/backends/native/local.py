"""Small linear systems, one per object, and small changes of a matrix, one per pair."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def barycentric_weights(grams: Array, reg: float) -> Array:
    """Weights w of sum 1 with (G + reg tr(G) I) w proportional to 1, for each Gram matrix G."""
    weights = np.empty(grams.shape[:2], dtype=grams.dtype)
    _native.barycentric_weights(grams, reg, weights, current().threads)
    return weights


def bregman_projections(
    gaps: Array, signs: Array, slack: float, multipliers: Array, targets: Array, matrix: Array
) -> None:
    """Projections of a Mahalanobis matrix onto bounds of z'Mz, one after the other; in place."""
    _native.bregman_projections(gaps, signs, slack, multipliers, targets, matrix)
