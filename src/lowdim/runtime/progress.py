"""The number of finished parts of a long computation, for whoever shows it.

`lowdim.runtime.callbacks.phase` shows the count. The computation, many calls below, only counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Show = Callable[[int, int | None], object]
"""Takes the number of finished parts, and that of all parts if it is known."""


class _Count:
    """Parts that several threads finish."""

    def __init__(self, show: Show) -> None:
        self.show = show
        self.lock = threading.Lock()
        self.finished = 0
        self.total: int | None = None

    def expect(self, parts: int) -> None:
        with self.lock:
            self.total = (self.total or 0) + parts
            self.show(self.finished, self.total)

    def add(self, parts: int) -> None:
        with self.lock:
            self.finished += parts
            self.show(self.finished, self.total)


_count: ContextVar[_Count | None] = ContextVar("count", default=None)


@contextmanager
def counting(show: Show) -> Iterator[None]:
    """Call `show` whenever a part of the computation inside is finished."""
    token = _count.set(_Count(show))
    try:
        yield
    finally:
        _count.reset(token)


def counted(total: int | None = None) -> Callable[[int], object]:
    """The function that a computation calls with the number of parts that it has finished.

    Parameters
    ----------
    total : int, default=None
        Number of parts, which is added to those that are expected already; None: not known before
        the end, as for iterations until convergence.
    """
    count = _count.get()
    if count is None:
        return lambda parts: None
    if total is not None:
        count.expect(total)
    return count.add
