"""Blocks of work on several threads, with results that do not depend on the number of threads.

Work is divided into blocks whose size depends on the data alone. BLAS is limited to one thread
inside a block, because the order of its sums changes with the number of its threads.

Blocks of Python code and the loops of the kernels run on the same pool of waiting threads, that of
the extension (`cpp/include/lowdim/pool.hpp`). A call takes the threads of the pool that are idle,
and the calling thread works too, so nested and concurrent calls never wait for each other, and
there are never more threads than the largest number asked for. A forked child has its own pool.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import wraps
from math import isfinite
from typing import Any, ParamSpec, TypeVar

from lowdim import _native, checks
from lowdim.runtime.context import Context, all_of, current, keep_uploads, n_threads, override
from lowdim.runtime.interrupts import AtomicContext

Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

BLOCK_ROWS = 256  # default number of matrix rows in a block
SCAN_ENTRIES = 1 << 20  # of an array that one thread checks; 4 or 8 MB


class _BlasHold:
    """Limits BLAS to one thread while any caller is inside; may be nested and concurrent."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0
        self.libraries: list[Any] = []
        self.before: list[int] = []
        self.modules = 0

    def enter(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self._find_libraries()
                self.before = [library.num_threads for library in self.libraries]
                self._set([1] * len(self.libraries))

    def leave(self, levels: int) -> None:
        with self.lock:
            self.depth -= levels
            if self.depth == 0:
                self._set(self.before)

    def _find_libraries(self) -> None:
        """Look for BLAS libraries, if modules were imported since the last time.

        The search reads the memory map of the process and takes 2 ms, or 12 ms
        with 240 libraries, longer than a small fit.
        """
        if len(sys.modules) != self.modules:
            from threadpoolctl import ThreadpoolController

            self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            self.modules = len(sys.modules)

    def _set(self, counts: list[int]) -> None:
        for library, count, before in zip(self.libraries, counts, self.before, strict=True):
            if before == 1:  # there is nothing to change and to restore
                continue
            # Newer versions of threadpoolctl let only the thread that limited OpenBLAS first change
            # it again, but the last thread to leave may be another one.
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(count)
            release(force=True)

    def forget_other_threads(self, inside: int) -> None:
        """After a fork, in the child: only the forking thread goes on, `inside` contexts deep."""
        if self.depth > 0 and inside == 0:
            self._set(self.before)
        self.depth = inside


_hold = _BlasHold()
_inside = threading.local()  # how many `blas_on_one_thread` contexts this thread is in


class blas_on_one_thread(AtomicContext[None]):
    """Limit BLAS to one thread, so that its sums do not depend on the number of threads."""

    def _enter(self) -> None:
        self._outer = getattr(_inside, "depth", 0)
        _hold.enter()
        _inside.depth = self._outer + 1

    def _exit(self) -> None:
        _hold.leave(_inside.depth - self._outer)  # with inner ones that Ctrl-C has left open
        _inside.depth = self._outer


def _after_fork_in_child() -> None:
    _hold.lock = threading.RLock()  # the one from before belongs to the parent's thread
    _hold.forget_other_threads(getattr(_inside, "depth", 0))


if hasattr(os, "register_at_fork"):
    # A fork waits until no other thread is changing the hold: a child that inherited half a change
    # could not tell what there is to restore.
    os.register_at_fork(
        before=lambda: _hold.lock.acquire(),
        after_in_parent=lambda: _hold.lock.release(),
        after_in_child=_after_fork_in_child,
    )


def use_threads(n_jobs: int | None) -> AbstractContextManager[Context]:
    """The context of one public call: `n_jobs` threads for lowdim, one thread for BLAS."""
    return all_of(override(threads=n_threads(n_jobs)), keep_uploads(), blas_on_one_thread())


def uses_threads(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Make a public function run on the threads that its keyword argument `n_jobs` asks for."""

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with use_threads(kwargs.get("n_jobs")):  # type: ignore[arg-type]  # checked there
            return function(*args, **kwargs)

    return call


class Count:
    """The finished parts of a long computation; see `lowdim.runtime.callbacks.phase`."""

    def __init__(self, show: Callable[[int, int | None], object]) -> None:
        self.show, self.finished = show, 0
        self.total: int | None = None
        self.lock = threading.Lock()

    def expect(self, parts: int) -> None:
        with self.lock:
            self.total = (self.total or 0) + parts
            self.show(self.finished, self.total)

    def add(self, parts: int) -> None:
        with self.lock:
            self.finished += parts
            self.show(self.finished, self.total)


def part_counter(total: int | None = None) -> Callable[[int], object]:
    """The function that a computation calls with the number of parts that it has finished.

    The `total`, if it is known before the end, is added to the parts that are expected already.
    """
    count = current().count
    if count is None:
        return lambda parts: None
    if total is not None:
        count.expect(total)
    return count.add


def run(
    work: Callable[[Item], Result], items: Iterable[Item], *, counts: bool = False
) -> list[Result]:
    """Call `work` on every item, on the threads of the computation, in a copy of the context.

    The results are in the order of the items; an error is that of the first item that raises one,
    and later items may then have been left out. `work` must not depend on the other items. Inside
    it `current().threads` is 1, unless the calls are made one after the other (a single item, or a
    single thread). With `counts` the items are the parts that a progress bar shows.
    """
    items = list(items)
    threads = min(current().threads, len(items))
    finish = part_counter(len(items)) if counts else lambda parts: None

    def work_and_count(item: Item) -> Result:
        result = work(item)
        finish(1)
        return result

    with blas_on_one_thread():
        if threads <= 1:
            return [work_and_count(item) for item in items]
        results: dict[int, Result] = {}
        with override(threads=1):
            context = copy_context()

        def one(number: int) -> None:
            # A context can be entered by one thread at a time; copying it takes no time.
            results[number] = context.copy().run(work_and_count, items[number])

        _native.run_chunks(one, len(items), threads)
        return [results[number] for number in range(len(items))]


def blocks(n: int, size: int = BLOCK_ROWS) -> list[slice]:
    """Consecutive slices of the given size that cover range(n)."""
    return [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]


def _all_finite(entries: Any) -> bool:
    """Whether all entries of an array are finite; on the threads or the device if it pays."""
    if entries.ndim == 0 or entries.size <= SCAN_ENTRIES:
        return checks.all_finite(entries)
    return all(map(isfinite, current().backend.extremes(entries)))


checks.scan_by(_all_finite)
