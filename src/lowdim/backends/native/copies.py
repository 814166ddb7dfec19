"""Copies of arrays on several threads."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def copy_rows(source: Array, target: Array) -> None:
    """Copy a vector or matrix to another one of the same type; its rows are contiguous in both."""
    _native.copy_rows(_octets(source), _octets(target), current().threads)


def _octets(array: Array) -> Array:
    return np.atleast_2d(array).view(np.uint8)
