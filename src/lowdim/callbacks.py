"""One protocol for every iterative solver: progress, stop, snapshots, and a clean Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from lowdim import checks
from lowdim.checks import Array

SECONDS_BETWEEN_DRAWINGS = 0.1  # of the progress bar


@dataclass(frozen=True)
class State:
    """What a callback sees after an iteration.

    Attributes
    ----------
    iteration : int
        Number of finished iterations.
    max_iter : int
        Number of iterations after which the solver ends in any case.
    loss : float
        The value of the objective.
    embedding : array of shape (n_samples, n_components)
        A snapshot of the coordinates, read-only.
    """

    iteration: int
    max_iter: int
    loss: float
    embedding: Array


Callback = Callable[[State], object]
"""Called after every iteration; a true answer stops the fit."""


class Monitor:
    """Reports the iterations of a solver to the user, and says whether it should stop.

    Used as a context: Ctrl-C inside it ends the loop with a warning instead of an exception, so
    that the caller goes on with the best coordinates it has. `stopped` says that the callback or
    Ctrl-C ended it.

    Parameters
    ----------
    max_iter : int
        Number of iterations after which the solver ends.
    label : str
        What is running, for the progress bar and the warning.
    callback : callable, default=None
        Called with a `State` after every iteration.
    verbose : int, default=0
        Whether to draw a progress bar.
    """

    def __init__(
        self, max_iter: int, label: str = "", callback: Callback | None = None, verbose: int = 0
    ) -> None:
        self.max_iter, self.label = max_iter, label
        self.callback, self.verbose = callback, verbose
        self.started = self.drawn = time.monotonic()
        self.stopped = False

    @property
    def wants_loss(self) -> bool:
        """Whether the value of the objective is shown to anyone."""
        return self.callback is not None or bool(self.verbose)

    @property
    def wants_embedding(self) -> bool:
        """Whether the coordinates are shown to anyone."""
        return self.callback is not None

    def __call__(self, iteration: int, loss: float, embedding: Array) -> bool:
        """Report one finished iteration; true if the solver should stop."""
        if self.verbose and time.monotonic() - self.drawn > SECONDS_BETWEEN_DRAWINGS:
            self._draw(iteration, loss)
        if self.callback is None:
            return False
        snapshot = embedding.copy()
        snapshot.flags.writeable = False
        self.stopped = bool(self.callback(State(iteration, self.max_iter, loss, snapshot)))
        return self.stopped

    def _draw(self, iteration: int, loss: float) -> None:
        self.drawn = time.monotonic()
        done = iteration / max(self.max_iter, 1)
        left = (self.drawn - self.started) * (1 - done) / max(done, 1e-9)
        bar = "#" * int(30 * done)
        sys.stderr.write(f"\r{self.label} [{bar:<30}] {iteration}/{self.max_iter}")
        sys.stderr.write(f"  loss {loss:.4g}  at most {left:.0f} s left ")
        sys.stderr.flush()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if self.verbose:
            sys.stderr.write("\n")
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.stopped = True
            checks.warn(f"{self.label} was interrupted; the best coordinates so far are kept.")
            return True
        return False
