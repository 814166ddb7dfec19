"""The layout of a fuzzy graph in another than a Euclidean space: see `output_spaces`.

The forces are those of `layout`, along the gradients of the distances. Every vertex is moved
independently by the forces of all its edges and of some random points, from the coordinates before
the epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.neighbor_embedding.umap.layout import negatives_per_epoch
from lowdim.neighbor_embedding.umap.output_spaces import Space
from lowdim.neighbor_graphs.graph import row_of_entries
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import random_state_of

MAX_STEP = 0.25  # of a vertex in an epoch
SOFTENING = 1e-3  # added to squared distances in the repulsion, as in umap-learn
SHORT = 1e-3  # distance up to which the attraction is taken as proportional to the distance
ROUNDING = 1e-12


def lay_out_on(
    space: Space,
    graph: Any,
    start: Array,
    monitor: Monitor,
    *,
    curve: tuple[float, float],
    n_epochs: int,
    learning_rate: float = 1.0,
    repulsion: float = 1.0,
    negative_sample_rate: float = 5,
    seed: int = 0,
) -> tuple[Array, int]:
    """Coordinates of least cross-entropy on a space, and the number of epochs.

    Parameters
    ----------
    space : Space
    graph : symmetric CSR matrix
        Memberships.
    start : array of shape (n, dim)
        See `Space.start`.
    monitor : Monitor
    curve, n_epochs, learning_rate, repulsion, negative_sample_rate, seed
        As in `lowdim.neighbor_embedding.umap.layout.Layout`.
    """
    n, (a, b) = len(start), curve
    law = partial(_repulsion, curve)
    random = np.random.RandomState(seed)
    heads, tails, weights = row_of_entries(graph.indptr), graph.indices, graph.data
    mass = np.bincount(heads, weights, minlength=n)
    n_negatives = negatives_per_epoch(n, negative_sample_rate)
    strength = repulsion * negative_sample_rate * mass
    x, done = space.start(start.astype(np.float64)), 0

    def state() -> dict[str, Any]:
        return {"x": x, "done": done, "random": random_state_of(random)}

    with monitor:
        if (saved := monitor.load_state({"x": x}, scheduled=True)) is not None:
            x, done = saved["x"], saved["done"]
            random.set_state(saved["random"])
        for epoch in range(done, n_epochs):
            d, directions = space.towards(x[heads], x[tails])
            power = np.maximum(d, ROUNDING) ** (2 * b - 1)
            # An edge is stored twice, and each of the two attracts both ends.
            pull = 2 * weights * 2 * a * b * power / (1 + a * power * d)
            force = _sums(heads, pull[:, None] * directions, n)
            # A step does not overshoot if it is divided by the curvature of the attraction.
            bend = pull * space.product(directions, directions) / np.maximum(d, SHORT)
            stiffness = 1 + np.bincount(heads, bend, minlength=n)
            loss = float(weights @ np.log1p(a * power * d))
            if n_negatives:
                others = random.randint(n, size=(n_negatives, n))
                push = _push(space, x, others, law) / n_negatives
            else:
                push = space.push_of_all(x, law) / (n - 1)
            force -= strength[:, None] * push
            steps = (learning_rate * (1 - epoch / n_epochs) / stiffness)[:, None] * force
            lengths = np.sqrt(np.maximum(space.product(steps, steps), 0))
            steps *= np.minimum(1, MAX_STEP / np.maximum(lengths, ROUNDING))[:, None]
            x, done = space.move(x, steps), epoch + 1
            if monitor(done, loss, space.coordinates(x) if monitor.wants_embedding else x):
                break
            monitor.keep(state)
    return space.coordinates(x).astype(start.dtype), done


def _push(space: Space, x: Array, others: Array, force: Callable[[Array], Array]) -> Array:
    """The same as `Space.push_of_all` for given points; `others` has a column for each point."""
    total = np.zeros_like(x)
    for partners in others:
        d, directions = space.towards(x, x[partners])
        total += force(d)[:, None] * directions
    return total


def _repulsion(curve: tuple[float, float], d: Array) -> Array:
    a, b = curve
    return np.asarray(2 * b * d / ((SOFTENING + d**2) * (1 + a * d ** (2 * b))))


def _sums(groups: Array, rows: Array, n: int) -> Array:
    """Sums of the rows of each group."""
    return np.column_stack([np.bincount(groups, column, minlength=n) for column in rows.T])
