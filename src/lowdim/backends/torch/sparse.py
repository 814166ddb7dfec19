"""CSR matrices on a device."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.sparse import csr_matrix
from lowdim.backends.torch.arrays import get
from lowdim.backends.torch.resident import get_and_remember, resident
from lowdim.backends.torch.segments import counts_of, offsets_of
from lowdim.checks import Array


@dataclass(frozen=True)
class Csr:
    """A CSR matrix: where rows begin (int64), columns (int32) and values."""

    offsets: Tensor
    columns: Tensor
    values: Tensor
    shape: tuple[int, int]

    @property
    def sizes(self) -> Tensor:
        """The number of entries of each row."""
        return self.offsets.diff()

    def rows(self) -> Tensor:
        """The row of each entry."""
        numbers = torch.arange(self.shape[0], device=self.values.device)
        return torch.repeat_interleave(numbers, self.sizes, output_size=len(self.values))

    def rows_at(self, order: Tensor) -> Csr:
        """Some rows, or all in another order; columns as they are."""
        sizes = self.sizes[order]
        offsets = offsets_of(sizes)
        total = int(offsets[-1])
        shift = torch.repeat_interleave(
            self.offsets[order] - offsets[:-1], sizes, output_size=total
        )
        entries = torch.arange(total, device=self.values.device) + shift
        shape = (len(order), self.shape[1])
        return Csr(offsets, self.columns[entries], self.values[entries], shape)

    def renumber(self, order: Tensor) -> Csr:
        """Rows and columns in another order: the new row i is the former row order[i]."""
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order), device=order.device)
        moved = self.rows_at(order)
        columns = rank[moved.columns.long()].int()
        return Csr(moved.offsets, columns, moved.values, self.shape)


def resident_csr(device: torch.device, A: Any) -> Csr:
    """A SciPy CSR matrix on the device."""
    return Csr(
        resident(device, A.indptr).long(),
        resident(device, A.indices).int(),
        resident(device, A.data),
        (A.shape[0], A.shape[1]),
    )


def from_keys(keys: Tensor, values: Tensor, shape: tuple[int, int]) -> Any:
    """A SciPy CSR matrix from ascending keys row * n_columns + column."""
    rows = torch.div(keys, shape[1], rounding_mode="floor")
    columns = (keys - rows * shape[1]).int()
    firsts = torch.arange(shape[0] + 1, device=keys.device) * shape[1]
    offsets = torch.searchsorted(keys, firsts)
    if len(keys) <= np.iinfo(np.int32).max:
        offsets = offsets.int()
    return csr_matrix(
        (get_and_remember(offsets), get_and_remember(columns), get_and_remember(values)), shape
    )


def split(device: torch.device, graph: Any, groups: Array, count: int) -> list[Any]:
    """The graphs of groups of vertices, as parts of arrays that stay on the device."""
    A = resident_csr(device, graph)
    group = resident(device, groups).long()
    order = torch.argsort(group, stable=True)[int((group < 0).sum()) :]
    ends = offsets_of(counts_of(group[order], count))
    place = torch.zeros_like(group)
    place[order] = torch.arange(len(order), device=device) - ends[group[order]]
    moved = A.rows_at(order)
    offsets, bounds = get(moved.offsets), get(ends)
    columns = get_and_remember(place[moved.columns.long()].int())
    values = get_and_remember(moved.values)
    parts = []
    for first, last in pairwise(bounds):
        entries = slice(offsets[first], offsets[last])
        indptr = offsets[first : last + 1] - offsets[first]
        shape = (int(last - first), int(last - first))
        parts.append(csr_matrix((indptr, columns[entries], values[entries]), shape))
    return parts


def block_diagonal(device: torch.device, graphs: list[Any]) -> Csr:
    """Square SciPy CSR matrices as the blocks of one matrix on the device."""
    parts = [resident_csr(device, graph) for graph in graphs]
    if len(parts) == 1:
        return parts[0]
    first = np.cumsum([0, *(part.shape[0] for part in parts)])
    entry = np.cumsum([0, *(len(part.values) for part in parts)])
    offsets = [part.offsets[:-1] + int(e) for part, e in zip(parts, entry[:-1], strict=True)]
    offsets.append(torch.tensor([int(entry[-1])], device=device))
    columns = [part.columns + int(f) for part, f in zip(parts, first[:-1], strict=True)]
    values = torch.cat([part.values for part in parts])
    n = int(first[-1])
    return Csr(torch.cat(offsets), torch.cat(columns), values, (n, n))
