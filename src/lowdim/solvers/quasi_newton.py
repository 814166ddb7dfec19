"""The limited-memory BFGS method for smooth objectives (Liu and Nocedal 1989)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.callbacks import Monitor
from lowdim.checks import Array
from lowdim.solvers.objective import Objective

CORRECTIONS = 10  # past steps that approximate the Hessian
SPAN = 5  # iterations over which progress is measured: a single one may be small by chance


class Minimum(NamedTuple):
    """The best point, its value, and the value at the start and after each iteration."""

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
    enough: float = -np.inf,
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
        Iterations end when the value is not larger than this.
    after, most : int
        If this is one of several minimisations with the same monitor: the number of iterations
        before it, and the largest number of its own iterations (default: `monitor.max_iter`).
    span : int
        See `tol`.

    Returns
    -------
    Minimum
    """
    from scipy import optimize

    minimize: Any = optimize.minimize
    x, value = np.array(start, dtype=np.float64), np.inf
    history: list[float] = []

    def finished(intermediate_result: Any) -> None:
        nonlocal x, value
        value = float(intermediate_result.fun)
        x = np.array(intermediate_result.x).reshape(start.shape)
        history.append(value)
        before = history[-1 - span] if len(history) > span else np.inf
        if not answers.repeated(x):
            seen = show(x) if monitor.wants_embedding else x
            if monitor(after + len(history) - 1, value, seen):
                raise StopIteration
            monitor.keep(lambda: answers.state(x))
        if before - value <= tol * max(value, floor) or value <= enough:
            raise StopIteration

    limit = monitor.max_iter if most is None else most
    options = {"maxcor": CORRECTIONS, "maxiter": limit, "maxfun": 2**31 - 1}
    with monitor:
        answers = _Answers(objective, monitor, x)
        value = answers.first[0]
        history.append(value)
        if limit > 0 and value > 0:
            answers.restore(monitor.saved({"x": x}))
            minimize(
                answers,
                x.ravel(),
                jac=True,
                method="L-BFGS-B",
                callback=finished,
                options={**options, "ftol": 0.0, "gtol": 1e-12},
            )
    return Minimum(x, value, np.array(history))


class _Answers:
    """The objective as SciPy calls it; with a checkpoint, its values and gradients are recorded.

    The memory of SciPy's solver cannot be saved. But its steps follow from the values and the
    gradients that it gets, so it is brought back to a state by giving it the same ones again, which
    takes no time compared with computing them.
    """

    def __init__(self, objective: Objective, monitor: Monitor, start: Array) -> None:
        self.objective, self.start, self.recording = objective, start, monitor.resumable
        self.first = objective(start)
        self.recorded: list[tuple[float, Array]] = []
        self.asked = self.known = 0
        self.last = np.empty(0)  # the end of the last iteration that was recorded

    def __call__(self, z: Array) -> tuple[float, Array]:
        self.asked += 1
        if self.asked <= self.known:
            return self.recorded[self.asked - 1]
        first = self.asked == 1
        value, gradient = self.first if first else self.objective(z.reshape(self.start.shape))
        if self.recording:
            self.recorded.append((value, np.array(gradient).ravel()))
        return value, gradient.ravel()

    def state(self, x: Array) -> dict[str, Any]:
        """All answers until the iteration that ended at x."""
        values, gradients = zip(*self.recorded, strict=True)
        answers = {"values": np.array(values), "gradients": np.stack(gradients)}
        return {"x": x, "start": self.start, **answers}

    def restore(self, state: dict[str, Any] | None) -> None:
        """Give the answers of a state again, if it had the same start.

        It had another one if this is one of several minimisations and those before it are longer
        now, because `max_iter` was raised.
        """
        if state is not None and np.array_equal(state["start"], self.start):
            self.recorded = list(zip(state["values"].tolist(), state["gradients"], strict=True))
            self.known, self.last = len(self.recorded), state["x"]

    def repeated(self, x: Array) -> bool:
        """Whether the iteration that ends at x had ended before the state was saved."""
        if self.asked == self.known and not np.array_equal(x, self.last):
            raise ValueError(
                "checkpoint: the steps of the optimizer cannot be repeated, because SciPy or its "
                "BLAS is another one now. Delete the file to start over."
            )
        return self.asked <= self.known
