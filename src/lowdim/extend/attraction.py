"""New points on a map that stands still: each where its neighbours' probabilities are best kept."""

from __future__ import annotations

import numpy as np

from lowdim.backends import native
from lowdim.checks import Array
from lowdim.solvers.repulsion import EXACT, FrozenField, GridField, Similarity

ITERATIONS = 250
RATE, MOMENTUM = 0.5, 0.8
LONGEST = 0.25  # step, in units of the similarity's width
STARTS = 3  # nearest objects whose places are tried
DESCENT = 100  # iterations of a row's own descent
CLOSE = 1e-7  # step at which it ends, in units of the narrowest similarity's width
ROOM = 5.0  # around the map that new points may use


def place_by_affinity(
    p: Array,
    nearest: Array,
    embedding: Array,
    similarity: Similarity,
    *,
    iterations: int = ITERATIONS,
    n_jobs: int | None = None,
) -> Array:
    """Places y that minimise KL(p || q), q_j = w(y, y_j) / sum_k w(y, y_k), against the map.

    `p` (m, k) are the probabilities of the objects `nearest` (m, k). Starts from the mean of these
    objects' places weighted by p, and descends; the rows do not depend on each other.
    """
    fixed = np.ascontiguousarray(embedding)
    Y: Array = np.einsum("mk,mkd->md", p, fixed[nearest])
    field = _field(fixed, similarity, n_jobs)
    velocity, gains = np.zeros_like(Y), np.ones_like(Y)
    for _ in range(iterations):
        push, z = field(Y)
        gaps = Y[:, None, :] - fixed[nearest]
        s = np.einsum("mkd,mkd->mk", gaps, gaps)
        u = p if similarity.name == "gaussian" else p / (1 + s / similarity.dof)
        pull = np.einsum("mk,mkd->md", u, gaps)
        gradient = pull - push / np.maximum(z, np.finfo(z.dtype).tiny)[:, None]
        gradient *= Y.dtype.type(2 / similarity.width)
        native.momentum_step(
            np.ascontiguousarray(gradient, Y.dtype),
            Y,
            velocity,
            gains,
            rate=RATE,
            momentum=MOMENTUM,
            least_gain=0.01,
            longest=LONGEST,
            n_jobs=n_jobs,
        )
    return Y


def place_by_divergence(
    D: Array,
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    n_jobs: int | None = None,
) -> Array:
    """Places y that minimise trade_off KL(p || q) + (1 - trade_off) KL(q || p) against the map,
    with p = exp(-costs) over all of its points and q the mean over scales of Gaussians.

    Starts from the mean of the map weighted by p or from the place of one of the nearest objects by
    the distances D (m, n), whichever is best; the rows do not depend on each other.
    """
    nearest = np.argsort(D, axis=1, kind="stable")[:, :STARTS]
    mean = np.einsum("mn,nd->md", np.exp(-costs), embedding)
    starts = np.concatenate([mean[:, None, :], embedding[nearest]], axis=1)
    precisions = np.ascontiguousarray(precisions)
    return native.place_by_divergence(
        costs, precisions, trade_off, embedding, starts, DESCENT, CLOSE, n_jobs
    )


class _AllOfMap:
    """Repulsion from every point of the map, one by one."""

    def __init__(self, embedding: Array, similarity: Similarity, n_jobs: int | None) -> None:
        self.embedding, self.similarity, self.n_jobs = embedding, similarity, n_jobs

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        kind = self.similarity
        return native.repulsion(Y, self.embedding, None, kind.name, kind.dof, self.n_jobs)


def _field(embedding: Array, similarity: Similarity, n_jobs: int | None) -> FrozenField | _AllOfMap:
    if len(embedding) <= EXACT or embedding.shape[1] > 2:
        return _AllOfMap(embedding, similarity, n_jobs)
    return GridField(similarity, n_jobs).frozen(embedding, room=ROOM)
