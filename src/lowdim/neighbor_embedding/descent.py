"""Gradient descent with momentum and gains (Jacobs 1988), as in t-SNE; it can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.forces import StepSettings
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.neighbor_embedding.anchors import Spring
from lowdim.numerics.objective import ForceField
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import Resumable

LARGEST_RATE = 1e12  # learning rate; far above any that converges, far below overflow
CHECK_EVERY = 50  # iterations between computations of the loss
MIN_GAIN = 0.01
RENUMBER_FROM = 4_000  # points from which the embedding does not fit into the L1 cache
SMALL_EXTENT = 1e-2  # largest coordinate up to which gradients are small because the start is small
MAX_STEP = 5.0  # of a point in an iteration, in units of the width of the similarity

_ARRAYS = ("Y", "velocity", "gains")


@dataclass
class Phase:
    """Some iterations of a descent with the same settings, which can be changed while it runs."""

    iterations: int
    rate: float
    momentum: float
    exaggeration: float = 1.0


@dataclass
class Descent(Resumable):
    """The state of a descent, from which `run` continues; `Y` is overwritten.

    Running n and then m iterations is the same as running n + m iterations. The loss is computed
    every 50 iterations, and in every iteration if a callback needs it. The springs act after each
    iteration.
    """

    changing = (*_ARRAYS, "iteration", "best", "best_at", "phase", "phase_from", "phase_over")

    objective: ForceField
    Y: Array
    min_grad_norm: float = 0.0
    patience: int = 10**9
    springs: Sequence[Spring] = ()
    iteration: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)
    best: float = np.inf
    best_at: int = 0
    order: Array | None = None  # original index of each point, if points were renumbered
    renumberings: list[Array] = field(default_factory=list)
    phase: int = -1  # number of the phase that is running
    phase_from: int = 0  # number of iterations before it
    phase_over: bool = False  # whether it ended early

    def __post_init__(self) -> None:
        self.velocity, self.gains = np.zeros_like(self.Y), np.ones_like(self.Y)

    def state(self) -> dict[str, Any]:
        """Everything that the descent needs to go on in another process."""
        history = np.array(self.history, dtype=np.float64).reshape(-1, 2)
        return {**super().state(), "history": history, "renumberings": self.renumberings}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same descent; this one must not have begun."""
        for order in state["renumberings"]:
            self._renumber(order)
        super().restore(state)
        self.history = [(int(iteration), float(loss)) for iteration, loss in state["history"]]

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
        self._renumber(backend().curve_order(self.Y))

    def _renumber(self, order: Array) -> None:
        self.objective.renumber(order)
        self.Y, self.velocity, self.gains = (
            np.ascontiguousarray(part[order]) for part in (self.Y, self.velocity, self.gains)
        )
        self.springs = [spring.renumber(order) for spring in self.springs]
        self.order = order if self.order is None else self.order[order]
        self.renumberings.append(order)

    def run(self, phase: Phase, monitor: Monitor | None = None, *, done: int = 0) -> bool:
        """Run a phase, of which some iterations may be done; returns False if it ended early."""
        end = self.iteration + phase.iterations - done
        while self.iteration < end:
            self.objective.exaggeration = phase.exaggeration
            watched = monitor is not None and monitor.watches
            shown = monitor is not None and monitor.wants_loss
            single = watched or bool(self.springs)
            steps = 1 if single else CHECK_EVERY - self.iteration % CHECK_EVERY
            steps = min(steps, end - self.iteration)
            check = (self.iteration + steps) % CHECK_EVERY == 0
            loss, norm = backend().descend(
                self.objective,
                self.Y,
                self.velocity,
                self.gains,
                StepSettings(phase.rate, phase.momentum, MIN_GAIN, MAX_STEP),
                steps=steps,
                value=check or shown,
            )
            self.iteration += steps
            for spring in self.springs:
                spring.pull(self.Y)
            if not np.isfinite(norm):
                raise ValueError(
                    f"{argument('learning_rate')}, exaggeration: the descent diverged within "
                    f"{self.iteration} iterations. Lower them, or rescale X if its distances are "
                    "near the limits of its type."
                )
            if monitor is not None and monitor(
                self.iteration, loss, self.embedding if monitor.wants_embedding else self.Y
            ):
                return False
            self.phase_over = check and self._ends(loss, norm)
            if monitor is not None:
                monitor.keep(self.state)
            if self.phase_over:
                return False
        return True

    def _ends(self, loss: float, norm: float) -> bool:
        """Record the loss; whether the descent has converged or made no progress."""
        self.history.append((self.iteration, loss))
        if loss < self.best:
            self.best, self.best_at = loss, self.iteration
        flat = norm <= self.min_grad_norm and float(np.abs(self.Y).max()) > SMALL_EXTENT
        return flat or self.iteration - self.best_at > self.patience

    def restart(self, Y: Array) -> None:
        """Continue from other coordinates, in the original order, with zero velocity."""
        self.Y = Y if self.order is None else np.ascontiguousarray(Y[self.order])
        self.velocity, self.gains = np.zeros_like(self.Y), np.ones_like(self.Y)

    def exchange(self, objective: ForceField) -> None:
        """Continue with another objective of the same points, in their original order."""
        if self.order is not None:
            objective.renumber(self.order)
        self.objective = objective
        self.forget_best()

    def begin(self, phase: int) -> None:
        """Begin a phase of the descent."""
        self.phase, self.phase_from, self.phase_over = phase, self.iteration, False
        self.forget_best()

    def forget_best(self) -> None:
        """Reset the best loss: losses under different settings cannot be compared."""
        self.best, self.best_at = np.inf, self.iteration


def run_phases(descent: Descent, phases: list[Phase], monitor: Monitor, fallback: Array) -> None:
    """Run the phases in order; Ctrl-C or the callback stop the descent and keep the coordinates.

    If the exaggerated attraction has collapsed all points into one, as with a perplexity near the
    number of points, the next phase starts from `fallback`.
    """
    extent = float(np.abs(fallback).max())
    with monitor:
        saved = monitor.load_state({name: getattr(descent, name) for name in _ARRAYS})
        if saved is not None:
            descent.restore(saved)
        for number, phase in enumerate(phases):
            if number < descent.phase:
                continue
            if number > descent.phase:
                if number > 0 and float(np.abs(descent.Y).max()) < extent / 2:
                    descent.restart(fallback.copy())
                if number > 0 and len(descent.Y) > RENUMBER_FROM and descent.Y.shape[1] <= 3:
                    descent.renumber()
                if phase.iterations == 0:
                    continue
                descent.begin(number)
            if not descent.phase_over:
                descent.run(phase, monitor, done=descent.iteration - descent.phase_from)
            if monitor.stopped:
                return


def step_size(value: float | str, n: float, exaggeration: float) -> float:
    """The learning rate; "auto" is n / exaggeration / 4 (Belkina et al. 2019)."""
    if isinstance(value, str):
        checks.choice(value, "learning_rate", ("auto",))
        return n / exaggeration / 4
    return checks.real(value, "learning_rate", 0, LARGEST_RATE)
