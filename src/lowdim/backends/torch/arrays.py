"""Arrays between host and device: copies, and free memory."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.checks import Array
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run

SHARE_OF_FREE = 0.25  # of the free memory of a device that the tiles of one operation may take
STAGED_FROM = 4 << 20  # bytes of an array that is copied in stages
STAGE_BYTES = 64 << 20  # of page-locked memory through which large arrays are copied, twice
COPY_BYTES, COPY_PARTS = 1 << 19, 16  # least that a thread copies at once, and parts of a stage
LARGEST_TILE = 2 << 30  # bytes; larger tiles are not faster
SMALL_TILE = 64 << 20  # bytes that are taken without asking how much is free; all that a CPU needs


def put(device: torch.device, array: Array) -> Tensor:
    """A copy of an array on the device (on the CPU, the array itself)."""
    given = np.ascontiguousarray(array)
    if device.type == "cuda" and given.nbytes > STAGED_FROM:
        return _put_in_stages(device, given)
    if not given.flags.writeable:  # PyTorch has no read-only tensors
        given = given.copy()
    return torch.from_numpy(given).to(device)


def get(tensor: Tensor) -> Array:
    """A tensor as a NumPy array."""
    if tensor.device.type == "cuda" and tensor.nbytes > STAGED_FROM:
        return _get_in_stages(tensor.contiguous())
    found: Array = tensor.detach().cpu().numpy()
    return found


def _put_in_stages(device: torch.device, array: Array) -> Tensor:
    """Copy by way of page-locked memory, which several threads fill while the device reads.

    The driver's own copies from ordinary memory use one thread.
    """
    out = torch.empty(array.shape, dtype=tensor_dtype(array), device=device)
    source, target = array.reshape(-1).view(np.uint8), out.view(-1).view(torch.uint8)
    with _stages_lock:
        for number, part in enumerate(blocks(len(source), STAGE_BYTES)):
            stage = _stage(number % 2)
            stage.event.synchronize()  # until what it held before is on the device
            _copy_by_threads(source[part], stage.array)
            target[part].copy_(stage.tensor[: part.stop - part.start], non_blocking=True)
            stage.event.record()
    return out


def _get_in_stages(tensor: Tensor) -> Array:
    """The reverse of `_put_in_stages`."""
    out = np.empty(tuple(tensor.shape), dtype=_array_dtype(tensor))
    source, target = tensor.view(-1).view(torch.uint8), out.reshape(-1).view(np.uint8)
    parts = blocks(len(target), STAGE_BYTES)
    with _stages_lock:
        for number in range(len(parts) + 1):
            if number < len(parts):
                part, stage = parts[number], _stage(number % 2)
                stage.tensor[: part.stop - part.start].copy_(source[part], non_blocking=True)
                stage.event.record()
            if number > 0:  # while the next part is under way
                part, stage = parts[number - 1], _stage((number - 1) % 2)
                stage.event.synchronize()
                _copy_by_threads(stage.array[: part.stop - part.start], target[part])
    return out


class _Stage:
    """Page-locked memory, and an event that tells when the device has read or written it."""

    def __init__(self) -> None:
        self.tensor = torch.empty(STAGE_BYTES, dtype=torch.uint8, pin_memory=True)
        self.array: Array = self.tensor.numpy()
        event: Any = torch.cuda.Event
        self.event = event()


@lru_cache(maxsize=2)
def _stage(number: int) -> _Stage:
    return _Stage()


_stages_lock = threading.Lock()


def _copy_by_threads(source: Array, target: Array) -> None:
    def copy(part: slice) -> None:
        target[part] = source[part]

    run(copy, blocks(len(source), max(COPY_BYTES, -(-len(source) // COPY_PARTS))))


def tensor_dtype(array: Array) -> torch.dtype:
    """The type of tensors with the entries of an array."""
    return torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype


def _array_dtype(tensor: Tensor) -> Any:
    return torch.empty(0, dtype=tensor.dtype).numpy().dtype


def free_bytes(device: torch.device) -> int:
    """Bytes that can still be allocated on the device."""
    if device.type == "cuda":
        counted = torch.cuda.memory_stats_as_nested_dict(device)
        held, used = (
            counted.get(kind, {}).get("all", {}).get("current", 0)
            for kind in ("reserved_bytes", "allocated_bytes")
        )
        return int(torch.cuda.mem_get_info(device)[0] + held - used)
    if device.type == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return memory.available_bytes() or 1 << 32


def tile_rows(device: torch.device, bytes_per_row: int, n: int) -> int:
    """The number of rows of a tile that bounds the memory of an operation on n rows."""
    room = SMALL_TILE
    if device.type != "cpu" and n * bytes_per_row > room:
        room = min(LARGEST_TILE, int(SHARE_OF_FREE * free_bytes(device)))
    return int(np.clip(room // max(bytes_per_row, 1), 1, max(n, 1)))


def wide(device: torch.device, dtype: torch.dtype = torch.float64) -> torch.dtype:
    """float64 if the device has it, else float32."""
    return torch.float32 if device.type == "mps" else dtype


class Unsupported(Exception):
    """Raised by an operation, before it changes anything, for arguments that the CPU must take."""
