"""The threads of the pool in this process, as the system lists them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120  # seconds


def _named(task: Path) -> bool:
    try:
        return (task / "comm").read_text() == "lowdim\n"
    except OSError:  # the thread has ended
        return False


def pool_threads() -> list[Path]:
    """The threads of the pool that have begun and are still listed."""
    return [task for task in Path("/proc/self/task").iterdir() if _named(task)]


def pool_size(reached: Callable[[int], bool] = bool) -> int:
    """The number of threads when it is as expected, by default not 0.

    A thread is named when it begins, perhaps after the call that made it, and is listed for a
    moment after it was joined. Returns another number only after a long wait.
    """
    end = time.monotonic() + PATIENCE
    while not reached(size := len(pool_threads())) and time.monotonic() < end:
        time.sleep(0.01)
    return size
