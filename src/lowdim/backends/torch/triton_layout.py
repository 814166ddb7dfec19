"""An epoch of a layout as one Triton kernel: one program for each vertex.

The sums over the arcs of a vertex and over its random points are taken in a fixed order by one
program, so two runs give the same bits.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from lowdim.backends.torch.layout import (
    FLOOR,
    LARGEST_MOVE,
    VERTEX_STRIDE,
    Epoch,
)
from lowdim.backends.torch.sparse import Csr

BLOCK = 32  # arcs of a vertex that are handled at once; vertices have about twenty


@triton.jit
def _power(s, b):
    return tl.exp2(b * tl.log2(s))


@triton.jit(do_not_specialize=["n_targets", "key", "n_negatives"])
def _epoch_kernel(
    at,
    move_points,
    velocity,
    targets,
    offsets,
    heads,
    weights,
    total_weights,
    over_spread,
    over_mass,
    n_targets,
    a,
    b,
    rate,
    momentum,
    repulsion,
    key,
    n_negatives,
    STRIDE: tl.constexpr,
    FLOOR: tl.constexpr,
    SOFTENING: tl.constexpr,
    LARGEST_MOVE: tl.constexpr,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    NEGATIVES: tl.constexpr,
    DENSITY: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64)
    axes = tl.arange(0, PADDED)
    inside = axes < DIM
    y = tl.load(at + i * DIM + axes, mask=inside, other=0.0)
    begin = tl.load(offsets + i)
    end = tl.load(offsets + i + 1)
    force = tl.zeros([PADDED], dtype=y.dtype)
    stiffness = tl.full([1], 1.0, dtype=y.dtype)
    if DENSITY:
        own_spread = tl.load(over_spread + i)
        own_mass = tl.load(over_mass + i)
    for start in range(begin, end, BLOCK):
        places = start + tl.arange(0, BLOCK)
        known = places < end
        head = tl.load(heads + places, mask=known, other=0).to(tl.int64)
        weight = tl.load(weights + places, mask=known, other=0.0)
        x = tl.load(
            targets + head[:, None] * DIM + axes[None, :],
            mask=known[:, None] & inside[None, :],
            other=0.0,
        )
        gaps = tl.where(known[:, None] & inside[None, :], x - y[None, :], 0.0)
        s = tl.maximum(tl.sum(gaps * gaps, axis=1), FLOOR)
        p = _power(s, b)
        near = 1.0 / (1.0 + a * p)
        bend = a * b * p / s * near
        pull = 4.0 * weight * bend
        stiff = pull
        if DENSITY:
            both_spread = own_spread + tl.load(over_spread + head, mask=known, other=0.0)
            both_mass = own_mass + tl.load(over_mass + head, mask=known, other=0.0)
            worth = near * (bend * both_mass + (1.0 - b * (1.0 - near)) * both_spread)
            worth = tl.where(weight == 0.0, 0.0, worth)
            stiff = stiff + tl.abs(worth)
            pull = pull - worth
        force += tl.sum(pull[:, None] * gaps, axis=0)
        stiffness += tl.sum(stiff, axis=0)
    draws = tl.arange(0, NEGATIVES)
    h = i.to(tl.uint32) * STRIDE + key.to(tl.uint32) + draws.to(tl.uint32) * 0x85EBCA77
    h = h ^ (h >> 16)
    h = h * 0x7FEB352D
    h = h ^ (h >> 15)
    h = h * 0x846CA68B
    h = h ^ (h >> 16)
    drawn = ((h.to(tl.uint64) * n_targets.to(tl.uint64)) >> 32).to(tl.int64)
    used = (draws < n_negatives)[:, None] & inside[None, :]
    x = tl.load(targets + drawn[:, None] * DIM + axes[None, :], mask=used, other=0.0)
    gaps = tl.where(used, x - y[None, :], 0.0)
    s = tl.sum(gaps * gaps, axis=1)
    push = 2.0 * b / ((s + SOFTENING) * (1.0 + a * _power(tl.maximum(s, FLOOR), b)))
    pushes = tl.minimum(tl.maximum(push[:, None] * gaps, -LARGEST_MOVE), LARGEST_MOVE)
    share = repulsion * tl.load(total_weights + i) / n_negatives
    force -= share * tl.sum(pushes, axis=0)
    v = tl.load(velocity + i * DIM + axes, mask=inside, other=0.0)
    v = momentum * v + rate / stiffness * force
    v = tl.minimum(tl.maximum(v, -LARGEST_MOVE), LARGEST_MOVE)
    tl.store(velocity + i * DIM + axes, v, mask=inside)
    tl.store(move_points + i * DIM + axes, y + v, mask=inside)


def _to_signed(word: int) -> int:
    """A 32-bit word as a signed number: the type of an argument must not depend on its value."""
    return word - (1 << 32) if word >> 31 else word


def move_points(
    arcs: Csr,
    at: Tensor,
    velocity: Tensor,
    fixed: Tensor | None,
    total_weights: Tensor,
    density: tuple[Tensor, Tensor] | None,
    epoch: Epoch,
) -> Tensor:
    """The coordinates after an epoch; `velocity` is updated in place."""
    n, dim = at.shape
    out = torch.empty_like(at)
    targets = at if fixed is None else fixed
    over_spread, over_mass = (total_weights, total_weights) if density is None else density
    kernel: Any = _epoch_kernel
    kernel[(n,)](
        at,
        out,
        velocity,
        targets,
        arcs.offsets,
        arcs.columns,
        arcs.values,
        total_weights,
        over_spread,
        over_mass,
        len(targets),
        epoch.a,
        epoch.b,
        epoch.rate,
        epoch.momentum,
        epoch.repulsion * epoch.largest,
        _to_signed(epoch.key),
        epoch.n_negatives,
        STRIDE=VERTEX_STRIDE if fixed is None else 0,
        FLOOR=FLOOR,
        SOFTENING=epoch.softening,
        LARGEST_MOVE=LARGEST_MOVE,
        DIM=dim,
        PADDED=triton.next_power_of_2(dim),
        BLOCK=BLOCK,
        NEGATIVES=triton.next_power_of_2(epoch.n_negatives),
        DENSITY=density is not None,
        num_warps=1,
    )
    return out
