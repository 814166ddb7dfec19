"""Starts of iterative solvers: an array that the user gives, random points, distinct points."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.runtime.elementary import normal_numbers


def check_start(init: Any, shape: tuple[int, int], names: tuple[str, ...], rows: str = "") -> Array:
    """Check a start that the user gave as an array.

    `names` are the other values of init; `rows` says what the rows are, if not places of objects.
    """
    is_array = hasattr(init, "shape") or isinstance(init, list | tuple)
    value = np.shape(init) if is_array else repr(init)
    if value != shape:
        listed = ", ".join(map(repr, names))
        rows = rows or f"one row of {argument('n_components')} coordinates for each object"
        raise ValueError(
            f"{argument('init')} must be one of {listed} or an array of shape {shape}, {rows}; got "
            f"{value}."
        )
    return np.asarray(checks.vectors(init, name="init"))


def random_start(
    n: int, k: int, size: float, random: np.random.RandomState, dtype: np.dtype[np.generic]
) -> Array:
    """Uniform points in a centred cube, with root mean square distance `size`."""
    spread = (random.uniform(size=(n, k)) - 0.5) * size * np.sqrt(6 / k)
    return np.asarray(spread, dtype=dtype)


def separate_points(Y: Array) -> Array:
    """Add small noise to coinciding points and to coordinates without extent, in place.

    The stress has no gradient there.
    """
    size = float(np.abs(Y).max(initial=0.0))
    nudge = 1e-4 * (size or 1.0) * normal_numbers(np.random.RandomState(0), Y.shape)
    flat = np.ptp(Y, axis=0) <= 1e-9 * size
    Y[:, flat] += nudge[:, flat]
    _, kind, count = np.unique(
        np.round(Y / (1e-9 * (size or 1.0))), axis=0, return_inverse=True, return_counts=True
    )
    same = count[kind.ravel()] > 1
    Y[same] += nudge[same]
    return Y
