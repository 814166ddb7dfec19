"""Probabilities and fuzzy memberships from the distances to neighbours, in rows of equal width."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch.arrays import get, put, tensor_dtype, widest_float
from lowdim.backends.torch.graphs import combine_with_transpose, half_sum
from lowdim.backends.torch.resident import get_and_remember, resident
from lowdim.backends.torch.sparse import resident_csr
from lowdim.checks import Array

BRACKET = 60.0  # of the logarithms of precisions and widths, in units of the mean of a row
STEPS = {torch.float32: 40, torch.float64: 64}  # of a bisection, to the last digit


class Rows:
    """The rows of a CSR matrix as a matrix, padded with infinity; in float64 if `precise`."""

    def __init__(
        self, device: torch.device, indptr: Array, values: Array, *, precise: bool = False
    ) -> None:
        self.dtype = tensor_dtype(values)
        self.sizes = np.diff(indptr)
        width = int(self.sizes.max(initial=0))
        self.full = bool((self.sizes == width).all())
        entries = resident(device, values)
        if precise:
            entries = entries.to(widest_float(device))
        shape = (len(self.sizes), width)
        if self.full:
            self.matrix = entries.reshape(shape)
            self.known = torch.ones(shape, dtype=torch.bool, device=device)
        else:
            sizes = put(device, self.sizes.astype(np.int64))
            self.known = torch.arange(width, device=device)[None, :] < sizes[:, None]
            self.matrix = entries.new_full(shape, torch.inf)
            self.matrix[self.known] = entries

    def flatten(self, matrix: Tensor) -> Array:
        """A matrix of the same shape as the entries of the CSR matrix, in the type of these."""
        return get_and_remember(
            (matrix.ravel() if self.full else matrix[self.known]).to(self.dtype)
        )

    def column(self, values: Tensor) -> Array:
        """Values of the rows, of shape (n, 1), as an array of the same type."""
        return get(values[:, 0].to(self.dtype))


def perplexity_affinities(
    device: torch.device,
    indptr: Array,
    distances: Array,
    perplexity: float,
    *,
    squared: bool = False,
) -> tuple[Array, Array]:
    """p proportional to exp(-beta d^2) with entropy log(perplexity) in each row, and the betas."""
    rows = Rows(device, indptr, distances)
    d, known = rows.matrix, rows.known
    if not d.numel():
        return np.empty_like(distances), np.zeros(len(rows.sizes))
    d = d if squared else d.square()
    count = known.sum(dim=1, keepdim=True).to(d.dtype)
    d = d - d.amin(dim=1, keepdim=True)  # infinite where there is no entry
    finite = torch.where(torch.isinf(d), torch.zeros_like(d), d)
    spread = finite.sum(dim=1, keepdim=True) / count.clamp(min=1)
    uniform = (count <= perplexity) | ~(spread > 0)
    unit = torch.where(spread > 0, spread, torch.ones_like(spread))
    d, finite = d / unit, finite / unit
    low, high = torch.full_like(spread, -BRACKET), torch.full_like(spread, BRACKET)
    wanted = float(np.log(perplexity))
    for _ in range(STEPS[d.dtype]):
        at = (low + high) / 2
        beta = at.exp()
        e = torch.exp(-beta * d)
        total = e.sum(dim=1, keepdim=True)
        entropy = total.log() + beta * (e * finite).sum(dim=1, keepdim=True) / total
        above = entropy > wanted
        low, high = torch.where(above, at, low), torch.where(above, high, at)
    beta = ((low + high) / 2).exp()
    e = torch.exp(-beta * d)
    p = torch.where(uniform, known / count, e / e.sum(dim=1, keepdim=True))
    betas = torch.where(uniform, torch.zeros_like(beta), beta / unit)[:, 0]
    return rows.flatten(p), get(betas).astype(np.float64)


def joint_probabilities(device: torch.device, P: Any) -> Any:
    """(P + P') / 2, divided by the sum of its entries."""
    return combine_with_transpose(resident_csr(device, P), half_sum, _normalize)


def _normalize(values: Tensor) -> Tensor:
    return values / values.sum(dtype=widest_float(values.device)).to(values.dtype)


def negative_entropy(device: torch.device, p: Array) -> float:
    """The sum of p log p, in double precision; 0 log 0 is 0."""
    values = resident(device, p)
    return float(torch.xlogy(values, values).sum(dtype=widest_float(device)))


def memberships(
    device: torch.device, indptr: Array, distances: Array, target: float, connectivity: float
) -> tuple[Array, Array, Array]:
    """Fuzzy memberships of each row's neighbours, and the rho and sigma of each row."""
    rows = Rows(device, indptr, distances, precise=True)
    d = rows.matrix
    n = len(rows.sizes)
    if not d.numel():
        none = np.zeros(n, dtype=distances.dtype)
        return np.empty_like(distances), none, none.copy()
    known = rows.known & torch.isfinite(d)
    finite = torch.where(known, d, torch.zeros_like(d))
    mean = finite.sum() / (known.sum() + n)  # an object is at distance 0 from itself
    near = _nearest_positive(finite, connectivity)
    beyond = (d - near).clamp(min=0)
    excess = torch.where(known, beyond, torch.full_like(d, torch.inf))
    count = known.sum(dim=1, keepdim=True)
    width = _width(excess, known, target)
    width = torch.where(count <= target, torch.full_like(width, torch.inf), width)
    at_once = (excess == 0).sum(dim=1, keepdim=True) >= target
    width = torch.where(at_once, torch.zeros_like(width), width)
    local = finite.sum(dim=1, keepdim=True) / (count + 1)
    width = torch.maximum(width, 1e-3 * torch.where(near > 0, local, mean))
    sigma = width.clamp(max=float(np.finfo(distances.dtype).max))
    out = torch.where(beyond > 0, torch.exp(-beyond / width), torch.ones_like(d))
    out = torch.where(known, out, torch.zeros_like(d))
    return rows.flatten(out), rows.column(near), rows.column(sigma)


def _nearest_positive(finite: Tensor, connectivity: float) -> Tensor:
    """The distance to the `connectivity`-th positive one of ascending distances, interpolated; if
    there are fewer, the largest."""
    width = finite.shape[1]
    zeros = (finite == 0).cumsum(dim=1)
    count = (finite > 0).sum(dim=1, keepdim=True)
    # Zeros come first, except for padding and infinite distances, which come last.
    leading = torch.where(finite > 0, zeros, torch.zeros_like(zeros)).amax(dim=1, keepdim=True)
    whole, part = int(connectivity), connectivity - int(connectivity)

    def nth_positive(number: Tensor | int) -> Tensor:
        place = (leading + number).clamp(0, width - 1)
        return finite.gather(1, place.to(torch.int64))

    below = nth_positive(whole - 1) if whole > 0 else torch.zeros_like(finite[:, :1])
    above = nth_positive(whole) if part > 1e-5 else below
    largest = finite.amax(dim=1, keepdim=True)
    return torch.where(count >= connectivity, below + part * (above - below), largest)


def _width(excess: Tensor, known: Tensor, target: float) -> Tensor:
    """sigma with sum_j exp(-excess_j / sigma) = target in each row, by bisection."""
    largest = torch.where(known, excess, torch.zeros_like(excess)).amax(dim=1, keepdim=True)
    scale = torch.where(largest > 0, largest, torch.ones_like(largest))
    scaled = excess / scale
    low, high = torch.full_like(scale, -BRACKET), torch.full_like(scale, BRACKET)
    for _ in range(STEPS[excess.dtype]):
        at = (low + high) / 2
        small = torch.exp(-scaled * (-at).exp()).sum(dim=1, keepdim=True) < target
        low, high = torch.where(small, at, low), torch.where(small, high, at)
    return scale * ((low + high) / 2).exp()
