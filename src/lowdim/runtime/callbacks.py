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
from lowdim.runtime.checkpoint import State as SolverState
from lowdim.runtime.checkpoint import States
from lowdim.runtime.context import Context, current, override
from lowdim.runtime.scheduling import Count


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


LINE_STEP = 50  # iterations between the lines that verbose=2 prints

Change = Callable[[dict[str, Any]], None]
"""Takes new values of parameters into a running fit."""


def change_parameters(estimator: Any, retune: Change, parameters: dict[str, Any]) -> None:
    """Set parameters of an estimator and call `retune`; if it refuses, all are as before."""
    live = estimator.traits.live
    for parameter in parameters:
        if parameter not in live:
            raise ValueError(
                f"{parameter} of {type(estimator).__name__} cannot be changed during a fit; those "
                f"that can are {', '.join(live) or 'none'}."
            )
    before = {parameter: getattr(estimator, parameter) for parameter in parameters}
    estimator.set_params(**parameters)
    try:
        retune(parameters)
    except (TypeError, ValueError):
        estimator.set_params(**before)
        raise


Callback = Callable[[State], object]
"""Called after every iteration; the fit stops if it returns a true value.

A callback with a method `due()` is called only after the last iteration and after those for which
`due`, asked before the iteration, returned a true value. The others cost nothing: neither loss nor
coordinates are computed for them. If the callback has an attribute `wants_loss` that is false
before the iteration, its loss is not computed either, and is NaN unless the solver has it anyway.
"""

CheckpointFile = str | PathLike[str] | None
"""The file in which a fit keeps its state; None: it keeps none."""


def show_progress(label: str) -> AbstractContextManager[Context]:
    """Show a progress bar for each phase of a computation, such as the neighbour search.

    The label is the name of the method; if it is empty, that of the surrounding computation is.
    """
    return override(label=label or current().label)


@contextmanager
def phase(name: str, unit: str = "parts") -> Iterator[None]:
    """Show a progress bar for one phase of a computation, if bars are shown.

    The bar has as many parts as the computation announces (`scheduling.part_counter`). If it only
    counts finished parts, their number is shown, with the `unit`; if nothing, only the time.
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

        with override(count=Count(show)):
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
    instead of raising KeyboardInterrupt, so that the solver can return its best coordinates. The
    loop of a solver whose next iteration depends on Y alone ::

        with monitor:
            saved = monitor.load_state({"Y": Y})
            done = 0
            if saved is not None:
                Y, done = saved["Y"], saved["done"]
            while done < max_iter:
                loss, Y = step(Y)
                done += 1
                if monitor(done, loss, Y):
                    break
                monitor.keep(lambda: {"Y": Y, "done": done})

    If it can also end by convergence, the state says so, or the fit goes on after it.

    Parameters
    ----------
    max_iter : int
        Largest number of iterations.
    label : str
        Name of the method, for the progress bar and the warning.
    callback : Callback, default=None
    verbose : int, default=0
        1 shows a progress bar of tqdm, on stderr or as a widget in a notebook; 2 prints a line to
        stdout after every `LINE_STEP` iterations and at the end.
    change : callable, default=None
        Takes new values of parameters into the running fit; see `State.change`.
    states : States, default=None
        Where the state of the solver is kept, in a slot of its own; a monitor that is entered again
        has another one.

    Attributes
    ----------
    stopped : bool
        Whether the callback or Ctrl-C stopped the solver.
    """

    def __init__(
        self,
        max_iter: int,
        label: str = "",
        callback: Callback | None = None,
        verbose: int = 0,
        change: Change | None = None,
        states: States | None = None,
    ) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be a function of one argument, got {callback!r}.")
        self.max_iter, self.label = max_iter, label
        self.callback, self.verbose, self.change = callback, verbosity(verbose), change
        self.stopped = False
        self._bar: Any = None
        self._line = ""  # not printed yet
        self._states, self._number, self._entries = states, states and states.new_slot(), 0
        self._make_state: Callable[[], SolverState] | None = None
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
    def _slot(self) -> str:
        return f"{self._number}.{self._entries}"

    @property
    def begun(self) -> bool:
        """Whether an earlier fit has left a state from which the solver goes on."""
        return self._states is not None and self._states.state(self._slot) is not None

    def load_state(
        self, fresh: Mapping[str, Array], *, scheduled: bool = False
    ) -> SolverState | None:
        """The state from which the solver goes on; None if it starts.

        To be called inside the context, before the first iteration. A solver may have ended at
        this state, by convergence; then it ends again. Arrays of a file must have the shapes and
        types of `fresh`, those at the start, by name. If the iterations are `scheduled`, depending
        on `max_iter`, it cannot be raised.
        """
        return None if self._states is None else self._states.load(self._slot, fresh, scheduled)

    def keep(self, make_state: Callable[[], SolverState]) -> None:
        """Offer the state after an iteration: the function is called if the state is needed, and
        later iterations may overwrite its arrays."""
        if self._states is not None:
            self._make_state = make_state
            self._states.keep(self._slot, make_state)

    def _draw(self, iteration: int, loss: float) -> None:
        """Bring the progress bar up to date, made by the first iteration, or print a line."""
        if self.verbose > 1:
            self._line = f"[{self.label}] Iteration {iteration}: error = {loss:.7g}"
            if iteration % LINE_STEP == 0:
                self._print_line()
            return
        if self._bar is None:
            self._bar = _new_bar(total=self.max_iter, desc=self.label)
        self._bar.set_postfix(loss=f"{loss:.4g}", refresh=False)
        self._bar.update(iteration - self._bar.n)

    def _print_line(self) -> None:
        if self._line:
            print(self._line, flush=True)
        self._line = ""

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
        self._print_line()
        if self._states is not None:
            if kind is None and not self.stopped and self._make_state is not None:
                self._states.keep(self._slot, self._make_state, final=True)
            self._make_state = None
            self._entries += 1
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            self.stopped = True
            if current().interrupts_raise:
                return False
            checks.warn(f"{self.label} was interrupted; the best coordinates so far are kept.")
            return True
        return False
