"""Gradient descent with momentum and gains (Jacobs 1988), as in t-SNE; it can be resumed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.callbacks import Monitor
from lowdim.checks import Array
from lowdim.solvers.objective import ForceField

LARGEST_RATE = 1e12  # learning rate; far above any that converges, far below overflow
CHECK_EVERY = 50  # iterations between computations of the loss
MIN_GAIN = 0.01
RENUMBER_FROM = 4_000  # points from which the embedding does not fit into the L1 cache
UNFOLDED = 1e-2  # largest coordinate up to which gradients are small because the start is small
MAX_STEP = 5.0  # of a point in an iteration, in units of the width of the similarity


@dataclass(frozen=True)
class Phase:
    """Some iterations of a descent with the same settings."""

    iterations: int
    rate: float
    momentum: float
    exaggeration: float = 1.0


@dataclass
class Descent:
    """The state of a descent, from which `run` continues.

    Running n and then m iterations is the same as running n + m iterations. The loss is computed
    every 50 iterations, and in every iteration if a callback needs it.

    Parameters
    ----------
    objective : ForceField
    Y : array of shape (n, dim)
        Start; overwritten.
    min_grad_norm : float
        Norm of the gradient below which the descent ends.
    patience : int
        Number of iterations without a lower loss after which the descent ends.
    """

    objective: ForceField
    Y: Array
    min_grad_norm: float = 0.0
    patience: int = 10**9
    iteration: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)
    best: float = np.inf
    best_at: int = 0
    order: Array | None = None  # original index of each point, if points were renumbered

    def __post_init__(self) -> None:
        self.velocity, self.gains = np.zeros_like(self.Y), np.ones_like(self.Y)

    @property
    def embedding(self) -> Array:
        """The coordinates, in the original order of the points."""
        if self.order is None:
            return self.Y
        out = np.empty_like(self.Y)
        out[self.order] = self.Y
        return out

    def renumber(self) -> None:
        """Reorder the points along a space-filling curve, so that near points share cache lines."""
        order = backend().curve_order(self.Y)
        self.objective.renumber(order)
        self.Y, self.velocity, self.gains = (
            np.ascontiguousarray(part[order]) for part in (self.Y, self.velocity, self.gains)
        )
        self.order = order if self.order is None else self.order[order]

    def run(self, phase: Phase, monitor: Monitor | None = None) -> bool:
        """Run a phase; returns False if it ended early."""
        self.objective.exaggeration = phase.exaggeration
        shown = monitor is not None and monitor.wants_loss
        end = self.iteration + phase.iterations
        while self.iteration < end:
            steps = 1 if shown else CHECK_EVERY - self.iteration % CHECK_EVERY
            steps = min(steps, end - self.iteration)
            check = (self.iteration + steps) % CHECK_EVERY == 0
            loss, norm = backend().descend(
                self.objective,
                self.Y,
                self.velocity,
                self.gains,
                steps=steps,
                value=check or shown,
                rate=phase.rate,
                momentum=phase.momentum,
                min_gain=MIN_GAIN,
                max_step=MAX_STEP,
            )
            self.iteration += steps
            if not np.isfinite(norm):
                raise ValueError(
                    "learning_rate, exaggeration: the descent diverged within "
                    f"{self.iteration} iterations. Lower them, or rescale X if its distances are "
                    "near the limits of its type."
                )
            stop = monitor is not None and monitor(
                self.iteration, loss, self.embedding if monitor.wants_embedding else self.Y
            )
            if stop or (check and self._ends(loss, norm)):
                return False
        return True

    def _ends(self, loss: float, norm: float) -> bool:
        """Record the loss; whether the descent has converged or made no progress."""
        self.history.append((self.iteration, loss))
        if loss < self.best:
            self.best, self.best_at = loss, self.iteration
        flat = norm <= self.min_grad_norm and float(np.abs(self.Y).max()) > UNFOLDED
        return flat or self.iteration - self.best_at > self.patience

    def restart(self, Y: Array) -> None:
        """Continue from other coordinates, in the original order, with zero velocity."""
        self.Y = Y if self.order is None else np.ascontiguousarray(Y[self.order])
        self.velocity, self.gains = np.zeros_like(self.Y), np.ones_like(self.Y)

    def forget_best(self) -> None:
        """Reset the best loss: losses under different exaggerations cannot be compared."""
        self.best, self.best_at = np.inf, self.iteration


def descend(descent: Descent, phases: list[Phase], monitor: Monitor, fallback: Array) -> None:
    """Run the phases in order; Ctrl-C or the callback stop the descent and keep the coordinates.

    If the exaggerated attraction has collapsed all points into one, as with a perplexity near the
    number of points, the next phase starts from `fallback`.
    """
    extent = float(np.abs(fallback).max())
    with monitor:
        for number, phase in enumerate(phases):
            descent.forget_best()
            if number > 0 and float(np.abs(descent.Y).max()) < extent / 2:
                descent.restart(fallback.copy())
            if number > 0 and len(descent.Y) > RENUMBER_FROM and descent.Y.shape[1] <= 3:
                descent.renumber()
            descent.run(phase, monitor)
            if monitor.stopped:
                return


def learning_rate(given: float | str, n: int, exaggeration: float) -> float:
    """The learning rate; "auto" is n / exaggeration / 4 (Belkina et al. 2019)."""
    if isinstance(given, str):
        checks.choice(given, "learning_rate", ("auto",))
        return n / exaggeration / 4
    return checks.real(given, "learning_rate", 0, LARGEST_RATE)
