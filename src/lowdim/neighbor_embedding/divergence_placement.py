"""Out-of-sample extension of NeRV and multi-scale SNE: least divergence from a fixed embedding."""

from __future__ import annotations

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.dense import product
from lowdim.checks import Array
from lowdim.runtime.elementary import exp

STARTS = 3  # number of nearest objects whose coordinates are tried as a start
MAX_ITER = 100
TOLERANCE = 1e-7  # smallest step, in units of the width of the narrowest Gaussian


def place_by_divergence(
    D: Array,
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    lists: tuple[Array, Array] | None = None,
) -> Array:
    """Coordinates y that minimise trade_off KL(p || q) + (1 - trade_off) KL(q || p).

    q is the mean over scales of Gaussian probabilities of all training objects around y. The start
    is the best of the mean of the embedding weighted by p and the coordinates of the nearest
    objects. The rows do not depend on each other.

    Parameters
    ----------
    D : array of shape (m, n)
        Distances of the new objects to the training objects.
    costs : array of shape (m, n)
        -log p.
    precisions : array of shape (m, n_scales)
        Of the Gaussians, ascending.
    trade_off : float
    embedding : array of shape (n, dim)
        Coordinates of the training objects, which stay fixed.
    lists : tuple of arrays of shape (m, width)
        Indices and weights of some training objects for each new object; `D` and `costs` have
        their columns. Default: all training objects.

    Returns
    -------
    array of shape (m, dim)
    """
    nearest = np.argsort(D, axis=1, kind="stable")[:, :STARTS]
    if lists is None:
        mean = product(exp(-costs), embedding.T)
    else:
        p = lists[1] * exp(-costs)
        mean = (p[:, :, None] * embedding[lists[0]]).sum(axis=1)
        nearest = np.take_along_axis(lists[0], nearest, axis=1)
    starts = np.concatenate([mean[:, None, :], embedding[nearest]], axis=1)
    precisions = np.ascontiguousarray(precisions)
    return backend().place_by_divergence(
        costs, precisions, trade_off, embedding, starts, MAX_ITER, TOLERANCE, lists
    )
