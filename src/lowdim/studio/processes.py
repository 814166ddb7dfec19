"""Starting processes that Ctrl-C in the terminal does not reach: the server ends them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def shielded() -> Iterator[None]:
    """Processes that are started inside do not receive Ctrl-C until they call `settle`.

    The terminal sends Ctrl-C to all processes. A new process inherits the blocked signals of the
    thread that starts it. For the server itself a signal that comes meanwhile is only delayed.
    Windows has no blocked signals; there a new process ignores Ctrl-C once it has settled.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would end the blocking
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def settle(niceness: int) -> None:
    """Called first in a new process: ignores Ctrl-C and gives way to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(niceness)
