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

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.metrics import Metric
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import random_state_of
from lowdim.runtime.elementary import power
from lowdim.runtime.scheduling import blocks, run
from lowdim.stress.majorization import Majorized

SIDE = 32  # objects in half of a tile: the number of pairs of each object in a round
FAR, NEAR = 1.0, 0.1  # rate of the first round, from a random start and from a good one
LAST = 0.3  # rate of the last round, times the number of rounds
BLOCK_TILES = 64  # tiles whose distances a thread computes at once


def descend_sampled(
    rows: Any,
    metric: Metric,
    start: Array,
    rates: tuple[float, float],
    weigh: Callable[[Array], Array] | None,
    random: np.random.RandomState,
    monitor: Monitor,
) -> Majorized:
    """Run `monitor.max_iter` rounds.

    Parameters
    ----------
    rows : array, CSR matrix or array of objects
    metric : Metric
    start : array of shape (n, dim)
    rates : (first, last)
        A pair moves by min(1, weight * rate) of its error. The rate decreases geometrically.
    weigh : callable or None
        From dissimilarities to weights; None: all weights are 1.
    random : RandomState
    monitor : Monitor

    Returns
    -------
    Majorized
        The history holds estimates of the raw stress, from the pairs of each round before they
        moved.
    """
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
            weights = None if weigh is None else weigh(targets)
            stress = backend().stress_sgd_round(order, targets, weights, now, X)
            history.append(stress * whole)
            if monitor(iteration, history[-1], X):
                break
            monitor.keep(state)
    X -= X.mean(axis=0, dtype=np.float64).astype(X.dtype)
    return Majorized(X, history[-1] if history else np.inf, np.array(history))
