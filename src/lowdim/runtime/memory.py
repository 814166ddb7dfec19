"""Checks before large allocations: log their size, or raise an error that names an alternative."""

from __future__ import annotations

import logging
import os
import sys

logger = logging.getLogger("lowdim")

_LOGGED_FROM = 256 * 1024**2  # bytes; smaller allocations are not checked


def available_bytes() -> int | None:
    """Bytes of memory that a process can still allocate; None if the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    if sys.platform != "win32" and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def readable(n_bytes: float) -> str:
    """A number of bytes in GB or MB, for messages."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"


def claim(n_bytes: int, what: str, instead: str) -> None:
    """Check that a large array fits into memory before it is allocated.

    Parameters
    ----------
    n_bytes : int
        Size of the array. Arrays below 256 MB are not checked.
    what : str
        Name of the array, the subject of the message.
    instead : str
        Sentence that tells the user what to do if there is not enough memory.

    Raises
    ------
    MemoryError
        If the array is larger than the free memory.
    """
    if n_bytes < _LOGGED_FROM:
        return
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} needs {readable(n_bytes)}, but only {readable(available)} of memory is free. "
            f"{instead}"
        )
    logger.info("%s takes %s", what, readable(n_bytes))
