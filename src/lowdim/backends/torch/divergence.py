"""Divergences between neighbour probabilities of all pairs, and errors of stochastic neighbours."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.torch.arrays import Unsupported, get, put, tile_rows
from lowdim.backends.torch.distances import squares_of_differences
from lowdim.backends.torch.resident import resident
from lowdim.checks import Array


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
