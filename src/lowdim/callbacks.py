"""One protocol for every iterative solver: progress, stop, snapshots, and a clean Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from lowdim import checks
from lowdim.checks import Array


@dataclass(frozen=True)
class State:
    """What a callback sees after an iteration."""

    iteration: int
    max_iter: int
    loss: float
    embedding: Array


Callback = Callable[[State], object]
"""Called after every iteration; a true answer stops the fit."""


class Watch:
    """Reports the iterations of a solver.

    Used as a context: Ctrl-C inside it ends the loop with a warning instead of an exception, so
    that the caller goes on with the best coordinates it has. `stopped` tells that the callback or
    Ctrl-C ended it.
    """

    def __init__(
        self, label: str, max_iter: int, callback: Callback | None = None, verbose: int = 0
    ) -> None:
        self.label, self.max_iter = label, max_iter
        self.callback, self.verbose = callback, verbose
        self.started = self.drawn = time.monotonic()
        self.stopped = False

    def __call__(self, iteration: int, loss: float, embedding: Array) -> bool:
        """Report one finished iteration; true if the solver should stop."""
        if self.verbose and time.monotonic() - self.drawn > 0.1:
            self._draw(iteration, loss)
        if self.callback is None:
            return False
        self.stopped = bool(self.callback(State(iteration, self.max_iter, loss, embedding)))
        return self.stopped

    def _draw(self, iteration: int, loss: float) -> None:
        self.drawn = time.monotonic()
        done = iteration / max(self.max_iter, 1)
        left = (self.drawn - self.started) * (1 - done) / max(done, 1e-9)
        bar = "#" * int(30 * done)
        sys.stderr.write(f"\r{self.label} [{bar:<30}] {iteration}/{self.max_iter}")
        sys.stderr.write(f"  loss {loss:.4g}  at most {left:.0f} s left ")
        sys.stderr.flush()

    def __enter__(self) -> Watch:
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
