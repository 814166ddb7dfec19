"""A line search for the strong Wolfe conditions (Nocedal and Wright 2006, section 3.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from lowdim.checks import Array

DECREASE = 1e-3  # smallest decrease of the value, relative to that of the tangent
CURVATURE = 0.9  # largest slope after the step, relative to the one before
MOST_TRIALS = 20
SHORTEST, LONGEST = 1.1, 4.0  # of an extrapolation, in lengths of the interval before it
MARGIN = 0.1  # share of the interval that an interpolation keeps from its ends


class Trial(NamedTuple):
    """A step along a direction, the value and the slope there, and the point and its gradient."""

    step: float
    value: float
    slope: float
    x: Array
    gradient: Array


def wolfe_step(along: Callable[[float], Trial], start: Trial, step: float) -> Trial | None:
    """A step that lowers the value sufficiently and after which the line is less steep.

    Parameters
    ----------
    along : callable
        From a step to the trial of it. Values that are not finite are taken for large ones.
    start : Trial
        Of the step 0, with a negative slope.
    step : float
        The first step to try.

    Returns
    -------
    Trial or None
        If no step meets both conditions, one that lowers the value sufficiently; None if there is
        none either.
    """
    low, high = start, None  # a minimum lies between them, or beyond `low` if there is no `high`
    for _ in range(MOST_TRIALS):
        trial = along(step)
        tangent = start.value + DECREASE * step * start.slope
        if not trial.value <= min(tangent, low.value):
            high = trial
            step = _interpolate(low, high)
            continue
        if abs(trial.slope) <= -CURVATURE * start.slope:
            return trial
        before = low
        if trial.slope * (1.0 if high is None else high.step - low.step) >= 0:
            high = low
        low = trial
        step = _extrapolate(before, low) if high is None else _interpolate(low, high)
    return low if low.value < start.value else None


def _interpolate(low: Trial, high: Trial) -> float:
    """A step between two trials, by interpolation, kept from their steps.

    If the second one is higher, the step is not longer than to the mean of the minima of the cubic
    and the quadratic through the trials (More and Thuente 1994, case 1).
    """
    width = high.step - low.step
    share = (_cubic_minimum(low, high) - low.step) / width if width else math.nan
    rise = high.value - low.value
    if rise > 0:
        quadratic = low.slope * width / (low.slope * width - rise) / 2
        share = min(share, (share + quadratic) / 2)
    return low.step + width * (min(max(share, MARGIN), 1 - MARGIN) if share == share else 0.5)


def _extrapolate(before: Trial, low: Trial) -> float:
    """A step beyond the second trial, by extrapolation.

    Where the line gets steeper the cubic does not tell how far away the minimum is.
    """
    width = low.step - before.step
    flatter = low.slope > before.slope
    share = (_cubic_minimum(before, low) - low.step) / width if flatter else math.nan
    return low.step + width * (min(max(share, SHORTEST), LONGEST) if share > 0 else LONGEST)


def _cubic_minimum(a: Trial, b: Trial) -> float:
    """The step at which the cubic with the values and slopes of two trials is least, or NaN."""
    width = b.step - a.step
    theta = a.slope + b.slope - 3 * (b.value - a.value) / width
    square = theta * theta - a.slope * b.slope
    if not 0 <= square < math.inf:
        return math.nan
    gamma = math.copysign(math.sqrt(square), width)
    bottom = b.slope - a.slope + 2 * gamma
    return b.step - width * (b.slope + gamma - theta) / bottom if bottom else math.nan
