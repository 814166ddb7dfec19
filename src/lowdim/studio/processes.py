"""Starting processes that Ctrl-C in the terminal does not reach: the server ends them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def shielded() -> Iterator[None]:
    """Processes that are started inside ignore Ctrl-C from their first instruction on.

    The terminal sends it to all processes. Only the main thread can set signals, and only there is
    the server; elsewhere nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def settle(niceness: int) -> None:
    """Called first in a new process: ignores Ctrl-C and gives way to the server."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(niceness)
