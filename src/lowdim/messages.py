"""Words of messages: arguments as the user of an interface gives them, numbers of things."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _spell_in_python(name: str, *value: Any) -> str:
    if not value:
        return name
    if isinstance(value[0], numbers.Real) and not isinstance(value[0], int):
        return f"{name}={value[0]:.15g}"
    return f"{name}=" if value[0] is ... else f"{name}={value[0]!r}"


_spelling: Callable[..., str] = _spell_in_python


def argument(name: str, *value: Any) -> str:
    """An argument in a message, as the user gives it: in Python, or as an option of a command.

    >>> argument("n_neighbors"), argument("id", ...), argument("eps", 1.0)
    ('n_neighbors', 'id=', 'eps=1')
    >>> argument("missing", "drop")
    "missing='drop'"
    """
    return _spelling(name, *value) or _spell_in_python(name, *value)


@contextmanager
def spell_arguments(spelling: Callable[..., str]) -> Iterator[None]:
    """Let `argument` call a function inside the block; where that returns "", it is Python's."""
    global _spelling
    before, _spelling = _spelling, spelling
    try:
        yield
    finally:
        _spelling = before


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """A list that has the messages of warnings in the block when it ends, each once."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    hidden = DeprecationWarning, PendingDeprecationWarning
    shown = (w.message for w in caught if not issubclass(w.category, hidden))
    messages += dict.fromkeys(one_line(message) for message in shown)


def plural(n: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "row"), plural(1234, "row")
    ('1 row', '1,234 rows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def one_line(error: BaseException | str) -> str:
    """The message of an error or warning on one line; of an empty one the name of its class."""
    return " ".join(str(error).split()) or type(error).__name__
