"""Stochastic descent on the stress of too many objects for a distance matrix.

Random pairs of points are moved along the line between them, by a share of the error of their
distance that is at most 1, so that no step overshoots (Zheng, Pawar and Goodman 2018). In each
round the objects are divided into random tiles, and the pairs between the two halves of a tile are
used. Tiles share no object, so they are computed on several threads with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.matrices import check_defined
from lowdim.distances.metrics import Metric
from lowdim.objects.new_objects import as_new
from lowdim.objects.objects import MeasuredObjects
from lowdim.objects.pairs import Pairs
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import random_state_of
from lowdim.runtime.elementary import power
from lowdim.runtime.scheduling import blocks, run
from lowdim.spectral.starts import landmark_start
from lowdim.stress.majorization import Majorized
from lowdim.stress.mds.problems import (
    NewMonitor,
    Random,
    Solution,
    WeighPairs,
    check_not_all_zero,
    pair_distances,
    random_like,
)

PARTNERS = 160  # objects that each object is measured against, to estimate a stress
GROUP_OBJECTS = 16  # random groups whose distances are computed as one block
SIDE = 32  # objects in half of a tile: the number of pairs of each object in a round
FAR, NEAR = 1.0, 0.1  # rate of the first round, from a random start and from a good one
LAST = 0.3  # rate of the last round, times the number of rounds
BLOCK_TILES = 64  # tiles whose distances a thread computes at once


def sampled_pairs(rows: Any, metric: Metric, partners: int, random: np.random.RandomState) -> Pairs:
    """Random pairs of objects and their distances, about `partners` for each object.

    Objects are divided into random groups, arranged on a circle. The distances within each group
    and to the groups at a few random offsets along the circle are computed. One of the offsets is
    1, so that the pairs connect all objects.
    """
    n = rows.shape[0]
    order = random.permutation(n).astype(np.int32)
    groups = [order[part] for part in blocks(n, GROUP_OBJECTS)]
    half = (len(groups) - 1) // 2
    strides = 1 + random.permutation(max(half, 1))[: max(1, round(partners / (2 * GROUP_OBJECTS)))]
    strides = np.unique(np.append(strides, 1))  # a stride of one connects all groups

    def measure(g: int) -> tuple[Array, Array, Array]:
        own, others = groups[g], [groups[(g + s) % len(groups)] for s in strides]
        against = np.concatenate([own, *others] if len(groups) > 1 else [own])
        block = np.asarray(metric.block(rows[own], rows[against]))
        left, right = np.meshgrid(own, against, indexing="ij")
        used = left != right
        check_defined(np.where(used, block, 0), metric, own, against)
        used[:, : len(own)] &= left[:, : len(own)] < right[:, : len(own)]
        low, high = np.minimum(left, right)[used], np.maximum(left, right)[used]
        return low, high, block[used]

    parts = run(measure, range(len(groups)))
    first, second, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    _, once = np.unique(first.astype(np.int64) * n + second, return_index=True)
    return Pairs(n, first[once], second[once], values[once].astype(checks.float_kind(rows)))


class SampledStress:
    """The stress of all pairs of vectors, minimised and measured on random samples of them.

    A sparse matrix of a sample of `dissimilarities`, which are not fitted, measures the stress,
    with the weights that `weigh` gives to its pairs. `weights_of` is a function from fitted
    dissimilarities to weights; None: all are 1. With `good_start` the starts are near a minimum, so
    that small steps are enough.
    """

    def __init__(
        self,
        objects: MeasuredObjects,
        weigh: WeighPairs | None,
        weights_of: Callable[[Array], Array] | None,
        random: Random,
        *,
        good_start: bool,
    ) -> None:
        pairs = sampled_pairs(objects.rows, objects.metric, PARTNERS, random)
        self.dissimilarities = pairs.graph(pairs.values)
        check_not_all_zero(pairs.values)
        self.pairs = pairs if weigh is None else weigh(pairs)
        self.objects, self.weights_of, self.random = objects, weights_of, random
        self.values = self.pairs.values
        self.rate = NEAR if good_start else FAR

    def classical_start(self, k: int, random: Random) -> Array:
        def distances_to(chosen: Array) -> Array:
            return as_new(self.objects).subset(chosen).distances()

        return landmark_start(distances_to, self.objects.n, k, random)

    def random_start(self, k: int, random: Random) -> Array:
        return random_like(self.values, self.pairs.n, k, random)

    def minimize(self, starts: list[Array], new_monitor: NewMonitor, eps: float) -> list[Majorized]:
        return [self._descend(start, new_monitor()) for start in starts]

    def solution(self, minimum: Majorized) -> Solution:
        pairs = self.pairs
        d = pair_distances(pairs, minimum.embedding)
        share = len(d) / (pairs.n * (pairs.n - 1) / 2)
        parts = (pairs.values - d, d, pairs.values)
        sums = (pairs.sum_of_squares(part) / share for part in parts)
        return Solution(pairs.graph(pairs.values), None, *sums)

    def _descend(self, start: Array, monitor: Monitor) -> Majorized:
        """Run `monitor.max_iter` rounds.

        A pair moves by min(1, weight * rate) of its error. The rate decreases geometrically. The
        history of the result holds estimates of the raw stress, from the pairs of each round before
        they moved.
        """
        rows, metric, random = self.objects.rows, self.objects.metric, self.random
        rates = self.rate / self.pairs.mean_weight, LAST / monitor.max_iter / self.pairs.mean_weight
        X = np.array(start, order="C")
        n = len(X)
        side = min(SIDE, n // 2)
        n_tiles = n // (2 * side)
        whole = n * (n - 1) / 2 / (n_tiles * side * side)
        rate, last = rates[0], min(rates)
        history: list[float] = []
        targets = np.empty((n_tiles, side, side), dtype=X.dtype)

        def state() -> dict[str, Any]:
            return {"X": X, "history": np.array(history), "random": random_state_of(random)}

        with monitor:
            if (saved := monitor.load_state({"X": X}, scheduled=True)) is not None:
                X, history = saved["X"], saved["history"].tolist()
                random.set_state(saved["random"])
            for iteration in range(len(history) + 1, monitor.max_iter + 1):
                order = random.permutation(n).astype(np.int32)

                def measure(tiles: slice, order: Array = order) -> None:
                    for tile in range(tiles.start, tiles.stop):
                        own = order[tile * 2 * side : (tile + 1) * 2 * side]
                        targets[tile] = metric.block(rows[own[:side]], rows[own[side:]])

                run(measure, blocks(n_tiles, BLOCK_TILES))
                done = (iteration - 1) / max(monitor.max_iter - 1, 1)
                now = rate * float(power(last / rate, done))
                weights = None if self.weights_of is None else self.weights_of(targets)
                stress = backend().stress_sgd_round(order, targets, weights, now, X)
                history.append(stress * whole)
                if monitor(iteration, history[-1], X):
                    break
                monitor.keep(state)
        X -= X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return Majorized(X, history[-1] if history else np.inf, np.array(history))
