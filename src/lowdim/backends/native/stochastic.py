"""Stochastic neighbours among points with labels."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def sum_buffers(n: int) -> int:
    """The number of buffers of the gradient of n points that `stochastic_neighbor_errors` has."""
    return int(_native.stochastic_parts(n))


def stochastic_neighbor_errors(Z: Array, classes: Array, accuracy: float) -> tuple[float, Array]:
    """Expected errors of classification by a stochastic neighbour, and their gradient by Z."""
    gradient = np.empty(Z.shape)
    value = _native.stochastic_neighbor_errors(Z, classes, accuracy, gradient, current().threads)
    return float(value), gradient
