"""Epochs of a layout: each vertex is pulled along its arcs and pushed away by others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim import _native
from lowdim.backends.native.sparse import csr_indices
from lowdim.checks import Array
from lowdim.runtime.context import current


class LayoutArcs(NamedTuple):
    """The arcs of a graph in the order in which a layout works on them."""

    members: Array
    starts: Array
    targets: Array
    weights: Array


def layout_arcs(graph: Any, rank: Array | None = None) -> LayoutArcs:
    """The arcs of a CSR graph, for `layout_epochs`.

    With `rank`, vertices and targets are numbered by it. Without, the rows of the graph are
    vertices and its columns are fixed points.
    """
    n_targets = -1 if rank is not None else graph.shape[1]
    order = np.arange(graph.shape[0], dtype=np.int32) if rank is None else rank
    return LayoutArcs(*_native.layout_arcs(*csr_indices(graph), graph.data, order, n_targets))


def layout_epochs(
    arcs: LayoutArcs,
    Y: Array,
    velocity: Array,
    *,
    curve: tuple[float, float],
    rate: float,
    momentum: float,
    repulsion: float,
    draws: int,
    epochs: tuple[int, int, int],
    seed: int,
    fixed: Array | None = None,
    density: tuple[Array, Array] | None = None,
    loss: bool = False,
) -> float:
    """Epochs [first, last) of a layout that ends at the third number; Y, velocity in place.

    `fixed` are the targets of the arcs, if they are not the vertices themselves; `draws` of them
    repel a vertex in an epoch, or all if 0. The cross-entropy before the last epoch is returned
    if asked for.
    """
    none = np.empty((0, Y.shape[1]), Y.dtype)
    found = _native.layout_epochs(
        *arcs,
        Y,
        velocity,
        none if fixed is None else fixed,
        curve,
        (rate, momentum, repulsion),
        draws,
        epochs,
        seed,
        *(density or (none[:, 0], none[:, 0])),
        loss,
        current().threads,
    )
    return float(found)


def layout_radii(arcs: LayoutArcs, Y: Array, curve: tuple[float, float]) -> tuple[Array, Array]:
    """Each vertex's sum of nearness to its targets, and of nearness times squared distance."""
    mass, spread = np.empty((2, len(Y)), dtype=Y.dtype)
    _native.layout_radii(*arcs, Y, *curve, mass, spread, current().threads)
    return mass, spread
