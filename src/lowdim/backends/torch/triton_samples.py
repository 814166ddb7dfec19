"""Triton kernels of lists of other vectors: their distances, and divergences over them."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

VECTORS, COLUMNS = 16, 128  # of a list, and of these vectors, that are handled at once
INCOMING = 64  # entries that name a vector, handled at once


@triton.jit
def _distances_kernel(
    rows,
    own,
    ids,
    out,
    width,
    d,
    OWN: tl.constexpr,
    VECTORS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64)
    query = i
    if OWN:
        query = tl.load(own + i).to(tl.int64)
    for start in range(0, width, VECTORS):
        place = start + tl.arange(0, VECTORS)
        j = tl.load(ids + i * width + place, mask=place < width, other=-1).to(tl.int64)
        known = j >= 0
        total = tl.zeros([VECTORS, COLUMNS], dtype=tl.float32)
        for first in range(0, d, COLUMNS):
            column = first + tl.arange(0, COLUMNS)
            x = tl.load(rows + query * d + column, mask=column < d, other=0.0)
            used = known[:, None] & (column < d)[None, :]
            y = tl.load(rows + j[:, None] * d + column[None, :], mask=used, other=0.0)
            gaps = tl.where(used, y - x[None, :], 0.0)
            total += gaps * gaps
        length = tl.where(known, tl.sqrt(tl.sum(total, axis=1)), float("inf"))
        tl.store(out + i * width + place, length, mask=place < width)


def listed_distances(rows: Tensor, ids: Tensor, own: Tensor | None) -> Tensor:
    """The distances of vectors to those of their lists; infinite for -1."""
    rows, ids = rows.contiguous(), ids.contiguous()
    out = rows.new_empty(ids.shape)
    kernel: Any = _distances_kernel
    kernel[(len(ids),)](
        rows,
        ids if own is None else own,
        ids,
        out,
        ids.shape[1],
        rows.shape[1],
        OWN=own is not None,
        VECTORS=VECTORS,
        COLUMNS=min(COLUMNS, triton.next_power_of_2(rows.shape[1])),
        num_warps=2,
    )
    return out


@triton.jit
def _rows_kernel(
    at,
    indices,
    costs,
    weights,
    precisions,
    slopes,
    values,
    gradient,
    width,
    n_scales,
    trade_off,
    DIM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64)
    place = i * width + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < width
    w = tl.load(weights + place, mask=inside, other=0.0)
    known = w > 0.0
    j = tl.load(indices + place, mask=known, other=0).to(tl.int64)
    cost = tl.load(costs + place, mask=known, other=0.0)
    square = tl.zeros([BLOCK], dtype=tl.float64)
    for c in tl.static_range(DIM):
        gap = tl.load(at + i * DIM + c) - tl.load(at + j * DIM + c, mask=known, other=0.0)
        square += gap * gap
    s = square.to(tl.float32)
    least = tl.min(tl.where(known, s, float("inf")), axis=0)
    apart = tl.where(known, s - least, 0.0)
    b0 = tl.load(precisions + i * n_scales)
    p = tl.where(known, w * tl.exp(-cost), 0.0)
    base = tl.where(known, w * tl.exp(-b0 * apart), 0.0)
    z0 = tl.sum(base, axis=0)
    z0 = tl.where(z0 > 0.0, z0, 1.0)
    shares = tl.zeros([BLOCK], dtype=tl.float32) + 1.0
    for h in range(1, n_scales):
        e = tl.exp((b0 - tl.load(precisions + i * n_scales + h)) * apart)
        z = tl.sum(base * e, axis=0)
        shares += e * (z0 / tl.where(z > 0.0, z, 1.0))
    scales = n_scales * 1.0
    logs = cost - b0 * apart - tl.log(z0) - tl.log(scales) + tl.log(shares)
    logs = tl.where(known, logs, 0.0)
    slope = p / shares
    expected = tl.sum(base * logs, axis=0) / z0
    bend = b0 * (1.0 - trade_off) / (scales * z0)
    pull = tl.zeros([BLOCK], dtype=tl.float32) + b0 * trade_off
    flat = tl.zeros([BLOCK], dtype=tl.float32)
    flat += b0 * trade_off * tl.sum(slope, axis=0) / z0 - bend * expected
    bent = tl.zeros([BLOCK], dtype=tl.float32) + bend
    reverse = expected
    for h in range(1, n_scales):
        b = tl.load(precisions + i * n_scales + h)
        e = tl.exp((b0 - b) * apart)
        z = tl.sum(base * e, axis=0)
        z = tl.where(z > 0.0, z, 1.0)
        expected = tl.sum(base * e * logs, axis=0) / z
        bend = b * (1.0 - trade_off) / (scales * z)
        pulled = tl.sum(slope * e, axis=0) * (z0 / z)
        pull += (b * trade_off * (z0 / z)) * e
        flat += (b * trade_off * pulled / z - bend * expected) * e
        bent += bend * e
        reverse += expected
    tl.store(values + 2 * i, -tl.sum(p * logs, axis=0))
    tl.store(values + 2 * i + 1, reverse / scales)
    slope = slope * pull - base * (flat + bent * logs)
    tl.store(slopes + place, slope, mask=inside)
    for c in tl.static_range(DIM):
        gap = tl.load(at + i * DIM + c) - tl.load(at + j * DIM + c, mask=known, other=0.0)
        total = tl.sum(tl.where(known, 2.0 * slope.to(tl.float64) * gap, 0.0), axis=0)
        tl.store(gradient + i * DIM + c, total)


@triton.jit
def _incoming_kernel(
    at, slopes, entries, offsets, gradient, width, DIM: tl.constexpr, BLOCK: tl.constexpr
):
    j = tl.program_id(0).to(tl.int64)
    begin = tl.load(offsets + j)
    end = tl.load(offsets + j + 1)
    for c in tl.static_range(DIM):
        here = tl.load(at + j * DIM + c)
        total = tl.zeros([BLOCK], dtype=tl.float64)
        for start in range(begin, end, BLOCK):
            place = start + tl.arange(0, BLOCK)
            known = place < end
            entry = tl.load(entries + place, mask=known, other=0)
            slope = tl.load(slopes + entry, mask=known, other=0.0).to(tl.float64)
            there = tl.load(at + entry // width * DIM + c, mask=known, other=0.0)
            total += tl.where(known, 2.0 * slope * (there - here), 0.0)
        own = tl.load(gradient + j * DIM + c)
        tl.store(gradient + j * DIM + c, own - tl.sum(total, axis=0))


def divergence_gradient(
    at: Tensor,
    lists: Any,
    costs: Tensor,
    precisions: Tensor,
    trade_off: float,
    entries: Tensor,
    offsets: Tensor,
) -> tuple[Tensor, Tensor]:
    """The sums over all rows of both divergences, and the gradient of their mixture.

    `entries` are the places in the lists that name each vector, from `offsets` on.
    """
    n, dim = at.shape
    width = costs.shape[1]
    slopes, gradient = torch.empty_like(costs), torch.empty_like(at)
    values = costs.new_empty(n, 2)
    block = max(32, triton.next_power_of_2(width))
    kernel: Any = _rows_kernel
    kernel[(n,)](
        at,
        lists.indices,
        costs,
        lists.weights,
        precisions,
        slopes,
        values,
        gradient,
        width,
        precisions.shape[1],
        float(trade_off),
        DIM=dim,
        BLOCK=block,
        num_warps=max(1, min(8, block // 128)),
    )
    kernel = _incoming_kernel
    kernel[(n,)](
        at, slopes, entries, offsets, gradient, width, DIM=dim, BLOCK=INCOMING, num_warps=2
    )
    return values.sum(dim=0, dtype=torch.float64), gradient
