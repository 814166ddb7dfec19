"""CSR matrices on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.sparse import csr_matrix
from lowdim.backends.torch.arrays import get, put, resident
from lowdim.backends.torch.segments import counts_of, offsets_of


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

    def reordered(self, order: Tensor) -> Csr:
        """Rows in another order; columns as they are."""
        sizes = self.sizes[order]
        offsets = offsets_of(sizes)
        shift = torch.repeat_interleave(
            self.offsets[order] - offsets[:-1], sizes, output_size=len(self.values)
        )
        entries = torch.arange(len(self.values), device=self.values.device) + shift
        return Csr(offsets, self.columns[entries], self.values[entries], self.shape)

    def renumbered(self, order: Tensor) -> Csr:
        """Rows and columns in another order: the new row i is the former row order[i]."""
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order), device=order.device)
        moved = self.reordered(order)
        columns = rank[moved.columns.long()].int()
        return Csr(moved.offsets, columns, moved.values, self.shape)


def put_csr(device: torch.device, A: Any) -> Csr:
    """A SciPy CSR matrix on the device."""
    return Csr(
        put(device, A.indptr.astype(np.int64, copy=False)),
        put(device, A.indices.astype(np.int32, copy=False)),
        put(device, A.data),
        (A.shape[0], A.shape[1]),
    )


def resident_csr(device: torch.device, A: Any) -> Csr:
    """As `put_csr`, for a matrix that is read by several operations of a public call."""
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
    offsets = offsets_of(counts_of(rows, shape[0]))
    return csr_matrix((get(offsets), get(columns), get(values)), shape)
