"""Checks before large allocations: log their size, or raise an error that names an alternative."""

from __future__ import annotations

import logging
import os
import sys

from lowdim.runtime.context import current

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
    """Log what a large array will take, or raise MemoryError when there is not that much.

    There is as much as the computation was given (see `lowdim.compute`), and what the machine has
    free.
    """
    allowed = current().memory
    if allowed is not None and n_bytes > allowed:
        raise MemoryError(
            f"{what} needs {readable(n_bytes)}, but the computation may take {readable(allowed)} "
            f"of memory (set by lowdim.compute or LOWDIM_MEMORY). {instead}"
        )
    if n_bytes < _LOGGED_FROM:
        return
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} needs {readable(n_bytes)}, but only {readable(available)} of memory is free. "
            f"{instead}"
        )
    logger.info("%s takes %s", what, readable(n_bytes))
