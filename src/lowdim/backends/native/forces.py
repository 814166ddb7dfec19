"""Forces between the points of an embedding, and steps of descents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import csr_indices
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


def curve_order(Y: Array) -> Array:
    """The indices of the points in the order of a space-filling curve."""
    return np.asarray(_native.curve_order(Y, current().threads))


def subtract_scaled(first: Array, a: float, second: Array, b: float) -> None:
    less = np.ascontiguousarray(second, dtype=first.dtype)
    _native.subtract_scaled(first, a, less, b, current().threads)


def total(values: Array) -> float:
    return float(_native.sum(np.ascontiguousarray(values), current().threads))


class StepSettings(NamedTuple):
    """The settings of a `momentum_step`."""

    rate: float
    momentum: float
    min_gain: float
    max_step: float  # largest distance by which a point moves


def momentum_step(
    gradient: Array, Y: Array, velocity: Array, gains: Array, settings: StepSettings
) -> float:
    """One step of gradient descent with momentum and gains (Jacobs 1988).

    Updates Y, velocity and gains in place. Returns the norm of the gradient.
    """
    square = _native.momentum_step(gradient, Y, velocity, gains, *settings, current().threads)
    return float(np.sqrt(square))


def quasi_newton_direction(
    gradient: Array, steps: Sequence[Array], changes: Sequence[Array]
) -> Array:
    """The direction of descent of the limited-memory BFGS method, all in float64.

    `steps` are past steps, the oldest one first, and `changes` those of the gradient over them; the
    product of a step and its change is positive.
    """
    direction = np.empty_like(gradient)
    shape = len(steps), len(gradient)
    past = (np.array(rows, dtype=np.float64).reshape(shape) for rows in (steps, changes))
    _native.quasi_newton_direction(gradient, *past, direction)
    return direction


def descend(
    field: Any,
    Y: Array,
    velocity: Array,
    gains: Array,
    settings: StepSettings,
    *,
    steps: int,
    value: bool,
) -> tuple[float, float]:
    """Iterations of gradient descent with momentum and gains; updates Y, velocity and gains.

    `field` is a function of Y and of the keyword `value` that returns the loss (NaN unless `value`)
    and the gradient (see `numerics.objective.ForceField`). A device may call it with arrays of its
    own, for which its own attraction and repulsion are made. Each of the `steps` iterations is a
    `momentum_step`. Returns the loss before the last iteration, NaN unless `value`, and the norm of
    the gradient in it.
    """
    loss, norm = np.nan, 0.0
    for step in range(steps):
        loss, gradient = field(Y, value=value and step + 1 == steps)
        norm = momentum_step(gradient, Y, velocity, gains, settings)
    return loss, norm
