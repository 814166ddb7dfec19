"""Triton kernels of the layouts of pairs and of triplets.

One program adds up the arcs of a vertex in a fixed order, so two runs give the same bits.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from lowdim.backends.torch.sparse import Csr

BLOCK = 32  # arcs of a vertex that are handled at once


@triton.jit
def _kind(
    at,
    i,
    y,
    offsets,
    columns,
    values,
    law,
    force,
    loss,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """The force and the loss of a vertex with those before added, for one kind of pairs."""
    constant = tl.load(law)
    weight = tl.load(law + 1)
    reach = tl.load(law + 2)
    if weight != 0.0:
        axes = tl.arange(0, PADDED)
        begin = tl.load(offsets + i)
        end = tl.load(offsets + i + 1)
        for start in range(begin, end, BLOCK):
            place = start + tl.arange(0, BLOCK)
            known = place < end
            j = tl.load(columns + place, mask=known, other=0).to(tl.int64)
            value = tl.load(values + place, mask=known, other=0.0)
            used = known[:, None] & (axes < DIM)[None, :]
            x = tl.load(at + j[:, None] * DIM + axes[None, :], mask=used, other=0.0)
            gaps = tl.where(used, y[None, :] - x, 0.0)
            d = 1.0 + tl.sum(gaps * gaps, axis=1)
            near = 1.0 / (constant + d)
            strength = 2.0 * weight * constant * value * near * near
            if reach > 0.0:
                strength = strength * (reach / tl.sqrt(d))
            force += tl.sum(strength[:, None] * gaps, axis=0)
            loss += tl.sum(0.5 * weight * value * d * near, axis=0)
    return force, loss


@triton.jit
def _pairs_kernel(
    at,
    out,
    mean,
    square,
    losses,
    laws,
    offsets_a,
    columns_a,
    values_a,
    offsets_b,
    columns_b,
    values_b,
    offsets_c,
    columns_c,
    values_c,
    rate,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64)
    axes = tl.arange(0, PADDED)
    inside = axes < DIM
    here = i * DIM + axes
    y = tl.load(at + here, mask=inside, other=0.0)
    g = tl.zeros([PADDED], dtype=tl.float32)
    loss = 0.0
    g, loss = _kind(at, i, y, offsets_a, columns_a, values_a, laws, g, loss, DIM, PADDED, BLOCK)
    g, loss = _kind(at, i, y, offsets_b, columns_b, values_b, laws + 3, g, loss, DIM, PADDED, BLOCK)
    g, loss = _kind(at, i, y, offsets_c, columns_c, values_c, laws + 6, g, loss, DIM, PADDED, BLOCK)
    m = tl.load(mean + here, mask=inside, other=0.0)
    m += 0.1 * (g - m)
    s = tl.load(square + here, mask=inside, other=0.0)
    s += 0.001 * (g * g - s)
    tl.store(mean + here, m, mask=inside)
    tl.store(square + here, s, mask=inside)
    tl.store(out + here, y - rate * m / (tl.sqrt(s) + 1e-7), mask=inside)
    tl.store(losses + i, loss)


def pair_epochs(
    kinds: list[Csr], at: Tensor, mean: Tensor, square: Tensor, laws: Tensor, rates: list[float]
) -> tuple[Tensor, Tensor]:
    """The coordinates after some epochs, and the losses of the vertices before the last one.

    The moments are updated in place.
    """
    n, dim = at.shape
    out, losses = torch.empty_like(at), torch.empty_like(at[:, 0])
    arcs = [part for kind in kinds for part in (kind.offsets, kind.columns, kind.values)]
    kernel: Any = _pairs_kernel
    for number, rate in enumerate(rates):
        kernel[(n,)](
            at,
            out,
            mean,
            square,
            losses,
            laws[number],
            *arcs,
            rate,
            DIM=dim,
            PADDED=triton.next_power_of_2(dim),
            BLOCK=BLOCK,
            num_warps=1,
        )
        at, out = out, at
    return at, losses


@triton.jit
def _triplets_kernel(
    at,
    starts,
    near,
    far,
    weights,
    pulls,
    gradient,
    losses,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64)
    axes = tl.arange(0, PADDED)
    inside = axes < DIM
    y = tl.load(at + i * DIM + axes, mask=inside, other=0.0)
    begin = tl.load(starts + i)
    end = tl.load(starts + i + 1)
    total = tl.zeros([PADDED], dtype=tl.float32)
    loss = 0.0
    for start in range(begin, end, BLOCK):
        place = start + tl.arange(0, BLOCK)
        known = place < end
        j = tl.load(near + place, mask=known, other=0).to(tl.int64)
        k = tl.load(far + place, mask=known, other=0).to(tl.int64)
        weight = tl.load(weights + place, mask=known, other=0.0)
        used = known[:, None] & inside[None, :]
        x = tl.load(at + j[:, None] * DIM + axes[None, :], mask=used, other=0.0)
        z = tl.load(at + k[:, None] * DIM + axes[None, :], mask=used, other=0.0)
        to_near = tl.where(used, y[None, :] - x, 0.0)
        to_far = tl.where(used, y[None, :] - z, 0.0)
        d_near = 1.0 + tl.sum(to_near * to_near, axis=1)
        d_far = 1.0 + tl.sum(to_far * to_far, axis=1)
        share = weight / (d_near + d_far)
        loss += tl.sum(share * d_near, axis=0)
        share = 2.0 * share / (d_near + d_far)
        pull = share * d_far
        push = -share * d_near
        tl.store(pulls + 2 * place, pull, mask=known)
        tl.store(pulls + 2 * place + 1, push, mask=known)
        total += tl.sum(pull[:, None] * to_near + push[:, None] * to_far, axis=0)
    tl.store(gradient + i * DIM + axes, total, mask=inside)
    tl.store(losses + i, loss)


@triton.jit
def _reactions_kernel(
    at,
    own,
    pulls,
    entries,
    offsets,
    gradient,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    j = tl.program_id(0).to(tl.int64)
    axes = tl.arange(0, PADDED)
    inside = axes < DIM
    here = tl.load(at + j * DIM + axes, mask=inside, other=0.0)
    begin = tl.load(offsets + j)
    end = tl.load(offsets + j + 1)
    total = tl.zeros([PADDED], dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        place = start + tl.arange(0, BLOCK)
        known = place < end
        entry = tl.load(entries + place, mask=known, other=0)
        i = tl.load(own + entry // 2, mask=known, other=0).to(tl.int64)
        pull = tl.load(pulls + entry, mask=known, other=0.0)
        used = known[:, None] & inside[None, :]
        there = tl.load(at + i[:, None] * DIM + axes[None, :], mask=used, other=0.0)
        total += tl.sum(tl.where(used, pull[:, None] * (there - here[None, :]), 0.0), axis=0)
    before = tl.load(gradient + j * DIM + axes, mask=inside, other=0.0)
    tl.store(gradient + j * DIM + axes, before - total, mask=inside)


def triplet_gradient(
    triplets: tuple[Tensor, Tensor, Tensor, Tensor],
    own: Tensor,
    ends: tuple[Tensor, Tensor],
    at: Tensor,
    pulls: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradient of the loss of triplets, and the losses of the vertices.

    `own` is the first vertex of each triplet. `ends` are the places in (near, far), one triplet
    after the other, that name each vertex, and where these lists begin. `pulls`, of shape
    (n_triplets, 2), is overwritten.
    """
    n, dim = at.shape
    gradient, losses = torch.empty_like(at), torch.empty_like(at[:, 0])
    sizes = {"DIM": dim, "PADDED": triton.next_power_of_2(dim), "BLOCK": BLOCK, "num_warps": 1}
    kernel: Any = _triplets_kernel
    kernel[(n,)](at, *triplets, pulls, gradient, losses, **sizes)
    kernel = _reactions_kernel
    kernel[(n,)](at, own, pulls, *ends, gradient, **sizes)
    return gradient, losses
