"""The choice between exact and approximate searches for neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.protocol import GrowingIndex, Index
from lowdim.checks import Array, is_sparse
from lowdim.distances.fingerprint import fingerprint
from lowdim.distances.metrics import Metric, straightened
from lowdim.neighbor_graphs.approximate import build_index, report_exact_search
from lowdim.neighbor_graphs.candidates import has_candidates
from lowdim.neighbor_graphs.euclidean_forms import FORMS
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.precomputed import check_k
from lowdim.neighbor_graphs.search import nearest, query, tree_fits, within
from lowdim.runtime.callbacks import phase

METHODS = ("auto", "exact", "approximate")
SEED = 0  # default seed of an approximate search
EXACT_UP_TO = 10_000  # objects up to which "auto" is an exact search
BLOCKS_UP_TO = (
    30_000  # the same for metrics that are measured in blocks: they are fast, their index is slow
)


@dataclass(frozen=True, eq=False)
class NeighborQuery:
    """A search for the k nearest of some rows; see `straightened` for rows and metric."""

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

    def joined(self, rows: Any, first: int) -> tuple[Array, Array] | None:
        """Neighbours of rows[first:] among all rows, of which the search has those before them.

        None unless there is an index to which rows can be added; see `GrowingIndex.joined`.
        """
        if not isinstance(self.index, GrowingIndex):
            return None
        return self.index.joined(self._straight(rows), first)

    @property
    def n_bytes(self) -> float:
        """The size of an index that can be kept; infinite for others."""
        return self.index.n_bytes if isinstance(self.index, GrowingIndex) else np.inf

    def _straight(self, rows: Any) -> Any:
        return rows if self.straighten is None else self.straighten(rows)


def neighbor_graph(
    rows: Any,
    metric: Metric,
    k: int | None,
    radius: float | None,
    *,
    method: str = "exact",
    recall: float = 0.95,
    seed: int = SEED,
    keep: Callable[[NeighborQuery], None] | None = None,
) -> NeighborGraph:
    """The neighbour graph of rows that a metric has prepared; the parameters are `neighbors`'.

    If the search is by an index that can be kept, `keep` is called with the search for the
    neighbours of new rows by the same index.
    """
    if (k is None) == (radius is None):
        raise ValueError(
            "Both n_neighbors and radius are provided: set one of them to None."
            if k is not None
            else "Give either a number of neighbours or a radius."
        )
    if radius is not None:
        radius = checks.real(radius, "radius", 0)
        indptr, indices, distances = within(rows, metric, radius)
        return NeighborGraph(indices, distances, metric.name, fingerprint(rows), indptr)
    k = check_k(k, rows.shape[0])
    index = None
    searched, measure = straightened(rows, metric)
    with phase("nearest neighbours"):
        if _wants_index(searched, measure, method):
            index = build_index(searched, measure, k, recall, seed)
            if index is None:
                report_exact_search(searched, measure, recall)
        indices, distances = nearest(searched, k, measure) if index is None else index.neighbors()
    if keep is not None and isinstance(index, GrowingIndex):
        keep(NeighborQuery(searched, measure, k, index.for_queries(), metric.straighten))
    found = None if index is None else index.recall
    return NeighborGraph(indices, distances, metric.name, fingerprint(rows), recall=found)


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
    index = None
    searched, measure = straightened(rows, metric)
    if _wants_index(searched, measure, method):
        index = build_index(searched, measure, k, recall, seed)
    return NeighborQuery(searched, measure, k, index, metric.straighten)


def _wants_index(rows: Any, metric: Metric, method: str) -> bool:
    """Whether a method of search asks for an index."""
    return method == "approximate" or (method == "auto" and not exact_is_fast(rows, metric))


def exact_is_fast(rows: Any, metric: Metric) -> bool:
    """Whether method="auto" is the exact search."""
    by_euclid = not is_sparse(rows) and (metric.name in FORMS or has_candidates(rows, metric))
    fast_index = metric.by_products or metric.name == "callable" or by_euclid
    up_to = EXACT_UP_TO if fast_index else BLOCKS_UP_TO
    return rows.shape[0] <= up_to or tree_fits(rows, metric)
