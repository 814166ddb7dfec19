"""CSR matrices on a device, and sums over segments in a fixed order, without atomics."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.arrays import csr_matrix
from lowdim.backends.torch.arrays import get
from lowdim.backends.torch.resident import get_and_remember, resident
from lowdim.checks import Array

ROWS_AT_ONCE = 1 << 21  # rows of a matrix that are worked on together


@dataclass(frozen=True)
class Csr:
    """A CSR matrix: where rows begin (int64), columns (int32) and values."""

    offsets: Tensor
    columns: Tensor
    values: Tensor
    shape: tuple[int, int]

    @property
    def sizes(self) -> Tensor:
        return self.offsets.diff()

    def rows(self, part: slice = slice(None)) -> Tensor:
        """The row of each entry, of some rows or of all."""
        numbers = torch.arange(self.shape[0], device=self.values.device)[part]
        return torch.repeat_interleave(numbers, self.sizes[part])

    def parts(self) -> list[tuple[slice, slice]]:
        """Blocks of rows with their entries, for what needs more memory than the matrix."""
        bounds = [*range(0, self.shape[0], ROWS_AT_ONCE), self.shape[0]]
        ends = get(self.offsets[torch.tensor(bounds, device=self.offsets.device)]).tolist()
        pairs = zip(pairwise(bounds), pairwise(ends), strict=True)
        return [(slice(*rows), slice(*entries)) for rows, entries in pairs]

    def rows_at(self, order: Tensor) -> Csr:
        """Some rows, or all in another order; columns as they are."""
        sizes = self.sizes[order]
        offsets = offsets_of(sizes)
        total = int(offsets[-1])
        moved = Csr(
            offsets,
            self.columns.new_empty(total),
            self.values.new_empty(total),
            (len(order), self.shape[1]),
        )
        shift = self.offsets[order] - offsets[:-1]
        for rows, entries in moved.parts():
            places = torch.repeat_interleave(shift[rows], sizes[rows])
            places += torch.arange(entries.start, entries.stop, device=places.device)
            moved.columns[entries] = self.columns[places]
            moved.values[entries] = self.values[places]
        return moved

    def relabel(self, number: Tensor) -> None:
        """Replace each column by its new number, in place."""
        for _, entries in self.parts():
            self.columns[entries] = number[self.columns[entries].long()].int()

    def renumber(self, order: Tensor) -> Csr:
        """Rows and columns in another order: the new row i is the former row order[i]."""
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order), device=order.device)
        moved = self.rows_at(order)
        moved.relabel(rank)
        return moved


def resident_csr(device: torch.device, A: Any) -> Csr:
    """A SciPy CSR matrix on the device."""
    return Csr(
        resident(device, A.indptr).long(),
        resident(device, A.indices).int(),
        resident(device, A.data),
        (A.shape[0], A.shape[1]),
    )


def to_scipy(sizes: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Any:
    """A SciPy CSR matrix, whose arrays stay on the device."""
    offsets = offsets_of(sizes)
    if len(columns) <= np.iinfo(np.int32).max:
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
    moved.relabel(place)
    columns, values = get_and_remember(moved.columns), get_and_remember(moved.values)
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
