"""Steps of descents."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.forces import momentum_step
from lowdim.checks import Array


def quasi_newton_direction(gradient: Array, steps: Array, changes: Array) -> Array:
    """The direction of descent of the limited-memory BFGS method."""
    direction = np.empty_like(gradient)
    _native.quasi_newton_direction(gradient, steps, changes, direction)
    return direction


def descend(
    field: Any,
    Y: Array,
    velocity: Array,
    gains: Array,
    *,
    steps: int,
    value: bool,
    rate: float,
    momentum: float,
    min_gain: float,
    max_step: float,
) -> tuple[float, float]:
    """Steps of gradient descent; updates Y, velocity and gains; the loss and the norm of the
    gradient at the last step."""
    loss, norm = np.nan, 0.0
    for step in range(steps):
        loss, gradient = field(Y, value=value and step + 1 == steps)
        norm = momentum_step(
            gradient,
            Y,
            velocity,
            gains,
            rate=rate,
            momentum=momentum,
            min_gain=min_gain,
            max_step=max_step,
        )
    return loss, norm
