"""Prototypes: objects that stand for the others, spread as the data is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.checks import Array
from lowdim.relations.distances import Metric
from lowdim.relations.landmarks import choose_landmarks
from lowdim.relations.search import query


def choose_prototypes(
    rows: Any, n: int, metric: Metric | None, count: Any, least: int, seed: Any, n_jobs: int | None
) -> Array:
    """Rows of at most `count` prototypes, ascending.

    For Euclidean vectors the objects nearest to the centres of k-means (two centres may share
    one); for other metrics and dissimilarities (metric None) each is the object farthest from
    those before, the first at random (Gonzalez 1985); in a graph all are random.
    """
    count = checks.integer(count, "n_prototypes", least, n, " (n_samples)")
    seed = 0 if seed is None else seed
    if metric is not None and metric.euclidean:
        return _near_centers(rows, metric, count, seed, n_jobs)
    if metric is None and not isinstance(rows, np.ndarray):
        return choose_landmarks(n, count, least, seed)
    chosen = [int(check_random_state(seed).randint(n))]
    gap = np.full(n, np.inf)
    while len(chosen) < count:
        last = slice(chosen[-1], chosen[-1] + 1)
        row = rows[last] if metric is None else metric.block(rows[last], rows)
        gap = np.minimum(gap, row[0])
        farthest = int(gap.argmax())
        if gap[farthest] == 0 and len(chosen) >= least:
            break  # the others are duplicates
        chosen.append(farthest)
    return np.unique(chosen).astype(np.int32)


def _near_centers(rows: Any, metric: Metric, count: int, seed: Any, n_jobs: int | None) -> Array:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    kmeans = KMeans(count, n_init=1, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():  # sums in a fixed order
        warnings.simplefilter("ignore")  # of fewer distinct objects than centres
        centers = kmeans.fit(rows).cluster_centers_
    nearest, _ = query(rows, centers.astype(rows.dtype, copy=False), 1, metric, n_jobs)
    return np.unique(nearest).astype(np.int32)
