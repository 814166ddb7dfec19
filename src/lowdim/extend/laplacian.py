"""New points by the eigenvector equation of a graph (Nystroem's formula; Bengio et al. 2004)."""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array


def extend_eigenvectors(w: Array, images: Array, eigenvalues: Array) -> Array:
    """Coordinates of new points from L v = lambda v with L = D - W.

    Written for a new point with weights w to its neighbours, the equation is
    (sum_j w_j - lambda) v = sum_j w_j v_j.

    Parameters
    ----------
    w : array of shape (m, k)
        Weights of new points to their neighbours.
    images : array of shape (m, k, dim)
        Coordinates of the neighbours.
    eigenvalues : array of shape (dim,)

    Returns
    -------
    array of shape (m, dim), float64
    """
    w = np.asarray(w, dtype=np.float64)
    degree = np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
    total = np.einsum("mk,mkd->md", w, np.asarray(images, dtype=np.float64))
    return np.asarray(total / np.maximum(degree - eigenvalues, 1e-12 * degree))
