"""The states of the solvers of a fit, from which the same call goes on.

They are kept in memory, for a second fit with `warm_start`, and in a file if the fit has a
`checkpoint`. A fit stores its `States` in the context. Each of its solvers has a slot there, by the
order in which the fit makes their monitors, and offers its state after every iteration; it is taken
when that is due. Large results that are computed once, such as the neighbour graph, are remembered
by name, in files of their own beside that of the states, so that they are not written again with
every state.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.messages import argument
from lowdim.runtime import archive
from lowdim.runtime.atomic import check_writable

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


class Resumable:
    """A solver, or a part of one, whose next iteration depends on some of its attributes."""

    changing: ClassVar[tuple[str, ...]] = ()  # the names of these attributes

    def state(self) -> State:
        """What changes from iteration to iteration."""
        return {name: getattr(self, name) for name in self.changing}

    def restore(self, state: State) -> None:
        """Go on from a state of the same solver."""
        for name in self.changing:
            setattr(self, name, state[name])


class States:
    """The states of one fit.

    Attributes
    ----------
    key : dict of str
        What the result depends on, by name: class, data, parameters. States are taken over from a
        file, or from an earlier fit, if they have the same key, in which `LENGTHS` may be raised.
    path : str
        The file; empty if the states are kept in memory alone.
    seed : int
        Seed for random_state=None: a fit that goes on needs the same numbers.
    lengthened : str
        Which of `LENGTHS` was raised since the states were taken; empty if none was.
    spent : float
        Seconds that copying or writing them has taken.
    """

    def __init__(self, key: dict[str, str], path: str = "") -> None:
        self.key, self.path, self.lengthened, self.spent = key, path, "", 0.0
        self.seed = int(np.random.randint(2**31 - 1))
        self._lock = threading.Lock()
        self._slots: dict[str, State] = {}
        self._n_slots = 0
        self._results: dict[str, Any] = {}  # with a file, only those that are still to be written
        self._not_written: set[str] = set()  # slots whose state was taken since the last write
        self._costs: dict[str, float] = {}  # seconds that each file, or copy, took the last time
        self._warned = False
        if path:
            check_writable(path, force=True)
            states = self._read(STATES)
            if states is not None:
                self.seed, self._slots = states["seed"], states["slots"]
        self._start = perf_counter()

    def continue_with(self, key: dict[str, str]) -> States:
        """The states for a next fit, which begins with these if it has the same key."""
        after = States(key)
        others, lengthened = differences(self.key, key)
        if others:
            logger.info("warm_start: the fit starts over, because %s", ", ".join(others))
            return after
        after.seed, after.lengthened = self.seed, lengthened
        after._slots, after._results = self._slots, self._results
        return after

    def new_slot(self) -> int:
        """The number of the next solver."""
        self._n_slots += 1
        return self._n_slots - 1

    def state(self, slot: str) -> State | None:
        """A copy of the state that an earlier fit left in a slot."""
        with self._lock:
            state: State | None = _copy_state(self._slots.get(slot))
            return state

    def load(self, slot: str, fresh: Mapping[str, Any], scheduled: bool) -> State | None:
        """The state to go on from, checked; see `lowdim.runtime.callbacks.Monitor.load_state`."""
        state = self.state(slot)
        if state is None or not self.path:
            return state
        if scheduled and self.lengthened:
            raise ValueError(
                f"{argument('checkpoint')}: {self.path} cannot go on: {self.lengthened}, and the "
                "size of each step depends on it. Give another name to start over."
            )
        for name, array in fresh.items():
            value = np.asarray(state.get(name))
            if (value.dtype, value.shape) != (array.dtype, array.shape):
                raise ValueError(
                    f"{argument('checkpoint')}: {self.path} cannot be read (its {name} has another "
                    "shape or type than in this fit). Delete it to start over."
                )
        return state

    def keep(self, slot: str, make: Callable[[], State], *, final: bool = False) -> None:
        """Take the state of a slot, which `make` returns, if it is due or the last one.

        With a file, the state after each write is taken too, so that the next write has one of
        every slot.
        """
        with self._lock:
            due = self._due()
            if due or final or (self.path and slot not in self._not_written):
                start = perf_counter()
                self._slots[slot] = _copy_state(make())
                self._not_written.add(slot)
                if not self.path:
                    self._spend(STATES, start)
            if self.path and due and self._due():  # now that the size of the first state is known
                self._write_results()
                self._write(STATES, self._states)
                self._not_written.clear()

    def recall(self, name: str) -> Any:
        """A result that an earlier fit has remembered; None if there is none."""
        return self._read(name) if self.path else self._results.get(name)

    def remember(self, name: str, value: Any) -> None:
        """Keep a result that takes long to compute; with a file, in the file `path.name`."""
        with self._lock:
            self._results[name] = value
            if self.path and self._due(states=False):
                self._write_results()

    @property
    def _states(self) -> dict[str, Any]:
        return {"seed": self.seed, "slots": self._slots}

    def _due(self, *, states: bool = True) -> bool:
        """Whether copying the states, or writing all that waits, takes less than its `SHARE`.

        The time of a file is that of the last time it was written, or else estimated.
        """
        waiting = dict(self._results) if self.path else {}
        if states:
            waiting[STATES] = self._states
        cost = 0.0
        for name, value in waiting.items():
            first = FIRST_SECONDS + _n_bytes(value) / FIRST_RATE if self.path else 0.0
            cost += self._costs.get(name, first)
        return self.spent + MARGIN * cost <= SHARE * (perf_counter() - self._start)

    def _spend(self, name: str, start: float) -> None:
        self._costs[name] = perf_counter() - start
        self.spent += self._costs[name]

    def _write_results(self) -> None:
        self._results = {k: v for k, v in self._results.items() if not self._write(k, v)}

    def _file(self, name: str) -> str:
        return self.path if name == STATES else f"{self.path}.{name}"

    def _write(self, name: str, value: Any) -> bool:
        """Write a file; whether it worked. A full disk is no reason to lose the fit."""
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
        except OSError as error:
            if not self._warned:
                checks.warn(
                    f"{argument('checkpoint')}: the fit goes on, but it could not be kept: {error}"
                )
            self._warned = True
            return False
        finally:
            self._spend(name, start)

    def _read(self, name: str) -> Any:
        """The content of a file of this fit; None if there is no file."""
        path = self._file(name)
        if not os.path.exists(path):
            return None
        try:
            document, arrays = archive.read(path, DOCUMENT)
            if document["lowdim_checkpoint"] != FORMAT:
                raise ValueError(f"it has the format {document['lowdim_checkpoint']!r}.")
            others, lengthened = differences(document["key"], self.key)
            self.lengthened = lengthened or self.lengthened
            if not others:
                if document["digest"] != _digest(document["content"], arrays):
                    raise ValueError("it is damaged")
                content = archive.decode(document["content"], arrays)
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


def random_state_of(random: np.random.RandomState) -> dict[str, Any]:
    """The state of a generator, as plain values."""
    return dict(random.get_state(legacy=False))


def _digest(content: Any, arrays: dict[str, Any]) -> str:
    """A digest of a state, to recognise a damaged file: solvers trust what they read."""
    digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


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
    if isinstance(value, dict | list | tuple):
        return sum(map(_n_bytes, value.values() if isinstance(value, dict) else value))
    return int(getattr(value, "nbytes", 0))
