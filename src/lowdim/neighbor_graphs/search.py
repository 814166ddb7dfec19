"""The door to the search for neighbours: the graph of rows, in memory or in blocks.

`neighbor_graph` chooses between the searches: `exact`, by an index (`indexes`), and, of rows that
do not fit into memory, by an index of each of several parts of them (`shards`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowdim import checks
from lowdim.distances.fingerprint import fingerprint
from lowdim.distances.metrics import Metric
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.exact import nearest, within
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.indexes import (
    SEED,
    NeighborQuery,
    neighbor_query,
    report_exact_search,
    wants_index,
)
from lowdim.neighbor_graphs.precomputed import check_k
from lowdim.neighbor_graphs.shards import sharded_neighbors
from lowdim.runtime import memory
from lowdim.runtime.callbacks import phase

METHODS = ("auto", "exact", "approximate")
FEW = 1000  # rows in blocks up to which an approximate search is exact
MANY = 200_000  # rows in blocks from which an exact search takes minutes and more


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

    If the search is by an index, `keep` is called with the search for the neighbours of new rows
    by the same index.
    """
    if (k is None) == (radius is None):
        raise ValueError(
            "Both n_neighbors and radius are provided: set one of them to None."
            if k is not None
            else "Give either a number of neighbours or a radius."
        )
    in_blocks = isinstance(rows, RowBlocks)
    indptr = share = None
    if radius is not None:
        indptr, indices, distances = within(rows, metric, checks.real(radius, "radius", 0))
    else:
        k = check_k(k, rows.shape[0])
        exact = method == "exact" or not metric.by_products or recall >= 1 or rows.shape[0] <= FEW
        if in_blocks:
            _check_blocks(rows, metric, k, method, exact)
        with phase("nearest neighbours"):
            if not in_blocks:
                search = neighbor_query(rows, metric, k, method=method, recall=recall, seed=seed)
                if search.index is not None:
                    share = search.index.recall
                elif method != "exact" and wants_index(search.rows, search.metric, method):
                    report_exact_search(search.rows, search.metric, recall)
                indices, distances = search.neighbors()
                if keep is not None and search.index is not None:
                    keep(search.for_queries())
            elif exact:
                indices, distances = nearest(rows, k, metric)
            else:
                indices, distances, share = sharded_neighbors(rows, k, metric, recall, seed)
    digest = rows.fingerprint() if in_blocks else fingerprint(rows)
    return NeighborGraph(indices, distances, metric.name, digest, indptr, recall=share)


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
            f"method='approximate' with metric={metric.name!r} needs all rows in memory. Use the "
            "metric 'euclidean' or 'cosine', or method='exact'."
        )
    if exact and n > MANY:
        checks.warn(
            f"The exact neighbours of {n} objects are found by comparing all pairs, which takes "
            "long. Approximate ones are faster: fit(X, graph=graph) with graph = "
            f"lowdim.neighbors(X, {k}, method='approximate')."
        )
