"""Locks between processes, by files; a lock ends with the process that holds it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class InUse(Exception):
    """The lock is held by another process."""


@contextmanager
def hold_lock(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock of a file, which is made if it is not there.

    If another process holds it, wait for that process, or raise InUse.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(handle, wait)
        yield
    finally:
        os.close(handle)  # releases the lock


if sys.platform == "win32":
    import msvcrt
    import time

    def _lock(handle: int, wait: bool) -> None:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return
            except OSError as error:
                if not wait:
                    raise InUse from error
                time.sleep(0.1)

else:
    import fcntl

    def _lock(handle: int, wait: bool) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise InUse from error
