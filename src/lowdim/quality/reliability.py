"""`reliability`: how far the place of each object on a map can be believed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.objects.objects import objects_of
from lowdim.quality.rows import data_rows, map_rows
from lowdim.quality.suspects import outlier_factors
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_facts, short_repr

DEFAULT_NEIGHBORS = 15
UNSTABLE_WEIGHT = 0.5
TOLERANCES = (3, 9)  # multiples of k within which neighbours count as kept


@dataclass(frozen=True, eq=False)
class Reliability:
    """How far the place of each object can be believed, with its parts.

    Attributes
    ----------
    score : ndarray of shape (n,)
        Between 0 and 1, higher is better: one minus the mean of `false` and `missed`, and of
        `unstable` with half of their weight.
    false : ndarray of shape (n,)
        Share of the k nearest on the map that are not among the 3 k nearest in the data, and the
        same of the 9 k nearest, averaged: far neighbours count twice.
    missed : ndarray of shape (n,)
        The same of the k nearest in the data that are not near on the map.
    unstable : ndarray of shape (n,) or None
        The same of the k nearest on the map that are not near on other maps of the same data; None
        if there are none.
    displaced : ndarray of shape (n,)
        How far the object is from where its neighbours in the data lie on the map: 0 at their
        median place, 1 far away. It is no part of the score.
    unseen : ndarray of shape (n,)
        How much farther the object is from its neighbours in the data than these are from theirs:
        0 if not farther, towards 1 for an outlier. It is no part of the score.
    n_neighbors : int
        Number of neighbours k.
    """

    score: Array
    false: Array
    missed: Array
    unstable: Array | None
    displaced: Array
    unseen: Array
    n_neighbors: int

    def least(self, count: int = 10) -> Array:
        """Return the row numbers of the least reliable objects."""
        order = np.lexsort((np.arange(len(self.score)), self.score))
        return np.asarray(order[: checks.integer(count, "count", 1)])

    def __repr__(self) -> str:
        return short_repr(self, {"mean": float(self.score.mean()), "n_objects": len(self.score)})

    def __str__(self) -> str:
        low = int((self.score < 0.5).sum())
        return (
            f"Mean reliability {self.score.mean():.2f}; {low:,} of {len(self.score):,} objects are "
            "below one half."
        )

    def _repr_html_(self) -> str:
        known = {
            name: float(np.mean(values))
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray)
        }
        return html_facts(f"Reliability of {len(self.score):,} objects, means", known)


@uses_threads
def reliability(
    map: Any,
    X: Any,
    *,
    other_maps: Iterable[Any] = (),
    n_neighbors: int = DEFAULT_NEIGHBORS,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Reliability:
    """Measure how far the place of each object on a map can be believed.

    Parameters
    ----------
    map : array-like of shape (n, p) or fitted estimator
        The map.
    X : array-like
        The data as every estimator takes them, or all dissimilarities with
        `metric="precomputed"`.
    other_maps : iterable of arrays or fitted estimators, optional
        Further maps of the same objects, such as those of other seeds, for the stability.
    n_neighbors : int, default=15
        Size of the neighbourhoods.
    metric : str or callable, default="euclidean"
        How distances in the data are measured.
    metric_params : dict, optional
        Further arguments of the metric.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    Reliability
        One number for each object, with its parts.

    Notes
    -----
    Maps are compared by their neighbours, so rotation and scale do not matter. An object whose
    neighbours in the data lie in two places on the map is displaced from at least one of them:
    another start, or a small change of the object, can move it there.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(150, random_state=0)
    >>> Y = lowdim.PCA(2).fit_transform(X)
    >>> Y[3] = Y[y != y[3]][0]
    >>> lowdim.quality.reliability(Y, X).least(1).tolist()
    [3]
    """
    data = data_rows(X, metric, metric_params)
    if data.n < 5:
        raise ValueError(f"X: n_samples = {data.n}, but reliability needs at least 5 objects.")
    Y = _coordinates(map, data.n)
    k = checks.integer(n_neighbors, "n_neighbors", 1)
    k = min(k, max(1, (data.n - 1) // (2 * TOLERANCES[0])))
    wide = min(TOLERANCES[-1] * k, data.n - 1)
    graph = data.objects.neighbor_graph(wide, None, "auto")
    near, distances = graph.indices, graph.distances.astype(np.float64)
    placed, reach = _neighbors(Y, wide)
    false = _missing(placed[:, :k], near)
    missed = _missing(near[:, :k], placed)
    away = np.linalg.norm(Y - np.median(Y[near[:, :k]], axis=1), axis=1)
    scale = np.maximum(reach[:, TOLERANCES[0] * k - 1], np.finfo(np.float64).tiny)
    displaced = 1 - 1 / (1 + (away / scale) ** 2)
    others = [_neighbors(_coordinates(other, data.n), wide)[0] for other in other_maps]
    unstable = np.mean([_missing(placed[:, :k], one) for one in others], axis=0) if others else None
    factors = outlier_factors(near[:, :k], distances[:, :k])
    unseen = 1 - 1 / np.maximum(factors, 1.0)
    bad = (false + missed) / 2
    if unstable is not None:
        bad = (false + missed + UNSTABLE_WEIGHT * unstable) / (2 + UNSTABLE_WEIGHT)
    return Reliability(1 - bad, false, missed, unstable, displaced, unseen, k)


def _coordinates(map: Any, n: int) -> Array:
    """The checked coordinates of a map of n objects."""
    rows = map_rows(getattr(map, "embedding_", map), n)
    return np.asarray(rows.objects.vectors("the map"), dtype=np.float64)


def _neighbors(Y: Array, k: int) -> tuple[Array, Array]:
    graph = objects_of(Y, "euclidean", None).neighbor_graph(k)
    return graph.indices, graph.distances.astype(np.float64)


def _missing(ids: Array, others: Array) -> Array:
    """The share of each row's entries that are not in the same row of others, over tolerances."""
    n, k = ids.shape
    rows = n * np.arange(n, dtype=np.int64)[:, None]
    shares = [
        1 - np.isin(rows + ids, rows + others[:, : times * k]).mean(axis=1) for times in TOLERANCES
    ]
    return np.asarray(np.mean(shares, axis=0))
