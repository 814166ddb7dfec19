"""Checkpoints: the state of an unfinished fit in a file, from which the same call goes on.

A fit enters `resuming(checkpoint)`. Each of its solvers then has a `Slot`, by the order in which
the fit makes them: `Slot.saved` returns the state that an earlier, interrupted fit left there, and
`Slot.keep` is called after every iteration and writes the states of all solvers when that is due.
Large results that are computed once, such as the neighbour graph, have a file of their own beside
it, so that they are not written again with every state.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.atomic import check_writable
from lowdim.runtime import archive

FORMAT = 1
DOCUMENT = "checkpoint.json"
SHARE = 0.02  # largest share of the time of a fit that writing may take
MARGIN = 2.0  # factor by which a write may take longer than the last one
FIRST_SECONDS, FIRST_RATE = 0.02, 1e8  # assumed of the first write: seconds, and bytes per second
LENGTHS = ("max_iter", "n_epochs")  # parameters that may be raised when a fit goes on
STATES = ""  # the file of the states; other names are those of the files beside it

State = dict[str, Any]
"""The state of a solver: arrays, numbers, lists and dicts of them."""


class Checkpoint:
    """The file of one fit.

    Parameters
    ----------
    path : str or path-like
        Read if it exists.
    key : dict of str
        What the result depends on, by name: class, data, parameters. An existing file must have
        the same key, except that parameters in `LENGTHS` may be raised.

    Attributes
    ----------
    seed : int
        Seed for random_state=None, kept in the file: a fit that goes on needs the same numbers.
    lengthened : str
        Which of `LENGTHS` was raised since the file was written; empty if none was.
    spent : float
        Seconds that writing has taken.

    Raises
    ------
    ValueError
        If the file is damaged or belongs to another fit. It is not changed.
    OSError
        If the file could not be written.
    """

    def __init__(self, path: str | PathLike[str], key: dict[str, str]) -> None:
        self.path, self.key = os.fspath(path), key
        self.seed, self.lengthened = 0, ""
        self._lock = threading.Lock()
        self._slots: dict[str, State] = {}
        self._taken: dict[str, float] = {}  # when the state of each slot was copied
        self._waiting: dict[str, Any] = {}  # results that are still to be written
        self._n_slots = 0
        self._costs: dict[str, float] = {}  # seconds of the last write of each file
        self.spent, self._written, self._warned = 0.0, 0.0, False
        check_writable(path, force=True)
        found = self._read(STATES)
        if found is None:
            self.seed = int(np.random.randint(2**31 - 1))
        else:
            self.seed, self._slots = found["seed"], found["slots"]
        self._start = perf_counter()

    def slot(self) -> Slot:
        """The slot of the next solver."""
        self._n_slots += 1
        return Slot(self, self._n_slots - 1)

    def state(self, slot: str) -> State | None:
        """A copy of the state that a slot has in the file."""
        with self._lock:
            found: State | None = _copied(self._slots.get(slot))
            return found

    def keep(self, slot: str, make: Callable[[], State], *, final: bool = False) -> None:
        """Take the state of a slot, and write all of them, if this is due.

        Parameters
        ----------
        slot : str
        make : callable
            Returns the state. It is called only if the state is needed.
        final : bool
            Whether this is the last state of the slot, which is taken in any case.
        """
        with self._lock:
            due = self._due()
            if due or final or self._taken.get(slot, -1.0) < self._written:
                self._slots[slot], self._taken[slot] = _copied(make()), perf_counter()
            if due and self._due():  # now that the size of the first state is known
                self._write_waiting()
                self._write(STATES, self._states)
                self._written = perf_counter()

    def recall(self, name: str) -> Any:
        """A result that an earlier fit has remembered; None if there is none."""
        return self._read(name)

    def remember(self, name: str, value: Any) -> None:
        """Keep a result that takes long to compute, in the file `path.name`."""
        with self._lock:
            self._waiting[name] = value
            if self._due(states=False):
                self._write_waiting()

    @property
    def _states(self) -> dict[str, Any]:
        return {"seed": self.seed, "slots": self._slots}

    def _due(self, *, states: bool = True) -> bool:
        """Whether writing all that waits, and the states, keeps the time of writing below `SHARE`.

        The time of a file is that of the last time it was written, or else estimated.
        """
        cost = 0.0
        for name, value in [*self._waiting.items(), *([(STATES, self._states)] * states)]:
            known = self._costs.get(name)
            cost += FIRST_SECONDS + _n_bytes(value) / FIRST_RATE if known is None else known
        return self.spent + MARGIN * cost <= SHARE * (perf_counter() - self._start)

    def _write_waiting(self) -> None:
        for name in list(self._waiting):
            if self._write(name, self._waiting[name]):
                del self._waiting[name]

    def _file(self, name: str) -> str:
        return self.path if name == STATES else f"{self.path}.{name}"

    def _write(self, name: str, value: Any) -> bool:
        start = perf_counter()
        arrays: dict[str, Any] = {}
        document = {
            "lowdim_checkpoint": FORMAT,
            "key": self.key,
            "content": archive.encode(value, arrays, "the state"),
        }
        try:
            archive.write(self._file(name), DOCUMENT, document, arrays, force=True)
            return True
        except OSError as error:  # a full disk is no reason to lose the fit
            if not self._warned:
                checks.warn(f"checkpoint: the fit goes on, but it could not be kept: {error}")
            self._warned = True
            return False
        finally:
            self._costs[name] = perf_counter() - start
            self.spent += self._costs[name]

    def _read(self, name: str) -> Any:
        path = self._file(name)
        if not os.path.exists(path):
            return None
        try:
            with archive.reading(path, DOCUMENT) as (document, arrays):
                if document["lowdim_checkpoint"] != FORMAT:
                    raise ValueError(f"it has the format {document['lowdim_checkpoint']!r}.")
                known = document["key"]
                others = self._differences(known)
                content = None if others else archive.decode(document["content"], arrays)
        except MemoryError:
            raise
        except Exception as error:  # whatever a damaged file leads to
            raise ValueError(
                f"checkpoint: {path} cannot be read ({error}). It was not changed; delete it to "
                "start over, or give another name."
            ) from error
        if others:
            raise ValueError(
                f"checkpoint: {path} belongs to another fit: {', '.join(others)}. It was not "
                "changed; delete it to start over, or give another name."
            )
        return content

    def _differences(self, known: dict[str, str]) -> list[str]:
        """What differs between the key of a file and that of this fit, in words."""
        others = []
        for name in dict.fromkeys([*self.key, *known]):
            old, new = known.get(name, "not known"), self.key.get(name, "not known")
            if old == new:
                continue
            if name in LENGTHS and old.isdecimal() and new.isdecimal() and int(old) < int(new):
                self.lengthened = f"{name} was {old}, is {new}"
                continue
            plain = "#" not in old + new
            others.append(f"{name} was {old}, is {new}" if plain else f"{name} is another one")
            if name == "estimator":
                break  # other estimators have other parameters
        return others


class Slot:
    """The place of one solver in a checkpoint; a solver that is entered again has the next one."""

    def __init__(self, checkpoint: Checkpoint, number: int) -> None:
        self.checkpoint, self.number, self.entries = checkpoint, number, 0
        self._make: Callable[[], State] | None = None

    @property
    def name(self) -> str:
        """The name of the slot in the file."""
        return f"{self.number}.{self.entries}"

    @property
    def begun(self) -> bool:
        """Whether an earlier fit has left a state."""
        return self.checkpoint.state(self.name) is not None

    def saved(self, fresh: Mapping[str, Any], scheduled: bool) -> State | None:
        """The state to go on from; see `lowdim.callbacks.Monitor.saved`."""
        state = self.checkpoint.state(self.name)
        if state is None:
            return None
        if scheduled and self.checkpoint.lengthened:
            raise ValueError(
                f"checkpoint: {self.checkpoint.path} cannot go on: {self.checkpoint.lengthened}, "
                "and the size of each step depends on it. Give another name to start over."
            )
        for name, array in fresh.items():
            found = np.asarray(state.get(name))
            if (found.dtype, found.shape) != (array.dtype, array.shape):
                raise ValueError(
                    f"checkpoint: {self.checkpoint.path} cannot be read (its {name} has another "
                    "shape or type than in this fit). Delete it to start over."
                )
        return state

    def keep(self, make: Callable[[], State]) -> None:
        """Offer the state after an iteration."""
        self._make = make
        self.checkpoint.keep(self.name, make)

    def close(self, *, complete: bool) -> None:
        """The solver has ended; unless `complete`, somewhere in an iteration."""
        if complete and self._make is not None:
            self.checkpoint.keep(self.name, self._make, final=True)
        self._make = None
        self.entries += 1


_current: ContextVar[Checkpoint | None] = ContextVar("lowdim.checkpoint", default=None)


@contextmanager
def resuming(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Use a checkpoint, or none, for the fit in the block."""
    token = _current.set(checkpoint)
    try:
        with checks.seeding(None if checkpoint is None else checkpoint.seed):
            yield
    finally:
        _current.reset(token)


def current_checkpoint() -> Checkpoint | None:
    """The checkpoint of the fit that is running, if it has one."""
    return _current.get()


def new_slot() -> Slot | None:
    """The slot of the next solver of the fit that is running, if it has a checkpoint."""
    checkpoint = _current.get()
    return None if checkpoint is None else checkpoint.slot()


def random_state_of(random: np.random.RandomState) -> dict[str, Any]:
    """The state of a generator, as plain values."""
    return dict(random.get_state(legacy=False))


def _copied(value: Any) -> Any:
    """A copy of a state that later iterations do not change; read-only arrays are shared."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K") if value.flags.writeable else value
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copied(item) for item in value)
    return value


def _n_bytes(value: Any) -> int:
    """The size of the arrays of a state."""
    if isinstance(value, dict):
        return sum(map(_n_bytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_n_bytes, value))
    return int(getattr(value, "nbytes", 0))
