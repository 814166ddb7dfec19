"""Stress of vectors too many for a matrix: pairs met at random, one after the other.

Stochastic descent with a step that no pair overshoots (Zheng, Pawar and Goodman 2018). In a round
the objects are dealt into tiles at random; a tile's distances are measured when it is its turn, and
tiles share no object, so they run in parallel and the same seed gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.callbacks import Monitor
from lowdim.checks import Array
from lowdim.relations.metrics import Metric
from lowdim.runtime.scheduling import blocks, run
from lowdim.solvers.majorize import Majorized

SIDE = 32  # each object meets this many others in a round
FAR, NEAR = 1.0, 0.1  # the first round's rate, from a random start and from a good one
LAST = 0.3  # the last round's rate is this over the number of rounds


def descend_sampled(
    rows: Any,
    metric: Metric,
    start: Array,
    rates: tuple[float, float],
    weigh: Callable[[Array], Array] | None,
    random: np.random.RandomState,
    monitor: Monitor,
) -> Majorized:
    """max_iter rounds of meetings; the rate falls from the first of `rates` to the second.

    A pair moves by min(1, weight * rate) of its error; `weigh` gives weights for dissimilarities.
    The history holds estimates of the raw stress, from the pairs of each round before they moved.
    """
    X = np.array(start, order="C")
    n = len(X)
    side = min(SIDE, n // 2)
    n_tiles = n // (2 * side)
    whole = n * (n - 1) / 2 / (n_tiles * side * side)
    rate, last = rates[0], min(rates)
    history: list[float] = []
    targets = np.empty((n_tiles, side, side), dtype=X.dtype)
    with monitor:
        for iteration in range(1, monitor.max_iter + 1):
            order = random.permutation(n).astype(np.int32)

            def measure(tiles: slice, order: Array = order) -> None:
                for tile in range(tiles.start, tiles.stop):
                    own = order[tile * 2 * side : (tile + 1) * 2 * side]
                    targets[tile] = metric.block(rows[own[:side]], rows[own[side:]])

            run(measure, blocks(n_tiles, 64))
            now = rate * (last / rate) ** ((iteration - 1) / max(monitor.max_iter - 1, 1))
            weights = None if weigh is None else weigh(targets)
            stress = backend().meet_in_tiles(order, targets, weights, now, X)
            history.append(stress * whole)
            if monitor(iteration, history[-1], X):
                break
    X -= X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    return Majorized(X, history[-1] if history else np.inf, np.array(history))
