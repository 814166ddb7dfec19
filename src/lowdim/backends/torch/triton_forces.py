"""Triton kernels of a descent on forces: attraction, grid and step.

One program adds up the edges of a vertex in a fixed order. Charges of a grid are added as integers,
whose sums do not depend on the order. So two runs give the same bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from lowdim.backends.native.forces import StepSettings
from lowdim.backends.similarity import Similarity
from lowdim.backends.torch.grid import ORDER, SPLINES
from lowdim.backends.torch.sparse import Csr

EDGES = 128  # of a vertex that are handled at once; at the usual perplexity a vertex has about 140
POINTS = 64  # handled by one program of the grid
ENTRIES = 256  # handled by one program of a step


@triton.jit
def _attraction_kernel(
    at,
    force,
    logs,
    offsets,
    columns,
    values,
    dof,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    GAUSSIAN: tl.constexpr,
    LOSS: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64)
    axes = tl.arange(0, PADDED)
    inside = axes < DIM
    y = tl.load(at + i * DIM + axes, mask=inside, other=0.0)
    begin = tl.load(offsets + i)
    end = tl.load(offsets + i + 1)
    total = tl.zeros([BLOCK, PADDED], dtype=tl.float32)
    log_sum = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(begin, end, BLOCK):
        places = start + tl.arange(0, BLOCK)
        known = places < end
        j = tl.load(columns + places, mask=known, other=0).to(tl.int64)
        p = tl.load(values + places, mask=known, other=0.0)
        used = known[:, None] & inside[None, :]
        x = tl.load(at + j[:, None] * DIM + axes[None, :], mask=used, other=0.0)
        gaps = tl.where(used, y[None, :] - x, 0.0)
        s = tl.sum(gaps * gaps, axis=1)
        if GAUSSIAN:
            total += p[:, None] * gaps
            if LOSS:
                log_sum -= p * s
        else:
            u = 1.0 / (1.0 + s / dof)
            total += (p * u)[:, None] * gaps
            if LOSS:
                log_sum += p * (dof + 1.0) * 0.5 * tl.log(u)
    tl.store(force + i * DIM + axes, tl.sum(total, axis=0), mask=inside)
    if LOSS:
        tl.store(logs + i, tl.sum(log_sum, axis=0))


def attraction(edges: Csr, at: Tensor, similarity: Similarity, loss: bool) -> tuple[Tensor, Tensor]:
    """For each vertex, sum_j p log w (undefined unless `loss`) and sum_j p u (y_i - y_j)."""
    n, dim = at.shape
    force, logs = torch.empty_like(at), torch.empty_like(at[:, 0])
    kernel: Any = _attraction_kernel
    kernel[(n,)](
        at,
        force,
        logs,
        edges.offsets,
        edges.columns,
        edges.values,
        float(similarity.dof),
        DIM=dim,
        PADDED=triton.next_power_of_2(dim),
        BLOCK=EDGES,
        GAUSSIAN=similarity.name == "gaussian",
        LOSS=loss,
        num_warps=1,
    )
    return logs, force


@triton.jit
def _polynomials(table, t, SLOPES: tl.constexpr):
    """The weights of the eight nodes from floor - 2 on, of which six are not zero, for points at
    floor + t; or their slopes."""
    b = tl.arange(0, 8)[None, :]
    x = t[:, None]
    if SLOPES:
        w = 5.0 * tl.load(table + 40 + b)
        w = w * x + 4.0 * tl.load(table + 32 + b)
        w = w * x + 3.0 * tl.load(table + 24 + b)
        w = w * x + 2.0 * tl.load(table + 16 + b)
        return w * x + tl.load(table + 8 + b)
    w = tl.load(table + 40 + b)
    w = w * x + tl.load(table + 32 + b)
    w = w * x + tl.load(table + 24 + b)
    w = w * x + tl.load(table + 16 + b)
    w = w * x + tl.load(table + 8 + b)
    return w * x + tl.load(table + b)


@triton.jit
def _polynomial(table, t, a, SLOPES: tl.constexpr):
    """As `_polynomials` for node a alone."""
    c = table + a
    if SLOPES:
        w = 5.0 * tl.load(c + 40)
        w = w * t + 4.0 * tl.load(c + 32)
        w = w * t + 3.0 * tl.load(c + 24)
        w = w * t + 2.0 * tl.load(c + 16)
        return w * t + tl.load(c + 8)
    w = tl.load(c + 40)
    w = w * t + tl.load(c + 32)
    w = w * t + tl.load(c + 24)
    w = w * t + tl.load(c + 16)
    w = w * t + tl.load(c + 8)
    return w * t + tl.load(c)


@triton.jit
def _locate(coordinate, origin, step, nodes):
    """The first node that a point is spread to along an axis, and t."""
    place = (coordinate - origin) / step
    place = tl.minimum(tl.maximum(place, 2.0), nodes - 6.0)
    whole = tl.floor(place)
    return whole.to(tl.int32) - 2, place - whole


@triton.jit
def _spread_kernel(
    at,
    mass,
    counts,
    table,
    origin,
    step,
    scale,
    n,
    rows,
    columns,
    MASS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    known = i < n
    size = tl.load(step)
    first, down = _locate(tl.load(at + 2 * i, mask=known, other=0.0), tl.load(origin), size, rows)
    second, across = _locate(
        tl.load(at + 2 * i + 1, mask=known, other=0.0), tl.load(origin + 1), size, columns
    )
    own = tl.zeros([BLOCK], dtype=tl.float32) + tl.load(scale)
    if MASS:
        own = own * tl.load(mass + i, mask=known, other=0.0)
    b = tl.arange(0, 8)[None, :]
    corner = counts + (first * columns + second)[:, None] + b
    line = _polynomials(table, across, False)
    used = known[:, None] & (b < 6)
    for a in range(6):
        share = own * _polynomial(table, down, a, False)
        tl.atomic_add(
            corner + a * columns, (share[:, None] * line).to(tl.int64), mask=used, sem="relaxed"
        )


def spread(
    at: Tensor,
    mass: Tensor | None,
    nodes: tuple[int, ...],
    origin: Tensor,
    step: Tensor,
    scale: Tensor,
) -> Tensor:
    """The charges of the nodes of a grid, times `scale`, as integers."""
    counts = torch.zeros(nodes, dtype=torch.int64, device=at.device)
    kernel: Any = _spread_kernel
    kernel[(triton.cdiv(len(at), POINTS),)](
        at,
        at if mass is None else mass,
        counts,
        _table(at.device),
        origin,
        step,
        scale,
        len(at),
        nodes[0],
        nodes[1],
        MASS=mass is not None,
        BLOCK=POINTS,
    )
    return counts


@cache
def _table(device: torch.device) -> Tensor:
    """The coefficients of the splines: rows are powers of t, columns are nodes, eight of them."""
    table = torch.zeros(ORDER, 8, dtype=torch.float64)
    table[:, :ORDER] = torch.tensor(SPLINES, dtype=torch.float64).T / 120
    return table.float().to(device)


@triton.jit
def _gather_kernel(
    at, field, value, gradient, table, origin, step, n, rows, columns, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    known = i < n
    size = tl.load(step)
    first, down = _locate(tl.load(at + 2 * i, mask=known, other=0.0), tl.load(origin), size, rows)
    second, across = _locate(
        tl.load(at + 2 * i + 1, mask=known, other=0.0), tl.load(origin + 1), size, columns
    )
    b = tl.arange(0, 8)[None, :]
    corner = field + (first * columns + second)[:, None] + b
    used = known[:, None] & (b < 6)
    total = tl.zeros([BLOCK, 8], dtype=tl.float32)
    bent = tl.zeros([BLOCK, 8], dtype=tl.float32)
    for a in range(6):
        near = tl.load(corner + a * columns, mask=used, other=0.0)
        total += near * _polynomial(table, down, a, False)[:, None]
        bent += near * _polynomial(table, down, a, True)[:, None]
    line = _polynomials(table, across, False)
    slope = _polynomials(table, across, True)
    tl.store(value + i, tl.sum(total * line, axis=1), mask=known)
    tl.store(gradient + 2 * i, tl.sum(bent * line, axis=1) / size, mask=known)
    tl.store(gradient + 2 * i + 1, tl.sum(total * slope, axis=1) / size, mask=known)


def gather(at: Tensor, field: Tensor, origin: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """The values of a spline field at the points, and its gradients there."""
    value, gradient = torch.empty_like(at[:, 0]), torch.empty_like(at)
    kernel: Any = _gather_kernel
    kernel[(triton.cdiv(len(at), POINTS),)](
        at,
        field,
        value,
        gradient,
        _table(at.device),
        origin,
        step,
        len(at),
        *field.shape,
        BLOCK=POINTS,
    )
    return value, gradient


@triton.jit
def _step_kernel(
    gradient,
    at,
    velocity,
    gains,
    n,
    rate,
    momentum,
    min_gain,
    max_step,
    DIM: tl.constexpr,
    PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    axes = tl.arange(0, PADDED)
    known = (i < n)[:, None] & (axes < DIM)[None, :]
    place = i[:, None] * DIM + axes[None, :]
    g = tl.load(gradient + place, mask=known, other=0.0)
    v = tl.load(velocity + place, mask=known, other=0.0)
    gain = tl.load(gains + place, mask=known, other=1.0)
    gain = tl.maximum(tl.where(v * g < 0.0, gain + 0.2, gain * 0.8), min_gain)
    v = momentum * v - rate * gain * g
    length = tl.sqrt(tl.sum(v * v, axis=1))
    v = v * tl.where(length > max_step, max_step / tl.maximum(length, max_step), 1.0)[:, None]
    y = tl.load(at + place, mask=known, other=0.0)
    tl.store(gains + place, gain, mask=known)
    tl.store(velocity + place, v, mask=known)
    tl.store(at + place, y + v, mask=known)


def momentum_step(
    gradient: Tensor,
    at: Tensor,
    velocity: Tensor,
    gains: Tensor,
    settings: StepSettings,
) -> None:
    """One step of gradient descent with momentum and gains, in place."""
    n, dim = at.shape
    kernel: Any = _step_kernel
    kernel[(triton.cdiv(n, ENTRIES),)](
        gradient,
        at,
        velocity,
        gains,
        n,
        *settings,
        DIM=dim,
        PADDED=triton.next_power_of_2(dim),
        BLOCK=ENTRIES,
    )
