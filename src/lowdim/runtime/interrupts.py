"""Ctrl-C where it must wait: while files are written, contexts entered or left, modules imported.

Python raises KeyboardInterrupt between any two instructions of the main thread: also in `__enter__`
after a limit was set, or in `__exit__` before it is lifted. A context that derives from
`AtomicContext` is entered or not, never half, while `watch_interrupts` is. Nor is a module then
imported in part: a half of an extension module fails at every later import.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Generic, TypeVar

Value = TypeVar("Value", covariant=True)
Handle = Callable[[int, FrameType | None], Any]

_waiting: list[Handle] = []  # handlers of a Ctrl-C that came while a context was entered or left


class AtomicContext(Generic[Value]):
    """A context manager that implements `_enter` and `_exit`, which Ctrl-C does not interrupt."""

    def __enter__(self) -> Value:
        value = self._enter()
        if _waiting and _is_main():
            self._exit()
            _interrupt()
            value = self._enter()  # the user's handler goes on
        return value

    def __exit__(self, *error: object) -> None:
        self._exit()
        if _waiting and _is_main():
            _interrupt()

    def _enter(self) -> Value:
        raise NotImplementedError

    def _exit(self) -> None:
        raise NotImplementedError


_ATOMIC = {AtomicContext.__enter__.__code__, AtomicContext.__exit__.__code__}
_IMPORTING = "<frozen importlib._bootstrap>"  # the file of the functions that run an import


class watch_interrupts(AtomicContext[None]):
    """Let Ctrl-C wait, inside the block, for contexts being entered or left, and for imports."""

    _handler: _Handler | None = None

    def _enter(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        if _is_main() and callable(before) and not isinstance(before, _Handler):
            self._handler = _Handler(before)
            with suppress(ValueError):  # a second interpreter of the process has no handlers
                signal.signal(signal.SIGINT, self._handler)

    def _exit(self) -> None:
        handler = signal.getsignal(signal.SIGINT)
        if isinstance(handler, _Handler) and handler is self._handler:
            signal.signal(signal.SIGINT, handler.before)


class _Handler:
    """A handler of Ctrl-C that passes it on, at once or when it need not wait any more."""

    def __init__(self, before: Handle) -> None:
        self.before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        caller = frame
        while caller is not None:
            if caller.f_code in _ATOMIC:
                _waiting[:] = [self.before]
                return
            if caller.f_code.co_filename == _IMPORTING:
                _thread.start_new_thread(_press_again, ())  # `threading` may be what is imported
                return
            caller = caller.f_back
        self.before(number, frame)


def _press_again() -> None:
    time.sleep(0.001)
    _thread.interrupt_main()


def _interrupt() -> None:
    _waiting.pop()(signal.SIGINT, sys._getframe())


def _is_main() -> bool:
    """Whether this is the thread that Python interrupts."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C until the block ends; then it acts as it would have.

    Only the main thread receives Ctrl-C, so the context does nothing in other threads.
    """
    before = signal.getsignal(signal.SIGINT)
    if not _is_main() or before is None:  # a handler that Python did not set cannot be restored
        yield
        return
    pressed: list[Any] = []

    def remember(number: int, frame: FrameType | None) -> None:
        pressed.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)
