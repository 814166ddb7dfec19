"""Smooth objectives by limited-memory quasi-Newton steps (Liu and Nocedal 1989)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim.callbacks import Watch
from lowdim.checks import Array

CORRECTIONS = 10
SPAN = 5  # iterations over which progress is judged: one alone may be short by chance


class Minimum(NamedTuple):
    """The best point, its value, and the value at the start and after each iteration."""

    x: Array
    value: float
    history: Array


def lbfgs(
    objective: Callable[[Array], tuple[float, Array]],
    start: Array,
    watch: Watch,
    *,
    tol: float,
    show: Callable[[Array], Array],
    after: int = 0,
    most: int | None = None,
) -> Minimum:
    """Minimise an objective that returns its value and gradient, both for an array like `start`.

    Values never increase. Iterations end when several of them together lower the value by less
    than tol times itself, after `watch.max_iter` of them, or when the watch says so; it sees
    `show(x)`. Ctrl-C ends them too, with the best point so far. Where this is one of several
    minimisations under one watch, `after` are the iterations before it and `most` its own limit.
    """
    from scipy import optimize

    minimize: Any = optimize.minimize
    x, value = np.array(start, dtype=np.float64), np.inf
    history: list[float] = []

    def flat(z: Array) -> tuple[float, Array]:
        value, gradient = objective(z.reshape(start.shape))
        return value, gradient.ravel()

    def finished(intermediate_result: Any) -> None:
        nonlocal x, value
        value = float(intermediate_result.fun)
        x = np.array(intermediate_result.x).reshape(start.shape)
        history.append(value)
        before = history[-1 - SPAN] if len(history) > SPAN else np.inf
        seen = x if watch.callback is None else show(x)
        if watch(after + len(history) - 1, value, seen) or before - value <= tol * value:
            raise StopIteration

    limit = watch.max_iter if most is None else most
    options = {"maxcor": CORRECTIONS, "maxiter": limit, "maxfun": 2**31 - 1}
    with watch:
        value = objective(x)[0]
        history.append(value)
        if limit > 0 and value > 0:
            minimize(
                flat,
                x.ravel(),
                jac=True,
                method="L-BFGS-B",
                callback=finished,
                options={**options, "ftol": 0.0, "gtol": 1e-12},
            )
    return Minimum(x, value, np.array(history))
