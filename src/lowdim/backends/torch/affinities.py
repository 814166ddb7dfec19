"""Probabilities and fuzzy memberships from the distances to neighbours, in rows of equal width, and
divergences between probabilities of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch.arrays import Unsupported, get, put, tile_rows, widest_float
from lowdim.backends.torch.distances import squares_of_differences
from lowdim.backends.torch.graphs import combine_with_transpose, half_sum
from lowdim.backends.torch.resident import get_and_remember, resident
from lowdim.backends.torch.sparse import ROWS_AT_ONCE, resident_csr
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks

BRACKET = 60.0  # of the logarithms of precisions and widths, in units of the mean of a row
STEPS = {torch.float32: 40, torch.float64: 64}  # of a bisection, to the last digit


class Rows:
    """Rows of a CSR matrix as a matrix, padded with infinity.

    Parameters
    ----------
    entries : tensor
        Those of the rows, one row after the other.
    lengths : array
        The number of entries of each row.
    """

    def __init__(self, entries: Tensor, lengths: Array) -> None:
        width = int(lengths.max(initial=0))
        self.full = bool((lengths == width).all())
        self.shape = (len(lengths), width)
        if self.full:
            self.matrix = entries.reshape(self.shape)
            self.known = torch.ones(self.shape, dtype=torch.bool, device=entries.device)
        else:
            sizes = put(entries.device, lengths.astype(np.int64))
            self.known = torch.arange(width, device=entries.device)[None, :] < sizes[:, None]
            self.matrix = entries.new_full(self.shape, torch.inf)
            self.matrix[self.known] = entries

    def flatten(self, matrix: Tensor) -> Tensor:
        """The entries of the rows, from a matrix of the same shape."""
        return matrix.ravel() if self.full else matrix[self.known]


def _blocks(indptr: Array) -> list[tuple[slice, slice]]:
    """Blocks of rows of a CSR matrix, with their entries."""
    parts = blocks(len(indptr) - 1, ROWS_AT_ONCE)
    return [(part, slice(int(indptr[part.start]), int(indptr[part.stop]))) for part in parts]


def perplexity_affinities(
    device: torch.device,
    indptr: Array,
    distances: Array,
    perplexity: float,
    *,
    squared: bool = False,
) -> tuple[Array, Array]:
    entries, sizes = resident(device, distances), np.diff(indptr)
    if not entries.numel():
        return np.empty_like(distances), np.zeros(len(sizes))
    out, betas = torch.empty_like(entries), []
    for part, own in _blocks(indptr):
        rows = Rows(entries[own] if squared else entries[own].square(), sizes[part])
        p, beta = _probabilities(rows.matrix, rows.known, perplexity)
        out[own] = rows.flatten(p)
        betas.append(get(beta))
    return get_and_remember(out), np.concatenate(betas).astype(np.float64)


def _probabilities(d: Tensor, known: Tensor, perplexity: float) -> tuple[Tensor, Tensor]:
    """`perplexity_affinities` of rows of squared distances."""
    count = known.sum(dim=1, keepdim=True).to(d.dtype)
    d = d - d.amin(dim=1, keepdim=True)  # infinite where there is no entry
    finite = torch.where(torch.isinf(d), torch.zeros_like(d), d)
    spread = finite.sum(dim=1, keepdim=True) / count.clamp(min=1)
    uniform = (count <= perplexity) | ~(spread > 0)
    unit = torch.where(spread > 0, spread, torch.ones_like(spread))
    d, finite = d / unit, finite / unit
    wanted = float(np.log(perplexity))

    def is_too_small(at: Tensor) -> Tensor:
        beta = at.exp()
        e = torch.exp(-beta * d)
        total = e.sum(dim=1, keepdim=True)
        entropy = total.log() + beta * (e * finite).sum(dim=1, keepdim=True) / total
        return entropy > wanted

    beta = bisect(spread, is_too_small)
    e = torch.exp(-beta * d)
    p = torch.where(uniform, known / count, e / e.sum(dim=1, keepdim=True))
    return p, torch.where(uniform, torch.zeros_like(beta), beta / unit)[:, 0]


def joint_probabilities(device: torch.device, P: Any) -> Any:
    def normalize(values: Tensor) -> Tensor:
        return values / values.sum(dtype=widest_float(device)).to(values.dtype)

    return combine_with_transpose(resident_csr(device, P), half_sum, normalize)


def negative_entropy(device: torch.device, p: Array) -> float:
    values = resident(device, p)
    return float(torch.xlogy(values, values).sum(dtype=widest_float(device)))


def memberships(
    device: torch.device, indptr: Array, distances: Array, target: float, connectivity: float
) -> tuple[Array, Array, Array]:
    """Fuzzy memberships of each row's neighbours, and the rho and sigma of each row."""
    entries, sizes = resident(device, distances), np.diff(indptr)
    near, sigma = (torch.empty(len(sizes), dtype=entries.dtype, device=device) for _ in range(2))
    out, precise = torch.empty_like(entries), widest_float(device)
    parts = _blocks(indptr) if entries.numel() else []
    known = [torch.isfinite(entries[own]) for _, own in parts]
    total = torch.zeros((), dtype=precise, device=device)
    for (_, own), some in zip(parts, known, strict=True):
        total += entries[own].masked_fill(~some, 0).sum(dtype=precise)
    # An object is at distance 0 from itself.
    mean = total / (sum(int(some.sum()) for some in known) + len(sizes))
    del known
    largest = float(np.finfo(distances.dtype).max)
    for part, own in parts:
        rows = Rows(entries[own].to(precise), sizes[part])
        values, nearest, width = _memberships(rows.matrix, rows.known, mean, target, connectivity)
        out[own] = rows.flatten(values).to(out.dtype)
        near[part], sigma[part] = nearest[:, 0].to(near.dtype), width[:, 0].clamp(max=largest)
    if not parts:
        near, sigma = torch.zeros_like(near), torch.zeros_like(sigma)
    return get_and_remember(out), get(near), get(sigma)


