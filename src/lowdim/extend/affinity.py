"""New points by affinity: each where the probabilities of its nearest neighbours are best kept."""

from __future__ import annotations

import numpy as np

from lowdim.backends import backend
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array

ITERATIONS = 250
RATE, MOMENTUM = 0.5, 0.8
LONGEST = 0.25  # step, in units of the similarity's width
ROOM = 5.0  # around the map that new points may use


def place_by_affinity(
    p: Array,
    nearest: Array,
    embedding: Array,
    similarity: Similarity,
    *,
    iterations: int = ITERATIONS,
) -> Array:
    """Places y that minimise KL(p || q), q_j = w(y, y_j) / sum_k w(y, y_k), against the map.

    `p` (m, k) are the probabilities of the objects `nearest` (m, k). Starts from the mean of these
    objects' places weighted by p, and descends; the rows do not depend on each other.
    """
    fixed = np.ascontiguousarray(embedding)
    Y: Array = np.einsum("mk,mkd->md", p, fixed[nearest])
    field = backend().frozen_field(fixed, similarity, ROOM)
    velocity, gains = np.zeros_like(Y), np.ones_like(Y)
    for _ in range(iterations):
        push, z = field(Y)
        gaps = Y[:, None, :] - fixed[nearest]
        s = np.einsum("mkd,mkd->mk", gaps, gaps)
        u = p if similarity.name == "gaussian" else p / (1 + s / similarity.dof)
        pull = np.einsum("mk,mkd->md", u, gaps)
        gradient = pull - push / np.maximum(z, np.finfo(z.dtype).tiny)[:, None]
        gradient *= Y.dtype.type(2 / similarity.width)
        backend().momentum_step(
            np.ascontiguousarray(gradient, Y.dtype),
            Y,
            velocity,
            gains,
            rate=RATE,
            momentum=MOMENTUM,
            least_gain=0.01,
            longest=LONGEST,
        )
    return Y
