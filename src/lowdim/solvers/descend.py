"""Gradient descent with momentum and gains on a force field, which can be stopped and resumed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.callbacks import Monitor
from lowdim.checks import Array
from lowdim.solvers.objective import ForceField

CHECK = 50  # iterations between looks at the loss
LEAST_GAIN = 0.01
ORDERED_FROM = 4_000  # points from which the map does not fit the fastest cache
UNFOLDED = 1e-2  # extent up to which a map is only beginning, and its gradient small for that
LONGEST_STEP = 5.0  # that a point takes at once, in units of the similarity's width


@dataclass(frozen=True)
class Phase:
    """A stretch of the descent with settings of its own."""

    iterations: int
    rate: float
    momentum: float
    exaggeration: float = 1.0


@dataclass
class Descent:
    """A descent as it stands: `run` goes on from there, and two runs equal one of both lengths.

    The loss is looked at every 50 iterations, and in each where a callback wants to know it.
    `min_grad_norm` and `patience` (iterations without a lower loss) end it early.
    """

    objective: ForceField
    Y: Array
    min_grad_norm: float = 0.0
    patience: int = 10**9
    iteration: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)
    best: float = np.inf
    best_at: int = 0
    order: Array | None = None  # the first numbers of the points, where they have others now

    def __post_init__(self) -> None:
        self.velocity, self.gains = np.zeros_like(self.Y), np.ones_like(self.Y)

    @property
    def embedding(self) -> Array:
        """The map, its points by the numbers they came with."""
        if self.order is None:
            return self.Y
        out = np.empty_like(self.Y)
        out[self.order] = self.Y
        return out

    def renumber(self) -> None:
        """Give near points near numbers, so that what is needed together is in cache together."""
        order = backend().curve_order(self.Y)
        self.objective.renumber(order)
        self.Y, self.velocity, self.gains = (
            np.ascontiguousarray(part[order]) for part in (self.Y, self.velocity, self.gains)
        )
        self.order = order if self.order is None else self.order[order]

    def run(self, phase: Phase, monitor: Monitor | None = None) -> bool:
        """Go on through a phase; false where it was ended early."""
        self.objective.exaggeration = phase.exaggeration
        for _ in range(phase.iterations):
            look = (self.iteration + 1) % CHECK == 0
            shown = monitor is not None and monitor.wants_loss
            loss, gradient = self.objective(self.Y, value=look or shown)
            norm = backend().momentum_step(
                gradient,
                self.Y,
                self.velocity,
                self.gains,
                rate=phase.rate,
                momentum=phase.momentum,
                least_gain=LEAST_GAIN,
                longest=LONGEST_STEP,
            )
            self.iteration += 1
            if not np.isfinite(norm):
                raise FloatingPointError("the descent diverged")
            stop = monitor is not None and monitor(
                self.iteration, loss, self.embedding if monitor.wants_embedding else self.Y
            )
            if stop or (look and self._ends(loss, norm)):
                return False
        return True

    def _ends(self, loss: float, norm: float) -> bool:
        self.history.append((self.iteration, loss))
        if loss < self.best:
            self.best, self.best_at = loss, self.iteration
        flat = norm <= self.min_grad_norm and float(np.abs(self.Y).max()) > UNFOLDED
        return flat or self.iteration - self.best_at > self.patience

    def restart(self, Y: Array) -> None:
        """Go on from another map, at rest."""
        self.Y = Y if self.order is None else np.ascontiguousarray(Y[self.order])
        self.velocity, self.gains = np.zeros_like(self.Y), np.ones_like(self.Y)

    def forget_best(self) -> None:
        """A loss under another exaggeration is no measure for what follows."""
        self.best, self.best_at = np.inf, self.iteration


def descend(descent: Descent, phases: list[Phase], monitor: Monitor, fallback: Array) -> None:
    """Run through the phases; Ctrl-C and callbacks end all of them and keep the map.

    Where exaggerated attraction has drawn everything into one point, as it does for a perplexity
    near the number of points, the next phase begins with the fallback.
    """
    extent = float(np.abs(fallback).max())
    with monitor:
        for number, phase in enumerate(phases):
            descent.forget_best()
            if number > 0 and float(np.abs(descent.Y).max()) < extent / 2:
                descent.restart(fallback.copy())
            if number > 0 and len(descent.Y) > ORDERED_FROM and descent.Y.shape[1] <= 3:
                descent.renumber()
            descent.run(phase, monitor)
            if monitor.stopped:
                return


def learning_rate(given: float | str, n: int, exaggeration: float) -> float:
    """ "auto" is n / exaggeration / 4 (Belkina et al. 2019)."""
    if isinstance(given, str):
        checks.choice(given, "learning_rate", ("auto",))
        return n / exaggeration / 4
    return checks.real(given, "learning_rate", 0)
