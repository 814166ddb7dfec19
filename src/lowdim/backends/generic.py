"""What an objective needs to compute with NumPy arrays or with the tensors of a device.

Inside of `Backend.descend` an objective gets coordinates of either kind. Arithmetic is the same for
both; the functions here are what differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array


def like(values: Array, Y: Any) -> Any:
    """An array as an array of the kind and on the device of Y."""
    return values if isinstance(Y, np.ndarray) else Y.new_tensor(values)


def total(values: Any) -> Any:
    """The sum in double precision (on a device, a tensor that need not be computed yet)."""
    if isinstance(values, np.ndarray):
        return float(values.sum(dtype=np.float64))
    return values.sum() if values.device.type == "mps" else values.double().sum()


def host(values: Any) -> Array:
    """An array of either kind as a NumPy array."""
    return values if isinstance(values, np.ndarray) else np.asarray(values.cpu())
