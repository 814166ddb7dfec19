"""The callback of a fit in a worker process, and its connection to the server."""

from __future__ import annotations

import os
import queue
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

FRAMES_PER_SECOND = 30
BETWEEN_FRAMES = 60  # processor time of the fit between two frames, in units of that of a frame
BETWEEN_LOSSES = 100  # the same of losses that are computed for the page alone
LOSS_EVERY = 25  # iterations at least between two such losses


class Channel:
    """The connection to the server; threads receive commands and send messages.

    A frame is larger than the buffer of a pipe: a fit that sent it would wait for the server.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.commands: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.taken = threading.Event()  # whether the server has the last frame
        self.taken.set()
        self.frame_cost = 0.0  # processor time of sending the last frame, in seconds
        self.server_cost = 0.0  # that of the server to take it
        self._messages: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._sender.start()
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        while True:
            try:
                command = self.connection.recv()
            except (EOFError, OSError):
                os._exit(1)  # the server is gone: nobody wants the result
            if command[0] == "taken":
                self.server_cost = command[1]
                self.taken.set()
            else:
                self.commands.put(command)

    def send(self, *message: Any) -> None:
        """Send a message to the server, in the order of the calls."""
        self._messages.put(message)

    def flush(self) -> None:
        """Wait until everything is sent; nothing can be sent afterwards."""
        self._messages.put(None)
        self._sender.join()

    def _send(self) -> None:
        while (message := self._messages.get()) is not None:
            began = time.thread_time()
            with suppress(OSError):  # the server is gone: `_receive` ends the process
                self.connection.send(message)
            if message[0] == "frame":
                self.frame_cost = time.thread_time() - began


class Control:
    """The callback of a fit in a worker: sends frames, pauses, steps, stops, changes parameters."""

    def __init__(self, channel: Channel, pace: float | None = None) -> None:
        self.channel = channel
        self.next = self.next_cost = 0.0  # when the next frame is due, in wall and processor time
        self.stepping = self.stopping = False
        self.since_loss = self.loss_every = LOSS_EVERY  # iterations
        self.has_loss, self.clock, self.plain = False, time.process_time(), 0.0
        self.pace, self.at = pace, 0.0  # iterations per second, and when the next one may begin
        self.began, self.paused = time.perf_counter(), 0.0
        self.sent: Any = None  # the state of the last frame

    def due(self) -> bool:
        """Whether a frame is due, a command waits, or the fit is slowed down."""
        self._measure_loss()
        self.since_loss += 1
        if self.pace or self.stepping or not self.channel.commands.empty():
            return True
        return self._frame_due()

    def _measure_loss(self) -> None:
        """Compare the processor time of an iteration with a loss to that of one without."""
        now = time.process_time()
        spent, self.clock = now - self.clock, now
        if not self.has_loss:
            self.plain = spent
        elif self.plain > 0:
            pause = BETWEEN_LOSSES * (spent - self.plain) / self.plain
            self.loss_every = max(LOSS_EVERY, int(pause))
        self.has_loss = False

    def _frame_due(self) -> bool:
        if not self.channel.taken.is_set() or time.perf_counter() < self.next:
            return False
        return bool(self.pace) or time.process_time() >= self.next_cost

    @property
    def wants_loss(self) -> bool:
        """Whether the loss is to be computed, which takes a part of an iteration."""
        return bool(self.pace) or self.stepping or self.since_loss > self.loss_every

    def __call__(self, state: Any) -> bool:
        if state.loss == state.loss:  # not NaN
            self.since_loss, self.has_loss = 0, True
        if self.stepping or self._frame_due():
            self._send(state)
        if self.stepping:
            self.stepping = False
            self._pause(state)
        if self.pace:
            self._slow_down(1 / self.pace)
        while not self.stopping and not self.channel.commands.empty():
            self._obey(self.channel.commands.get(), state)
        return self.stopping

    def _slow_down(self, period: float) -> None:
        """Wait for the time of the next iteration; commands end the wait."""
        now = time.perf_counter()
        self.at = max(now, self.at + period)
        while now < self.at and self.channel.commands.empty():
            time.sleep(min(self.at - now, 1 / FRAMES_PER_SECOND))
            now = time.perf_counter()

    def _send(self, state: Any) -> None:
        began = time.thread_time()
        self.sent = state
        self.channel.taken.clear()
        Y = state.embedding.astype("<f4")
        seconds = time.perf_counter() - self.began - self.paused
        about = (state.iteration, state.max_iter, float(state.loss), seconds)
        self.channel.send("frame", *about, *Y.shape, Y.tobytes())
        cost = time.thread_time() - began + self.channel.frame_cost + self.channel.server_cost
        self.next = time.perf_counter() + 1 / FRAMES_PER_SECOND
        self.next_cost = time.process_time() + BETWEEN_FRAMES * cost

    def _obey(self, command: tuple[Any, ...], state: Any) -> None:
        kind = command[0]
        if kind == "pause":
            self._pause(state)
        elif kind == "stop":
            self.stopping = True
            self.channel.send("phase", "stopping")
        elif kind == "pace":
            self.pace = command[1]
        elif kind == "change":
            try:
                state.change(**command[1])
            except (TypeError, ValueError) as error:
                self.channel.send("refused", " ".join(str(error).split()))
            else:
                self.channel.send("changed", state.iteration, command[1])

    def _pause(self, state: Any) -> None:
        """Wait for a command that ends the pause."""
        began = time.perf_counter()
        if self.sent is not state:  # the page shows the iteration that the pause holds
            self.channel.taken.wait()
            self._send(state)
        self.channel.send("paused")
        while not self.stopping:
            command = self.channel.commands.get()
            self._obey(command, state) if command[0] != "pause" else None
            if command[0] in ("continue", "step"):
                self.stepping = command[0] == "step"
                break
        self.paused += time.perf_counter() - began
        self.channel.send("running")
