"""New points by divergence: each where the probabilities of all neighbours are best kept."""

from __future__ import annotations

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array

STARTS = 3  # nearest objects whose places are tried
ITERATIONS = 100  # of a row's own descent
CLOSE = 1e-7  # step at which it ends, in units of the narrowest similarity's width


def place_by_divergence(
    D: Array,
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
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
    return backend().place_by_divergence(
        costs, precisions, trade_off, embedding, starts, ITERATIONS, CLOSE
    )
