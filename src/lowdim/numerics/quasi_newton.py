"""The limited-memory BFGS method for smooth objectives (Liu and Nocedal 1989).

SciPy's driver of the same method takes longer than the objectives of small problems, and its memory
cannot be saved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.dense import dot
from lowdim.checks import Array
from lowdim.numerics.line_search import Trial, wolfe_step
from lowdim.numerics.objective import Objective
from lowdim.runtime.callbacks import Monitor

CORRECTIONS = 10  # past steps that approximate the Hessian
SPAN = 5  # iterations over which progress is measured: a single one may be small by chance
CURVED = float(np.finfo(np.float64).eps)  # least relative change of the slope over a step to keep


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

    Parameters
    ----------
    objective : Objective
    start : array
    monitor : Monitor
        Ctrl-C and the callback end the iterations, with the best point so far.
    tol : float
        Iterations end when `span` of them together lower the value by less than tol times it, or
        times `floor` if that is larger.
    show : callable
        From x to the coordinates that the callback gets.
    floor : float
        See `tol`; for objectives that can become 0.
    enough : float
        Iterations end when the value is not larger than this; 0 for objectives that are never
        negative.
    after, most : int
        If this is one of several minimisations with the same monitor: the number of iterations
        before it, and the largest number of its own iterations (default: `monitor.max_iter`).
    span : int
        See `tol`.

    Returns
    -------
    Minimum
    """
    shape = start.shape
    x, value, gradient = np.array(start, dtype=np.float64).ravel(), math.nan, np.empty(0)
    history: list[float] = []
    memory = _Memory(x.size)
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
        first = 1.0 if memory.count else 1 / math.sqrt(-slope)
        trial = wolfe_step(evaluate_along, Trial(0.0, value, slope, x, gradient), first)
        if trial is not None:
            if trial.slope - slope > CURVED * -slope:
                memory.add(trial.x - x, trial.gradient - gradient)
            return trial
    if memory.count == 0:
        return None
    memory.count = 0
    return _step(at, x, value, gradient, memory)


class _Memory:
    """Steps and the changes of the gradient over them, which approximate the inverse Hessian."""

    def __init__(self, n: int) -> None:
        self.steps, self.changes = np.empty((2, CORRECTIONS, n))  # the oldest ones first
        self.count = 0
        self._direction = backend().quasi_newton_direction

    def add(self, step: Array, change: Array) -> None:
        """Remember a step with a positive curvature."""
        if self.count == CORRECTIONS:
            for kept in (self.steps, self.changes):
                kept[:-1] = kept[1:]
        else:
            self.count += 1
        self.steps[self.count - 1], self.changes[self.count - 1] = step, change

    def direction(self, gradient: Array) -> Array:
        """The direction of descent."""
        return self._direction(gradient, self.steps[: self.count], self.changes[: self.count])

    def state(self) -> dict[str, Array]:
        """The steps and changes, for a checkpoint."""
        return {"steps": self.steps[: self.count], "changes": self.changes[: self.count]}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the steps and changes of a checkpoint."""
        self.count = len(state["steps"])
        self.steps[: self.count], self.changes[: self.count] = state["steps"], state["changes"]
