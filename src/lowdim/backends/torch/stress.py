"""Stress functions and their gradients, by tiles of the matrix of dissimilarities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.stress import PairStress
from lowdim.backends.torch.arrays import (
    Unsupported,
    free_bytes,
    get,
    has_kernels,
    put,
    tensor_dtype,
    tile_rows,
    widest_float,
)
from lowdim.backends.torch.resident import resident
from lowdim.checks import Array

LEAST_SHARE = 0.1  # of all pairs that are known, from which matrices are faster than lists

Weigh = Callable[[Tensor, slice], Tensor]
"""From a tile of dissimilarities and its rows to the weights of the pairs."""


def stress_gradient(device: torch.device, dissimilarities: Array, X: Array) -> tuple[float, Array]:
    D, at = resident(device, dissimilarities), put(device, X)
    if has_kernels(device, at.dtype) and D.dtype == at.dtype and D.is_contiguous():
        from lowdim.backends.torch import triton_matrices

        losses, gradient = triton_matrices.stress_gradient(D, at)
        return float(losses.sum(dtype=torch.float64)) / 2, get(gradient)
    return _by_tiles(D, at, None)


def sammon_gradient(
    device: torch.device,
    dissimilarities: Array,
    X: Array,
    mass: Array,
    *,
    floor: float,
    epsilon: float,
) -> tuple[float, Array]:
    if device.type == "mps":
        raise Unsupported
    at, masses = put(device, X).double(), put(device, mass).double()
    least = max(epsilon, floor, float(torch.finfo(torch.float64).tiny))

    def weigh(delta: Tensor, part: slice) -> Tensor:
        weights = masses[part, None] * masses / delta.clamp(min=least)
        return weights if epsilon > 0 else weights.masked_fill_(delta <= floor, 0)

    return _by_tiles(resident(device, dissimilarities), at, weigh)


def pair_stress(
    device: torch.device, n: int, first: Array, second: Array, targets: Array, weights: Array | None
) -> PairStress:
    """The stress of pairs as that of two matrices, of which unknown pairs have the weight 0."""
    if len(first) < LEAST_SHARE * n * n / 2 or 4 * n * n * targets.itemsize > free_bytes(device):
        raise Unsupported
    i, j = put(device, first).long(), put(device, second).long()
    D, W = (torch.zeros(n, n, dtype=tensor_dtype(targets), device=device) for _ in range(2))
    for matrix, values in (
        (D, targets),
        (W, np.ones_like(targets) if weights is None else weights),
    ):
        matrix[i, j] = put(device, values).to(D.dtype)
        matrix += matrix.T.clone()

    def evaluate(X: Array) -> tuple[float, Array]:
        return _weighted_gradient(D, put(device, X).to(D.dtype), W)

    return evaluate


def _weighted_gradient(D: Tensor, at: Tensor, W: Tensor) -> tuple[float, Array]:
    if has_kernels(D.device, at.dtype):
        from lowdim.backends.torch import triton_matrices

        losses, gradient = triton_matrices.stress_gradient(D, at, W)
        return float(losses.sum(dtype=torch.float64)) / 2, get(gradient)
    return _by_tiles(D, at, lambda _, part: W[part].clone())


def _by_tiles(D: Tensor, at: Tensor, weigh: Weigh | None) -> tuple[float, Array]:
    """The stress, weighted or not, and half of its gradient, in the type of the coordinates."""
    n, dim = at.shape
    rows = tile_rows(at.device, (6 + 2 * dim) * n * at.element_size(), n)
    parts, stress = [], torch.zeros((), dtype=widest_float(at.device), device=at.device)
    for begin in range(0, n, rows):
        part = slice(begin, begin + rows)
        delta = D[part].to(at.dtype)
        gaps = at[part, None] - at[None]
        d = torch.linalg.vector_norm(gaps, dim=2)
        rest = d - delta
        rest.diagonal(offset=begin)[: len(rest)].fill_(0)
        pull = rest if weigh is None else weigh(delta, part).mul_(rest)
        stress += (pull * rest).sum(dtype=widest_float(at.device))
        factor = torch.where(d > 0, pull / d, torch.zeros_like(d))
        parts.append((factor[:, :, None] * gaps).sum(dim=1))
    return float(stress) / 2, get(torch.cat(parts))
