"""Sums over segments in a fixed order, without floating-point atomics."""

from __future__ import annotations

import torch
from torch import Tensor


def counts_of(groups: Tensor, count: int) -> Tensor:
    """The number of entries of each group; sums of integers do not depend on their order."""
    return torch.bincount(groups, minlength=count)


def offsets_of(sizes: Tensor) -> Tensor:
    """Where consecutive segments begin, and the end of the last one."""
    return torch.cat([sizes.new_zeros(1), torch.cumsum(sizes, dim=0)])


def segment_sums(values: Tensor, sizes: Tensor) -> Tensor:
    """Sums of consecutive segments of rows."""
    if values.device.type == "mps":  # has no segment_reduce
        total = torch.cumsum(values, dim=0)
        ends = torch.cat([torch.zeros_like(total[:1]), total])[offsets_of(sizes)]
        return ends[1:] - ends[:-1]
    return torch.segment_reduce(values, "sum", lengths=sizes, axis=0, unsafe=True)
