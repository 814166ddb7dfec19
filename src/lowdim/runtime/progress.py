"""The number of finished parts of a long computation, for whoever shows it.

`lowdim.runtime.callbacks.phase` shows the count. The computation, many calls below, only counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from lowdim.runtime.context import Context, current, override

Show = Callable[[int, int | None], object]
"""Takes the number of finished parts, and that of all parts if it is known."""


class Count:
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


def report_parts(show: Show) -> AbstractContextManager[Context]:
    """Call `show` whenever a part of the computation inside is finished."""
    return override(count=Count(show))


def part_counter(total: int | None = None) -> Callable[[int], object]:
    """The function that a computation calls with the number of parts that it has finished.

    Parameters
    ----------
    total : int, default=None
        Number of parts, which is added to those that are expected already; None: not known before
        the end, as for iterations until convergence.
    """
    count = current().count
    if count is None:
        return lambda parts: None
    if total is not None:
        count.expect(total)
    return count.add
