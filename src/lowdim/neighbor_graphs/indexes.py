"""Approximate nearest neighbours under any metric, and the choice of an index for them.

The backend has an index for the Euclidean and the cosine distance. It also serves metrics that are
functions of the Euclidean distance (`euclidean_forms`). Under metrics that order pairs of dense
rows much as the Euclidean distance does, an object's candidates are its neighbours by that
distance, from an index of the backend, or, for data without structure, from an exact search; the k
nearest of them by the metric itself are its neighbours. Their number is the smallest that reaches
the wanted recall on a sample of the objects. `pivots` has an index for all other metrics.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.protocol import GrowingIndex, Index, Neighbors, Ranking
from lowdim.checks import Array, distances_in_range, is_sparse
from lowdim.distances.metrics import Metric, to_euclidean
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.euclidean_forms import FORMS, MappedIndex, map_rows
from lowdim.neighbor_graphs.exact import nearest, query, reach_of, tree_fits
from lowdim.neighbor_graphs.pivots import build_pivots
from lowdim.runtime.context import current

logger = logging.getLogger("lowdim")

SEED = 0  # default seed of an approximate search
FEW_IN_BLOCKS = 1000  # rows in blocks up to which an approximate search is exact
EXACT_UP_TO = 10_000  # rows in memory up to which "auto" is an exact search
BLOCKS_UP_TO = 30_000  # the same for metrics that are fast in blocks, and whose index is slow
MIN_ROWS = 2000  # with fewer rows an index takes more time than it saves
RECALL_MARGIN = 0.2  # share of the allowed misses kept in reserve: recall is measured on a sample
PER_ENTRY = 1e-9  # seconds that two entries of a pair of rows take in a formula; measured
LONG_SEARCH = 10  # seconds of an exact search in place of an approximate one that cause a warning
CANDIDATE_METRICS = ("cityblock", "chebyshev", "canberra", "braycurtis")
SAMPLE_OBJECTS = 256  # sample on which recall is measured
LARGEST_SHARE = 0.02  # of all objects: with more candidates the exact search is as fast
LARGEST_NUMBER = 1000  # of candidates, at which their lists take 12 kB an object
PER_DIMENSION = 3  # candidates of an exact Euclidean search, with more of which it is no faster


@dataclass(frozen=True, eq=False)
class NeighborQuery:
    """A search for the k nearest of some rows; see `to_euclidean` for rows and metric."""

    rows: Any
    metric: Metric
    k: int
    index: Index | None
    straighten: Callable[[Any], Array] | None = None

    def __call__(self, new: Any) -> tuple[Array, Array]:
        """Indices and distances of the k rows nearest to each new row, whatever the others."""
        asked = self._straight(new)
        if self.index is None:
            return query(self.rows, asked, self.k, self.metric)
        return self.index.query(asked, self.k)

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each row's k nearest other rows, or of all if they are fewer."""
        if self.index is None:
            return nearest(self.rows, min(self.k, self.rows.shape[0] - 1), self.metric)
        return self.index.neighbors()

    def for_queries(self) -> NeighborQuery:
        """The search without what only `neighbors` needs."""
        index = self.index.for_queries() if isinstance(self.index, GrowingIndex) else self.index
        return replace(self, index=index)

    def neighbors_of_new(self, rows: Any, first: int) -> tuple[Array, Array] | None:
        """Neighbours of rows[first:] among all rows, of which the search has those before them.

        None unless there is an index to which rows can be added; see `GrowingIndex.joined`.
        """
        if not isinstance(self.index, GrowingIndex):
            return None
        return self.index.neighbors_of_new(self._straight(rows), first)

    @property
    def n_bytes(self) -> float:
        """The size of an index that can be kept; infinite for others."""
        return self.index.n_bytes if isinstance(self.index, GrowingIndex) else np.inf

    def _straight(self, rows: Any) -> Any:
        return rows if self.straighten is None else self.straighten(rows)


def neighbor_query(
    rows: Any,
    metric: Metric,
    k: int,
    *,
    method: str = "auto",
    recall: float = 0.95,
    seed: int = SEED,
) -> NeighborQuery:
    """The search for the k nearest of `rows`.

    Building it may take long, because it may build an index; keep it for the next call.
    """
    k = checks.integer(k, "k", 1, rows.shape[0], " (the number of points)")
    searched, measure = to_euclidean(rows, metric)
    exact = use_exact_search(searched, measure, method, recall)
    index = None if exact else build_index(searched, measure, k, recall, seed)
    return NeighborQuery(searched, measure, k, index, metric.straighten)


def use_exact_search(rows: Any, metric: Metric, method: str, recall: float = 0.95) -> bool:
    """Whether rows, in memory or in blocks, are searched exactly rather than approximately.

    An approximate search in memory becomes exact all the same if there is no index; `build_index`.
    """
    if method == "exact" or recall >= 1:
        return True
    if isinstance(rows, RowBlocks):
        return not metric.by_products or rows.shape[0] <= FEW_IN_BLOCKS
    return method == "auto" and _exact_is_fast(rows, metric)


def _exact_is_fast(rows: Any, metric: Metric) -> bool:
    """Whether an exact search of rows in memory is as fast as an approximate one."""
    by_euclid = not is_sparse(rows) and (metric.name in FORMS or has_candidates(rows, metric))
    fast_index = metric.by_products or metric.name == "callable" or by_euclid
    up_to = EXACT_UP_TO if fast_index else BLOCKS_UP_TO
    return rows.shape[0] <= up_to or tree_fits(rows, metric)


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


def report_exact_search(rows: Any, metric: Metric, recall: float) -> None:
    """Log that the search is exact because there is no index; warn if it will take long."""
    n = rows.shape[0]
    if n < MIN_ROWS:
        return
    message = (
        f"No approximate search finds {recall:.4g} of the neighbours of these {n} objects in much "
        "less time than the exact search, so the exact search is used. For a faster one, lower "
        "recall or reduce the number of dimensions first, for instance with PCA."
    )
    seconds = _exact_seconds(rows, metric)
    (checks.warn if seconds > LONG_SEARCH else logger.info)(message)


def _exact_seconds(rows: Any, metric: Metric) -> float:
    """A rough estimate of the time of an exact search."""
    if metric.by_products or map_rows(rows, metric) is not None:
        return backend().exact_search_seconds(rows)
    if not has_candidates(rows, metric):
        return np.inf  # of a function, or of a search by pivots, which begin with more objects
    n, d = rows.shape
    return float(n * n / 2 * d * PER_ENTRY / current().threads)


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
