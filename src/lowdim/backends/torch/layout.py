"""Epochs of layouts: forces along arcs, and between random points.

The forces, the schedule and the random numbers are those of the native backend (see
`cpp/include/lowdim/layout.hpp` and `cpp/kernels/laws.inc`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.forces import StepSettings
from lowdim.backends.native.layout import GROUP_SIZE
from lowdim.backends.torch.arrays import copy_to, get, has_kernels, put, tensor_dtype, tile_rows
from lowdim.backends.torch.forces import momentum_step
from lowdim.backends.torch.resident import replace, resident
from lowdim.backends.torch.sparse import Csr, counts_of, offsets_of, resident_csr, segment_sums
from lowdim.checks import Array

FLOOR = 1e-6  # squared distance below which the attraction is constant
SOFTENING = 1e-3  # of the squared distance in the repulsion, which bounds it
LARGEST_MOVE = 4.0  # along a coordinate, in an epoch
VERTEX_STRIDE, DRAW_STRIDE, EPOCH_STRIDE = 0x9E3779B1, 0x85EBCA77, 0x9E3779B9
WORD = 0xFFFFFFFF


class Epoch(NamedTuple):
    """The numbers of one epoch; `key` seeds its random numbers."""

    a: float
    b: float
    largest: float  # membership of points at the same place
    rate: float
    momentum: float
    repulsion: float
    n_negatives: int
    key: int

    @property
    def softening(self) -> float:
        return SOFTENING + (1 - self.largest) / self.a


def layout_arcs(device: torch.device, graph: Any, rank: Array | None = None) -> Csr:
    arcs = resident_csr(device, graph)
    if rank is None:
        return arcs
    place = put(device, rank).long()
    order = torch.empty_like(place)
    order[place] = torch.arange(len(place), device=device)
    return arcs.renumber(order)


def pair_arcs(device: torch.device, partners: Array, rank: Array, dtype: Any) -> Csr:
    listed, place = put(device, partners), put(device, rank).long()
    n = len(place)
    known = listed >= 0
    first = place[:, None].expand(listed.shape)[known]
    second = place[listed[known].long()]
    keys = torch.cat([first * n + second, second * n + first]).sort().values
    keys, counts = torch.unique_consecutive(keys, return_counts=True)
    rows = torch.div(keys, n, rounding_mode="floor")
    values = counts.to(tensor_dtype(np.empty(0, dtype)))
    offsets = offsets_of(counts_of(rows, n))
    return Csr(offsets, (keys - rows * n).int(), values, (n, n))


def nearest_scaled(
    device: torch.device,
    indices: Array,
    distances: Array,
    own: Array,
    scales: Array,
    k: int,
    other: Array | None = None,
) -> Array:
    ids, d = resident(device, indices), resident(device, distances)
    mine, known = put(device, own), put(device, scales)
    hidden = None if other is None else put(device, other)
    step, parts = tile_rows(device, 40 * ids.shape[1], len(ids)), []
    for begin in range(0, max(len(ids), 1), step):
        part = slice(begin, begin + step)
        scaled = (d[part] / mine[part, None]) * (d[part] / known[ids[part].long()])
        if hidden is not None:
            scaled = scaled.masked_fill(hidden[part], torch.inf)
        parts.append(ids[part].gather(1, scaled.argsort(dim=1, stable=True)[:, :k]))
    return get(torch.cat(parts))


def layout_epochs(
    device: torch.device,
    arcs: Csr,
    Y: Array,
    velocity: Array,
    *,
    curve: tuple[float, ...],
    rate: float,
    momentum: float,
    repulsion: float,
    n_negatives: int,
    epochs: tuple[int, int, int],
    seed: int,
    fixed: Array | None = None,
    density: tuple[Array, Array] | None = None,
    masses: Array | None = None,
    loss: bool = False,
) -> float:
    at, speed = put(device, Y).clone(), resident(device, velocity).clone()
    targets = None if fixed is None else put(device, fixed)
    dense = None if density is None else (put(device, density[0]), put(device, density[1]))
    mass = None if masses is None else put(device, masses)
    total_weights = segment_sums(arcs.values, arcs.sizes)
    first, last, total = epochs
    cross_entropy = 0.0
    for number in range(first, last):
        left = 1 - number / total
        key = (seed + number * EPOCH_STRIDE) & WORD
        a, b, largest = (*curve, 1.0)[:3]
        epoch = Epoch(a, b, largest, rate * left, momentum * left, repulsion, n_negatives, key)
        if loss and number + 1 == last:
            cross_entropy = _cross_entropy(arcs, at, targets, total_weights, mass, epoch)
        if n_negatives and mass is None and has_kernels(device, at.dtype):
            from lowdim.backends.torch import triton_layout

            at = triton_layout.move_points(arcs, at, speed, targets, total_weights, dense, epoch)
        else:
            at = _move_points(arcs, at, speed, targets, total_weights, dense, mass, epoch)
    copy_to(at, Y)
    replace((velocity, speed))
    return cross_entropy


def layout_radii(
    device: torch.device, arcs: Csr, Y: Array, curve: tuple[float, float]
) -> tuple[Array, Array]:
    a, b = curve
    at = put(device, Y)
    s = (at[arcs.columns.long()] - at[arcs.rows()]).square().sum(dim=1)
    near = 1 / (1 + a * s.clamp(min=FLOOR) ** b)
    near = torch.where(arcs.values > 0, near, torch.zeros_like(near))
    sums = segment_sums(torch.stack([near, near * s], dim=1), arcs.sizes)
    return get(sums[:, 0].contiguous()), get(sums[:, 1].contiguous())


def pair_epochs(
    device: torch.device,
    arcs: list[Csr],
    Y: Array,
    moments: tuple[Array, Array],
    *,
    laws: Array,
    rates: Array,
) -> float:
    at = put(device, Y).clone()
    mean, square = (resident(device, array).clone() for array in moments)
    loss = 0.0
    if len(arcs) == 3 and has_kernels(device, at.dtype):
        from lowdim.backends.torch import triton_pairs

        numbers = put(device, laws.astype(np.float32))
        at, losses = triton_pairs.pair_epochs(arcs, at, mean, square, numbers, rates.tolist())
        copy_to(at, Y)
        replace((moments[0], mean), (moments[1], square))
        return float(losses.sum(dtype=torch.float64))
    for number, rate in enumerate(rates):
        last = number + 1 == len(rates)
        gradient, loss = torch.zeros_like(at), 0.0
        for kind, (constant, weight, reach) in zip(arcs, laws[number], strict=True):
            if weight == 0 or not len(kind.values):
                continue
            gaps = at[kind.rows()] - at[kind.columns.long()]
            d = 1 + gaps.square().sum(dim=1)
            force = 2 * weight * constant * kind.values / (constant + d).square()
            if reach > 0:
                force = force * (reach / d.sqrt())
            gradient += segment_sums(force[:, None] * gaps, kind.sizes)
            if last:
                loss += weight / 2 * float((kind.values * (d / (constant + d))).sum())
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient.square() - square)
        at -= float(rate) * mean / (square.sqrt() + 1e-7)
    copy_to(at, Y)
    replace((moments[0], mean), (moments[1], square))
    return loss


def triplet_epochs(
    device: torch.device,
    triplets: list[tuple[Array, Array, Array]],
    Y: Array,
    velocity: Array,
    gains: Array,
    *,
    rate: float,
    momenta: Array,
    min_gain: float,
    max_step: float,
) -> float:
    at = put(device, Y).clone()
    speed, gain = (resident(device, array).clone() for array in (velocity, gains))
    near, far, weights = _triplet_rows(device, triplets)
    sizes = torch.full((len(at),), near.shape[1], device=device)
    starts, own = offsets_of(sizes), torch.arange(len(at), device=device).repeat_interleave(sizes)
    near, far, weights = near.ravel(), far.ravel(), weights.ravel()
    if has_kernels(device, at.dtype):
        from lowdim.backends.torch import triton_pairs

        heads, entries = torch.stack([near, far], dim=1).ravel().sort(stable=True)
        ends = entries, offsets_of(counts_of(heads, len(at)))
        pulls, losses = torch.empty_like(heads, dtype=at.dtype), torch.zeros_like(at[:, 0])
        lists = (starts, near, far, weights)
        for momentum in momenta:
            gradient, losses = triton_pairs.triplet_gradient(lists, own, ends, at, pulls)
            settings = StepSettings(rate, float(momentum), min_gain, max_step)
            momentum_step(gradient, at, speed, gain, settings)
        copy_to(at, Y)
        replace((velocity, speed), (gains, gain))
        return float(losses.sum(dtype=torch.float64))
    near, far = near.long(), far.long()
    reactions = [(torch.argsort(j, stable=True), counts_of(j, len(at))) for j in (near, far)]
    loss = torch.zeros(())
    for momentum in momenta:
        gaps = at[own] - at[near], at[own] - at[far]
        d_near, d_far = (1 + gap.square().sum(dim=1) for gap in gaps)
        share = weights / (d_near + d_far)
        loss, share = (share * d_near).sum(), 2 * share / (d_near + d_far)
        forces = (share * d_far)[:, None] * gaps[0], -(share * d_near)[:, None] * gaps[1]
        gradient = segment_sums(forces[0] + forces[1], sizes)
        for force, (order, counts) in zip(forces, reactions, strict=True):
            gradient = gradient - segment_sums(force[order], counts)
        settings = StepSettings(rate, float(momentum), min_gain, max_step)
        momentum_step(gradient, at, speed, gain, settings)
    copy_to(at, Y)
    replace((velocity, speed), (gains, gain))
    return float(loss)


def _triplet_rows(device: torch.device, triplets: list[Any]) -> list[Tensor]:
    """near, far and weights of all kinds of triplets, with a row for each vertex."""
    kinds = []
    for near, shifts, weights in triplets:
        n_near, n_far, n = weights.shape
        listed = [resident(device, array) for array in (near, shifts, weights)]
        listed[0] = listed[0].repeat_interleave(n_far, dim=0)
        places = torch.arange(n, device=device, dtype=listed[1].dtype)
        listed[1] = (listed[1][:, :, places // GROUP_SIZE] + places) % n
        kinds.append([rows.reshape(n_near * n_far, n) for rows in listed])
    return [torch.cat(rows).T.contiguous() for rows in zip(*kinds, strict=True)]


def _move_points(
    arcs: Csr,
    at: Tensor,
    velocity: Tensor,
    fixed: Tensor | None,
    total_weights: Tensor,
    density: tuple[Tensor, Tensor] | None,
    masses: Tensor | None,
    epoch: Epoch,
) -> Tensor:
    """The coordinates after an epoch; `velocity` is updated in place."""
    a, b = epoch.a, epoch.b
    targets = at if fixed is None else fixed
    rows, heads = arcs.rows(), arcs.columns.long()
    gaps = targets[heads] - at[rows]
    s = gaps.square().sum(dim=1).clamp(min=FLOOR)
    power = s**b
    near = 1 / (1 + a * power)
    bend = a * b * power / s * near
    pull = 4 * arcs.values * bend
    stiff = pull
    if density is not None:
        over_spread, over_mass = (array[rows] + array[heads] for array in density)
        worth = near * (bend * over_mass + (1 - b * (1 - near)) * over_spread)
        worth = torch.where(arcs.values == 0, torch.zeros_like(worth), worth)
        stiff, pull = stiff + worth.abs(), pull - worth
    sums = segment_sums(torch.cat([pull[:, None] * gaps, stiff[:, None]], dim=1), arcs.sizes)
    force, stiffness = sums[:, :-1], 1 + sums[:, -1:]
    pushes = []
    for part in _parts(at, targets, epoch.n_negatives):
        gaps, mass = _to_targets(at, targets, masses, part, epoch, own=fixed is None)
        s = gaps.square().sum(dim=2)
        push = 2 * b * epoch.largest / ((s + epoch.softening) * (1 + a * s.clamp(min=FLOOR) ** b))
        forces = (push[:, :, None] * gaps).clamp(-LARGEST_MOVE, LARGEST_MOVE)
        if masses is not None:
            forces = forces * mass[:, :, None]
        pushes.append(forces.sum(dim=1))
    share = epoch.repulsion * total_weights / (epoch.n_negatives or len(targets))
    force = force - share[:, None] * torch.cat(pushes)
    velocity *= epoch.momentum
    velocity += epoch.rate / stiffness * force
    velocity.clamp_(-LARGEST_MOVE, LARGEST_MOVE)
    return at + velocity


def _cross_entropy(
    arcs: Csr,
    at: Tensor,
    fixed: Tensor | None,
    total_weights: Tensor,
    masses: Tensor | None,
    epoch: Epoch,
) -> float:
    """The loss, with the repulsion by the random points of the epoch."""
    a, b = epoch.a, epoch.b
    targets = at if fixed is None else fixed
    s = (targets[arcs.columns.long()] - at[arcs.rows()]).square().sum(dim=1).clamp(min=FLOOR)
    loss = float((arcs.values * torch.log1p(a * s**b)).sum())
    share = epoch.repulsion * total_weights / (epoch.n_negatives or len(targets))
    for part in _parts(at, targets, epoch.n_negatives):
        gaps, mass = _to_targets(at, targets, masses, part, epoch, own=fixed is None)
        power = a * gaps.square().sum(dim=2).clamp(min=FLOOR) ** b
        apart = power + (1 - epoch.largest)
        loss += float((share[part, None] * mass * (torch.log1p(power) - apart.log())).sum())
    return loss


def _parts(at: Tensor, targets: Tensor, n_negatives: int) -> list[slice]:
    """Blocks of vertices whose pairs with the points that repel them fit into memory."""
    pairs = n_negatives or len(targets)
    rows = tile_rows(at.device, 8 * pairs * at.shape[1] * at.element_size(), len(at))
    return [slice(begin, min(begin + rows, len(at))) for begin in range(0, len(at), rows)]


def _to_targets(
    at: Tensor, targets: Tensor, masses: Tensor | None, part: slice, epoch: Epoch, *, own: bool
) -> tuple[Tensor, Any]:
    """Differences between the points that repel some vertices and the vertices themselves, and the
    masses of these points."""
    if not epoch.n_negatives:
        return targets[None] - at[part, None], 1.0 if masses is None else masses[None]
    vertices = torch.arange(part.start, part.stop, device=at.device)[:, None]
    draws = torch.arange(epoch.n_negatives, device=at.device)[None, :]
    stride = VERTEX_STRIDE if own else 0  # fixed targets: all vertices draw the same
    numbers = (vertices * stride + epoch.key + draws * DRAW_STRIDE) & WORD
    drawn = (_hash(numbers) * len(targets)) >> 32
    return targets[drawn] - at[part, None], 1.0 if masses is None else masses[drawn]


def _hash(h: Tensor) -> Tensor:
    """Wellons's hash "lowbias32" of 32-bit numbers, which are stored in 64 bits."""
    h = h ^ (h >> 16)
    h = (h * 0x7FEB352D) & WORD
    h = h ^ (h >> 15)
    h = (h * 0x846CA68B) & WORD
    return h ^ (h >> 16)
