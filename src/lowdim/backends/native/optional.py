"""Optional arrays: the extension takes an empty array where Python has None."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array


def or_empty(values: Array | None, dtype: Any, ndim: int = 1) -> Array:
    """The array, or an empty one of this dtype and number of dimensions if it is None."""
    return np.empty((0,) * ndim, dtype) if values is None else values
