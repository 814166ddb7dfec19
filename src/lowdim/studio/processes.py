"""Worker processes: start, calls and messages in both directions, stop, and death.

A worker runs one function at a time. Messages are tuples whose first entry names them. The server
sends ("call", function, arguments); the worker ends a call with ("result", value) or ("error",
text). What else is sent while a function runs is for that function and its caller.
"""

from __future__ import annotations

import asyncio
import importlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from lowdim.messages import one_line
from lowdim.studio.errors import Refused

NICENESS = 4  # workers give way to the server and the browser
ERRORS = (ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)


class CallError(Exception):
    """The function that a worker was asked to run raised an error."""


class WorkerDied(Exception):
    """The process ended before its function did."""


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Processes that are started inside do not receive Ctrl-C until they ignore it themselves.

    The terminal sends Ctrl-C to all processes; the server ends the others. A new process inherits
    the blocked signals of the thread that starts it. For the server itself a signal that comes
    meanwhile is only delayed. Windows has no blocked signals.
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


# --- in the worker --------------------------------------------------------------------------


class Channel:
    """The connection to the server; threads receive commands and send messages.

    A frame is larger than the buffer of a pipe: a fit that sent it would wait for the server.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.commands: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.frame_taken = threading.Event()  # whether the server has the last frame
        self.frame_taken.set()
        self.frame_cost = 0.0  # processor time of sending the last frame, in seconds
        self.server_cost = 0.0  # that of the server to take it
        self._messages: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        for target in (self._receive_all, self._send_all):
            threading.Thread(target=target, daemon=True).start()

    def send(self, *message: Any) -> None:
        """Send a message to the server, in the order of the calls."""
        self._messages.put(message)

    def _receive_all(self) -> None:
        while True:
            try:
                command = self.connection.recv()
            except (EOFError, OSError):
                os._exit(1)  # the server is gone: nobody wants the result
            if command[0] == "taken":
                self.server_cost = command[1]
                self.frame_taken.set()
            else:
                self.commands.put(command)

    def _send_all(self) -> None:
        while True:
            message = self._messages.get()
            began = time.thread_time()
            with suppress(OSError):  # the server is gone: `_receive_all` ends the process
                self.connection.send(message)
            if message[0] == "frame":
                self.frame_cost = time.thread_time() - began


def _main(connection: Connection, modules: tuple[str, ...]) -> None:
    """Run functions until the server ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    channel = Channel(connection)
    for module in modules:
        importlib.import_module(module)
    while True:
        kind, *call = channel.commands.get()
        if kind == "call":  # and not a command for a function that has ended
            function, arguments = call
            try:
                channel.send("result", function(channel, *arguments))
            except ERRORS as error:
                channel.send("error", error_text(error))


def error_text(error: BaseException) -> str:
    """The message of an error on one line."""
    if isinstance(error, MemoryError) and not str(error):
        return "This needs more memory than there is."
    return one_line(error)


# --- in the server --------------------------------------------------------------------------


class Worker:
    """A process that runs functions; made while the event loop runs.

    It imports the modules before it is asked for anything. `on_message` is called with the messages
    of a running function, in a thread of its own.
    """

    def __init__(self, *modules: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_main, args=(theirs, modules), daemon=True)
        self.on_message: Callable[..., None] = lambda kind, *values: None
        self.alive = True
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Any] | None = None
        self._sending = threading.Lock()
        with block_interrupts():
            self.process.start()
        theirs.close()
        threading.Thread(target=self._listen, daemon=True).start()

    def call(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Run `function(channel, *arguments)`; one that was called before must have ended.

        Awaiting the result raises CallError if the function does, and WorkerDied.
        """
        self._answer = self._loop.create_future()
        self.send("call", function, arguments)
        return self._answer

    def send(self, *message: Any) -> None:
        """Send a message to the function that runs."""
        with self._sending, suppress(OSError):  # the process has ended: `_listen` reports it
            self.connection.send(message)

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()

    def post(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in the event loop, from the thread of `on_message`."""
        with suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(function, *arguments)

    def _listen(self) -> None:
        while True:
            try:
                kind, *values = self.connection.recv()
            except (EOFError, OSError):
                break
            if kind in ("result", "error"):
                self.post(self._end_call, kind, values[0])
            else:
                self.on_message(kind, *values)
        self.process.join()
        code = self.process.exitcode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"
        hint = ", perhaps for lack of memory" if code == -9 and os.name == "posix" else ""
        self.post(self._end_call, "death", f"A process ended unexpectedly ({how}{hint}).")

    def _end_call(self, kind: str, value: Any) -> None:
        self.alive = kind != "death"
        if self._answer is None or self._answer.done():
            return
        if kind == "result":
            self._answer.set_result(value)
        else:
            self._answer.set_exception((CallError if kind == "error" else WorkerDied)(value))


class Helper:
    """A worker that answers questions one after the other, so that the server stays responsive.

    If it dies, the question is refused and the next one gets a new process.
    """

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    def start(self) -> Worker:
        """Start the process, unless it runs."""
        if self._worker is None or not self._worker.alive:
            self._worker = Worker("lowdim.tables", "lowdim.studio.questions")
        return self._worker

    async def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function; its errors become refusals."""
        async with self._turn:
            if self._closed:
                raise Refused("The studio is being stopped.", 503)
            worker = self.start()
            try:
                return await worker.call(_answer, function, arguments)
            except CallError as error:
                raise Refused(str(error)) from error
            except WorkerDied as error:
                if self._closed:
                    raise Refused("The studio is being stopped.", 503) from error
                raise Refused(f"{error} Try again, or with less data.", 500) from error
            except asyncio.CancelledError:
                worker.kill()  # nobody wants the answer
                worker.alive = False
                raise

    def close(self) -> None:
        """End the process, also in the middle of an answer: open questions are refused."""
        self._closed = True
        if self._worker is not None:
            self._worker.kill()


def _answer(channel: Channel, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)
