"""Epochs of layouts: forces along arcs, and between random points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import csr_indices
from lowdim.checks import Array
from lowdim.runtime.context import current

GROUP_SIZE = 16  # vertices that a kernel handles at once, kGroupSize in kernels.hpp


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


def pair_arcs(partners: Array, rank: Array, dtype: Any) -> LayoutArcs:
    """As `layout_arcs`, of arcs of weight 1 between each vertex and its partners, both ways.

    `partners` has a row for each vertex; -1 is none. Arcs of the same vertices are added.
    """
    from scipy.sparse import coo_array

    first = np.repeat(np.arange(len(partners), dtype=np.int32), partners.shape[1])
    second = partners.ravel()
    first, second = first[second >= 0], second[second >= 0]
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    shape = len(partners), len(partners)
    graph = coo_array((np.ones(len(ends[0]), dtype=dtype), ends), shape=shape).tocsr()
    return layout_arcs(graph, rank)


def nearest_scaled(
    indices: Array, distances: Array, own: Array, scales: Array, k: int, other: Array | None = None
) -> Array:
    """The k objects of least d_ij^2 / (scale_i scale_j) in each list; those of `other` last.

    `own` are the scales of the objects of the rows, `scales` those of the listed ones.
    """
    with np.errstate(over="ignore"):
        scaled = (distances / own[:, None]) * (distances / scales[indices])
    if other is not None:
        scaled = np.where(other, np.inf, scaled)
    chosen = np.argsort(scaled, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(indices, chosen, axis=1)


def layout_epochs(
    arcs: LayoutArcs,
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
    """Run the epochs first <= e < last of a cross-entropy layout (see
    `neighbor_embedding.umap.layout`).

    Parameters
    ----------
    arcs : from `layout_arcs`
    Y, velocity : arrays of shape (n, dim), updated in place
    curve : (a, b); points at distance d have the membership 1 / (1 + a d^2b). Or (a, 1, h), with
        the membership h / (1 + a d^2), that of points at the same place being h
    rate, momentum : of the first epoch; both decrease linearly to 0
    repulsion : weight of the repulsion
    n_negatives : random points that repel a vertex in an epoch; 0: all points do
    epochs : (first, last, total)
    seed : key of the random numbers, with the epoch and the vertex
    fixed : array of shape (n_fixed, dim); the targets of the arcs, if these are not the vertices
    density : pair of arrays of shape (n,); densMAP's force on each vertex (see `Layout`)
    masses : array of shape (n,) or (n_fixed,); factors of the repulsion by each point
    loss : whether to compute and return the cross-entropy before the last epoch; otherwise 0
    """
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
        empty[:, 0] if masses is None else masses,
        loss,
        current().threads,
    )
    return float(cross_entropy) if loss else 0.0


def layout_radii(arcs: LayoutArcs, Y: Array, curve: tuple[float, float]) -> tuple[Array, Array]:
    """For each vertex, the sums of w and of w d^2 over its arcs, w = 1 / (1 + a d^2b)."""
    mass, spread = np.empty((2, len(Y)), dtype=Y.dtype)
    _native.layout_radii(*arcs, Y, *curve, mass, spread, current().threads)
    return mass, spread


def pair_epochs(
    arcs: list[LayoutArcs], Y: Array, moments: tuple[Array, Array], *, laws: Array, rates: Array
) -> float:
    """Run epochs of Adam on pairs of several kinds; returns the loss before the last epoch.

    `arcs` are from `layout_arcs`, one for each kind: each pair is an arc in both directions, whose
    weight multiplies the loss. The loss of a pair at squared distance s is weight d / (constant +
    d), with d = 1 + s: an attraction, or a repulsion if the weight is negative. `laws`, of shape
    (n_epochs, n_kinds, 3), are the constant, the weight and the reach r of each kind; if r is
    positive, the force is multiplied by r / sqrt(d). `rates` are the step sizes, with Adam's
    correction of the bias. Y and `moments`, the running means of the gradient and of its square,
    are updated in place.
    """
    parts = [tuple(kind) for kind in arcs]
    return float(_native.pair_epochs(parts, Y, *moments, laws, rates, current().threads))


def draw_others(listed: Array, drawn: Array, *, seed: int, Y: Array, reach: float = np.inf) -> None:
    """Replace entries of `drawn` by random vertices, distinct and not in the same row of `listed`.

    Both are int32 arrays of a row for each vertex; -1 in `listed` is none. With a `reach`, vertices
    farther than it on the map Y are not drawn. An entry for which none was found in 100 draws
    stays. Random numbers are keyed by the seed, the vertex and the number of the draw.
    """
    _native.draw_others(listed, seed, Y, reach, drawn, current().threads)


def triplet_epochs(
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
    """Run epochs of gradient descent with gains on the loss of triplets.

    Returns the loss before the last one.

    The loss of (i, j, k) is weight d_ij / (d_ij + d_ik), with d_ij = 1 + |y_i - y_j|^2; a negative
    weight exchanges j and k, up to a constant. `triplets` are of several kinds: near, of shape
    (n_near, n), has vertices j of each vertex i; shifts, of shape (n_near, n_far, n / GROUP_SIZE),
    one for each group of consecutive vertices i, give the vertices k = (i + shift) mod n with which
    each j is compared; weights are of shape (n_near, n_far, n). `momenta` has the momentum of each
    epoch; other parameters are those of `momentum_step`. Y, velocity and gains are updated in
    place.
    """
    steps = rate, np.ascontiguousarray(momenta, dtype=np.float64), min_gain, max_step
    return float(_native.triplet_epochs(triplets, Y, velocity, gains, *steps, current().threads))
