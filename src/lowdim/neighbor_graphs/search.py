"""Neighbour graphs of rows under a metric: of rows in memory, and of rows that are read in blocks.

`indexes.use_exact_search` chooses between an exact search (`exact`) and an approximate one: by an
index (`indexes`), or, of rows in blocks, by an index of each of several parts of them (`shards`).
"""

from __future__ import annotations

from typing import Any

from lowdim import checks
from lowdim.distances.fingerprint import fingerprint
from lowdim.distances.metrics import Metric
from lowdim.distances.row_blocks import RowBlocks
from lowdim.messages import argument
from lowdim.neighbor_graphs.exact import nearest, within
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.indexes import (
    SEED,
    NeighborQuery,
    neighbor_query,
    report_exact_search,
    use_exact_search,
)
from lowdim.neighbor_graphs.shards import sharded_neighbors
from lowdim.runtime import memory
from lowdim.runtime.callbacks import phase

METHODS = ("auto", "exact", "approximate")
MANY = 200_000  # rows in blocks from which an exact search takes minutes and more


def graph_in_memory(
    rows: Any,
    metric: Metric,
    k: int,
    method: str = "exact",
    *,
    recall: float = 0.95,
    seed: int = SEED,
) -> tuple[NeighborGraph, NeighborQuery]:
    """The graph of the k nearest neighbours of rows in memory, which a metric has prepared.

    Also returns the search for the neighbours of new rows, by the same index if there is one.
    """
    with phase("nearest neighbours"):
        search = neighbor_query(rows, metric, k, method=method, recall=recall, seed=seed)
        index = search.index
        if index is None and not use_exact_search(search.rows, search.metric, method, recall):
            report_exact_search(search.rows, search.metric, recall)
        indices, distances = search.neighbors()
    share = None if index is None else index.recall
    graph = NeighborGraph(indices, distances, metric.name, fingerprint(rows), recall=share)
    return graph, search.for_queries()


def graph_in_blocks(
    rows: RowBlocks,
    metric: Metric,
    k: int,
    method: str = "exact",
    *,
    recall: float = 0.95,
    seed: int = SEED,
) -> NeighborGraph:
    """The graph of the k nearest neighbours of rows that are read in blocks."""
    exact = use_exact_search(rows, metric, method, recall)
    _check_blocks(rows, metric, k, method, exact)
    share = None
    with phase("nearest neighbours"):
        if exact:
            indices, distances = nearest(rows, k, metric)
        else:
            indices, distances, share = sharded_neighbors(rows, k, metric, recall, seed)
    return NeighborGraph(indices, distances, metric.name, rows.fingerprint(), recall=share)


def graph_within(rows: Any, metric: Metric, radius: float) -> NeighborGraph:
    """The graph of all neighbours within a radius, of rows in memory or in blocks."""
    indptr, indices, distances = within(rows, metric, checks.real(radius, "radius", 0))
    digest = rows.fingerprint() if isinstance(rows, RowBlocks) else fingerprint(rows)
    return NeighborGraph(indices, distances, metric.name, digest, indptr)


def _check_blocks(rows: RowBlocks, metric: Metric, k: int, method: str, exact: bool) -> None:
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
    if exact and n > MANY:
        checks.warn(
            f"The exact neighbours of {n} objects are found by comparing all pairs, which takes "
            "long. Approximate ones are faster: fit(X, graph=graph) with graph = "
            f"lowdim.neighbors(X, {k}, method='approximate')."
        )
