"""Access to the Triton kernels, which CUDA devices use where Triton is installed.

The modules `triton_...` are imported on first use: importing Triton takes a second, and it is not
installed everywhere.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

AVAILABLE = find_spec("triton") is not None


def run_on(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether the kernels run on the device; otherwise plain tensor operations are used."""
    return AVAILABLE and device.type == "cuda" and dtype == torch.float32


def first() -> Any:
    """A kernel that does next to nothing."""
    return import_module("lowdim.backends.torch.triton_first")


def layout() -> Any:
    """The kernel of an epoch of a layout."""
    return import_module("lowdim.backends.torch.triton_layout")


def forces() -> Any:
    """The kernels of a descent on forces."""
    return import_module("lowdim.backends.torch.triton_forces")


def matrices() -> Any:
    """The kernels that read large matrices: stress and shortest paths."""
    return import_module("lowdim.backends.torch.triton_matrices")
