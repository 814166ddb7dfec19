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


def extend_normalized(
    w: Array, images: Array, eigenvalues: Array, degrees: Array | None = None
) -> Array:
    """Coordinates of new points from the equation of a normalized Laplacian.

    It is P v = (1 - lambda) v, with P = D^-1 W, or P = D^(-1/2) W D^(-1/2) if `degrees` is given.

    Parameters
    ----------
    w, images, eigenvalues : arrays of shape (m, k), (m, k, dim) and (dim,)
        As in `extend_eigenvectors`.
    degrees : array of shape (m, k), default=None
        Degrees of the neighbours.

    Returns
    -------
    array of shape (m, dim), float64
    """
    w = np.asarray(w, dtype=np.float64)
    degree = np.maximum(w.sum(axis=1, keepdims=True), 1e-300)
    w = w / degree if degrees is None else w / np.sqrt(degrees * degree)
    mean = np.einsum("mk,mkd->md", w, images.astype(np.float64))
    return np.asarray(mean / np.maximum(1 - eigenvalues, 1e-12))
