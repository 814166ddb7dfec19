"""Copies of large arrays between host and GPU, by way of page-locked memory.

The driver's own copies from and to ordinary memory use one thread. Here all threads of the
computation copy a part of the array to (or from) a stage of page-locked memory, while the device
reads (or writes) other stages.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.scans import copy_rows
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks

STAGE_BYTES, STAGES = 32 << 20, 3
LEAST_PART = 4 << 20  # bytes of the parts of an array that is smaller than the stages together


def copy_in(source: Array, target: Tensor) -> None:
    """Copy a contiguous array to a contiguous tensor of the same entries on a GPU."""
    array, tensor = source.reshape(-1), target.view(-1)
    stream = _current_stream(target.device)
    with _lock, torch.cuda.stream(stream):
        for number, part in enumerate(_parts(array)):
            stage = _stage(number % STAGES)
            stage.wait()
            copy_rows(array[part], stage.array_for(array[part]))
            tensor[part].copy_(stage.tensor_for(tensor[part]), non_blocking=True)
            stage.event = stream.record_event()


def copy_out(source: Tensor, target: Array) -> None:
    """Copy a contiguous tensor on a GPU to an array of the same shape and entries.

    The array is contiguous, or a matrix whose rows are. The copy follows what the current stream of
    the device has been given so far.
    """
    if target.flags.c_contiguous:
        source, target = source.view(-1), target.reshape(-1)
    parts = _parts(target)
    ahead = STAGES - 1  # transfers that are under way while a stage is copied to the array
    stream = _current_stream(source.device)
    with _lock, torch.cuda.stream(stream):
        for number in range(len(parts) + ahead):
            if number < len(parts):
                stage, part = _stage(number % STAGES), source[parts[number]]
                stage.wait()
                stage.tensor_for(part).copy_(part, non_blocking=True)
                stage.event = stream.record_event()
            if number >= ahead:
                stage = _stage((number - ahead) % STAGES)
                stage.wait()
                place = target[parts[number - ahead]]
                copy_rows(stage.array_for(place), place)


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


def _parts(array: Array) -> list[slice]:
    """The rows (entries of a vector) that are copied at once."""
    row_bytes = max(array[:1].nbytes, 1)
    size = int(np.clip(array.nbytes // STAGES, LEAST_PART, STAGE_BYTES))
    return blocks(len(array), max(size // row_bytes, 1))


class _Stage:
    """Page-locked memory, and the event that the device has read or written it."""

    def __init__(self) -> None:
        self.tensor = _page_locked_buffer(STAGE_BYTES)
        self.array: Array = self.tensor.numpy()
        self.event: Any = None

    def array_for(self, part: Array) -> Array:
        """Memory for the entries of an array."""
        return np.asarray(self.array[: part.nbytes].view(part.dtype).reshape(part.shape))

    def tensor_for(self, part: Tensor) -> Tensor:
        """Memory for the entries of a tensor."""
        return self.tensor[: part.nbytes].view(part.dtype).view(part.shape)

    def wait(self) -> None:
        """Return when the transfer that was started last has ended."""
        if self.event is not None:
            self.event.synchronize()
            self.event = None


@cache
def _stage(number: int) -> _Stage:
    return _Stage()  # kept, because page-locking memory takes long


_lock = threading.Lock()


def _page_locked_buffer(size: int) -> Tensor:
    return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def _current_stream(device: torch.device) -> Any:
    stream: Any = torch.cuda.current_stream
    return stream(device)
