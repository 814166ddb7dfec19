"""Training of a self-organizing map: neighbourhood functions, batch and online loops, places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.backends.native.dense import product, symmetric_eigen
from lowdim.checks import Array
from lowdim.learned.self_organizing_map.prototypes import Kernel, Prototypes
from lowdim.numerics.unit_grid import UnitGrid
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import random_state_of
from lowdim.runtime.elementary import exp, power

NEIGHBORHOODS = ("gaussian", "bubble", "cut_gaussian")
LARGEST_TABLE = 2048  # units up to which their distances on the grid are kept: 32 MB
SLACK = 1 + 1e-9  # so that rounding does not exclude units at exactly the radius


class Schedule(NamedTuple):
    """A quantity that decreases geometrically from its first to its last value."""

    first: float
    last: float

    def at(self, share: float) -> float:
        """The value after a share of the training."""
        return float(self.first * power(self.last / self.first, share))


def weights(squares: Array, radius: float, neighborhood: str) -> Array:
    """The neighbourhood function of squared distances on the grid."""
    inside = squares <= radius * radius * SLACK
    if neighborhood == "bubble":
        return inside.astype(np.float64)
    gaussian = np.asarray(exp(squares / (-2 * radius * radius)))
    return gaussian if neighborhood == "gaussian" else np.asarray(gaussian * inside)


def kernel(grid: UnitGrid, radius: float, neighborhood: str) -> Kernel:
    """The weights of all units for some units."""
    return lambda units: weights(grid.squared_distances(units), radius, neighborhood)


def train_batch(
    prototypes: Prototypes, grid: UnitGrid, neighborhood: str, radius: Schedule, monitor: Monitor
) -> Array:
    """Batch training; returns the mean distance to the best prototype before each step."""
    history: list[float] = []

    def state() -> dict[str, Any]:
        return {**prototypes.state(), "history": np.array(history)}

    with monitor:
        if (saved := monitor.load_state(prototypes.state(), scheduled=True)) is not None:
            prototypes.restore(saved)
            history = saved["history"].tolist()
        for t in range(len(history), monitor.max_iter):
            units, distances = prototypes.nearest(1)
            history.append(prototypes.mean(distances[:, 0]))
            now = radius.at(t / max(monitor.max_iter - 1, 1))
            prototypes.update(units[:, 0], kernel(grid, now, neighborhood))
            if monitor(t + 1, history[-1], grid.coordinates[units[:, 0]]):
                break
            monitor.keep(state)
    return np.array(history)


def train_online(
    prototypes: Prototypes,
    grid: UnitGrid,
    neighborhood: str,
    radius: Schedule,
    rate: Schedule,
    n: int,
    monitor: Monitor,
    random: np.random.RandomState,
) -> Array:
    """Online training, in a new random order in each epoch.

    Returns the mean distance of the objects of each epoch to their best prototypes at their turn.
    """
    history: list[float] = []
    steps = max(monitor.max_iter * n - 1, 1)
    grid_squares = grid.squared_distances(slice(None)) if grid.n <= LARGEST_TABLE else None

    def state() -> dict[str, Any]:
        own = prototypes.state()
        return {**own, "history": np.array(history), "random": random_state_of(random)}

    with monitor:
        if (saved := monitor.load_state(prototypes.state(), scheduled=True)) is not None:
            prototypes.restore(saved)
            history = saved["history"].tolist()
            random.set_state(saved["random"])
        for epoch in range(len(history), monitor.max_iter):
            total = 0.0
            for turn, i in enumerate(prototypes.order(n, random)):
                share = (epoch * n + turn) / steps
                now, size = radius.at(share), rate.at(share)

                def pull(best: int, now: float = now, size: float = size) -> Array:
                    if grid_squares is None:
                        squares = grid.squared_distances(slice(best, best + 1))[0]
                    else:
                        squares = grid_squares[best]
                    return size * weights(squares, now, neighborhood)

                total += prototypes.step(int(i), pull)
            history.append(total / n)
            units = prototypes.nearest(1)[0][:, 0] if monitor.wants_embedding else slice(None)
            if monitor(epoch + 1, history[-1], grid.coordinates[units]):
                break
            monitor.keep(state)
    return np.array(history)


def interpolate_places(grid: UnitGrid, units: Array, squares: Array, gaps: Array) -> Array:
    """Places between the units, from squared distances to the prototypes.

    The position of an object along the line from its best prototype b to that of an adjacent unit
    c, ``t = (|x - b|^2 + |b - c|^2 - |x - c|^2) / (2 |b - c|^2)``, is asked of all adjacent units,
    and the displacement on the grid that fits these best is taken, but not farther than half way
    to the next unit (Goeppert and Rosenstiel 1993 interpolate between prototypes in this way).

    `squares` has the squared distances of the objects to all prototypes, `gaps` those of the
    prototypes of adjacent units, in the order of `grid.edges`.
    """
    first, second = grid.edges
    begins = np.searchsorted(first, np.arange(grid.n + 1))
    places = grid.coordinates[units]
    for unit in np.unique(units):
        mine = np.flatnonzero(units == unit)
        edges = slice(begins[unit], begins[unit + 1])
        others, gap = second[edges], gaps[edges]
        steps = grid.displacements(grid.coordinates[unit], grid.coordinates[others])
        apart = gap > 0
        if not apart.any():
            continue
        others, gap, steps = others[apart], gap[apart], steps[apart]
        t = (squares[mine, unit][:, None] + gap - squares[np.ix_(mine, others)]) / (2 * gap)
        along = np.clip(t, -1, 1) * (steps * steps).sum(axis=1)
        values, turn = symmetric_eigen(product(steps.T, steps.T))  # steps are shorter than 2
        inverse = product(turn / np.where(values > 1e-12, values, np.inf), turn)
        moves = product(product(along, steps.T), inverse)
        length = np.sqrt((moves * moves).sum(axis=1, keepdims=True))
        places[mine] += moves * np.minimum(1, 0.5 / np.maximum(length, 0.5))
    return np.asarray(places)
