"""Stochastic neighbours among points with labels."""

from __future__ import annotations

import torch

from lowdim.backends.torch.arrays import Unsupported, get, put, tile_rows
from lowdim.backends.torch.distances import squares_of_differences
from lowdim.checks import Array


def stochastic_neighbor_errors(
    device: torch.device, Z: Array, classes: Array, accuracy: float
) -> tuple[float, Array]:
    """Expected errors of classification by a stochastic neighbour, and their gradient by Z."""
    if device.type == "mps":
        raise Unsupported
    at, known = put(device, Z).double(), put(device, classes)
    at = at - at.mean(dim=0)
    gradient, value = torch.zeros_like(at), at.new_zeros(())
    n = len(at)
    rows = tile_rows(device, 8 * n * 6, n)
    for begin in range(0, n, rows):
        part = slice(begin, min(begin + rows, n))
        own = torch.arange(part.start, part.stop, device=device)
        squares = squares_of_differences(at[part], at)
        p = squares.scatter_(1, own[:, None], torch.inf).neg_().softmax(dim=1)
        same = known[part, None] == known
        errors = p.masked_fill(same, 0).sum(dim=1)
        value += errors.sum()
        W = p * (1 - errors[:, None] - same.double())
        gradient[part] += 2 * (W @ at - W.sum(dim=1)[:, None] * at[part])
        gradient += 2 * (W.T @ at[part] - W.sum(dim=0)[:, None] * at)
    return float(value), get(gradient)
