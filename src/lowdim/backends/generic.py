"""What an objective needs to compute with NumPy arrays or with the tensors of a device.

Inside of `Backend.descend` an objective gets coordinates of either kind. Arithmetic is the same for
both; the functions here are what differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.backends.native import forces as native_forces
from lowdim.checks import Array


def like(values: Array, Y: Any) -> Any:
    """An array as an array of the kind and on the device of Y."""
    return values if isinstance(Y, np.ndarray) else Y.new_tensor(values)


def total(values: Any) -> Any:
    """The sum of a vector in double precision (a tensor that need not be computed yet, if the
    vector is one)."""
    if isinstance(values, np.ndarray):
        return native_forces.total(values)
    return values.sum() if values.device.type == "mps" else values.double().sum()


def subtract_scaled(first: Any, a: Any, second: Any, b: Any) -> None:
    """Set `first` to a first - b second; may change `second`."""
    if isinstance(first, np.ndarray):
        native_forces.subtract_scaled(first, float(a), second, float(b))
    else:
        first *= a
        second *= b
        first -= second


def host(values: Any) -> Array:
    """An array of either kind as a NumPy array."""
    return values if isinstance(values, np.ndarray) else np.asarray(values.cpu())
