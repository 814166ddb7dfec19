"""Euclidean distances of all pairs."""

from __future__ import annotations

import torch

from lowdim.backends.torch.arrays import Unsupported, free_bytes, get, remember, resident
from lowdim.checks import Array
from lowdim.runtime.context import uploads

DISTANCE_ROWS = 4096  # rows of a block of distances
SMALLEST = 1e-13  # squared distance that differs from 0, as a share of the squared norms


def distance_matrix(device: torch.device, X: Array) -> Array:
    """The Euclidean distances of all pairs of rows.

    Those of float32 come from inner products in double precision, where a distance that float32
    can tell from zero has digits enough; those of float64 from differences.
    """
    n = len(X)
    if device.type == "mps" or 2 * n * n * X.itemsize > free_bytes(device):
        raise Unsupported
    rows = resident(device, X)
    D = rows.new_empty(n, n)
    exact = rows.double()
    exact = exact - exact.mean(dim=0)
    norms = exact.square().sum(dim=1)
    for begin in range(0, n, DISTANCE_ROWS):
        part = slice(begin, begin + DISTANCE_ROWS)
        if X.dtype == "float64":
            D[part] = torch.cdist(rows[part], rows, compute_mode="donot_use_mm_for_euclid_dist")
            continue
        squares = torch.addmm(norms, exact[part], exact.T, alpha=-2).add_(norms[part, None])
        sizes = SMALLEST * (norms + norms[part, None])
        D[part] = torch.where(squares > sizes, squares, torch.zeros_like(squares)).sqrt_()
    D = torch.minimum(D, D.T)  # the two products of a pair differ by rounding
    D.fill_diagonal_(0)
    out = get(D)
    kept = uploads()
    if kept is not None:
        remember(out, D, kept)
    return out
