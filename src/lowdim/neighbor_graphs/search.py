"""The door to all searches for nearest neighbours.

`search_all` finds the neighbours of all rows, `neighbor_query` that for new rows.
`use_exact_search` chooses between an exact search (`exact`) and an approximate one: by an index
(`indexes`), or, of rows in blocks, by an index of each of several parts of them (`shards`).

Rows are an array, a CSR matrix, an array of any objects, or `RowBlocks`, prepared by their metric.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.heaps import Neighbors
from lowdim.backends.native.index import CellIndex, Index
from lowdim.checks import Array, dense, is_sparse
from lowdim.distances.formulas import softmax
from lowdim.distances.matrices import check_defined
from lowdim.distances.metrics import Metric, euclidean
from lowdim.distances.row_blocks import RowBlocks, fingerprint
from lowdim.messages import argument
from lowdim.neighbor_graphs.exact import nearest, query, tree_fits, within
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.indexes import MIN_ROWS, build_index, has_candidates
from lowdim.neighbor_graphs.shards import search_shards
from lowdim.runtime import memory
from lowdim.runtime.callbacks import phase
from lowdim.runtime.context import current

logger = logging.getLogger("lowdim")

METHODS = ("auto", "exact", "approximate")
RECALL = 0.95  # default of an approximate search
SEED = 0  # the same
FEW_IN_BLOCKS = 1000  # rows in blocks up to which an approximate search is exact
MANY_IN_BLOCKS = 200_000  # rows in blocks from which an exact search takes minutes and more
EXACT_UP_TO = 10_000  # rows in memory up to which "auto" is an exact search
BLOCKS_UP_TO = 30_000  # the same for metrics that are fast in blocks, and whose index is slow
PER_ENTRY = 1e-9  # seconds that two entries of a pair of rows take in a formula; measured
LONG_SEARCH = 10  # seconds of an exact search in place of an approximate one that cause a warning


def search_all(
    rows: Any,
    metric: Metric,
    k: int | None,
    radius: float | None = None,
    method: str = "exact",
    *,
    recall: float = RECALL,
    seed: int = SEED,
) -> tuple[NeighborGraph, NeighborQuery | None]:
    """The graph of the k nearest neighbours of all rows, or of all neighbours within a radius.

    Also returns the search for the k nearest neighbours of new rows, by the same index if there is
    one; None with a radius.
    """
    checks.k_or_radius(k, radius)
    if radius is not None:
        indptr, indices, distances = within(rows, metric, checks.real(radius, "radius", 0))
        return NeighborGraph(indices, distances, metric.name, fingerprint(rows), indptr), None
    k = checks.n_neighbors(k, rows.shape[0])
    if isinstance(rows, RowBlocks):
        _check_blocks(rows, metric, k, method, recall)
    with phase("nearest neighbours"):
        search = neighbor_query(rows, metric, k, method=method, recall=recall, seed=seed)
        exact = use_exact_search(search.rows, search.metric, method, recall)
        share = None if search.index is None else search.index.recall
        if isinstance(rows, RowBlocks) and not exact:
            indices, distances, share = search_shards(rows, k, metric, recall, seed)
        else:
            if search.index is None and not exact:
                _report_exact_search(search.rows, search.metric, recall)
            indices, distances = search.neighbors()
    graph = NeighborGraph(indices, distances, metric.name, fingerprint(rows), recall=share)
    return graph, search.for_queries()


def neighbor_query(
    rows: Any,
    metric: Metric,
    k: int,
    *,
    method: str = "auto",
    recall: float = RECALL,
    seed: int = SEED,
) -> NeighborQuery:
    """The search for the k nearest of `rows`; that of rows in blocks is exact.

    Building it may take long, because it may build an index; keep it for the next call.
    """
    k = checks.integer(k, "k", 1, rows.shape[0], " (the number of points)")
    searched, measure, form = _euclidean_form(rows, metric)
    exact = isinstance(rows, RowBlocks) or use_exact_search(searched, measure, method, recall)
    index = None if exact else build_index(searched, measure, k, recall, seed)
    return NeighborQuery(searched, measure, k, index, form, metric)


@dataclass(frozen=True, eq=False)
class NeighborQuery:
    """A search for the k nearest of some rows, mapped by the form of their metric if it has one."""

    rows: Any
    metric: Metric
    k: int
    index: Index | None
    form: Form | None
    true_metric: Metric

    def __call__(self, new: Any) -> tuple[Array, Array]:
        """Indices and distances of the k rows nearest to each new row, whatever the others."""
        asked = self._map_rows(new)
        if self.index is None:
            return self._measure(query(self.rows, asked, self.k, self.metric))
        return self._measure(self.index.query(asked, self.k))

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each row's k nearest other rows, or of all if they are fewer."""
        if self.index is None:
            return self._measure(
                nearest(self.rows, min(self.k, self.rows.shape[0] - 1), self.metric)
            )
        return self._measure(self.index.neighbors())

    def for_queries(self) -> NeighborQuery:
        """The search without what only `neighbors` needs."""
        index = self.index.for_queries() if isinstance(self.index, CellIndex) else self.index
        return replace(self, index=index)

    def neighbors_of_new(self, rows: Any, first: int) -> tuple[Array, Array] | None:
        """Neighbours of rows[first:] among all rows, of which the search has those before them.

        None unless there is an index to which rows can be added; see `CellIndex`.
        """
        if not isinstance(self.index, CellIndex):
            return None
        neighbors = self.index.neighbors_of_new(self._map_rows(rows), first)
        return None if neighbors is None else self._measure(neighbors)

    @property
    def n_bytes(self) -> float:
        """The size of an index that can be kept; infinite for others."""
        return self.index.n_bytes if isinstance(self.index, CellIndex) else np.inf

    def _map_rows(self, rows: Any) -> Any:
        """Rows as those of the search; ValueError if the metric is not defined for one of them."""
        if self.form is None:
            return rows
        mapped = np.asarray(self.form.rows(dense(rows)), dtype=self.rows.dtype)
        undefined = np.where(np.isfinite(mapped).all(axis=1), 0, np.nan)  # for every other object
        numbers = np.arange(len(mapped)), np.zeros(1, int)
        check_defined(undefined[:, None], self.true_metric, *numbers, new=True)
        return mapped

    def _measure(self, neighbors: Neighbors) -> Neighbors:
        """Neighbours with their distances by the metric, from those of the mapped rows."""
        indices, lengths = neighbors
        if self.form is None or self.form.distances is None:
            return neighbors
        return indices, np.asarray(self.form.distances(lengths), dtype=lengths.dtype)


