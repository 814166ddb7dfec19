"""Repulsion between all points of a map: exactly, by a tree, or by a field on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends.native import forces
from lowdim.backends.protocol import FrozenField, Repulsion
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array

STEP = 0.3  # between the grid's nodes, in units of the similarity's own width
LEAST_NODES = 32  # on the longest side of the map
MOST_NODES = 2048  # on any side; a wider map gets a coarser grid
MARGIN = 8  # nodes around the map: what a spline touches, and a little more
ALL_PAIRS_UP_TO = 4000  # points up to which all pairs are fastest
TREE_UP_TO = 12_000  # points up to which a tree is, before a grid takes over


@dataclass(frozen=True)
class AllPairs:
    """Every pair, in n^2 operations."""

    similarity: Similarity

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        force, z = forces.all_pairs_repulsion(Y, Y, mass, self.similarity.name, self.similarity.dof)
        return force, z - (1 if mass is None else mass)


@dataclass(frozen=True)
class BarnesHut:
    """A tree of cells, far ones acting as wholes to second order; up to three dimensions."""

    similarity: Similarity
    angle: float = 0.5

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        kind = self.similarity
        strict = 0.6 if kind.name == "gaussian" else 0.8  # keeps an angle of 0.5 within 1e-3
        angle = strict * self.angle
        return forces.tree_repulsion(Y, mass, kind.name, kind.dof, angle)


class GridField:
    """The sum of w over all points as a field on a grid, by FFT; in one or two dimensions.

    Points are spread to the nodes by sixth-order splines, the nodes convolved with w (sampled, and
    divided by the splines' own transforms so that the field is exact at the nodes), and the field
    and its gradient, which is the force, read off at the points. After Linderman et al. 2019, with
    one transform each way in place of four: the field of w alone tells its gradient.
    """

    def __init__(self, similarity: Similarity) -> None:
        self.similarity = similarity
        self._known: tuple[Any, ...] = ()
        self._convolution: forces.Convolution
        self._offset = 0.0

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        field = self.frozen(Y, mass)
        force, z = field(Y)
        return force, z - (1 if mass is None else mass)

    def frozen(self, Y: Array, mass: Array | None = None, room: float = 0.0) -> GridValues:
        """The field of the points Y as it is, to be read off anywhere; `room` widens it on every
        side, in units of the map's distances."""
        low, high = forces.bounds(Y)
        low, high = low - room, high + room
        if not np.isfinite(high - low).all():
            raise FloatingPointError("the map's coordinates overflowed")
        step, lengths = self._layout(high - low)
        convolution = self._kernel(step, lengths, Y.dtype)
        nodes = [length // 2 for length in lengths]
        origin = (low + high) / 2 - step * (np.array(nodes) - 1) / 2
        total = float(len(Y) if mass is None else mass.sum(dtype=np.float64))
        field = np.empty((nodes[0], nodes[1] if len(nodes) > 1 else 1), Y.dtype)
        forces.spread(Y, mass, origin, step, field.shape[1], field)
        convolution.apply(field.reshape(-1, nodes[-1]))
        return GridValues(field, origin, step, self._offset * total, self.similarity.width)

    def _layout(self, span: Array) -> tuple[float, list[int]]:
        """The step between nodes and the padded number of nodes on each axis."""
        from scipy.fft import next_fast_len

        step = STEP * min(1.0, np.sqrt(self.similarity.dof))
        longest = float(span.max())
        if longest < LEAST_NODES * step:  # halved until the map is fine enough
            halvings = np.ceil(np.log2(LEAST_NODES * step / max(longest, 1e-30)))
            step *= 0.5 ** min(halvings, 60.0)
        step = max(step, longest / MOST_NODES)
        nodes = np.ceil(span / step).astype(int) + 1 + 2 * MARGIN
        return float(step), [2 * next_fast_len(int(count), True) for count in nodes]

    def _kernel(self, step: float, lengths: list[int], dtype: Any) -> forces.Convolution:
        """Convolution with w over the splines' own transforms, twice; kept while it serves.

        w is taken relative to its value at the far corner: on a small map its differences, which
        are the forces, would drown in the rounding of its values.
        """
        if self._known == (step, *lengths, dtype):
            return self._convolution
        from scipy.fft import rfft2

        shape = lengths if len(lengths) > 1 else [2, *lengths]  # one axis is a single row
        rows, columns = (np.minimum(np.arange(m), m - np.arange(m)) * step for m in shape)
        if len(lengths) == 1:
            rows, splines = np.zeros(2), np.ones(2)
        else:
            splines = _spline_transform(shape[0])
        s = rows[:, None] ** 2 + columns[None, :] ** 2
        self._offset = float(self.similarity(s.max()))
        divisor = splines[:, None] * _spline_transform(shape[1])[None, : shape[1] // 2 + 1]
        # w is even, so its transform is real.
        transform = rfft2(self.similarity(s) - self._offset).real / divisor**2
        if len(lengths) == 1:
            transform[1] = transform[0] = transform[0] / 2
        self._convolution = forces.Convolution(transform.astype(dtype), shape[1])
        self._known = (step, *lengths, dtype)
        return self._convolution


@dataclass(frozen=True)
class GridValues:
    """The field of a map that stands still: forces on points anywhere, each on its own."""

    values: Array
    origin: Array
    step: float
    offset: float
    width: float

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """sum_j m_j w u (y - x_j) and sum_j m_j w over all points x of the map."""
        z, gradient = forces.gather(self.values, self.origin, self.step, self.values.shape[1], Y)
        gradient *= Y.dtype.type(-self.width / 2)
        z += Y.dtype.type(self.offset)
        return gradient, z


def _spline_transform(length: int) -> Array:
    """The transform of the sixth-order spline's values at the nodes, (1, 26, 66, 26, 1) / 120."""
    angle = 2 * np.pi * np.arange(length) / length
    return np.asarray((66 + 52 * np.cos(angle) + 2 * np.cos(2 * angle)) / 120)


@dataclass(frozen=True)
class AllOfMap:
    """The repulsion of every point of a map that does not move."""

    embedding: Array
    similarity: Similarity

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """As `GridValues`, by all pairs."""
        kind = self.similarity
        return forces.all_pairs_repulsion(Y, self.embedding, None, kind.name, kind.dof)


def repulsion(method: str, similarity: Similarity, n: int, dim: int, angle: float) -> Repulsion:
    """Repulsion among n points by "exact", "barnes_hut", "fft", or whichever is fastest: "auto"."""
    if method == "auto":
        tree = dim == 3 or n <= TREE_UP_TO
        all_pairs = n <= ALL_PAIRS_UP_TO or dim > 3
        method = "exact" if all_pairs else "barnes_hut" if tree else "fft"
    if method == "exact":
        return AllPairs(similarity)
    return GridField(similarity) if method == "fft" else BarnesHut(similarity, angle)


def frozen_field(embedding: Array, similarity: Similarity, room: float) -> FrozenField:
    """The repulsion of a map that does not move, for points up to `room` outside of it."""
    if len(embedding) <= ALL_PAIRS_UP_TO or embedding.shape[1] > 2:
        return AllOfMap(embedding, similarity)
    return GridField(similarity).frozen(embedding, room=room)