def _memberships(
    d: Tensor, known: Tensor, mean: Tensor, target: float, connectivity: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`memberships` of rows of distances; `mean` is that of all finite distances."""
    known = known & torch.isfinite(d)
    finite = torch.where(known, d, torch.zeros_like(d))
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
    out = torch.where(beyond > 0, torch.exp(-beyond / width), torch.ones_like(d))
    return torch.where(known, out, torch.zeros_like(d)), near, width


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
    return scale * bisect(
        scale, lambda at: torch.exp(-scaled * (-at).exp()).sum(dim=1, keepdim=True) < target
    )


def bisect(like: Tensor, is_too_small: Callable[[Tensor], Tensor]) -> Tensor:
    """Positive numbers, of the shape and type of a tensor, by bisection of their logarithms."""
    low, high = torch.full_like(like, -BRACKET), torch.full_like(like, BRACKET)
    for _ in range(STEPS[like.dtype]):
        at = (low + high) / 2
        small = is_too_small(at)
        low, high = torch.where(small, at, low), torch.where(small, high, at)
    return ((low + high) / 2).exp()


def divergence_gradient(
    device: torch.device, costs: Array, precisions: Array, trade_off: float, Y: Array
) -> tuple[float, float, Array]:
    if device.type == "mps":
        raise Unsupported
    known, at = resident(device, costs), put(device, Y).double()
    beta = put(device, precisions).double()
    n = len(Y)
    gradient = torch.zeros_like(at)
    sums = at.new_zeros(2)
    rows = tile_rows(device, 8 * n * (8 + 5 * beta.shape[1]), n)
    for begin in range(0, n, rows):
        own = torch.arange(begin, min(begin + rows, n), device=device)
        part = slice(begin, begin + len(own))
        s = squares_of_differences(at[part], at)
        values, slope = _divergences_of_rows(
            _insert_own(known[part], own), beta[part], trade_off, s, own
        )
        sums += values
        gradient[part] += 2 * (slope.sum(dim=1)[:, None] * at[part] - slope @ at)
        gradient -= 2 * (slope.T @ at[part] - slope.sum(dim=0)[:, None] * at)
    return float(sums[0]), float(sums[1]), get(gradient)


def _insert_own(costs: Tensor, own: Tensor) -> Tensor:
    """Costs of all objects, from those of all others: that of the object itself is infinite."""
    n = costs.shape[1] + 1
    columns = torch.arange(n, device=own.device)[None, :]
    places = (columns - (columns > own[:, None]).long()).clamp(max=n - 2)
    return costs.double().gather(1, places).masked_fill_(columns == own[:, None], torch.inf)


def _divergences_of_rows(
    costs: Tensor, beta: Tensor, trade_off: float, s: Tensor, own: Tensor
) -> tuple[Tensor, Tensor]:
    """Both divergences, summed over some rows, and the slope of their mixture by s.

    With q = mean_h q_h the chain rule gives, for C = C(q) and g = dC / dq,
    dC / ds_k = -mean_h b_h q_hk (g_k - sum_j g_j q_hj).
    """
    logits = (-beta[:, :, None] * s[:, None, :]).masked_fill_(
        torch.isinf(costs)[:, None, :], -torch.inf
    )
    log_scales = logits.log_softmax(dim=2)
    log_q = log_scales.logsumexp(dim=1) - float(np.log(beta.shape[1]))
    p, q, q_h = torch.exp(-costs), log_q.exp(), log_scales.exp()
    ratio = log_q + costs  # log q / p
    ratio.scatter_(1, own[:, None], 0.0)
    # g q_h without a division by a q that underflowed
    first = -trade_off * p[:, None] * torch.exp(log_scales - log_q[:, None])
    first.masked_fill_(p[:, None] == 0, 0)
    slopes = first + (1 - trade_off) * ratio[:, None] * q_h
    slopes -= q_h * slopes.sum(dim=2, keepdim=True)
    slope = -(beta[:, :, None] * slopes).mean(dim=1)
    return torch.stack([-(p * ratio).sum(), (q * ratio).sum()]), slope


def stochastic_neighbor_errors(
    device: torch.device, Z: Array, classes: Array, accuracy: float
) -> tuple[float, Array]:
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
