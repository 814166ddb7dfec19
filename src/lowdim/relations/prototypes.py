"""Prototypes: objects that stand for the others, spread as the data is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.relations.distances import Metric
from lowdim.relations.landmarks import choose_landmarks
from lowdim.relations.neighbors import query


def choose_prototypes(
    rows: Any, n: int, metric: Metric | None, count: Any, least: int, seed: Any, n_jobs: int | None
) -> Array:
    """Rows of about `count` prototypes, ascending.

    For Euclidean vectors the objects nearest to the centres of k-means (two centres may share
    one), otherwise objects at random.
    """
    count = checks.integer(count, "n_prototypes", least, n, " (n_samples)")
    if metric is None or not metric.euclidean:
        return choose_landmarks(n, count, least, seed)
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    kmeans = KMeans(count, n_init=1, random_state=0 if seed is None else seed)
    with threadpool_limits(1), warnings.catch_warnings():  # sums in a fixed order
        warnings.simplefilter("ignore")  # of fewer distinct objects than centres
        centers = kmeans.fit(rows).cluster_centers_
    nearest, _ = query(rows, centers.astype(rows.dtype, copy=False), 1, metric, n_jobs)
    return np.unique(nearest).astype(np.int32)
