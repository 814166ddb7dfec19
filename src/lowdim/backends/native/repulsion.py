"""Repulsion between all points of an embedding: exact, by a Barnes-Hut tree, or by FFT on a grid.

van der Maaten (2014) for the tree, Linderman et al. (2019) for the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import or_empty
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array
from lowdim.runtime.context import current
from lowdim.runtime.elementary import cosine_of_turns
from lowdim.runtime.scheduling import blocks, run

Repulsion = Callable[..., tuple[Array, Array]]
"""From points, and their masses m (default: 1), to the sums over all j != i of
m_j w_ij u_ij (y_i - y_j) and of m_j w_ij."""

FrozenField = Callable[[Array], tuple[Array, Array]]
"""From new points y to the sums of w u (y - x_j) and of w over all fixed points x_j."""

GRID_STEP = 0.3  # between the nodes, in units of the width of the similarity
MIN_NODES = 32  # on the longest side of the embedding
MAX_NODES = 2048  # on any side; a wider embedding gets a coarser grid
MARGIN_NODES = 8  # around the embedding: the support of a spline, and two more
ALL_PAIRS_UP_TO = 4000  # points up to which all pairs are fastest, as measured
LINES = 128  # of a grid that are transformed at once; with fewer, Python takes most of the time
TREE_UP_TO = 12_000  # points up to which a tree is faster than a grid


@dataclass(frozen=True)
class AllPairs:
    """The sum over all pairs, n^2 operations."""

    similarity: Similarity

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        force, z = _of_all_pairs(Y, Y, mass, self.similarity)
        return force, z - (1 if mass is None else mass)


@dataclass(frozen=True)
class BarnesHut:
    """A tree of cells, with second-order expansions of far cells; up to three dimensions."""

    similarity: Similarity
    angle: float = 0.5

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        kind = self.similarity
        strict = 0.6 if kind.name == "gaussian" else 0.8  # relative error below 1e-3 at angle 0.5
        angle = strict * self.angle
        force, z = np.empty_like(Y), np.empty(len(Y), Y.dtype)
        law = kind.name, kind.dof, angle
        _native.tree_repulsion(Y, or_empty(mass, Y.dtype), *law, force, z, current().threads)
        return force, z


class GridField:
    """The sum of w over all points as a field on a grid, by FFT; one or two dimensions.

    Points are spread to the nodes by sixth-order splines. The nodes are convolved with w, divided
    by the transforms of the splines so that the field is exact at the nodes. The field and its
    gradient, which is the force, are evaluated at the points. This needs one transform each way,
    where Linderman et al. (2019) use four, because the forces are the gradient of the field of w.
    """

    def __init__(self, similarity: Similarity) -> None:
        self.similarity = similarity
        self._cache_key: tuple[Any, ...] = ()
        self._convolution: Any  # with fields of a padded shape, in place
        self._offset = 0.0

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        field = self.freeze(Y, mass)
        if mass is None:
            return replace(field, offset=field.offset - 1)(Y)
        force, z = field(Y)
        z -= mass
        return force, z

    def freeze(self, Y: Array, mass: Array | None = None, margin: float = 0.0) -> GridValues:
        """The field of the points Y, to be evaluated anywhere up to `margin` outside of them."""
        threads = current().threads
        low, high = np.empty((2, Y.shape[1]))
        _native.bounds(Y, low, high, threads)
        low, high = low - margin, high + margin
        if not np.isfinite(high - low).all():
            raise FloatingPointError("the coordinates of the embedding overflowed")
        step, lengths = self._layout(high - low)
        convolution = self._kernel(step, lengths, Y.dtype)
        nodes = [length // 2 for length in lengths]
        origin = (low + high) / 2 - step * (np.array(nodes) - 1) / 2
        total = float(len(Y) if mass is None else mass.sum(dtype=np.float64))
        field = np.empty((nodes[0], nodes[1] if len(nodes) > 1 else 1), Y.dtype)
        charge = or_empty(mass, Y.dtype)
        _native.spread(Y, charge, origin, step, field.shape[1], field, threads)
        convolution.apply(field.reshape(-1, nodes[-1]), threads)
        return GridValues(field, origin, step, self._offset * total, self.similarity.width)

    def _layout(self, span: Array) -> tuple[float, list[int]]:
        """The step between nodes and the padded number of nodes on each axis."""
        from scipy.fft import next_fast_len

        step = GRID_STEP * min(1.0, np.sqrt(self.similarity.dof))
        longest = float(span.max())
        if longest < MIN_NODES * step:  # halve the step until there are enough nodes
            share, twos = np.frexp(MIN_NODES * step / max(longest, 1e-30))
            step *= 0.5 ** min(int(twos) - (share == 0.5), 60)
        step = max(step, longest / MAX_NODES)
        nodes = np.ceil(span / step).astype(int) + 1 + 2 * MARGIN_NODES
        return float(step), [2 * next_fast_len(int(count), True) for count in nodes]

    def _kernel(self, step: float, lengths: list[int], dtype: Any) -> Any:
        """Convolution with w divided by the transforms of both splines; cached for the same grid.

        The value of w at the farthest corner is subtracted first: in a small embedding, w is
        nearly constant, and its differences, which are the forces, would be lost to rounding.
        """
        if self._cache_key == (step, *lengths, dtype):
            return self._convolution
        shape = lengths if len(lengths) > 1 else [2, *lengths]  # one dimension: a single row
        rows, columns = (np.arange(m // 2 + 1) * step for m in shape)
        if len(lengths) == 1:
            rows, splines = np.zeros(2), np.ones(2)
        else:
            splines = spline_transform(shape[0])
        self._offset = float(self.similarity(rows[-1] ** 2 + columns[-1] ** 2))
        quarter = self._transform(rows, columns, splines, spline_transform(shape[1]), dtype)
        if len(lengths) == 1:
            quarter[1] = quarter[0] = quarter[0] / 2
        kind = _native.Convolution32 if quarter.dtype == np.float32 else _native.Convolution64
        self._convolution = kind(quarter, *shape, current().threads)
        self._cache_key = (step, *lengths, dtype)
        return self._convolution

    def _transform(
        self, rows: Array, columns: Array, down: Array, across: Array, dtype: Any
    ) -> Array:
        """The Fourier transform of w on a grid, divided by the squares of the splines' transforms.

        w is even on both axes, and so is its transform: a quarter is enough.
        """
        w = np.empty((len(rows), len(columns)))
        out = np.empty(w.shape, dtype)

        def fill(part: slice) -> None:
            w[part] = self.similarity(rows[part, None] ** 2 + columns**2) - self._offset

        def divide(part: slice) -> None:
            out[part] = w[part] / (down[part, None] * across) ** 2

        run(fill, blocks(len(rows), LINES))
        _native.even_transform(w, current().threads)
        run(divide, blocks(len(rows), LINES))
        return out


@dataclass(frozen=True)
class GridValues:
    """The field of fixed points on a grid: a `FrozenField`."""

    values: Array
    origin: Array
    step: float
    offset: float
    width: float

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        z, gradient = np.empty(len(Y), Y.dtype), np.empty_like(Y)
        grid = self.values, self.origin, self.step, self.values.shape[1]
        scales = self.offset, -self.width / 2
        _native.gather(*grid, Y, *scales, z, gradient, current().threads)
        return gradient, z


def spline_transform(length: int) -> Array:
    """The first half of the Fourier transform of the values (1, 26, 66, 26, 1) / 120 of the spline
    at the nodes, which is even."""
    cosine = cosine_of_turns(np.arange(length // 2 + 1) / length)
    return np.asarray((64 + 52 * cosine + 4 * cosine * cosine) / 120)


@dataclass(frozen=True)
class FixedPoints:
    """The repulsion of fixed points, by all pairs: a `FrozenField`."""

    embedding: Array
    similarity: Similarity

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        return _of_all_pairs(Y, self.embedding, None, self.similarity)


def _of_all_pairs(
    Y: Array, others: Array, mass: Array | None, kind: Similarity
) -> tuple[Array, Array]:
    """sum_j m_j w u (y - x_j) and sum_j m_j w over all points x_j in `others`."""
    force, z = np.empty_like(Y), np.empty(len(Y), Y.dtype)
    points, weights = np.ascontiguousarray(others.T), or_empty(mass, Y.dtype)
    _native.repulsion(Y, points, weights, kind.name, kind.dof, force, z, current().threads)
    return force, z


def build_repulsion(
    method: str, similarity: Similarity, n: int, dim: int, angle: float
) -> Repulsion:
    """Repulsion among n points by "exact", "barnes_hut", "fft", or the fastest of them ("auto")."""
    if method == "auto":
        tree = dim == 3 or n <= TREE_UP_TO
        all_pairs = n <= ALL_PAIRS_UP_TO or dim > 3
        method = "exact" if all_pairs else "barnes_hut" if tree else "fft"
    if method == "exact":
        return AllPairs(similarity)
    return GridField(similarity) if method == "fft" else BarnesHut(similarity, angle)


def frozen_field(embedding: Array, similarity: Similarity, margin: float) -> FrozenField:
    """The repulsion of a fixed embedding, for points up to `margin` outside its bounding box."""
    if len(embedding) <= ALL_PAIRS_UP_TO or embedding.shape[1] > 2:
        return FixedPoints(embedding, similarity)
    return GridField(similarity).freeze(embedding, margin=margin)
