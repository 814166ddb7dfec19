"""The limited-memory BFGS method for smooth objectives (Liu and Nocedal 1989).

Its line search is for the strong Wolfe conditions (Nocedal and Wright 2006, section 3.5). SciPy's
driver of the same method takes twice the time between two evaluations, its memory cannot be saved,
and its bits depend on the processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.dense import dot
from lowdim.checks import Array
from lowdim.numerics.objective import Objective
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import Resumable

CORRECTIONS = 10  # past steps that approximate the Hessian
SPAN = 5  # iterations over which progress is measured: a single one may be small by chance
CURVED = float(np.finfo(np.float64).eps)  # least relative change of the slope over a step to keep

DECREASE = 1e-3  # smallest decrease of the value, relative to that of the tangent
CURVATURE = 0.9  # largest slope after the step, relative to the one before
MOST_TRIALS = 20
SHORTEST, LONGEST = 1.1, 4.0  # of an extrapolation, in lengths of the interval before it
MARGIN = 0.1  # share of the interval that an interpolation keeps from its ends


class Minimum(NamedTuple):
    """The best point, its value, and the value at the start and after each iteration.

    Values are NaN if Ctrl-C came before the first one was computed.
    """

    x: Array
    value: float
    history: Array


def lbfgs(
    objective: Objective,
    start: Array,
    monitor: Monitor,
    *,
    tol: float,
    show: Callable[[Array], Array],
    floor: float = 0.0,
    enough: float = 0.0,
    after: int = 0,
    most: int | None = None,
    span: int = SPAN,
) -> Minimum:
    """Minimise an objective. Its value never increases.

    Iterations end when `span` of them together lower the value by less than `tol` times it, or
    times `floor` if that is larger (for objectives that can become 0), when the value is not larger
    than `enough`, or with the best point so far by the monitor (Ctrl-C, callback). `show` makes the
    coordinates that the callback gets from x. If this is one of several minimisations with the same
    monitor, `after` is the number of iterations before it, and `most` the largest number of its
    own.
    """
    shape = start.shape
    x, value, gradient = np.array(start, dtype=np.float64).ravel(), math.nan, np.empty(0)
    history: list[float] = []
    memory = _Memory()
    limit = monitor.max_iter if most is None else most

    def evaluate(z: Array) -> tuple[float, Array]:
        loss, slope = objective(z.reshape(shape))
        return float(loss), np.array(slope, dtype=np.float64).ravel()

    def has_converged() -> bool:
        before = history[-1 - span] if len(history) > span else math.inf
        return before - value <= tol * max(value, floor) or value <= enough

    def state() -> dict[str, Any]:
        point = {"x": x, "gradient": gradient, "start": start}
        return {**point, "history": np.array(history), **memory.state()}

    with monitor:
        saved = monitor.load_state({"x": x, "gradient": x})
        # The start is another one if this is one of several minimisations and those before it are
        # longer now, because `max_iter` was raised.
        if saved is not None and np.array_equal(saved["start"], start):
            x, gradient, history = saved["x"], saved["gradient"], saved["history"].tolist()
            value = history[-1]
            memory.restore(saved)
        else:
            value, gradient = evaluate(x)
            history.append(value)
        while len(history) <= limit and not has_converged():
            trial = _step(evaluate, x, value, gradient, memory)
            if trial is None:
                break
            x, value, gradient = trial.x, trial.value, trial.gradient
            history.append(value)
            seen = x.reshape(shape)
            seen = show(seen) if monitor.wants_embedding else seen
            if monitor(after + len(history) - 1, value, seen):
                break
            monitor.keep(state)
    return Minimum(x.reshape(shape), value, np.array(history or [value]))


def _step(
    at: Callable[[Array], tuple[float, Array]],
    x: Array,
    value: float,
    gradient: Array,
    memory: _Memory,
) -> Trial | None:
    """One iteration: a search along the quasi-Newton direction, or else along the gradient.

    None if the value cannot be lowered.
    """
    direction = memory.direction(gradient)
    slope = dot(direction, gradient)

    def evaluate_along(step: float) -> Trial:
        z = x + step * direction
        there, slopes = at(z)
        return Trial(step, there, dot(slopes, direction), z, slopes)

    if slope < 0:  # false for NaN
        first = 1.0 if memory.steps else 1 / math.sqrt(-slope)
        trial = wolfe_step(evaluate_along, Trial(0.0, value, slope, x, gradient), first)
        if trial is not None:
            if trial.slope - slope > CURVED * -slope:
                memory.add(trial.x - x, trial.gradient - gradient)
            return trial
    if not memory.steps:
        return None
    memory.clear()
    return _step(at, x, value, gradient, memory)


class _Memory(Resumable):
    """Steps and the changes of the gradient over them, which approximate the inverse Hessian."""

    changing = ("steps", "changes")

    def __init__(self) -> None:
        self.steps: list[Array] = []  # the oldest one first
        self.changes: list[Array] = []
        self._direction = backend().quasi_newton_direction

    def add(self, step: Array, change: Array) -> None:
        """Remember a step with a positive curvature."""
        for kept, new in ((self.steps, step), (self.changes, change)):
            kept[:] = [*kept[-(CORRECTIONS - 1) :], new]

    def clear(self) -> None:
        """Forget all steps."""
        self.steps, self.changes = [], []

    def direction(self, gradient: Array) -> Array:
        """The direction of descent."""
        return self._direction(gradient, self.steps, self.changes)


# --- line search --------------------------------------------------------------


class Trial(NamedTuple):
    """A step along a direction, the value and the slope there, and the point and its gradient."""

    step: float
    value: float
    slope: float
    x: Array
    gradient: Array


def wolfe_step(along: Callable[[float], Trial], start: Trial, step: float) -> Trial | None:
    """A step that lowers the value sufficiently and after which the line is less steep.

    `along` gives the trial of a step, `start` is that of the step 0, with a negative slope, and
    `step` the first to try. Values that are not finite are taken for large ones. If no step meets
    both conditions, one that lowers the value sufficiently; None if there is none either.
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
