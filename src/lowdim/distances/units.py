"""Units of measurement: data of extreme magnitude are divided by a power of two.

Methods square distances, and some of them square the squares, which overflow or underflow if the
data are very large or very small. The unit of such data is changed once, when the `Objects` are
made, and results that carry the unit are multiplied by it in the end. Both are exact. Data of
ordinary magnitude are not changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import is_sparse

SAFE_EXPONENTS = {4: 24, 8: 100}
"""By the size of the floats in bytes, the largest exponent e of data that are not scaled: those
with 2^-e <= max |x| < 2^e. Fourth powers, summed over 2^20 entries, are then in range."""


def exponent_of(values: Any) -> int:
    """The exponent e of the unit 2^e of an array or a sparse matrix; 0 for ordinary magnitudes.

    Otherwise the largest magnitude is in [0.5, 1) after division by the unit. NaN is ignored.
    """
    entries = values.data if is_sparse(values) else values
    if entries.dtype.kind != "f" or not entries.size:
        return 0
    low, high = backend().extremes(entries)
    if np.isnan(high):
        known = entries[~np.isnan(entries)]
        low, high = backend().extremes(known) if known.size else (0.0, 0.0)
    largest = max(high, -low)
    exponent = int(np.frexp(largest)[1])
    return exponent if abs(exponent) > SAFE_EXPONENTS[entries.dtype.itemsize] else 0


def scale_by_power(value: Any, exponent: int) -> Any:
    """A number, array or sparse matrix times 2^exponent.

    Results beyond the range of floats, as squares of distances near its end, are infinite or zero.
    """
    if exponent == 0 or value is None:
        return value
    if is_sparse(value):
        out = value.copy()
        out.data = scale_by_power(out.data, exponent)
        return out
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(value, exponent)
    return result if isinstance(value, np.ndarray) else float(result)
