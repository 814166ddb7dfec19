"""Copies of arrays of the host that stay on a device until a public call ends.

An operation that is given an array which an earlier operation of the same call was given or has
returned finds its copy. Copies belong to the memory of an array rather than to the array object: a
contiguous part of it, or the same entries in another shape, has its copy too. They are freed with
the array.

An array that has changed is copied again. A change is noticed by a sample of the entries, so arrays
must not be changed in a few places between two operations.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from lowdim.backends.torch.arrays import copy_to, free_bytes, get, put, tensor_dtype
from lowdim.checks import Array
from lowdim.runtime.context import current

RESIDENT_FROM = 1 << 20  # bytes of an array from which a second copy to the device is worth saving
SQUARE_ROOM = 4  # arrays of the same size that must be free on the device to keep the squares
SAMPLED = 4096  # entries by which an array that is on the device is recognised to be unchanged


class Copy(NamedTuple):
    """A copy of consecutive entries of an array."""

    begin: int  # address of the first one
    sample: Array  # every step-th entry when the copy was made
    step: int
    tensor: Tensor  # flat
    squares: list[Tensor]  # that of the tensor, if it was asked for

    def part(self, array: Array) -> Tensor | None:
        """The copy of an array in the same memory; None if it is not covered or has changed."""
        first, rest = divmod(_address(array) - self.begin, array.itemsize)
        if rest or first < 0 or first + array.size > len(self.tensor):
            return None
        if self.tensor.dtype != tensor_dtype(array):
            return None
        number = -(-first // self.step)  # of the first entry of the sample in this part
        now = array.reshape(-1)[number * self.step - first :: self.step]
        before = self.sample[number : number + len(now)]
        if not _all_equal(now, before):
            return None
        return self.tensor[first : first + array.size].view(array.shape)


class Copies(NamedTuple):
    """The copies of parts of the memory that an array owns."""

    owner: Any  # a weak reference, which removes this entry when the memory is freed
    parts: list[Copy]


def resident(device: torch.device, array: Array) -> Tensor:
    """As `put`, for an array that may be on the device already, or be asked for again."""
    for copy in _copies(device, array):
        part = copy.part(array)
        if part is not None:
            return part
    tensor = put(device, array)
    remember(array, tensor)
    return tensor


def resident_square(device: torch.device, array: Array) -> Tensor | None:
    """The squared entries of an array that is on the device; None if they are not to be kept."""
    for copy in _copies(device, array):
        part = copy.part(array)
        if part is None or len(copy.tensor) != array.size:
            continue
        if not copy.squares:
            if SQUARE_ROOM * array.nbytes > free_bytes(device):
                return None
            copy.squares.append(copy.tensor.square())
        return copy.squares[0].view(array.shape)
    return None


def _copies(device: torch.device, array: Array) -> tuple[Copy, ...]:
    """The copies of parts of the memory that an array shows."""
    kept = current().uploads
    if kept is None or not _is_worth_keeping(array):
        return ()
    entry = kept.get(_key(device, array))
    return () if entry is None else tuple(entry.parts)


def get_and_remember(tensor: Tensor) -> Array:
    """As `get`; the tensor is kept as the copy of the result."""
    array = get(tensor)
    remember(array, tensor)
    return array


def remember(array: Array, tensor: Tensor) -> None:
    """Keep a tensor as the copy of an array of the same entries."""
    kept = current().uploads
    if kept is None or not _is_worth_keeping(array) or not tensor.is_contiguous():
        return
    key = _key(tensor.device, array)
    if key not in kept:
        kept[key] = Copies(weakref.ref(_owner(array), partial(_forget, kept, key)), [])
    step = max(1, array.size // SAMPLED)
    copy = Copy(_address(array), array.reshape(-1)[::step].copy(), step, tensor.view(-1), [])
    parts = kept[key].parts
    parts[:] = [old for old in parts if old.begin != copy.begin] + [copy]


def tensor_of(X: Any) -> Tensor:
    """A tensor that shares the memory of an array with the DLPack protocol."""
    tensor: Tensor = X.detach() if isinstance(X, Tensor) else from_dlpack(X)
    return tensor


def name_of(tensor: Tensor) -> str:
    """The name of the tensor's device for `lowdim.compute`."""
    return "torch:cpu" if tensor.device.type == "cpu" else str(tensor.device)


def to_device_of(result: Array, tensor: Tensor) -> Tensor:
    """A result on the device of the tensor."""
    return torch.from_numpy(result).to(tensor.device)


def replace(*pairs: tuple[Array, Tensor]) -> None:
    """Copy tensors to arrays, of which they become the copies."""
    for array, tensor in pairs:
        copy_to(tensor, array)
        remember(array, tensor)


def release() -> bool:
    """Free all copies; False if there are none."""
    kept = current().uploads
    had_copies = bool(kept)
    if kept:
        kept.clear()
    return had_copies


def _all_equal(one: Array, other: Array) -> bool:
    """Whether all entries are equal or both NaN, which is rare and takes longer to find out."""
    same = np.array_equal(one, other)
    return same or (one.dtype.kind == "f" and np.array_equal(one, other, equal_nan=True))


def _forget(kept: dict[Any, Any], key: Any, owner: object) -> None:
    kept.pop(key, None)


def _is_worth_keeping(array: Array) -> bool:
    return bool(array.nbytes >= RESIDENT_FROM and array.flags.c_contiguous)


def _key(device: torch.device, array: Array) -> tuple[str, int]:
    return str(device), id(_owner(array))


def _owner(array: Array) -> Array:
    """The array whose memory a view shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
