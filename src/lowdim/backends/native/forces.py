"""Kernels of gradient descent on forces: attraction, repulsion, grids, and a descent step."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.optional import or_empty
from lowdim.backends.native.sparse import csr_indices
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array
from lowdim.runtime.context import current

ONE_THREAD_UP_TO = 20_000  # edges; below this, waking threads takes longer than it saves


class Attraction:
    """The attraction along the edges of a CSR matrix P, which is checked and copied once."""

    def __init__(self, P: Any, similarity: Similarity) -> None:
        kind = _native.Edges32 if P.dtype == np.float32 else _native.Edges64
        self.n_edges, self.similarity = len(P.data), similarity
        data = np.ascontiguousarray(P.data)
        self.edges = kind(*csr_indices(P), data, current().threads)

    def __call__(self, Y: Array, *, loss: bool) -> tuple[float, Array]:
        """sum_ij p_ij log w_ij (0 unless `loss`) and the forces sum_j p_ij u_ij (y_i - y_j)."""
        force = np.empty_like(Y)
        threads = current().threads if self.n_edges > ONE_THREAD_UP_TO else 1
        kind, logs = self.similarity, 0.0
        if loss:
            logs = self.edges.attraction(Y, kind.name, kind.dof, True, force, threads)
        # The kernel with the loss rounds forces differently: those of the other are used always, so
        # that the descent does not depend on which iterations a callback watches.
        self.edges.attraction(Y, kind.name, kind.dof, False, force, threads)
        return float(logs), force

    def renumber(self, order: Array) -> None:
        """Reorder the vertices: vertex i is from now on the former vertex order[i]."""
        self.edges.renumber(order, current().threads)


def bounds(Y: Array) -> tuple[Array, Array]:
    """The smallest and the largest entry of each column of Y."""
    low, high = np.empty(Y.shape[1]), np.empty(Y.shape[1])
    _native.bounds(Y, low, high, current().threads)
    return low, high


def curve_order(Y: Array) -> Array:
    """The indices of the points in the order of a space-filling curve."""
    return np.asarray(_native.curve_order(Y, current().threads))


def all_pairs_repulsion(
    Y: Array,
    others: Array,
    mass: Array | None,
    similarity: str,
    dof: float,
) -> tuple[Array, Array]:
    """sum_j m_j w_ij u_ij (y_i - x_j) and sum_j m_j w_ij over all points x_j in `others`."""
    force, z = np.empty_like(Y), np.empty(len(Y), Y.dtype)
    transposed = np.ascontiguousarray(others.T)
    _native.repulsion(
        Y, transposed, or_empty(mass, Y.dtype), similarity, dof, force, z, current().threads
    )
    return force, z


def tree_repulsion(
    Y: Array, mass: Array | None, similarity: str, dof: float, angle: float
) -> tuple[Array, Array]:
    """The same sums over j != i among the points Y, approximated by a Barnes-Hut tree."""
    force, z = np.empty_like(Y), np.empty(len(Y), Y.dtype)
    _native.tree_repulsion(
        Y, or_empty(mass, Y.dtype), similarity, dof, angle, force, z, current().threads
    )
    return force, z


def spread(
    Y: Array,
    charge: Array | None,
    origin: Array,
    step: float,
    columns: int,
    field: Array,
) -> None:
    """Spread the charges of points to the nodes of a grid by splines; overwrites `field`."""
    _native.spread(Y, or_empty(charge, Y.dtype), origin, step, columns, field, current().threads)


def gather(
    field: Array,
    origin: Array,
    step: float,
    columns: int,
    Y: Array,
    *,
    offset: float = 0.0,
    scale: float = 1.0,
) -> tuple[Array, Array]:
    """`offset` plus the values of a spline field at the points Y, and scaled gradients."""
    value, gradient = np.empty(len(Y), Y.dtype), np.empty_like(Y)
    _native.gather(
        field, origin, step, columns, Y, offset, scale, value, gradient, current().threads
    )
    return value, gradient


class Convolution:
    """Convolution of fields of a padded shape with an even kernel.

    The Fourier transform of the kernel is real and even on both axes: its first quarter is given.
    """

    def __init__(self, quarter: Array, shape: list[int]) -> None:
        kind = _native.Convolution32 if quarter.dtype == np.float32 else _native.Convolution64
        self.convolution = kind(quarter, *shape, current().threads)

    def apply(self, field: Array) -> None:
        """Convolve a field, in place; its sides are at most half of the padded lengths."""
        self.convolution.apply(field, current().threads)


def even_transform(values: Array) -> None:
    """The Fourier transform of an even function on a grid, in place; the first quarter of each."""
    _native.even_transform(values, current().threads)


def subtract_scaled(first: Array, a: float, second: Array, b: float) -> None:
    """Set `first` to a first - b second."""
    less = np.ascontiguousarray(second, dtype=first.dtype)
    _native.subtract_scaled(first, a, less, b, current().threads)


def total(values: Array) -> float:
    """The sum of a vector in double precision."""
    return float(_native.sum(np.ascontiguousarray(values), current().threads))


def momentum_step(
    gradient: Array,
    Y: Array,
    velocity: Array,
    gains: Array,
    *,
    rate: float,
    momentum: float,
    min_gain: float,
    max_step: float,
) -> float:
    """A step of gradient descent; updates Y, velocity and gains; returns the gradient's norm."""
    square = _native.momentum_step(
        gradient, Y, velocity, gains, rate, momentum, min_gain, max_step, current().threads
    )
    return float(np.sqrt(square))
