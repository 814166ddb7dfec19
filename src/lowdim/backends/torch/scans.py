"""Facts about arrays that take one pass over all entries."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from lowdim.backends.torch.arrays import Unsupported, get, put, tile_rows, widest_float
from lowdim.backends.torch.resident import resident
from lowdim.backends.torch.sparse import counts_of, offsets_of
from lowdim.checks import Array, is_sparse

MOST_GROUPS = 4096  # of `group_sums`, each of which takes a call


def extremes(device: torch.device, A: Array) -> tuple[float, float]:
    low, high = torch.aminmax(resident(device, A))
    return float(low), float(high)


def asymmetry(device: torch.device, D: Array) -> float:
    matrix = resident(device, D)
    rows = tile_rows(device, 2 * len(D) * D.itemsize, len(D))
    largest = [
        (matrix[begin : begin + rows] - matrix[:, begin : begin + rows].T).abs_().amax()
        for begin in range(0, len(D), rows)
    ]
    return float(torch.stack(largest).amax()) if largest else 0.0


def stable_order(device: torch.device, values: Array) -> Array:
    return get(torch.argsort(put(device, values), stable=True))


def group_sums(device: torch.device, X: Any, groups: Array, count: int) -> Array:
    if is_sparse(X) or count > MOST_GROUPS or device.type == "mps":
        raise Unsupported
    group = resident(device, groups).long()
    order = torch.argsort(group, stable=True)
    bounds = get(offsets_of(counts_of(group, count)))
    rows = resident(device, X)[order]
    sums = [
        rows[first:last].sum(dim=0, dtype=widest_float(device)) for first, last in pairwise(bounds)
    ]
    return get(torch.stack(sums)).astype(np.float64)
