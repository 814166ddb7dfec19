"""Arrays between host and device: copies, free memory, and whether kernels can work on them.

The modules `triton_...` are imported by the functions that call them: importing Triton takes a
second, and it is not installed everywhere.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch.stages import Beside, copy_in, copy_out
from lowdim.checks import Array
from lowdim.runtime import memory

SHARE_OF_FREE = 0.25  # of the free memory of a device that the tiles of one operation may take
STAGED_FROM = 4 << 20  # bytes of an array that is copied in stages
HAS_TRITON = find_spec("triton") is not None
LARGEST_TILE = 2 << 30  # bytes; larger tiles are not faster
SMALL_TILE = 64 << 20  # bytes that are taken without asking how much is free; all that a CPU needs


def put(device: torch.device, array: Array) -> Tensor:
    """A copy of an array on the device (on the CPU, the array itself)."""
    source = np.ascontiguousarray(array)
    if device.type == "cuda" and source.nbytes > STAGED_FROM:
        out = torch.empty(source.shape, dtype=tensor_dtype(source), device=device)
        copy_in(source, out)
        return out
    if not source.flags.writeable:  # PyTorch has no read-only tensors
        source = source.copy()
    return torch.from_numpy(source).to(device)


def get(tensor: Tensor) -> Array:
    """A tensor as a NumPy array."""
    if tensor.device.type == "cuda" and tensor.nbytes > STAGED_FROM:
        out = np.empty(tuple(tensor.shape), torch.empty(0, dtype=tensor.dtype).numpy().dtype)
        copy_out(tensor.contiguous(), out)
        return out
    array: Array = tensor.detach().cpu().numpy()
    return array


def copy_to(tensor: Tensor, array: Array) -> None:
    """Copy the entries of a tensor to an array of the same shape."""
    if tensor.device.type == "cuda" and tensor.nbytes > STAGED_FROM:
        copy_out(tensor.contiguous(), array)
    else:
        array[...] = get(tensor)


class Outflow:
    """Copies parts of a matrix to the host while the device computes the next part.

    Parameters
    ----------
    device : torch.device
    out : array of shape (m, n)
        Filled by the copies.
    """

    def __init__(self, device: torch.device, out: Array) -> None:
        self.out = out
        self.beside = Beside(device) if device.type == "cuda" else None
        self.waiting: list[tuple[tuple[slice, slice], Tensor]] = []

    def add_part(self, place: tuple[slice, slice], part: Tensor) -> None:
        """Take a part that the device has been asked to compute; it must not change any more."""
        self.waiting.append((place, part))
        if self.beside is not None:
            self.beside.follow()

    def copy(self) -> None:
        """Copy the parts that were given, not waiting for what the device was asked to do since."""
        for place, part in self.waiting:
            if self.beside is not None and part.nbytes > STAGED_FROM:
                self.beside.copy_out(part, self.out[place])
            else:
                self.out[place] = get(part)
        self.waiting.clear()


def tensor_dtype(array: Array) -> torch.dtype:
    """The type of tensors with the entries of an array."""
    return torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype


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


def widest_float(device: torch.device) -> torch.dtype:
    """float64 if the device has it, else float32."""
    return torch.float32 if device.type == "mps" else torch.float64


def has_kernels(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the Triton kernels run; otherwise plain tensor operations are used."""
    return HAS_TRITON and device.type == "cuda" and dtype == torch.float32


class Unsupported(Exception):
    """Raised by an operation, before it changes anything, for arguments that the CPU must take."""
