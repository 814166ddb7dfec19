"""The rule of curvilinear component analysis (Demartines and Herault 1997).

One object i after the other is fixed (the pin), and all others move along the line to it, towards
the given distance: y_j += alpha F(Y_ij) (X_ij - Y_ij) / Y_ij (y_j - y_i), with X the given
distances and Y those in the embedding. F decreases with Y at a scale lambda that decreases over the
epochs, so that large distances that cannot be kept are ignored in the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.numerics.starts import check_start, random_start
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.elementary import power
from lowdim.runtime.scheduling import blocks

NEIGHBORHOODS = ("exponential", "step")
WIDEST, NARROWEST = 3.0, 0.1  # lambda="auto", in standard deviations of the start's widest axis
BLOCK_PINS = 64  # distances are computed for a multiple of this number of pins
PAIRS_AT_ONCE = 2**21  # and for about this number of pairs at once: 16 MB in float64

Distances = Array | Callable[[Array], Array]
"""The matrix of all distances, or a function from some objects to their rows of it."""


class Curved(NamedTuple):
    """The result of `curvilinear`.

    The coordinates, their error at the last lambda, their stress, and the error of each epoch,
    summed before each point moved.
    """

    embedding: Array
    error: float
    stress: float
    history: Array


class Decrease(NamedTuple):
    """A geometric decrease over the epochs."""

    first: float
    last: float

    def at(self, epoch: int, epochs: int) -> float:
        """The value in an epoch."""
        done = epoch / max(epochs - 1, 1)
        return float(power(self.first, 1 - done) * power(self.last, done))


def curvilinear(
    distances: Distances,
    start: Array,
    monitor: Monitor,
    *,
    alpha: Any = (0.5, 0.01),
    lambda_range: Any = "auto",
    neighborhood: str = "exponential",
    random_state: Any = None,
) -> Curved:
    """Apply the rule for `monitor.max_iter` epochs; in each, every object is the pin once.

    The order of the pins in an epoch is a permutation drawn by (seed, epoch) of the objects sorted
    by their distance from the centre of the start, so that the result does not depend on the order
    of the rows. The error is that of the paper's equation 1, sum_{i<j} F(Y_ij) (X_ij - Y_ij)^2; the
    stress (sum (X - Y)^2 / sum X^2)^(1/2) is over all pairs, without weights.

    Parameters
    ----------
    distances : array of shape (n, n) or callable
        See `Distances`.
    start : array of shape (n, dim)
    monitor : Monitor
    alpha : (first, last)
        Learning rate, which decreases geometrically over the epochs.
    lambda_range : (first, last) or "auto"
        Scale of F, which decreases geometrically; "auto" is in proportion to the start.
    neighborhood : {"exponential", "step"}
        F(Y) = exp(-Y / lambda), or 1 up to lambda and 0 beyond.
    random_state : int, RandomState or None
        None is a fixed seed.

    Returns
    -------
    Curved
    """
    checks.choice(neighborhood, "neighborhood", NEIGHBORHOODS)
    rate = _decrease(alpha, "alpha", 1.0)
    unit = _unit(start)
    Y = np.ascontiguousarray(start.T, dtype=np.float64) * unit
    Y -= Y.mean(axis=1, keepdims=True)
    spread = max(float(Y.std(axis=1).max(initial=0.0)), 1e-6)
    reach = Decrease(WIDEST * spread, NARROWEST * spread)
    if not (isinstance(lambda_range, str) and lambda_range == "auto"):
        decrease = _decrease(lambda_range, "lambda_range", np.inf, " or 'auto'")
        reach = Decrease(decrease.first * unit, decrease.last * unit)
    n = len(start)
    seed, step = seed_of(random_state), neighborhood == "step"
    ranked = np.argsort((Y * Y).sum(axis=0), kind="stable").astype(np.int32)

    def sweep(pins: Array, Y: Array, alpha: float, reach: float, step: bool) -> float:
        """One epoch with the given pins; the error before each move, each pair counted once."""
        total, whole = 0.0, isinstance(distances, np.ndarray)
        some = BLOCK_PINS * max(1, PAIRS_AT_ONCE // (BLOCK_PINS * n))
        for part in blocks(n, n if whole else some):
            own = pins[part]
            rows = own if whole else np.arange(len(own), dtype=np.int32)
            D = distances if isinstance(distances, np.ndarray) else distances(own)
            total += backend().curvilinear_sweep(
                D, rows, own, Y, unit=unit, alpha=alpha, reach=reach, step=step
            )
        error = total / 2 / unit / unit
        if not np.isfinite(error):
            raise ValueError(
                "X: the distances are too large, their squares overflow. Divide X by a constant."
            )
        return error

    def coordinates() -> Array:
        centered = Y - Y.mean(axis=1, keepdims=True)
        return np.ascontiguousarray(centered.T / unit, dtype=start.dtype)

    history: list[float] = []
    width = reach.first

    def state() -> dict[str, Any]:
        return {"Y": Y, "width": width, "history": np.array(history)}

    with monitor:
        if (saved := monitor.load_state({"Y": Y}, scheduled=True)) is not None:
            Y, width, history = saved["Y"], saved["width"], saved["history"].tolist()
        for epoch in range(len(history), monitor.max_iter):
            pins = ranked[np.random.default_rng([seed, epoch]).permutation(n)]
            width = reach.at(epoch, monitor.max_iter)
            history.append(sweep(pins, Y, rate.at(epoch, monitor.max_iter), width, step))
            if monitor(epoch + 1, history[-1], coordinates() if monitor.wants_embedding else Y.T):
                break
            monitor.keep(state)
    error = sweep(ranked, Y, 0.0, width, step)
    apart = sweep(ranked, Y, 0.0, np.inf, True)
    total = sweep(ranked, np.zeros_like(Y), 0.0, np.inf, True)
    stress = float(np.sqrt(apart / total)) if total > 0 else 0.0
    return Curved(coordinates(), error, stress, np.asarray(history, dtype=np.float64))


def apply_rule(
    estimator: Any, distances: Distances, n: int, dtype: Any, auto: Callable[[], Array]
) -> None:
    """Set `embedding_` to a map of n objects by the parameters of an estimator, and its errors.

    `auto` gives the start for init="auto".
    """
    shape, seed = (n, estimator.n_components), estimator.random_state
    solution = curvilinear(
        distances,
        initial(estimator.init, distances, shape, dtype, seed, auto),
        estimator._monitor(checks.integer(estimator.max_iter, "max_iter", 1)),
        alpha=estimator.alpha,
        lambda_range=estimator.lambda_range,
        neighborhood=estimator.neighborhood,
        random_state=seed,
    )
    estimator.embedding_, estimator.error_, estimator.stress_, estimator.history_ = solution
    estimator.n_iter_ = len(solution.history)


def initial(
    init: Any,
    distances: Distances,
    shape: tuple[int, int],
    dtype: Any,
    random_state: Any,
    auto: Callable[[], Array],
) -> Array:
    """The start that `init` names: auto(), random of the size of the distances, or an array."""
    n, dim = shape
    if isinstance(init, str):
        checks.choice(init, "init", ("auto", "random"))
        if init == "auto":
            return auto()
        some = np.arange(min(n, BLOCK_PINS), dtype=np.int32)
        D = distances[some] if isinstance(distances, np.ndarray) else distances(some)
        size = float(np.sqrt(np.mean(D.astype(np.float64) ** 2)))
        random = np.random.RandomState(seed_of(random_state))
        return random_start(n, dim, size, random, np.dtype(dtype))
    return check_start(init, shape, ("auto", "random")).astype(dtype)


def seed_of(random_state: Any) -> int:
    """An integer seed from a random_state; None is a fixed seed."""
    from lowdim.checks import check_random_state

    return int(check_random_state(0 if random_state is None else random_state).randint(2**31 - 1))


def _unit(start: Array) -> float:
    """A power of two that scales the start to about 1, so that squares do not overflow."""
    size = float(np.abs(start).max(initial=0.0))
    if not np.isfinite(size):
        raise ValueError("X: the numbers are too large, their squares overflow. Divide X first.")
    twos = int(np.clip(1 - np.frexp(size)[1], -1000, 1000))
    return float(np.ldexp(1.0, twos)) if size > 0 else 1.0


def _decrease(value: Any, name: str, most: float, otherwise: str = "") -> Decrease:
    """Check a pair (first, last) of decreasing positive numbers."""
    wanted = f"{name} must be a pair (first, last) of decreasing positive numbers{otherwise}"
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{wanted}, got {value!r}.")
    first, last = (checks.real(v, name, 0, most, open_low=True) for v in value)
    if first < last or not np.isfinite(first):
        raise ValueError(f"{wanted}, got {value!r}.")
    return Decrease(first, last)
