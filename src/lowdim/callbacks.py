"""Progress bars, user callback and handling of Ctrl-C, the same for all methods."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from lowdim import checks
from lowdim.checks import Array


@dataclass(frozen=True)
class State:
    """The argument of a callback: the state of a solver after an iteration.

    Attributes
    ----------
    iteration : int
        Number of finished iterations.
    max_iter : int
        Largest number of iterations.
    loss : float
        The value of the objective.
    embedding : array of shape (n_samples, n_components)
        A read-only copy of the coordinates.
    """

    iteration: int
    max_iter: int
    loss: float
    embedding: Array


Callback = Callable[[State], object]
"""Called after every iteration; the fit stops if it returns a true value."""


_reported: ContextVar[str] = ContextVar("reported", default="")
"""Name of the method whose phases are shown; empty if none are."""


@contextmanager
def reporting(label: str) -> Iterator[None]:
    """Show a progress bar for each phase of a computation, such as the neighbour search.

    Parameters
    ----------
    label : str
        Name of the method; if empty, the phases are shown as those of the surrounding computation,
        if there is one that shows them.
    """
    token = _reported.set(label or _reported.get())
    try:
        yield
    finally:
        _reported.reset(token)


@contextmanager
def phase(name: str, total: int | None = None) -> Iterator[Callable[[int], object]]:
    """One phase of a computation; yields a function that counts finished parts.

    Parameters
    ----------
    name : str
        What is computed.
    total : int, default=None
        Number of parts; None if they are not counted, then only the time is shown.
    """
    label = _reported.get()
    if not label:
        yield lambda parts: None
        return
    form = "{desc} [{elapsed}]" if total is None else None
    with _new_bar(total=total, desc=f"{label}: {name}", bar_format=form) as bar:
        yield bar.update


def _new_bar(**options: Any) -> Any:
    """A bar of tqdm: a widget in a notebook that has them, otherwise text on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a notebook has no widgets
        from tqdm.auto import tqdm
    return tqdm(**options)


def verbosity(value: Any) -> int:
    """Check the parameter `verbose`: an integer or a truth value."""
    return checks.integer(int(value) if isinstance(value, bool) else value, "verbose", 0)


class Monitor:
    """Reports the iterations of a solver to the user and decides whether the solver should stop.

    Use it as a context manager around the loop: Ctrl-C inside the loop then issues a warning
    instead of raising KeyboardInterrupt, so that the solver can return its best coordinates.

    Attributes
    ----------
    stopped : bool
        Whether the callback or Ctrl-C stopped the solver.

    Parameters
    ----------
    max_iter : int
        Largest number of iterations.
    label : str
        Name of the method, for the progress bar and the warning.
    callback : callable, default=None
        Called with a `State` after every iteration.
    verbose : int, default=0
        Whether to show a progress bar of tqdm: on stderr, or as a widget in a notebook.
    """

    def __init__(
        self, max_iter: int, label: str = "", callback: Callback | None = None, verbose: int = 0
    ) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function of one argument, got {callback!r}.")
        self.max_iter, self.label = max_iter, label
        self.callback, self.verbose = callback, verbosity(verbose)
        self.stopped = False
        self._bar: Any = None

    @property
    def wants_loss(self) -> bool:
        """Whether the solver should compute the loss of every iteration."""
        return self.callback is not None or bool(self.verbose)

    @property
    def wants_embedding(self) -> bool:
        """Whether the solver should pass the coordinates in the order of the user's rows."""
        return self.callback is not None

    def __call__(self, iteration: int, loss: float, embedding: Array) -> bool:
        """Report a finished iteration; returns True if the solver should stop."""
        if self.verbose:
            self._draw(iteration, loss)
        if self.callback is None:
            return False
        snapshot = embedding.copy()
        snapshot.flags.writeable = False
        self.stopped = bool(self.callback(State(iteration, self.max_iter, loss, snapshot)))
        return self.stopped

    def _draw(self, iteration: int, loss: float) -> None:
        """Bring the progress bar up to date; it is made by the first iteration."""
        if self._bar is None:
            self._bar = _new_bar(total=self.max_iter, desc=self.label)
        self._bar.set_postfix(loss=f"{loss:.4g}", refresh=False)
        self._bar.update(iteration - self._bar.n)

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if self._bar is not None:
            self._bar.close()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.stopped = True
            checks.warn(f"{self.label} was interrupted; the best coordinates so far are kept.")
            return True
        return False
