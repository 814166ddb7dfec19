"""Indexes for approximate nearest neighbours of rows in memory, under any metric.

The backend has an index for the Euclidean and the cosine distance. It also serves metrics that are
functions of the Euclidean distance (`euclidean_forms`). Under metrics that order pairs of dense
rows much as the Euclidean distance does, an object's candidates are its neighbours by that
distance, from an index of the backend, or, for data without structure, from an exact search; the k
nearest of them by the metric itself are its neighbours. Their number is the smallest that reaches
the wanted recall on a sample of the objects. `pivots` has an index for all other metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.protocol import Index, Neighbors, Ranking
from lowdim.checks import Array, distances_in_range, is_sparse
from lowdim.distances.metrics import Metric
from lowdim.neighbor_graphs.euclidean_forms import MappedIndex, map_rows
from lowdim.neighbor_graphs.exact import reach_of
from lowdim.neighbor_graphs.pivots import build_pivots

MIN_ROWS = 2000  # with fewer rows an index takes more time than it saves
RECALL_MARGIN = 0.2  # share of the allowed misses kept in reserve: recall is measured on a sample
CANDIDATE_METRICS = ("cityblock", "chebyshev", "canberra", "braycurtis")
SAMPLE_OBJECTS = 256  # sample on which recall is measured
LARGEST_SHARE = 0.02  # of all objects: with more candidates the exact search is as fast
LARGEST_NUMBER = 1000  # of candidates, at which their lists take 12 kB an object
PER_DIMENSION = 3  # candidates of an exact Euclidean search, with more of which it is no faster


def build_index(rows: Any, metric: Metric, k: int, recall: float, seed: int) -> Index | None:
    """Build an index for approximate nearest neighbours.

    Parameters
    ----------
    rows : array, CSR matrix or array of objects
    metric : Metric
    k : int
        Largest number of neighbours that will be searched.
    recall : float
        Share of the true neighbours that the index must find, on a sample of the rows.
    seed : int

    Returns
    -------
    Index or None
        None if no index of this recall is faster than the exact search.
    """
    n = rows.shape[0]
    if n < MIN_ROWS or 4 * k > n:
        return None
    random = np.random.default_rng(seed)
    wanted = recall + RECALL_MARGIN * (1 - recall)
    if metric.by_products:
        return backend().build_index(rows, k, metric.name == "cosine", wanted, random)
    form = map_rows(rows, metric)
    if form is not None:
        index = backend().build_index(form, k, False, wanted, random)
        return None if index is None else MappedIndex(index, metric)
    if has_candidates(rows, metric):
        return build_candidates(rows, metric, k, wanted, random)
    return build_pivots(rows, metric, k, wanted, random)


def has_candidates(rows: Any, metric: Metric) -> bool:
    """Whether neighbours of these rows can be searched among Euclidean candidates."""
    return _kind(metric) is not None and not is_sparse(rows)


def _kind(metric: Metric) -> tuple[str, float] | None:
    """The name and the power by which the backend ranks candidates; None if it cannot."""
    if metric.name in CANDIDATE_METRICS:
        return metric.name, 0.0
    if metric.name.startswith("minkowski") and set(metric.params) == {"p"}:
        return "minkowski", float(metric.params["p"])
    return None


def ranked_candidates(rows: Array, queries: Array, ids: Array, metric: Metric) -> Neighbors:
    """The objects that are listed for each query, nearest first, and their distances."""
    kind, power = _kind(metric) or ("euclidean", 2.0)
    return backend().rank_candidates(rows, queries, ids, ids.shape[1], kind, power)


@dataclass(frozen=True, eq=False)
class CandidateIndex:
    """An exact Euclidean search and a metric; an `Index` of `lowdim.backends.protocol`."""

    rows: Array
    ranking: Ranking
    k: int
    m: int  # number of candidates
    recall: float

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each object's k nearest other objects."""
        return self._ranked(self.rows, backend().nearest(self.rows, self.m, False)[0], self.k)

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        """Indices and distances of the k objects nearest to each query, for k <= self.k."""
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        asked = np.ascontiguousarray(queries, dtype=self.rows.dtype)
        return self._ranked(asked, backend().nearest_to(self.rows, asked, self.m, False)[0], k)

    def _ranked(self, queries: Array, near: Array, k: int) -> tuple[Array, Array]:
        """The k nearest candidates of each query, ordered by (distance, index)."""
        metric, power = self.ranking.metric, self.ranking.power
        found = backend().rank_candidates(self.rows, queries, near, k, metric, power)
        distances_in_range(found[1])
        return found


def build_candidates(
    rows: Array, metric: Metric, k: int, wanted: float, random: np.random.Generator
) -> Index | None:
    """An index of at least the wanted recall; None if it would need too many candidates."""
    kind = _kind(metric)
    assert kind is not None
    rows = np.ascontiguousarray(rows)
    sample = np.sort(random.choice(len(rows), SAMPLE_OBJECTS, replace=False))
    ranking = Ranking(*kind, sample, reach_of(rows, sample, k, metric)[:, 0])
    cells = backend().build_index(rows, k, False, wanted, random, ranking)
    if cells is not None:
        return cells
    most = min(int(LARGEST_SHARE * len(rows)), LARGEST_NUMBER, PER_DIMENSION * rows.shape[1])
    if most < k:
        return None
    recalls = _recall_by_number(rows, ranking, k, most)
    m = int(np.searchsorted(recalls, wanted)) + 1
    return None if m > most else CandidateIndex(rows, ranking, k, max(m, k), float(recalls[m - 1]))


def _recall_by_number(rows: Array, ranking: Ranking, k: int, most: int) -> Array:
    """The recall on the sample with 1, 2, ..., `most` candidates of an exact Euclidean search."""
    asked = rows[ranking.sample]
    near = backend().nearest_to(rows, asked, most + 1, False)[0]
    itself = near == ranking.sample[:, None]
    itself[~itself.any(axis=1), -1] = True  # behind as many equal rows
    near = np.ascontiguousarray(near[~itself].reshape(len(near), most))
    ids, distances = backend().rank_candidates(
        rows, asked, near, min(k, most), ranking.metric, ranking.power
    )
    found = np.where(distances <= ranking.reach[:, None], ids, -1)
    place = (near[:, :, None] == found[:, None, :]).any(axis=2)  # of each neighbour that is found
    return np.asarray(np.cumsum(place.sum(axis=0)) / (len(near) * k))
