"""Functions of arrays that have the same bits on every processor.

Those of NumPy and of the C library differ in their last digits between instruction sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def exp(x: Any) -> Any:
    """e to the power of each entry."""
    return _map(_native.exp, x)


def log(x: Any) -> Any:
    """The natural logarithm of each entry; negative infinity at 0."""
    return _map(_native.log, x)


def log2(x: Any) -> Any:
    """The logarithm to base 2 of each entry; exact for powers of two."""
    return log(x) / log(2.0)


def power(x: Any, exponent: float) -> Any:
    """Entries of at least 0 to the power of a number."""
    return _map(_native.power, x, float(exponent))


def cosine_of_turns(x: Any) -> Any:
    """cos(2 pi x) of each entry, in float64."""
    return _map(_native.cosine_of_turns, np.asarray(x, dtype=np.float64))


def normal_numbers(random: np.random.RandomState, shape: Any) -> Array:
    """Independent normal random numbers of mean 0 and variance 1."""
    out = np.empty(shape)
    radii, angles = random.random_sample((2, out.size))
    _native.normal_numbers(radii, angles, out.reshape(-1))
    return out


def _map(function: Callable[..., None], x: Any, *arguments: float) -> Any:
    """A function of each entry, in float32 or float64; a number for a number."""
    kind = np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64
    values = np.ascontiguousarray(x, dtype=kind)
    out = np.empty_like(values)
    function(values.reshape(-1), *arguments, out.reshape(-1), current().threads)
    return out if np.ndim(x) else kind(out.item())
