"""Repulsion among all points of an embedding: a field on a grid, by FFT.

As in the native backend (`lowdim.backends.native.repulsion.GridField`), points are spread to the
nodes of a grid by splines of order six, the nodes are convolved with the similarity w, and the
field and its gradient are evaluated at the points. Here the nodes are as many as the embedding
needs when the grid is planned, and the distance between them follows the embedding from iteration
to iteration, so that iterations need nothing from the host.

Charges are added to the nodes as 64-bit integers in units of 2^-k: sums of integers do not depend
on the order in which threads add them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.repulsion import GRID_STEP, MARGIN_NODES, MAX_NODES, spline_transform
from lowdim.backends.similarity import Similarity
from lowdim.backends.torch.arrays import has_kernels

GROWTH = 1.3  # of the embedding that a planned grid has nodes for
LEAST_NODES = 96  # on the longest side; small embeddings grow fast, and small grids cost nothing
ORDER = 6  # of the splines, and the number of nodes that a point is spread to along an axis
LARGEST_TOTAL = 60  # exponent of two of the largest sum of charges, as an integer
# Row j: the coefficients of 1, t, ..., t^5 of the weight of node floor + j - 2, times 120, for a
# point at floor + t.
SPLINES = (
    (1, -5, 10, -10, 5, -1),
    (26, -50, 20, 20, -20, 5),
    (66, 0, -60, 0, 30, -10),
    (26, 50, 20, -20, -20, 10),
    (1, 5, 10, 10, 5, -5),
    (0, 0, 0, 0, 0, 1),
)


@dataclass(frozen=True, eq=False)
class Plan:
    """The number of nodes on each axis, and what depends on it alone."""

    nodes: tuple[int, ...]
    lengths: Tensor  # the same, on the device
    padded: tuple[int, ...]  # lengths of the transforms
    squares: Tensor  # squared distances of the nodes from the first one, with wrap-around
    divisor: Tensor  # transform of the splines, squared


@dataclass(frozen=True)
class Place:
    """A grid in space: the first node and the distance between nodes, on the device."""

    origin: Tensor
    step: Tensor


def plan_for(Y: Tensor, similarity: Similarity, previous: Plan | None = None) -> Plan:
    """A plan with nodes for an embedding, or the previous one if it is near enough."""
    span = (Y.amax(dim=0) - Y.amin(dim=0)).cpu().numpy().astype(np.float64)
    if not np.isfinite(span).all():
        raise FloatingPointError("the coordinates of the embedding overflowed")
    step = GRID_STEP * min(1.0, np.sqrt(similarity.dof))
    longest = max(float(span.max()), 1e-30)
    step = min(step, longest / LEAST_NODES)
    step = max(step, longest / MAX_NODES)
    needed = np.ceil(GROWTH * span / step).astype(int) + 1 + 2 * MARGIN_NODES
    if previous is not None:
        has = np.array(previous.nodes)
        fits = (np.ceil(span / step) + 1 + 2 * MARGIN_NODES <= has).all()
        if fits and (has <= 1.5 * needed).all():
            return previous
    from scipy.fft import next_fast_len

    halves = [int(next_fast_len(int(count), True)) for count in needed]
    padded = tuple(2 * count for count in halves)
    lengths = []
    for length in padded:
        places = torch.arange(length, device=Y.device, dtype=Y.dtype)
        lengths.append(torch.minimum(places, length - places).square())
    splines = [torch.as_tensor(spline_transform(m), dtype=Y.dtype).to(Y.device) for m in padded]
    nodes = torch.tensor(halves, device=Y.device, dtype=Y.dtype)
    if len(padded) == 1:
        return Plan(tuple(halves), nodes, padded, lengths[0], splines[0].square())
    full = torch.cat([splines[0], splines[0][1:-1].flip(0)])
    divisor = (full[:, None] * splines[1][None, :]).square()
    squares = lengths[0][:, None] + lengths[1][None, :]
    return Plan(tuple(halves), nodes, padded, squares, divisor)


def place_for(Y: Tensor, plan: Plan) -> Place:
    """The grid of a plan, stretched over an embedding."""
    low, high = Y.amin(dim=0), Y.amax(dim=0)
    last = plan.lengths - 1
    step = ((high - low) / (last - 2 * MARGIN_NODES)).amax().clamp(min=1e-30)
    return Place((low + high) / 2 - step * last / 2, step)


def field_of(
    Y: Tensor, mass: Tensor | None, plan: Plan, place: Place, similarity: Similarity
) -> tuple[Tensor, Tensor]:
    """The sum of m w over all points, at the nodes, less a constant; and that constant.

    The value of w at the farthest corner is subtracted first: in a small embedding w is nearly
    constant, and its differences, which are the forces, would be lost to rounding.
    """
    charges = _spread_to_nodes(Y, mass, plan, place)
    kernel, corner = _centered_similarity(plan.squares * place.step.square(), similarity)
    axes = tuple(range(-len(plan.nodes), 0))
    transform = torch.fft.rfftn(kernel, dim=axes).real / plan.divisor
    spectrum = torch.fft.rfftn(charges, s=plan.padded, dim=axes)
    field = torch.fft.irfftn(spectrum * transform, s=plan.padded, dim=axes)
    total = len(Y) if mass is None else mass.sum()
    return field[tuple(slice(count) for count in plan.nodes)].contiguous(), corner * total


def values_at(Y: Tensor, field: Tensor, place: Place) -> tuple[Tensor, Tensor]:
    """The values of a spline field at the points Y, and its gradients there."""
    if has_kernels(Y.device, Y.dtype) and Y.shape[1] == 2:
        from lowdim.backends.torch import triton_forces

        return triton_forces.gather(Y, field, place.origin, place.step)
    first, weights, slopes = _splines(Y, field.shape, place)
    steps = torch.arange(ORDER, device=Y.device)
    if Y.shape[1] == 1:
        near = field[first[:, 0, None] + steps]
        value = (near * weights[:, 0]).sum(dim=1)
        gradient = (near * slopes[:, 0]).sum(dim=1, keepdim=True)
        return value, gradient / place.step
    columns = field.shape[1]
    flat = field.reshape(-1)
    sums, down = torch.zeros_like(weights[:, 1]), torch.zeros_like(weights[:, 1])
    for row in range(ORDER):
        line = (first[:, 0] + row) * columns + first[:, 1]
        near = flat[line[:, None] + steps]
        sums += weights[:, 0, row, None] * near
        down += slopes[:, 0, row, None] * near
    value = (sums * weights[:, 1]).sum(dim=1)
    along = torch.stack([(down * weights[:, 1]).sum(dim=1), (sums * slopes[:, 1]).sum(dim=1)], 1)
    return value, along / place.step


def _spread_to_nodes(Y: Tensor, mass: Tensor | None, plan: Plan, place: Place) -> Tensor:
    """The charges of the nodes: sums of the masses of the points times their splines."""
    total = torch.full((), float(len(Y)), device=Y.device) if mass is None else mass.abs().sum()
    scale = torch.exp2(LARGEST_TOTAL - total.clamp(min=1e-30).log2().ceil())
    if has_kernels(Y.device, Y.dtype) and Y.shape[1] == 2:
        from lowdim.backends.torch import triton_forces

        sums = triton_forces.spread(Y, mass, plan.nodes, place.origin, place.step, scale)
        return sums.to(Y.dtype) / scale
    first, weights, _ = _splines(Y, plan.nodes, place)
    steps = torch.arange(ORDER, device=Y.device)
    counts = torch.zeros(int(np.prod(plan.nodes)), dtype=torch.int64, device=Y.device)
    own = torch.ones_like(Y[:, 0]) if mass is None else mass
    own = own * scale
    if Y.shape[1] == 1:
        places = first[:, 0, None] + steps
        counts.index_add_(0, places.reshape(-1), (own[:, None] * weights[:, 0]).long().reshape(-1))
    else:
        for row in range(ORDER):
            places = ((first[:, 0] + row) * plan.nodes[1] + first[:, 1])[:, None] + steps
            shares = (own * weights[:, 0, row])[:, None] * weights[:, 1]
            counts.index_add_(0, places.reshape(-1), shares.long().reshape(-1))
    return counts.reshape(plan.nodes).to(Y.dtype) / scale.to(Y.dtype)


def _splines(Y: Tensor, nodes: tuple[int, ...], place: Place) -> tuple[Tensor, Tensor, Tensor]:
    """For each point and axis: the first node, and the weights and their slopes from there on."""
    at = (Y - place.origin) / place.step
    most = torch.tensor(nodes, device=Y.device, dtype=Y.dtype) - ORDER
    at = torch.minimum(at.clamp(min=ORDER // 2 - 1), most)
    floor = at.floor()
    t = at - floor
    powers = torch.stack([t**k for k in range(ORDER)], dim=-1)
    table = torch.tensor(SPLINES, device=Y.device, dtype=Y.dtype) / 120
    order = torch.arange(1, ORDER, device=Y.device, dtype=Y.dtype)
    slopes = powers[..., :-1] @ (table[:, 1:] * order).T
    return (floor - (ORDER // 2 - 1)).long(), powers @ table.T, slopes


def _centered_similarity(s: Tensor, similarity: Similarity) -> tuple[Tensor, Tensor]:
    """w(s) - w(S) for the largest S among the squared distances, without cancellation; w(S)."""
    largest = s.amax()
    if similarity.name == "gaussian":
        return -torch.exp(-s) * torch.expm1(s - largest), torch.exp(-largest)
    dof = similarity.dof
    power = -(dof + 1) / 2
    near = torch.exp(power * torch.log1p(s / dof))
    ratio = power * torch.log1p((largest - s) / (dof + s))
    return -near * torch.expm1(ratio), torch.exp(power * torch.log1p(largest / dof))