def use_exact_search(rows: Any, metric: Metric, method: str, recall: float = RECALL) -> bool:
    """Whether rows, in memory or in blocks, are searched exactly rather than approximately.

    An approximate search in memory becomes exact all the same if there is no index; `build_index`.
    """
    if method == "exact" or recall >= 1:
        return True
    if isinstance(rows, RowBlocks):
        return not metric.by_products or rows.shape[0] <= FEW_IN_BLOCKS
    if method == "approximate":
        return False
    if rows.shape[0] <= EXACT_UP_TO or tree_fits(rows, metric):
        return True
    by_euclid = not is_sparse(rows) and (metric.name in FORMS or has_candidates(rows, metric))
    fast_index = metric.by_products or metric.name == "callable" or by_euclid
    return rows.shape[0] <= BLOCKS_UP_TO and not fast_index


@dataclass(frozen=True)
class Form:
    """A metric as an increasing function of the Euclidean distance of mapped rows.

    Neighbours are then searched as under the Euclidean distance, which is several times faster than
    the computation of all distances by their formula.
    """

    rows: Callable[[Any], Any]
    distances: Callable[[Array], Array] | None = None  # None: the Euclidean distances themselves


def _units(rows: Array) -> Array:
    """Rows of length 1. A zero row gets a direction of its own, at right angles to all others.

    Its distances are then those that `formulas` states.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    zero = (lengths == 0).astype(rows.dtype)
    return np.hstack([rows / (lengths + zero), zero])


def _deviations(rows: Array) -> Array:
    """Rows minus their means: exactly zero for constant rows."""
    centered = rows - rows.mean(axis=1, keepdims=True)
    centered[np.ptp(rows, axis=1) == 0] = 0
    return np.asarray(centered)


def _ranks(rows: Array) -> Array:
    from scipy.stats import rankdata

    return np.asarray(rankdata(rows, axis=1), dtype=rows.dtype)


def _roots(rows: Array) -> Array:
    with np.errstate(invalid="ignore"):  # of negative entries, which the exact search reports
        return np.asarray(np.sqrt(rows))


FORMS = {
    "sqeuclidean": Form(np.asarray, np.square),
    "correlation": Form(lambda rows: _units(_deviations(rows)), lambda d: d**2 / 2),
    "spearmanr": Form(lambda rows: _units(_deviations(_ranks(rows))), lambda d: d**2 / 2),
    "true_angular": Form(_units, lambda d: 2 / np.pi * np.arcsin(np.minimum(d / 2, 1))),
    "hellinger": Form(lambda rows: _units(_roots(rows)), lambda d: d / np.sqrt(2)),
    "softmax_hellinger": Form(lambda rows: np.sqrt(softmax(rows)), lambda d: d / np.sqrt(2)),
}


def _euclidean_form(rows: Any, metric: Metric) -> tuple[Any, Metric, Form | None]:
    """The rows and the metric to search by: mapped rows under the Euclidean distance if possible.

    Rows for which the metric is not defined are not mapped; the exact search reports them.
    """
    form = FORMS.get(metric.name)
    if metric.straighten is not None:
        form = Form(metric.straighten)
    if form is None or (not isinstance(rows, np.ndarray) and metric.straighten is None):
        return rows, metric, None
    vectors = np.ascontiguousarray(form.rows(rows), dtype=checks.float_kind(rows))
    return (vectors, euclidean(), form) if np.isfinite(vectors).all() else (rows, metric, None)


def _report_exact_search(rows: Any, metric: Metric, recall: float) -> None:
    """Log that the search is exact because there is no index; warn if it will take long."""
    n = rows.shape[0]
    if n < MIN_ROWS:
        return
    message = (
        f"No approximate search finds {recall:.4g} of the neighbours of these {n} objects in much "
        "less time than the exact search, so the exact search is used. For a faster one, lower "
        "recall or reduce the number of dimensions first, for instance with PCA."
    )
    seconds = np.inf  # of a function, or of a search by pivots, which begin with more objects
    if metric.by_products:
        seconds = backend().exact_search_seconds(rows)
    elif has_candidates(rows, metric):
        seconds = n * n / 2 * rows.shape[1] * PER_ENTRY / current().threads
    (checks.warn if seconds > LONG_SEARCH else logger.info)(message)


def _check_blocks(rows: RowBlocks, metric: Metric, k: int, method: str, recall: float) -> None:
    """Claim the memory of a search of rows in blocks, and warn if it takes long."""
    n = rows.shape[0]
    memory.claim(
        n * k * (4 + rows.dtype.itemsize),
        f"The {k} nearest neighbours of {n} objects",
        "Ask for fewer neighbours, or take a sample of the objects.",
    )
    if method == "approximate" and not metric.by_products:
        raise ValueError(
            f"{argument('method', 'approximate')} with {argument('metric', metric.name)} needs all "
            "rows in memory. Use the metric 'euclidean' or 'cosine', or "
            f"{argument('method', 'exact')}."
        )
    if n > MANY_IN_BLOCKS and use_exact_search(rows, metric, method, recall):
        checks.warn(
            f"The exact neighbours of {n} objects are found by comparing all pairs, which takes "
            "long. Approximate ones are faster: fit(X, graph=graph) with graph = "
            f"lowdim.neighbors(X, {k}, method='approximate')."
        )
