"""Objects that no dissimilarity tells apart."""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks


def zero_up_to(D: Array) -> float:
    """What counts as zero beside a largest dissimilarity of one."""
    return 1e-6 if D.dtype == np.float32 else 1e-12


def merge_identical(D: Array, floor: float) -> tuple[Array, Array]:
    """Objects that no dissimilarity tells apart: one of each kind, and the kind of each object."""
    n = len(D)
    kinds = np.full(n, -1, dtype=np.int64)
    first: list[int] = []
    for part in blocks(n):
        zero = D[part] <= floor
        for i in range(part.start, part.stop):
            if kinds[i] >= 0:
                continue
            alike = np.flatnonzero(zero[i - part.start])
            alike = alike[(alike > i) & (kinds[alike] < 0)]
            if len(alike):
                alike = alike[(np.abs(D[alike] - D[i]) <= floor).all(axis=1)]
            kinds[i] = kinds[alike] = len(first)
            first.append(i)
    return np.array(first), kinds
