"""Prototypes: objects that represent the distribution of all objects."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, check_random_state
from lowdim.objects.landmarks import choose_landmarks
from lowdim.objects.objects import MeasuredObjects, Objects


def choose_prototypes(objects: Objects, count: Any, least: int, seed: Any) -> Array:
    """Indices of at most `count` prototypes, ascending.

    For Euclidean vectors these are the objects nearest to the centres of k-means; two centres may
    have the same nearest object. For other metrics and dissimilarities the first is random and
    each of the others is the object farthest from those before (Gonzalez 1985). In a graph they are
    random.
    """
    count = checks.integer(count, "n_prototypes", least, objects.n, " (n_samples)")
    seed = 0 if seed is None else seed
    if isinstance(objects, MeasuredObjects) and objects.euclidean:
        return _near_centers(objects, count, seed)
    if not objects.complete:
        return choose_landmarks(objects.n, count, least, seed)
    chosen = [int(check_random_state(seed).randint(objects.n))]
    gap = np.full(objects.n, np.inf)
    while len(chosen) < count:
        gap = np.minimum(gap, objects.row(chosen[-1]))
        farthest = int(gap.argmax())
        if gap[farthest] == 0 and len(chosen) >= least:
            break  # all other objects are duplicates of prototypes
        chosen.append(farthest)
    return np.unique(chosen).astype(np.int32)


def _near_centers(objects: MeasuredObjects, count: int, seed: Any) -> Array:
    """The objects nearest to the centres of k-means."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    kmeans = KMeans(count, n_init=1, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():  # sums in a fixed order
        warnings.simplefilter("ignore")  # there may be fewer distinct objects than centres
        centers = kmeans.fit(objects.rows).cluster_centers_
    nearest, _ = objects.search(1)(centers.astype(objects.rows.dtype, copy=False))
    return np.unique(nearest).astype(np.int32)
