"""Copies of large arrays between host and GPU, by way of page-locked memory.

The driver's own copies from and to ordinary memory use one thread. Here each thread of the
computation copies pieces of the array to (or from) a stage of page-locked memory and starts the
transfer of its piece itself, so no thread waits for another one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

STAGE_BYTES = 16 << 20  # starting the transfer of a smaller piece takes longer than copying it
LEAST_PIECE, PIECES = 4 << 20, 32  # bytes of the pieces of smaller arrays, and their number
MOST_STAGES = 16  # all threads together reach the bandwidth of the bus with this many


def copy_in(source: Array, target: Tensor) -> None:
    """Copy a contiguous array to a contiguous tensor of the same entries on a GPU."""
    array, tensor = source.reshape(-1).view(np.uint8), target.view(-1).view(torch.uint8)
    stream = _current_stream(target.device)

    def copy(part: slice) -> None:
        with _free.stage() as stage, torch.cuda.stream(stream):
            n = part.stop - part.start
            stage.array[:n] = array[part]
            tensor[part].copy_(stage.tensor[:n], non_blocking=True)
            stage.event = stream.record_event()

    _run(copy, len(array), 1)


def copy_out(source: Tensor, target: Array) -> None:
    """Copy a tensor on a GPU to an array of the same shape and entries.

    Either both are contiguous, or both are matrices whose rows are contiguous. The copy follows
    what the current stream of the device has been given so far.
    """
    if source.is_contiguous() and target.flags.c_contiguous:
        source, target = source.view(-1), target.reshape(-1)
    row_bytes = target.itemsize * (1 if target.ndim == 1 else target.shape[1])
    stream = _current_stream(source.device)

    def copy(part: slice) -> None:
        shape = (part.stop - part.start, *target.shape[1:])
        n = shape[0] * row_bytes
        with _free.stage() as stage, torch.cuda.stream(stream):
            room = stage.tensor[:n].view(source.dtype).view(shape)
            room.copy_(source[part], non_blocking=True)
            stage.event = stream.record_event()
            stage.wait()
            target[part] = stage.array[:n].view(target.dtype).reshape(shape)

    _run(copy, len(target), row_bytes)


class Beside:
    """A stream of a GPU for copies to the host that do not wait for what it is given next."""

    def __init__(self, device: torch.device) -> None:
        stream: Any = torch.cuda.Stream
        self.device, self.stream = device, stream(device)

    def follow(self) -> None:
        """Let the copies that come follow what the device has been given so far, and no more."""
        self.stream.wait_stream(_current_stream(self.device))

    def copy_out(self, source: Tensor, target: Array) -> None:
        """As the function of this name."""
        with torch.cuda.stream(self.stream):
            copy_out(source, target)


def _run(copy: Any, rows: int, row_bytes: int) -> None:
    """Copy all rows in pieces, on the threads of the computation."""
    piece = int(np.clip(rows * row_bytes // PIECES, LEAST_PIECE, STAGE_BYTES)) // row_bytes
    parts = blocks(rows, max(piece, 1))
    _free.provide(min(MOST_STAGES, len(parts), 2 * current().threads))
    run(copy, parts)


class _Stage:
    """Page-locked memory, and the event that the device has read or written it."""

    def __init__(self) -> None:
        self.tensor = _page_locked(STAGE_BYTES)
        self.array: Array = self.tensor.numpy()
        self.event: Any = None

    def wait(self) -> None:
        """Return when the transfer that was started last has ended."""
        if self.event is not None:
            self.event.synchronize()
            self.event = None


class _Stages:
    """The stages that no thread is using; they are kept, because page-locking takes long."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Stage] = SimpleQueue()
        self._lock = threading.Lock()
        self._made = 0

    def provide(self, count: int) -> None:
        """Make stages until there are `count`."""
        with self._lock:
            while self._made < count:
                self._queue.put(_Stage())
                self._made += 1

    @contextmanager
    def stage(self) -> Iterator[_Stage]:
        """The stage that has been free for the longest time."""
        stage = self._queue.get()
        try:
            stage.wait()
            yield stage
        finally:
            self._queue.put(stage)


_free = _Stages()


def _page_locked(size: int) -> Tensor:
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def _current_stream(device: torch.device) -> Any:
    stream: Any = torch.cuda.current_stream
    return stream(device)
