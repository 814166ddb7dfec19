"""Units of columns: their moments, and the column that outweighs all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array

MAX_ROWS = 10_000  # that are looked at
MAX_COLUMNS = 1000  # of a table whose columns have units of their own
UNEVEN = 30.0  # times the median spread, from which on one column outweighs the others


def moments(numbers: Any) -> tuple[Array, Array]:
    """Mean and standard deviation of each column, without overflow: in units of a power of two."""
    exponent = np.frexp(np.nanmax(np.abs(numbers), axis=0).astype(np.float64))[1]
    scaled = np.ldexp(np.asarray(numbers, dtype=np.float64), -exponent)
    mean, spread = np.nanmean(scaled, axis=0), np.nanstd(scaled, axis=0)
    return np.ldexp(mean, exponent), np.ldexp(spread, exponent)


def dominant_column(numbers: Any) -> tuple[int, float] | None:
    """The column whose spread is at least 30 times the median one, and how many times.

    None if there is no such column, or if the numbers are not a dense table of 2 to 1,000 columns.
    """
    if not isinstance(numbers, np.ndarray) or numbers.ndim != 2 or numbers.dtype.kind not in "fiu":
        return None
    if not 1 < numbers.shape[1] <= MAX_COLUMNS:
        return None
    spread = moments(numbers[:MAX_ROWS])[1]
    if not (spread > 0).any():
        return None
    wide = int(spread.argmax())
    relative = spread / spread[wide]
    ratio = 1 / float(np.median(relative[relative > 0]))
    return (wide, ratio) if ratio >= UNEVEN else None
