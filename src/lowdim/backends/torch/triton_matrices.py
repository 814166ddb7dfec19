"""Triton kernels that read large matrices: sparse products, shortest paths, stress."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from lowdim.backends.torch.sparse import Csr

BLOCK = 512  # sources whose paths to a node are relaxed at once


@triton.jit
def _relax_kernel(lengths, offsets, tails, weights, changed, n_sources, BLOCK: tl.constexpr):
    node = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < n_sources
    row = lengths + node * n_sources + columns
    before = tl.load(row, mask=inside, other=0.0)
    best = before
    begin = tl.load(offsets + node)
    end = tl.load(offsets + node + 1)
    for place in range(begin, end):
        tail = tl.load(tails + place).to(tl.int64)
        weight = tl.load(weights + place)
        reached = tl.load(lengths + tail * n_sources + columns, mask=inside, other=0.0) + weight
        best = tl.minimum(best, reached)
    decreased = best < before
    tl.store(row, best, mask=inside & decreased)
    if tl.max(decreased.to(tl.int32), axis=0) > 0:
        tl.store(changed, 1)


class Relaxation:
    """Relaxes the arcs into all nodes until no length decreases.

    Programs see lengths that others are decreasing at the same time. That does not change the
    result: lengths only decrease, to the same limit in every order.
    """

    def __init__(self, arcs: Csr) -> None:
        self.arcs = arcs
        self.changed = torch.ones(1, dtype=torch.int32, device=arcs.values.device)
        self.sweeps = 1  # the last of which decreased none of the lengths before

    def begin(self, lengths: Tensor) -> None:
        """Start to relax the lengths of paths to all nodes (rows), without waiting for it."""
        self.lengths = lengths
        self._sweep(self.sweeps - 1)
        self.changed.zero_()
        self._sweep(1)

    def end(self) -> Tensor:
        """The lengths, when none of them decreases any more."""
        while int(self.changed):
            self.sweeps += 1
            self.changed.zero_()
            self._sweep(1)
        return self.lengths

    def _sweep(self, times: int) -> None:
        n, n_sources = self.lengths.shape
        arcs = self.arcs.offsets, self.arcs.columns, self.arcs.values
        kernel: Any = _relax_kernel
        for _ in range(times):
            kernel[(n, triton.cdiv(n_sources, BLOCK))](
                self.lengths, *arcs, self.changed, n_sources, BLOCK=BLOCK
            )


@triton.jit
def _stress_kernel(
    D,
    W,
    at,
    stress,
    gradient,
    n,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    WEIGHTED: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64)
    axes = tl.arange(0, PADDED)
    inside = axes < DIM
    y = tl.load(at + i * DIM + axes, mask=inside, other=0.0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    force = tl.zeros([PADDED], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        known = (columns < n) & (columns != i)
        wanted = tl.load(D + i * n + columns, mask=known, other=0.0)
        x = tl.load(
            at + columns[:, None] * DIM + axes[None, :],
            mask=known[:, None] & inside[None, :],
            other=0.0,
        )
        gaps = tl.where(known[:, None] & inside[None, :], y[None, :] - x, 0.0)
        d = tl.sqrt(tl.sum(gaps * gaps, axis=1))
        rest = tl.where(known, d - wanted, 0.0)
        pull = rest
        if WEIGHTED:
            pull = rest * tl.load(W + i * n + columns, mask=known, other=0.0)
        total += pull * rest
        factor = tl.where(d > 0.0, pull / tl.where(d > 0.0, d, 1.0), 0.0)
        force += tl.sum(factor[:, None] * gaps, axis=0)
    tl.store(stress + i, tl.sum(total, axis=0))
    tl.store(gradient + i * DIM + axes, force, mask=inside)


def stress_gradient(D: Tensor, at: Tensor, W: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """For each row, the sum of squared errors of its distances, and its row of V X - B(X) X.

    W are the weights of the pairs; default: all are 1.
    """
    n, dim = at.shape
    stress, gradient = torch.empty_like(at[:, 0]), torch.empty_like(at)
    kernel: Any = _stress_kernel
    kernel[(n,)](
        D,
        D if W is None else W,
        at,
        stress,
        gradient,
        n,
        DIM=dim,
        PADDED=triton.next_power_of_2(dim),
        BLOCK=512,
        WEIGHTED=W is not None,
        num_warps=4,
    )
    return stress, gradient


@triton.jit
def _product_kernel(
    offsets,
    columns,
    values,
    V,
    W,
    out,
    a,
    b,
    WIDTH: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    PLAIN: tl.constexpr,
    LESS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    axes = tl.arange(0, PADDED)
    inside = axes < WIDTH
    begin = tl.load(offsets + row)
    end = tl.load(offsets + row + 1)
    total = tl.zeros([BLOCK, PADDED], dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        places = start + tl.arange(0, BLOCK)
        known = places < end
        j = tl.load(columns + places, mask=known, other=0).to(tl.int64)
        value = tl.load(values + places, mask=known, other=0.0)
        used = known[:, None] & inside[None, :]
        total += value[:, None] * tl.load(
            V + j[:, None] * WIDTH + axes[None, :], mask=used, other=0.0
        )
    result = tl.sum(total, axis=0)
    place = row * WIDTH + axes
    if not PLAIN:
        result = a * result + b * tl.load(V + place, mask=inside, other=0.0)
    if LESS:
        result -= tl.load(W + place, mask=inside, other=0.0)
    tl.store(out + place, result, mask=inside)


def product(A: Csr, V: Tensor, a: float = 1.0, b: float = 0.0, W: Tensor | None = None) -> Tensor:
    """a A V + b V - W for a CSR matrix A and a few columns; A V by default."""
    V = V.contiguous()
    out = V.new_empty(A.shape[0], V.shape[1])
    kernel: Any = _product_kernel
    kernel[(A.shape[0],)](
        A.offsets,
        A.columns,
        A.values,
        V,
        V if W is None else W.contiguous(),
        out,
        float(a),
        float(b),
        WIDTH=V.shape[1],
        PADDED=triton.next_power_of_2(V.shape[1]),
        BLOCK=32,
        PLAIN=a == 1.0 and b == 0.0,
        LESS=W is not None,
        num_warps=1,
    )
    return out
