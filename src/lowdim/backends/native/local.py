"""Small linear systems, one per object."""

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
