"""Out-of-sample extension of spectral methods by projection (Gower 1968; Bengio et al. 2004)."""

from __future__ import annotations

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array


def gower_projection(squares: Array, mean_squares: Array, values: Array, vectors: Array) -> Array:
    """Coordinates of new objects from their squared distances to the training objects.

    y = 1/2 Lambda^(-1/2) V' (mean_squares - squares), with Lambda and V the eigenpairs of the
    Gram matrix B of the training objects. For a training object this is its row of
    V Lambda^(1/2). `mean_squares` are the mean squared distances of the training objects.
    """
    return kernel_projection(0.5 * (mean_squares - squares), values, vectors)


def kernel_projection(K: Array, values: Array, vectors: Array) -> Array:
    """y = Lambda^(-1/2) V' k, with the centred kernel values k of the new and training objects."""
    size = np.abs(values).max(initial=0.0)
    used = values > 1e-12 * size
    scale = np.where(used, 1 / np.sqrt(np.where(used, values, 1)), 0)
    return backend().matmul(K, vectors * scale.astype(vectors.dtype))


def unit_axes(values: Array, vectors: Array) -> Array:
    """The rows of Lambda^(-1/2) V': principal axes of length 1, as coefficients of the objects."""
    used = values > 0
    lengths = np.sqrt(np.where(used, values, 1))
    return np.asarray((vectors * np.where(used, 1 / lengths, 0)).T)
