"""Gradient descent on forces: attraction along edges, repulsion among all points, and its steps.

The functions of a field take NumPy arrays or, inside of `descend`, tensors, and return the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lowdim.backends.native.forces import StepSettings
from lowdim.backends.native.repulsion import Repulsion
from lowdim.backends.similarity import Similarity
from lowdim.backends.torch import grid
from lowdim.backends.torch.arrays import Unsupported, get, has_kernels, put, tile_rows, widest_float
from lowdim.backends.torch.sparse import resident_csr, segment_sums
from lowdim.checks import Array

ALL_PAIRS_UP_TO = 4000  # points up to which all pairs are faster than a grid
PLANNED_FOR = 10  # iterations after which the number of nodes of a grid is chosen again


class Attraction:
    """The attraction along the edges of a CSR matrix, which is copied to the device once."""

    def __init__(self, device: torch.device, P: Any, similarity: Similarity) -> None:
        self.device, self.similarity = device, similarity
        self.edges = resident_csr(device, P)
        self._rows: Tensor | None = None
        self._state: DescentState | None = None

    def __call__(self, Y: Any, *, loss: bool) -> tuple[float, Any]:
        at = _tensor(self.device, Y)
        if has_kernels(self.device, at.dtype):
            from lowdim.backends.torch import triton_forces

            logs, force = triton_forces.attraction(self.edges, at, self.similarity, loss)
        else:
            logs, force = self._by_segments(at)
        total = float(logs.sum(dtype=widest_float(self.device))) if loss else 0.0
        return total, _convert_like(force, Y)

    def _by_segments(self, at: Tensor) -> tuple[Tensor, Tensor]:
        if self._rows is None:
            self._rows = self.edges.rows()
        p = self.edges.values.to(at.dtype)
        gaps = at[self._rows] - at[self.edges.columns.long()]
        s = gaps.square().sum(dim=1)
        if self.similarity.name == "gaussian":
            logs, strength = -s, p
        else:
            dof = self.similarity.dof
            logs = -(dof + 1) / 2 * torch.log1p(s / dof)
            strength = p / (1 + s / dof)
        sums = segment_sums(
            torch.cat([strength[:, None] * gaps, (p * logs)[:, None]], dim=1), self.edges.sizes
        )
        return sums[:, -1], sums[:, :-1].contiguous()

    def descent(self, Y: Array, velocity: Array, gains: Array) -> DescentState:
        """The state of a descent under this attraction."""
        if self._state is None or self._state.at.shape != Y.shape:
            self._state = DescentState(self.device, Y)
        self._state.load(Y, velocity, gains)
        return self._state

    def renumber(self, order: Array) -> None:
        self._state = None
        self.edges = self.edges.renumber(put(self.device, order.astype(np.int64)))
        self._rows = None


class AllPairs:
    """The sum over all pairs, by tiles."""

    def __init__(self, device: torch.device, similarity: Similarity) -> None:
        self.device, self.similarity = device, similarity

    def __call__(self, Y: Any, mass: Any = None) -> tuple[Any, Any]:
        at = _tensor(self.device, Y)
        weights = None if mass is None else _tensor(self.device, mass)
        force, z = sum_repulsion(at, at, weights, self.similarity)
        z = z - (1 if weights is None else weights)
        return _convert_like(force, Y), _convert_like(z, Y)


class GridRepulsion:
    """The sum over all pairs as a field on a grid (see `grid`); one or two dimensions."""

    def __init__(self, device: torch.device, similarity: Similarity) -> None:
        self.device, self.similarity = device, similarity
        self._plan: grid.Plan | None = None

    def plan(self, Y: Tensor) -> grid.Plan:
        """Choose the number of nodes for the embedding as it is now."""
        self._plan = grid.plan_for(Y, self.similarity, self._plan)
        return self._plan

    def __call__(self, Y: Any, mass: Any = None) -> tuple[Any, Any]:
        at = _tensor(self.device, Y)
        weights = None if mass is None else _tensor(self.device, mass)
        plan = self._plan
        if plan is None or at is not Y:  # in a descent, `plan` is called from time to time
            plan = self.plan(at)
        place = grid.place_for(at, plan)
        field, constant = grid.field_of(at, weights, plan, place, self.similarity)
        z, gradient = grid.values_at(at, field, place)
        force = gradient * (-self.similarity.width / 2)
        z = z + (constant - 1 if weights is None else constant - weights)
        return _convert_like(force, Y), _convert_like(z, Y)


class FrozenPoints:
    """The repulsion of fixed points on new points: a `FrozenField`, by all pairs or a grid."""

    def __init__(
        self, device: torch.device, embedding: Array, similarity: Similarity, margin: float
    ) -> None:
        self.device, self.similarity = device, similarity
        self.points = put(device, embedding)
        self.field: Tensor | None = None
        if len(embedding) > ALL_PAIRS_UP_TO and embedding.shape[1] <= 2:
            corners = torch.stack([self.points.amin(dim=0), self.points.amax(dim=0)])
            corners = corners + torch.tensor([[-margin], [margin]], device=device).to(corners)
            plan = grid.plan_for(corners, similarity)
            self.place = grid.place_for(corners, plan)
            self.field, self.constant = grid.field_of(
                self.points, None, plan, self.place, similarity
            )

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        at = put(self.device, Y)
        if self.field is None:
            force, z = sum_repulsion(at, self.points, None, self.similarity)
            return get(force), get(z)
        z, gradient = grid.values_at(at, self.field, self.place)
        return get(gradient * (-self.similarity.width / 2)), get(z + self.constant)


def sum_repulsion(
    at: Tensor, points: Tensor, mass: Tensor | None, similarity: Similarity
) -> tuple[Tensor, Tensor]:
    """sum_j m_j w u (y - x_j) and sum_j m_j w over all points x_j, by tiles."""
    dim = at.shape[1]
    rows = tile_rows(at.device, (4 + 2 * dim) * len(points) * at.element_size(), len(at))
    forces, sums = [], []
    for begin in range(0, len(at), rows):
        gaps = at[begin : begin + rows, None] - points[None]
        s = gaps.square().sum(dim=2)
        if similarity.name == "gaussian":
            w = torch.exp(-s)
            u = None
        else:
            u = 1 / (1 + s / similarity.dof)
            w = u ** ((similarity.dof + 1) / 2)
        w = w if mass is None else w * mass
        sums.append(w.sum(dim=1))
        forces.append(((w if u is None else w * u)[:, :, None] * gaps).sum(dim=1))
    return torch.cat(forces), torch.cat(sums)


def build_repulsion(
    device: torch.device, method: str, similarity: Similarity, n: int, dim: int, angle: float
) -> Repulsion:
    """Repulsion among n points by "exact", "fft" or the faster of them; trees are on the CPU."""
    if method == "auto":
        method = "exact" if n <= ALL_PAIRS_UP_TO or dim > 3 else "fft" if dim <= 2 else "barnes_hut"
    if method == "barnes_hut":
        raise Unsupported
    return AllPairs(device, similarity) if method == "exact" else GridRepulsion(device, similarity)


def descend(
    device: torch.device,
    field: Any,
    Y: Array,
    velocity: Array,
    gains: Array,
    settings: StepSettings,
    *,
    steps: int,
    value: bool,
) -> tuple[float, float]:
    """Steps of gradient descent without copies between host and device."""
    ours = (AllPairs, GridRepulsion)
    attracts = isinstance(getattr(field, "attraction", None), Attraction)
    if not attracts or not isinstance(getattr(field, "repulsion", None), ours):
        raise Unsupported
    state = field.attraction.descent(Y, velocity, gains)
    loss, norm = np.nan, 0.0
    for step in range(steps):
        if step % PLANNED_FOR == 0:
            plan = getattr(field.repulsion, "plan", lambda Y: None)(state.at)
        if step + 1 < steps:
            state.iterate(field, settings, (plan, field.exaggeration, *settings))
            continue
        loss, gradient = field(state.at, value=value)
        norm = float(torch.linalg.vector_norm(gradient, dtype=widest_float(device)))
        state.move(gradient, settings)
    for array, tensor in ((Y, state.at), (velocity, state.velocity), (gains, state.gains)):
        array[...] = get(tensor)
    return float(loss), norm


class DescentState:
    """Coordinates, velocities and gains on a device, at fixed addresses.

    On CUDA devices an iteration is recorded as a graph and replayed, because starting its kernels
    one by one takes longer than running them.
    """

    def __init__(self, device: torch.device, Y: Array) -> None:
        self.device = device
        self.at, self.velocity, self.gains = (put(device, Y).clone() for _ in range(3))
        self._graph: Any = None
        self._recorded: tuple[Any, ...] = ()

    def load(self, Y: Array, velocity: Array, gains: Array) -> None:
        for tensor, array in ((self.at, Y), (self.velocity, velocity), (self.gains, gains)):
            tensor.copy_(put(self.device, array))

    def iterate(self, field: Any, settings: StepSettings, key: tuple[Any, ...]) -> None:
        """One iteration; `key` names everything that is fixed when it is recorded."""

        def iteration() -> None:
            self.move(field(self.at, value=False)[1], settings)

        if self.device.type != "cuda":
            iteration()
        elif self._recorded != key:
            iteration()  # compiles its kernels and plans its transforms before it is recorded
            self._record(iteration)
            self._recorded = key
        else:
            self._graph.replay()

    def _record(self, iteration: Callable[[], None]) -> None:
        """Record an iteration without the garbage collection of `torch.cuda.graph`."""
        stream: Any = torch.cuda.Stream
        here, aside = torch.cuda.current_stream(self.device), stream(self.device)
        aside.wait_stream(here)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(aside):
            self._graph.capture_begin()
            iteration()
            self._graph.capture_end()
        here.wait_stream(aside)

    def move(self, gradient: Tensor, settings: StepSettings) -> None:
        momentum_step(gradient, self.at, self.velocity, self.gains, settings)


def momentum_step(
    gradient: Tensor, at: Tensor, velocity: Tensor, gains: Tensor, settings: StepSettings
) -> None:
    """A step with momentum and gains, in place."""
    if has_kernels(at.device, at.dtype):
        from lowdim.backends.torch import triton_forces

        triton_forces.momentum_step(gradient, at, velocity, gains, settings)
        return
    rate, momentum, min_gain, max_step = settings
    turned = velocity * gradient < 0
    gains.copy_(torch.where(turned, gains + 0.2, gains * 0.8).clamp(min=min_gain))
    velocity.mul_(momentum).sub_(rate * gains * gradient)
    length = torch.linalg.vector_norm(velocity, dim=1, keepdim=True)
    velocity.mul_(torch.where(length > max_step, max_step / length.clamp(min=max_step), 1.0))
    at.add_(velocity)


def _tensor(device: torch.device, array: Any) -> Tensor:
    return array if isinstance(array, Tensor) else put(device, array)


def _convert_like(tensor: Tensor, sample: Any) -> Any:
    """A tensor, or a NumPy array if that was given."""
    return tensor if isinstance(sample, Tensor) else get(tensor)
