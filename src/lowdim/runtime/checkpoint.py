"""The states of the solvers of a fit, from which the same call goes on.

They are kept in a file (`Checkpoint`), for fits that may be interrupted, or in memory (`States`),
for a second fit with `warm_start`. A fit enters `keep_states(states)`. Each of its solvers then has
a `Slot`, by the order in which the fit makes them: `Slot.load_state` returns the state that an
earlier fit left there, and `Slot.keep` is called after every iteration and takes the state when
that is due. Large results that are computed once, such as the neighbour graph, are remembered by
name, in files of their own beside that of the states, so that they are not written again with every
state.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.messages import argument
from lowdim.runtime import archive
from lowdim.runtime.atomic import check_writable
from lowdim.runtime.context import Context, current, override

logger = logging.getLogger("lowdim")

FORMAT = 2  # 1 had no digest
DOCUMENT = "checkpoint.json"
SHARE = 0.02  # largest share of the time of a fit that copying or writing states may take
MARGIN = 2.0  # factor by which this may take longer than the last time
FIRST_SECONDS, FIRST_RATE = 0.02, 1e8  # assumed of the first write: seconds, and bytes per second
LENGTHS = ("max_iter", "n_epochs")  # parameters that may be raised when a fit goes on
STATES = ""  # the file of the states; other names are those of the files beside it

State = dict[str, Any]
"""The state of a solver: arrays, numbers, lists and dicts of them."""


class States:
    """The states of one fit, in memory.

    Parameters
    ----------
    key : dict of str
        What the result depends on, by name: class, data, parameters.

    Attributes
    ----------
    seed : int
        Seed for random_state=None: a fit that goes on needs the same numbers.
    lengthened : str
        Which of `LENGTHS` was raised since the states were taken; empty if none was.
    spent : float
        Seconds that copying or writing them has taken.
    """

    path = ""  # of the file; empty if there is none

    def __init__(self, key: dict[str, str]) -> None:
        self.key, self.lengthened, self.spent = key, "", 0.0
        self.seed = int(np.random.randint(2**31 - 1))
        self._lock = threading.Lock()
        self._slots: dict[str, State] = {}
        self._results: dict[str, Any] = {}
        self._n_slots, self._cost = 0, 0.0
        self._start = perf_counter()

    def continue_with(self, key: dict[str, str]) -> States:
        """The states for a next fit, which begins with these if it has the same key.

        Parameters in `LENGTHS` may be raised. For any other difference the fit starts over.
        """
        after = States(key)
        others, lengthened = differences(self.key, key)
        if others:
            logger.info("warm_start: the fit starts over, because %s", ", ".join(others))
            return after
        after.seed, after.lengthened = self.seed, lengthened
        after._slots, after._results = self._slots, self._results
        return after

    def slot(self) -> Slot:
        """The slot of the next solver."""
        self._n_slots += 1
        return Slot(self, self._n_slots - 1)

    def state(self, slot: str) -> State | None:
        """A copy of the state that an earlier fit left in a slot."""
        with self._lock:
            state: State | None = _copy_state(self._slots.get(slot))
            return state

    def keep(self, slot: str, make: Callable[[], State], *, final: bool = False) -> None:
        """Take the state of a slot, if this is due.

        Parameters
        ----------
        slot : str
        make : callable
            Returns the state. It is called only if the state is needed.
        final : bool
            Whether this is the last state of the slot, which is taken in any case.
        """
        with self._lock:
            start = perf_counter()
            if final or self.spent + MARGIN * self._cost <= SHARE * (start - self._start):
                self._slots[slot] = _copy_state(make())
                self._cost = perf_counter() - start
                self.spent += self._cost

    def recall(self, name: str) -> Any:
        """A result that an earlier fit has remembered; None if there is none."""
        return self._results.get(name)

    def remember(self, name: str, value: Any) -> None:
        """Keep a result that takes long to compute."""
        self._results[name] = value


class Checkpoint(States):
    """The states of one fit, in a file.

    Parameters
    ----------
    path : str or path-like
        Read if it exists.
    key : dict of str
        What the result depends on, by name: class, data, parameters. An existing file must have
        the same key, except that parameters in `LENGTHS` may be raised.

    Attributes
    ----------
    seed, lengthened, spent
        As in `States`.

    Raises
    ------
    ValueError
        If the file is damaged or belongs to another fit. It is not changed.
    OSError
        If the file could not be written.
    """

    def __init__(self, path: str | PathLike[str], key: dict[str, str]) -> None:
        super().__init__(key)
        self.path = os.fspath(path)
        self._taken: dict[str, float] = {}  # when the state of each slot was copied
        self._waiting: dict[str, Any] = {}  # results that are still to be written
        self._costs: dict[str, float] = {}  # seconds of the last write of each file
        self._written, self._warned = 0.0, False
        check_writable(path, force=True)
        states = self._read(STATES)
        if states is not None:
            self.seed, self._slots = states["seed"], states["slots"]
        self._start = perf_counter()

    def keep(self, slot: str, make: Callable[[], State], *, final: bool = False) -> None:
        """Take the state of a slot, and write all of them, if this is due."""
        with self._lock:
            due = self._due()
            if due or final or self._taken.get(slot, -1.0) < self._written:
                self._slots[slot], self._taken[slot] = _copy_state(make()), perf_counter()
            if due and self._due():  # now that the size of the first state is known
                self._write_waiting()
                self._write(STATES, self._states)
                self._written = perf_counter()

    def recall(self, name: str) -> Any:
        return self._read(name)

    def remember(self, name: str, value: Any) -> None:
        """Keep a result in the file `path.name`."""
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
        content = archive.encode(value, arrays, "the state")
        document = {
            "lowdim_checkpoint": FORMAT,
            "key": self.key,
            "content": content,
            "digest": _digest(content, arrays),
        }
        try:
            archive.write(self._file(name), DOCUMENT, document, arrays, force=True)
            return True
        except OSError as error:  # a full disk is no reason to lose the fit
            if not self._warned:
                checks.warn(
                    f"{argument('checkpoint')}: the fit goes on, but it could not be kept: {error}"
                )
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
            with archive.open_archive(path, DOCUMENT) as (document, arrays):
                if document["lowdim_checkpoint"] != FORMAT:
                    raise ValueError(f"it has the format {document['lowdim_checkpoint']!r}.")
                others, lengthened = differences(document["key"], self.key)
                self.lengthened = lengthened or self.lengthened
                if not others:
                    held = {name: arrays.take(name) for name in arrays.names()}
                    if document["digest"] != _digest(document["content"], held):
                        raise ValueError("it is damaged")
                    content = archive.decode(document["content"], archive.Arrays(held))
        except MemoryError:
            raise
        except Exception as error:  # whatever a damaged file leads to
            raise ValueError(
                f"{argument('checkpoint')}: {path} cannot be read ({error}). It was not changed; "
                "delete it to start over, or give another name."
            ) from error
        if others:
            raise ValueError(
                f"{argument('checkpoint')}: {path} belongs to another fit: {', '.join(others)}. It "
                "was not changed; delete it to start over, or give another name."
            )
        return content


def differences(known: dict[str, str], key: dict[str, str]) -> tuple[list[str], str]:
    """What differs between the keys of two fits, in words, and which of `LENGTHS` was raised."""
    others, lengthened = [], ""
    for name in dict.fromkeys([*key, *known]):
        old, new = known.get(name, "not known"), key.get(name, "not known")
        if old == new:
            continue
        if name in LENGTHS and old.isdecimal() and new.isdecimal() and int(old) < int(new):
            lengthened = f"{argument(name)} was {old}, is {new}"
            continue
        plain = "#" not in old + new
        others.append(f"{argument(name)} {f'was {old}, is {new}' if plain else 'is another one'}")
        if name == "estimator":
            break  # other estimators have other parameters
    return others, lengthened


class Slot:
    """The place of one solver among the states of a fit; one that is entered again has the next."""

    def __init__(self, states: States, number: int) -> None:
        self.states, self.number, self.entries = states, number, 0
        self._make: Callable[[], State] | None = None

    @property
    def name(self) -> str:
        """The name of the slot."""
        return f"{self.number}.{self.entries}"

    @property
    def begun(self) -> bool:
        """Whether an earlier fit has left a state."""
        return self.states.state(self.name) is not None

    def load_state(self, fresh: Mapping[str, Any], scheduled: bool) -> State | None:
        """The state to go on from; see `lowdim.runtime.callbacks.Monitor.load_state`."""
        state = self.states.state(self.name)
        if state is None or not self.states.path:
            return state
        if scheduled and self.states.lengthened:
            raise ValueError(
                f"{argument('checkpoint')}: {self.states.path} cannot go on: "
                f"{self.states.lengthened}, and the size of each step depends on it. Give another "
                "name to start over."
            )
        for name, array in fresh.items():
            value = np.asarray(state.get(name))
            if (value.dtype, value.shape) != (array.dtype, array.shape):
                raise ValueError(
                    f"{argument('checkpoint')}: {self.states.path} cannot be read (its {name} has "
                    "another shape or type than in this fit). Delete it to start over."
                )
        return state

    def keep(self, make: Callable[[], State]) -> None:
        """Offer the state after an iteration."""
        self._make = make
        self.states.keep(self.name, make)

    def close(self, *, complete: bool) -> None:
        """The solver has ended; unless `complete`, somewhere in an iteration."""
        if complete and self._make is not None:
            self.states.keep(self.name, self._make, final=True)
        self._make = None
        self.entries += 1


def _digest(content: Any, arrays: dict[str, Any]) -> str:
    """A digest of a state, by which a damaged file is told: solvers trust what they read."""
    digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def keep_states(states: States | None) -> AbstractContextManager[Context]:
    """Keep the states of the fit in the block, and go on from those that there are."""
    return override(states=states)


def new_slot() -> Slot | None:
    """The slot of the next solver of the fit that is running, if its states are kept."""
    states = current().states
    return None if states is None else states.slot()


def random_state_of(random: np.random.RandomState) -> dict[str, Any]:
    """The state of a generator, as plain values."""
    return dict(random.get_state(legacy=False))


def _copy_state(value: Any) -> Any:
    """A copy of a state that later iterations do not change; read-only arrays are shared."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K") if value.flags.writeable else value
    if isinstance(value, dict):
        return {name: _copy_state(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copy_state(item) for item in value)
    return value


def _n_bytes(value: Any) -> int:
    """The size of the arrays of a state."""
    if isinstance(value, dict):
        return sum(map(_n_bytes, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_n_bytes, value))
    return int(getattr(value, "nbytes", 0))
