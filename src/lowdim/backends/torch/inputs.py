"""Data of the user that are on a GPU already."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.dlpack import from_dlpack

from lowdim.backends.torch.resident import get_and_remember
from lowdim.checks import Array


def tensor_of(X: Any) -> Tensor:
    """A tensor that shares the memory of an array with the DLPack protocol."""
    tensor: Tensor = X.detach() if isinstance(X, Tensor) else from_dlpack(X)
    return tensor


def name_of(tensor: Tensor) -> str:
    """The name of the tensor's device for `lowdim.compute`."""
    return "torch:cpu" if tensor.device.type == "cpu" else str(tensor.device)


def on_host(tensor: Tensor) -> Array:
    """The tensor as an array, of which the tensor is the copy on the device."""
    return get_and_remember(tensor)


def to_device_of(result: Array, tensor: Tensor) -> Tensor:
    """A result on the device of the tensor."""
    return torch.from_numpy(result).to(tensor.device)
