"""The triplets of TriMap, their weights, and their layout (Amid and Warmuth 2019).

A triplet (i, j, k) says that i is nearer to j than to k. With d_ij = 1 + |y_i - y_j|^2 its loss is
d_ij / (d_ij + d_ik), times its weight. A negative weight exchanges j and k, up to a constant.

The layout takes objects i in groups, in an order by the first coordinates of their start. The
random objects k of a group are those at one random distance from the objects i in this order, so
that their coordinates are read, and the forces on them added, all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.layout import GROUP_SIZE
from lowdim.checks import Array
from lowdim.neighbor_embedding.anchors import Spring
from lowdim.neighbor_embedding.descent import MIN_GAIN
from lowdim.neighbor_embedding.pacmap.pairs import measure_pairs, neighbor_scales
from lowdim.neighbor_embedding.umap.layout import EpochLayout
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.lists import pad_lists
from lowdim.objects.objects import Objects
from lowdim.runtime.elementary import log, power
from lowdim.runtime.scheduling import blocks

RANDOM_WEIGHT = 0.1  # factor on the weights of random triplets
EARLY, MOMENTA = 250, (0.5, 0.8)  # iterations with the first momentum, then the second one
MAX_STEP = 100.0  # of a point in an iteration
LEAST_SIMILARITY = -1e15  # weights and forces are finite in float32 too
ROWS = 2048  # objects whose distances are measured at once


class Triplets(NamedTuple):
    """Triplets (i, j, k) of all objects i: j is near[i, a], and k follows i in the order of the
    layout at the distance shifts[a, b, g] for group g, from the last object on to the first; their
    weight is weights[i, a, b]."""

    near: Array
    shifts: Array
    weights: Array


def draw_shifts(n: int, n_near: int, n_far: int, random: np.random.RandomState) -> Array:
    """Random distances in the order of n objects, `n_far` distinct ones for each group of them."""
    begin = random.random_sample((n_near, 1, -(-n // GROUP_SIZE)))
    shifts = 1 + (begin + np.arange(n_far)[:, None]) * ((n - 1) / n_far)
    return np.minimum(shifts, n - 1).astype(np.int32)


def far_objects(order: Array, shifts: Array) -> Array:
    """The objects at these distances, an array of shape (n, n_near, n_far)."""
    places = np.arange(len(order))
    ids = order[(shifts[:, :, places // GROUP_SIZE] + places) % len(order)]
    far = np.empty((len(order), *shifts.shape[:2]), dtype=np.int32)
    far[order] = ids.transpose(2, 0, 1)
    return far


def choose_triplets(
    graph: NeighborGraph,
    objects: Objects,
    start: Array,
    order: Array,
    counts: tuple[int, int, int],
    temperature: float,
    seed: int,
) -> tuple[list[Triplets], Array]:
    """The triplets of all objects, with inliers and random ones, and the scales of their distances.

    `counts` are n_inliers, n_outliers and n_random: each of the nearest n_inliers objects j is
    compared with n_outliers random objects, of which those that are nearer do not count; n_random
    triplets of each object have two random others. Distances in the start stand for those of
    objects that have none; `order` is that of the layout.
    """
    n_inliers, n_outliers, n_random = counts
    lists = graph.indices, graph.distances
    if graph.indptr is not None:
        lists = pad_lists(graph.indptr, *lists)
    scales = neighbor_scales(lists[1])
    inliers = backend().nearest_scaled(*lists, scales, scales, n_inliers, None).astype(np.int32)
    n, n_inliers = inliers.shape
    random = np.random.RandomState(seed)
    shifts = [draw_shifts(n, n_inliers, n_outliers, random), draw_shifts(n, n_random, 1, random)]
    outliers, others = (far_objects(order, kind) for kind in shifts)
    own, other = np.arange(n, dtype=np.int32)[:, None], others[:, :, 0]
    one = random.randint(n - 1, size=(n, n_random)).astype(np.int32)
    one += one >= own  # never the object itself
    one[order] = order[one]
    ids = inliers, outliers.reshape(n, -1), one, other
    near, far, *two = (_similarities(part, measure_pairs(objects, start), scales) for part in ids)
    gains = near[:, :, None] - far.reshape(outliers.shape)
    known = np.repeat(inliers[:, :, None] >= 0, n_outliers, axis=2)
    for j in range(n_inliers):  # outliers are no nearer inliers
        known[:, j:] &= outliers[:, j:] != inliers[:, j, None, None]
    least = gains[known].min(initial=0)
    weights = np.where(known, tempered_log(1 + np.maximum(gains - least, 0), temperature), 0)
    gain = two[0] - two[1]
    sizes = tempered_log(1 + (RANDOM_WEIGHT * np.abs(gain) - least), temperature)
    signed = np.where(gain < 0, -sizes, sizes)[:, :, None]
    return [
        Triplets(np.where(inliers < 0, own, inliers), shifts[0], weights.astype(start.dtype)),
        Triplets(one, shifts[1], signed.astype(start.dtype)),
    ], scales


def _similarities(ids: Array, measure: Any, scales: Array) -> Array:
    """-d_ij^2 / (scale_i scale_j) of each object i and the objects j of its row; -1 is none."""
    out = np.empty(ids.shape)
    for part in blocks(len(ids), ROWS):
        rows = np.arange(part.start, part.stop)
        distinct = np.where(ids[part] < 0, rows[:, None], ids[part]).astype(np.int32)
        found, distances = measure(rows, distinct)
        d = np.empty(distinct.shape)
        sources = np.argsort(found, axis=1, kind="stable")
        places = np.argsort(distinct, axis=1, kind="stable")
        np.put_along_axis(d, places, np.take_along_axis(distances, sources, axis=1), axis=1)
        with np.errstate(over="ignore"):
            out[part] = -(d / scales[part, None]) * (d / scales[distinct])
    return np.maximum(out, LEAST_SIMILARITY)


def tempered_log(x: Array, temperature: float) -> Array:
    """The logarithm (x^(1 - t) - 1) / (1 - t), which is log x for t = 1."""
    if abs(temperature - 1) < 1e-5:
        return np.asarray(log(x))
    share = 1 - temperature
    powers = np.sqrt(x) if share == 0.5 else power(x, share)
    return np.asarray((powers - 1) / share)


class TripletLayout(EpochLayout):
    """The layout of triplets; see `EpochLayout`."""

    rate = 0.05  # step size
    changing = ("Y", "velocity", "gains", "epoch")

    def __init__(
        self,
        kinds: list[Triplets],
        start: Array,
        order: Array,
        n_epochs: int,
        springs: Sequence[Spring] = (),
    ) -> None:
        super().__init__(start, order, n_epochs, springs)
        self.triplets = [
            (
                np.take(self.rank, kind.near[order].T),
                kind.shifts,
                np.ascontiguousarray(kind.weights[order].transpose(1, 2, 0)),
            )
            for kind in kinds
        ]
        self.exchanged = -sum(float(np.minimum(kind.weights, 0).sum()) for kind in kinds)
        self.gains = np.ones_like(self.Y)

    def _advance(self, last: int, loss: bool) -> float:
        return self.exchanged + backend().triplet_epochs(
            self.triplets,
            self.Y,
            self.velocity,
            self.gains,
            rate=self.rate,
            momenta=np.where(np.arange(self.epoch, last) <= EARLY, *MOMENTA),
            min_gain=MIN_GAIN,
            max_step=MAX_STEP,
        )
