"""Starts by classical scaling, of all dissimilarities or of those to landmarks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim.backends.native.dense import product
from lowdim.checks import Array
from lowdim.numerics.eigenpairs import start_eigenpairs
from lowdim.spectral.scaling import gram_operator, squared_means

LANDMARKS = 200  # of `landmark_start`


def classical_start(D: Array, k: int) -> Array:
    """Classical scaling of a matrix of dissimilarities, without the checks of `scaling`."""
    values, vectors = start_eigenpairs(gram_operator(D), k)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)).astype(D.dtype))


def landmark_start(
    distances: Callable[[Array], Array],
    n: int,
    k: int,
    random: np.random.RandomState,
) -> Array:
    """Landmark scaling (de Silva and Tenenbaum 2004) of n objects.

    `distances` is a function from some objects to their distances to all objects.
    """
    chosen = np.sort(random.permutation(n)[: max(LANDMARKS, 2 * k)])
    rows = distances(chosen.astype(np.int32))
    D = np.ascontiguousarray(rows[:, chosen])
    D = np.maximum(D, D.T)
    eigenpairs = start_eigenpairs(gram_operator(D), k)
    kept = eigenpairs.values > 1e-12 * eigenpairs.values.max()
    scale = 1 / np.sqrt(np.where(kept, eigenpairs.values, np.inf))
    offsets = 0.5 * (squared_means(D).astype(D.dtype)[:, None] - rows**2)
    return product(offsets.T, (eigenpairs.vectors * scale).T.astype(D.dtype))
