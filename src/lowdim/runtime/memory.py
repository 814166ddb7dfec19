"""Checks before large allocations: log their size, or raise an error that names an alternative."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from lowdim.runtime.context import current

logger = logging.getLogger("lowdim")

FREE_SHARE = 0.5  # of the free memory that a computation plans to use, unless it is set otherwise
UNKNOWN_FREE = 4 * 10**9  # bytes that are taken to be free where the system does not say
_LOGGED_FROM = 256 * 1024**2  # bytes; smaller allocations are not checked against the machine
_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Bytes of memory that this process can still allocate; None if unknown.

    The smallest of: the free memory of the machine, what the control groups of the process
    (version 1 or 2, as containers have them) leave, and what its resource limits leave.
    """
    sizes = [*_free_on_machine(), *_free_in_groups(), *_free_by_resource_limits()]
    return max(0, min(sizes)) if sizes else None


def budget() -> int:
    """Bytes that a computation in blocks plans to use: those that it was given, or a share of the
    free memory."""
    allowed = current().memory
    if allowed is not None:
        return allowed
    available = available_bytes()
    return int(FREE_SHARE * (UNKNOWN_FREE if available is None else available))


def readable(n_bytes: float) -> str:
    """A number of bytes in GB or MB, for messages."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"


def claim(n_bytes: int, what: str, instead: str) -> None:
    """Log what a computation will take, or raise MemoryError when there is not that much.

    There is as much as the computation was given (see `lowdim.compute`), and what the machine, its
    containers and the limits of the process leave.
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


def _free_on_machine() -> Iterator[int]:
    for line in _lines(_PROC / "meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024
            return
    if sys.platform != "win32" and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_in_groups() -> Iterator[int]:
    """What the limits of the process's control groups and of those around them leave."""
    for line in _lines(_PROC / "self" / "cgroup"):
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            mount, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            mount = _CGROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        own = mount / path.lstrip("/")
        if not own.is_dir():  # a container sees its own group at the root of the mount
            own = mount
        for group in (own, *own.parents):
            yield from _free_in_group(group, *names)
            if group == mount:
                break


def _free_in_group(group: Path, limit: str, usage: str, reclaimable: str) -> Iterator[int]:
    """Limit less usage; cached files, which the system drops when memory is needed, count as free.

    Yields nothing if the group has no limit ("max" in version 2, a number near 2^63 in version 1).
    """
    most, used = _number(group / limit), _number(group / usage)
    if most is None or used is None or most >= 2**60:
        return
    cached = 0
    for line in _lines(group / "memory.stat"):
        name, _, amount = line.partition(" ")
        if name == reclaimable:
            cached = int(amount)
    yield most - used + min(cached, used)


def _free_by_resource_limits() -> Iterator[int]:
    """What `ulimit -v` (address space) and `ulimit -d` (data) leave to the process."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    used = [int(word) for line in _lines(_PROC / "self" / "statm") for word in line.split()]
    if len(used) < 6:
        return
    page = os.sysconf("SC_PAGE_SIZE")
    for kind, pages in ((resource.RLIMIT_AS, used[0]), (resource.RLIMIT_DATA, used[5])):
        limit = resource.getrlimit(kind)[0]
        if limit != resource.RLIM_INFINITY:
            yield limit - pages * page


def _lines(path: Path) -> list[str]:
    """The lines of a file of the system; none if it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].strip().isdecimal() else None
