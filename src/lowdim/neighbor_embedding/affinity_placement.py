"""Out-of-sample extension of t-SNE and SNE: gradient descent against a fixed embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

ITERATIONS = 250
RATE, MOMENTUM, MIN_GAIN = 0.5, 0.8, 0.01
BLOCK_ROWS = 1024  # new objects that a thread places at once
MAX_STEP = 0.25  # of a point in an iteration, in units of the width of the similarity
MARGIN = 5.0  # distance from the embedding up to which the repulsive field is computed


def place_by_affinity(
    p: Array,
    nearest: Array,
    embedding: Array,
    similarity: Similarity,
    *,
    joint: bool = False,
    iterations: int = ITERATIONS,
) -> Array:
    """Coordinates y of new objects that minimise KL(p || q), q_j = w(y, y_j) / z.

    Gradient descent from the mean of the neighbours' coordinates, weighted by p. The rows do not
    depend on each other.

    Parameters
    ----------
    p : array of shape (m, k)
        Probabilities of the neighbours of each new object.
    nearest : array of shape (m, k)
        Indices of the neighbours.
    embedding : array of shape (n, dim)
        Coordinates y_j of the training objects, which stay fixed.
    similarity : Similarity
        w.
    joint : bool, default=False
        Whether z is that of joint probabilities, the mean over the training objects i of
        sum_k w(y_i, y_k). By default z is the new object's own sum of w(y, y_k).
    iterations : int

    Returns
    -------
    array of shape (m, dim)
    """
    fixed = np.ascontiguousarray(embedding)
    field = backend().frozen_field(fixed, similarity, MARGIN)
    one = fixed.dtype.type(1)  # the similarity of an object to itself
    mean_z = (field(fixed)[1] - one).mean(dtype=np.float64) if joint else None

    def place(part: slice) -> Array:
        return _descend(p[part], fixed[nearest[part]], field, similarity, mean_z, iterations)

    return np.concatenate(run(place, blocks(len(p), BLOCK_ROWS)))


def _descend(
    p: Array,
    neighbors: Array,
    field: Any,
    similarity: Similarity,
    mean_z: Any,
    iterations: int,
) -> Array:
    """The descent of some new objects, from the coordinates of their neighbours."""
    Y: Array = (p[:, :, None] * neighbors).sum(axis=1)
    velocity, gains = np.zeros_like(Y), np.ones_like(Y)
    for _ in range(iterations):
        push, own_z = field(Y)
        z = own_z if mean_z is None else np.full_like(own_z, mean_z)
        gaps = Y[:, None, :] - neighbors
        s = (gaps * gaps).sum(axis=2)
        u = p if similarity.name == "gaussian" else p / (1 + s / similarity.dof)
        pull = (u[:, :, None] * gaps).sum(axis=1)
        gradient = pull - push / np.maximum(z, np.finfo(z.dtype).tiny)[:, None]
        gradient *= Y.dtype.type(2 / similarity.width)
        backend().momentum_step(
            np.ascontiguousarray(gradient, Y.dtype),
            Y,
            velocity,
            gains,
            rate=RATE,
            momentum=MOMENTUM,
            min_gain=MIN_GAIN,
            max_step=MAX_STEP,
        )
    return Y
