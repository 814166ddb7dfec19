"""The choice between exact and approximate searches for neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowdim import checks
from lowdim.callbacks import phase
from lowdim.checks import Array, is_sparse
from lowdim.relations.approximate import build_index, report_exact_search
from lowdim.relations.candidates import has_candidates
from lowdim.relations.euclidean_forms import FORMS
from lowdim.relations.graph import NeighborGraph, fingerprint
from lowdim.relations.metrics import Metric, straightened
from lowdim.relations.precomputed import check_k
from lowdim.relations.search import nearest, query, tree_fits, within

METHODS = ("auto", "exact", "approximate")
SEED = 0  # default seed of an approximate search
EXACT_UP_TO = 10_000  # objects up to which "auto" is an exact search
BLOCKS_UP_TO = (
    30_000  # the same for metrics that are measured in blocks: they are fast, their index is slow
)


def neighbor_graph(
    rows: Any,
    metric: Metric,
    k: int | None,
    radius: float | None,
    *,
    method: str = "exact",
    recall: float = 0.95,
    seed: int = SEED,
) -> NeighborGraph:
    """The neighbour graph of rows that a metric has prepared; the parameters are `neighbors`'."""
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
) -> Callable[[Any], tuple[Array, Array]]:
    """A function from new rows to the indices and distances of the k nearest of `rows`.

    The neighbours of a new row do not depend on the other new rows. Building the function may
    take long, because it may build an index; keep it for the next call.
    """
    k = checks.integer(k, "k", 1, rows.shape[0], " (the number of points)")
    index = None
    searched, measure = straightened(rows, metric)
    if _wants_index(searched, measure, method):
        index = build_index(searched, measure, k, recall, seed)

    def search(new: Any) -> tuple[Array, Array]:
        asked = new if metric.straighten is None else metric.straighten(new)
        return query(searched, asked, k, measure) if index is None else index.query(asked, k)

    return search


def _wants_index(rows: Any, metric: Metric, method: str) -> bool:
    """Whether a method of search asks for an index."""
    return method == "approximate" or (method == "auto" and not exact_is_fast(rows, metric))


def exact_is_fast(rows: Any, metric: Metric) -> bool:
    """Whether method="auto" is the exact search."""
    by_euclid = not is_sparse(rows) and (metric.name in FORMS or has_candidates(rows, metric))
    fast_index = metric.by_products or metric.name == "callable" or by_euclid
    up_to = EXACT_UP_TO if fast_index else BLOCKS_UP_TO
    return rows.shape[0] <= up_to or tree_fits(rows, metric)
