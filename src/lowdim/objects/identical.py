"""Groups of objects with identical rows or identical dissimilarities."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.runtime.scheduling import blocks


def zero_up_to(D: Array) -> float:
    """Largest value that counts as zero, if the largest dissimilarity is one."""
    return 1e-6 if D.dtype == np.float32 else 1e-12


def merge_identical(D: Array, floor: float) -> tuple[Array, Array]:
    """Group objects with dissimilarity zero and equal dissimilarities to all other objects.

    Differences up to `floor` count as zero. Returns the first object of each group, and the group
    of each object.
    """
    n = len(D)
    groups = np.full(n, -1, dtype=np.int64)
    first: list[int] = []
    for part in blocks(n):
        zero = D[part] <= floor
        for i in range(part.start, part.stop):
            if groups[i] >= 0:
                continue
            alike = np.flatnonzero(zero[i - part.start])
            alike = alike[(alike > i) & (groups[alike] < 0)]
            if len(alike):
                alike = alike[(np.abs(D[alike] - D[i]) <= floor).all(axis=1)]
            groups[i] = groups[alike] = len(first)
            first.append(i)
    return np.array(first), groups


def identical_rows(rows: Any) -> tuple[Array, Array]:
    """Group identical rows of an array or a CSR matrix.

    Returns the first row of each group, ascending, and the group of each row.
    """
    if is_sparse(rows):
        rows = rows.copy()
        rows.eliminate_zeros()
        rows.sort_indices()
        ends = rows.indptr
        parts = [slice(ends[i], ends[i + 1]) for i in range(rows.shape[0])]
        keys = [rows.indices[p].tobytes() + b"|" + rows.data[p].tobytes() for p in parts]
    else:
        keys = [row.tobytes() for row in np.ascontiguousarray(rows) + 0.0]  # -0.0 becomes 0.0
    number: dict[bytes, int] = {}
    groups = np.array([number.setdefault(key, len(number)) for key in keys])
    first = np.unique(groups, return_index=True)[1]
    return first, groups
