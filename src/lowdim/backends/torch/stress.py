"""Stress functions and their gradients, by tiles of the matrix of dissimilarities."""

from __future__ import annotations

import torch

from lowdim.backends.torch import kernels
from lowdim.backends.torch.arrays import get, put, resident, tile_rows, wide
from lowdim.checks import Array


def stress_gradient(device: torch.device, dissimilarities: Array, X: Array) -> tuple[float, Array]:
    """The raw stress at X and V X - B(X) X, half of its gradient."""
    D, at = resident(device, dissimilarities), put(device, X)
    n, dim = at.shape
    if kernels.run_on(device, at.dtype) and D.dtype == at.dtype and D.is_contiguous():
        found, gradient = kernels.matrices().stress_gradient(D, at)
        return float(found.sum(dtype=torch.float64)) / 2, get(gradient)
    rows = tile_rows(device, (4 + 2 * dim) * n * at.element_size(), n)
    parts, stress = [], torch.zeros((), dtype=wide(device), device=device)
    for begin in range(0, n, rows):
        gaps = at[begin : begin + rows, None] - at[None]
        d = torch.linalg.vector_norm(gaps, dim=2)
        rest = d - D[begin : begin + rows]
        rest.diagonal(offset=begin)[: len(rest)].fill_(0)
        stress += rest.square().sum(dtype=wide(device))
        factor = torch.where(d > 0, rest / d, torch.zeros_like(d))
        parts.append((factor[:, :, None] * gaps).sum(dim=1))
    return float(stress) / 2, get(torch.cat(parts))
