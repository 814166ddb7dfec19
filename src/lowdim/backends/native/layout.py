"""Epochs of layouts: forces along arcs, and between random points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim import _native
from lowdim.backends.native.forces import momentum_step
from lowdim.backends.native.sparse import csr_indices
from lowdim.checks import Array
from lowdim.runtime.context import current


class LayoutArcs(NamedTuple):
    """The arcs of a graph in groups of vertices, as the vectorized kernel reads them."""

    members: Array
    starts: Array
    targets: Array
    weights: Array


def layout_arcs(graph: Any, rank: Array | None = None) -> LayoutArcs:
    """The arcs of a CSR graph in the form that `layout_epochs` takes.

    Vertex i becomes vertex rank[i]. Without `rank`, rows are vertices and columns are fixed points.
    """
    n_targets = -1 if rank is not None else graph.shape[1]
    order = np.arange(graph.shape[0], dtype=np.int32) if rank is None else rank
    return LayoutArcs(
        *_native.layout_arcs(*csr_indices(graph), graph.data, order, n_targets, current().threads)
    )


def layout_epochs(
    arcs: LayoutArcs,
    Y: Array,
    velocity: Array,
    *,
    curve: tuple[float, float],
    rate: float,
    momentum: float,
    repulsion: float,
    n_negatives: int,
    epochs: tuple[int, int, int],
    seed: int,
    fixed: Array | None = None,
    density: tuple[Array, Array] | None = None,
    loss: bool = False,
) -> float:
    """Run epochs of a layout; updates Y and velocity; returns the cross-entropy if `loss`."""
    empty = np.empty((0, Y.shape[1]), Y.dtype)
    cross_entropy = _native.layout_epochs(
        *arcs,
        Y,
        velocity,
        empty if fixed is None else fixed,
        curve,
        (rate, momentum, repulsion),
        n_negatives,
        epochs,
        seed,
        *(density or (empty[:, 0], empty[:, 0])),
        loss,
        current().threads,
    )
    return float(cross_entropy)


def layout_radii(arcs: LayoutArcs, Y: Array, curve: tuple[float, float]) -> tuple[Array, Array]:
    """For each vertex, the sums of w and of w d^2 over its arcs, w = 1 / (1 + a d^2b)."""
    mass, spread = np.empty((2, len(Y)), dtype=Y.dtype)
    _native.layout_radii(*arcs, Y, *curve, mass, spread, current().threads)
    return mass, spread


def pair_epochs(
    arcs: list[LayoutArcs],
    Y: Array,
    moments: tuple[Array, Array],
    *,
    laws: Array,
    rates: Array,
) -> float:
    """Run epochs of a layout of pairs; updates Y and the moments; returns the loss."""
    parts = [tuple(kind) for kind in arcs]
    return float(_native.pair_epochs(parts, Y, *moments, laws, rates, current().threads))


def draw_others(listed: Array, drawn: Array, *, seed: int, Y: Array, reach: float = np.inf) -> None:
    """Replace the rows of `drawn` by random other vertices that are not listed."""
    _native.draw_others(listed, seed, Y, reach, drawn, current().threads)


def triplet_epochs(
    triplets: tuple[Array, Array, Array, Array],
    Y: Array,
    velocity: Array,
    gains: Array,
    *,
    rate: float,
    momenta: Array,
    min_gain: float,
    max_step: float,
) -> float:
    """Run epochs of a layout of triplets; updates Y, velocity and gains; returns the loss."""
    loss, gradient, threads = 0.0, np.empty_like(Y), current().threads
    for momentum in momenta:
        loss = _native.triplet_gradient(*triplets, Y, gradient, threads)
        momentum_step(
            gradient,
            Y,
            velocity,
            gains,
            rate=rate,
            momentum=float(momentum),
            min_gain=min_gain,
            max_step=max_step,
        )
    return float(loss)
