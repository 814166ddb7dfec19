"""Progress bars, user callback and handling of Ctrl-C, the same for all methods."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from os import PathLike
from types import TracebackType
from typing import Any

from lowdim import checks
from lowdim.checks import Array
from lowdim.runtime.checkpoint import Slot
from lowdim.runtime.checkpoint import State as SolverState
from lowdim.runtime.context import Context, current, override
from lowdim.runtime.progress import report_parts


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
        The value of the objective; NaN if the callback does not want it, see `Callback`.
    embedding : array of shape (n_samples, n_components)
        A read-only copy of the coordinates.
    """

    iteration: int
    max_iter: int
    loss: float
    embedding: Array
    _change: Change | None = field(default=None, repr=False, compare=False)

    def change(self, **parameters: Any) -> None:
        """Change parameters of the estimator while its fit runs, from the next iteration on.

        The catalog lists the parameters of each method that can be changed (`Method.live`). The
        estimator has the new values after the fit. If a value is refused, nothing is changed.

        Parameters
        ----------
        **parameters
            New values, such as `perplexity=50`.

        Raises
        ------
        ValueError
            If a parameter cannot be changed during a fit, or has a wrong value.
        TypeError
            If a value has a wrong type.

        Examples
        --------
        >>> import lowdim
        >>> def sharpen(state):
        ...     if state.iteration == 300:
        ...         state.change(perplexity=5)
        >>> X, _ = lowdim.data.clusters(60, random_state=0)
        >>> lowdim.TSNE(perplexity=15, callback=sharpen).fit(X).perplexity
        5
        """
        if self._change is None:
            raise ValueError(f"{', '.join(parameters)} cannot be changed during this fit.")
        self._change(parameters)


Change = Callable[[dict[str, Any]], None]
"""Takes new values of parameters into a running fit."""


Callback = Callable[[State], object]
"""Called after every iteration; the fit stops if it returns a true value.

A callback with a method `due()` is called only after the last iteration and after those for which
`due`, asked before the iteration, returned a true value. The others cost nothing: neither loss nor
coordinates are computed for them. If the callback has an attribute `wants_loss` that is false
before the iteration, its loss is not computed either, and is NaN unless the solver has it anyway.
"""

CheckpointFile = str | PathLike[str] | None
"""The file in which a fit keeps its state; None: it keeps none."""


def interrupts_raise() -> AbstractContextManager[Context]:
    """Let Ctrl-C raise KeyboardInterrupt, instead of ending a solver with its best coordinates.

    For solvers whose coordinates are only a step of a computation.
    """
    return override(interrupts_raise=True)


def show_progress(label: str) -> AbstractContextManager[Context]:
    """Show a progress bar for each phase of a computation, such as the neighbour search.

    Parameters
    ----------
    label : str
        Name of the method; if empty, the phases are shown as those of the surrounding computation,
        if there is one that shows them.
    """
    return override(label=label or current().label)


@contextmanager
def phase(name: str, unit: str = "parts") -> Iterator[None]:
    """Show a progress bar for one phase of a computation, if bars are shown.

    The bar has as many parts as the computation announces (`lowdim.runtime.progress.part_counter`).
    If it only counts finished parts, their number is shown; if it counts nothing, only the time.

    Parameters
    ----------
    name : str
        What is computed.
    unit : str, default="parts"
        What is counted, in the plural.
    """
    label = current().label
    if not label:
        yield
        return
    with _new_bar(desc=f"{label}: {name}", bar_format="{desc} [{elapsed}]") as bar:

        def show(finished: int, total: int | None) -> None:
            bar.total = total
            bar.bar_format = None if total else f"{{desc}}: {{n_fmt}} {unit} [{{elapsed}}]"
            bar.update(finished - bar.n)

        with report_parts(show):
            yield


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
        Called with a `State` after every iteration, or after those for which its method `due`
        asks; see `Callback`.
    verbose : int, default=0
        Whether to show a progress bar of tqdm: on stderr, or as a widget in a notebook.
    change : callable, default=None
        Takes new values of parameters into the running fit; see `State.change`.
    slot : Slot, default=None
        The place of the solver in the checkpoint of the fit, if it has one.
    """

    def __init__(
        self,
        max_iter: int,
        label: str = "",
        callback: Callback | None = None,
        verbose: int = 0,
        change: Change | None = None,
        slot: Slot | None = None,
    ) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function of one argument, got {callback!r}.")
        self.max_iter, self.label = max_iter, label
        self.callback, self.verbose, self.change = callback, verbosity(verbose), change
        self.stopped = False
        self._bar: Any = None
        self._slot = slot
        self._due = self._wants_call()

    def _wants_call(self) -> bool:
        """Whether the callback wants to be called after the next iteration."""
        if self.callback is None:
            return False
        due = getattr(self.callback, "due", None)
        return due is None or bool(due())

    @property
    def watches(self) -> bool:
        """Whether the solver should call the monitor after every iteration, not of some only."""
        return self.callback is not None or bool(self.verbose)

    @property
    def wants_loss(self) -> bool:
        """Whether the solver should compute the loss of the next iteration."""
        asked = self._due and bool(getattr(self.callback, "wants_loss", True))
        return asked or bool(self.verbose)

    @property
    def wants_embedding(self) -> bool:
        """Whether the solver should pass the coordinates in the order of the user's rows."""
        return self._due

    def __call__(self, iteration: int, loss: float, embedding: Array) -> bool:
        """Report a finished iteration; returns True if the solver should stop."""
        if self.verbose:
            self._draw(iteration, loss)
        if self.callback is not None and self._due:
            snapshot = embedding.copy()
            snapshot.flags.writeable = False
            state = State(iteration, self.max_iter, loss, snapshot, self.change)
            self.stopped = bool(self.callback(state))
        last = self.callback is not None and iteration + 1 >= self.max_iter
        self._due = last or self._wants_call()
        return self.stopped

    @property
    def begun(self) -> bool:
        """Whether the checkpoint has a state from which the solver goes on."""
        return self._slot is not None and self._slot.begun

    def load_state(
        self, fresh: Mapping[str, Array], *, scheduled: bool = False
    ) -> SolverState | None:
        """The state from which the solver goes on; None if it starts.

        Parameters
        ----------
        fresh : dict of arrays
            Arrays of the state at the start, by name; those of the file must have the same shape
            and type.
        scheduled : bool
            Whether the iterations depend on `max_iter`, so that it cannot be raised.

        Notes
        -----
        To be called inside the context, before the first iteration. A solver may have ended at
        this state, by convergence; then it ends again.
        """
        return None if self._slot is None else self._slot.load_state(fresh, scheduled)

    def keep(self, make_state: Callable[[], SolverState]) -> None:
        """Offer the state after an iteration to the checkpoint, which calls the function if it
        needs the state; later iterations may overwrite its arrays."""
        if self._slot is not None:
            self._slot.keep(make_state)

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
        if self._slot is not None:
            self._slot.close(complete=kind is None and not self.stopped)
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.stopped = True
            if current().interrupts_raise:
                return False
            checks.warn(f"{self.label} was interrupted; the best coordinates so far are kept.")
            return True
        return False
