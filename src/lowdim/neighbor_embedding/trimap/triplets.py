"""The triplets of TriMap, their weights, and their layout (Amid and Warmuth 2019).

A triplet (i, j, k) says that i is nearer to j than to k. With d_ij = 1 + |y_i - y_j|^2 its loss is
d_ij / (d_ij + d_ik), times its weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.neighbor_embedding.descent import MIN_GAIN
from lowdim.neighbor_embedding.pacmap.pairs import (
    draw_others,
    measure_pairs,
    nearest_scaled,
    neighbor_scales,
)
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.lists import pad_lists
from lowdim.objects.objects import Objects
from lowdim.runtime.scheduling import blocks

RANDOM_WEIGHT = 0.1  # factor on the weights of random triplets
EARLY, MOMENTA = 250, (0.5, 0.8)  # iterations with the first momentum, then the second one
MAX_STEP = 100.0  # of a point in an iteration
ROWS = 2048  # objects whose distances are measured at once


class Triplets(NamedTuple):
    """For each object i a row of triplets (i, near, far); those of weight 0 do not count."""

    near: Array
    far: Array
    weights: Array


def choose_triplets(
    graph: NeighborGraph,
    objects: Objects,
    start: Array,
    order: Array,
    counts: tuple[int, int, int],
    temperature: float,
    seed: int,
) -> tuple[Triplets, Array]:
    """The triplets of all objects, and the scales of their distances.

    Parameters
    ----------
    graph : NeighborGraph
    objects : Objects
    start : array of shape (n, dim)
        Its distances stand for those of objects that have none.
    order : array of shape (n,)
        Objects in the order of their random numbers.
    counts : (n_inliers, n_outliers, n_random)
        Each of the nearest `n_inliers` objects j is compared with `n_outliers` random objects that
        are farther; `n_random` triplets of each object have two random others.
    temperature : float
        Of the logarithm of the weights.
    seed : int
    """
    n_inliers, n_outliers, n_random = counts
    lists = graph.indices, graph.distances
    if graph.indptr is not None:
        lists = pad_lists(graph.indptr, *lists)
    scales = neighbor_scales(lists[1])
    inliers = nearest_scaled(*lists, scales, scales, n_inliers)
    measure = measure_pairs(objects, start)

    def draw(listed: Array, count: int, number: int) -> Array:
        return draw_others(listed, start[order], order, count, (seed + number) % 2**32)

    near, far = [np.repeat(inliers, n_outliers, axis=1)], []
    for j in range(inliers.shape[1]):
        far.append(draw(inliers[:, : j + 1], n_outliers, j))
    for number in range(n_random):
        pair = draw(np.full((len(start), 1), -1, np.int32), 2, n_inliers + number)
        near.append(pair[:, :1])
        far.append(pair[:, 1:])
    triplets = [np.concatenate(part, axis=1).astype(np.int32) for part in (near, far)]
    valid = (triplets[0] >= 0) & (triplets[1] >= 0)
    own = np.arange(len(start), dtype=np.int32)[:, None]
    triplets = [np.where(valid, ids, own) for ids in triplets]
    similarity = [_similarities(ids, measure, scales) for ids in triplets]
    gain = np.where(valid, similarity[0] - similarity[1], 0)
    swap = gain < 0
    swap[:, : inliers.shape[1] * n_outliers] = False  # inliers are nearer by choice
    gain[:, inliers.shape[1] * n_outliers :] *= RANDOM_WEIGHT
    gain = np.where(swap, -gain, gain)
    one, other = np.where(swap, triplets[1], triplets[0]), np.where(swap, *triplets)
    weights = tempered_log(1 + gain - gain[valid].min(initial=0), temperature)
    return Triplets(one, other, np.where(valid, weights, 0).astype(start.dtype)), scales


def _similarities(ids: Array, measure: Any, scales: Array) -> Array:
    """-d_ij^2 / (scale_i scale_j) of each object i and the objects j of its row."""
    out = np.empty(ids.shape)
    for part in blocks(len(ids), ROWS):
        rows = np.arange(part.start, part.stop)
        distinct = ids[part]
        found, distances = measure(rows, distinct)
        d = np.empty(distinct.shape)
        sources = np.argsort(found, axis=1, kind="stable")
        places = np.argsort(distinct, axis=1, kind="stable")
        np.put_along_axis(d, places, np.take_along_axis(distances, sources, axis=1), axis=1)
        out[part] = -(d / scales[part, None]) * (d / scales[distinct])
    return out


def tempered_log(x: Array, temperature: float) -> Array:
    """The logarithm (x^(1 - t) - 1) / (1 - t), which is log x for t = 1."""
    if abs(temperature - 1) < 1e-5:
        return np.asarray(np.log(x))
    power = 1 - temperature
    return np.asarray((x**power - 1) / power)


class TripletLayout:
    """The state of a layout of triplets, which can be resumed.

    Parameters
    ----------
    triplets : Triplets
    start : array of shape (n, dim)
    order : array of shape (n,)
        The vertices in the order in which they are stored.
    n_epochs : int
    rate : float
        Step size.
    """

    scheduled = False  # whether the epochs depend on `n_epochs`

    def __init__(
        self, triplets: Triplets, start: Array, order: Array, *, n_epochs: int, rate: float
    ) -> None:
        n, width = triplets.near.shape
        self.rank = np.empty(n, dtype=np.int32)
        self.rank[order] = np.arange(n, dtype=np.int32)
        near, far = (self.rank[ids[order]].ravel() for ids in triplets[:2])
        starts = np.arange(n + 1, dtype=np.int64) * width
        self.triplets = starts, near, far, np.ascontiguousarray(triplets.weights[order]).ravel()
        self.Y = np.ascontiguousarray(start[order])
        self.velocity, self.gains = np.zeros_like(self.Y), np.ones_like(self.Y)
        self.n_epochs, self.epoch, self.rate = n_epochs, 0, rate

    @property
    def embedding(self) -> Array:
        """The coordinates, in the original order of the objects."""
        return self.Y.take(self.rank, axis=0)

    def run(self, epochs: int, *, loss: bool = False) -> float:
        """Run some epochs; returns the loss before the last one."""
        last = min(self.epoch + epochs, self.n_epochs)
        momenta = np.where(np.arange(self.epoch, last) <= EARLY, *MOMENTA)
        value = backend().triplet_epochs(
            self.triplets,
            self.Y,
            self.velocity,
            self.gains,
            rate=self.rate,
            momenta=momenta,
            min_gain=MIN_GAIN,
            max_step=MAX_STEP,
        )
        self.epoch = last
        return value

    def state(self) -> dict[str, Any]:
        """Everything that changes from epoch to epoch."""
        return {
            "Y": self.Y,
            "velocity": self.velocity,
            "gains": self.gains,
            "epoch": self.epoch,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state of the same layout."""
        self.Y, self.velocity = state["Y"], state["velocity"]
        self.gains, self.epoch = state["gains"], state["epoch"]
