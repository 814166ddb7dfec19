"""The neighbour graph of a data set, exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowdim import checks
from lowdim.relations.distances import Metric, resolve_metric
from lowdim.relations.graph import NeighborGraph, fingerprint
from lowdim.relations.precomputed import check_k, precomputed_graph
from lowdim.relations.search import nearest, within


def neighbors(
    X: Any,
    k: int | None = None,
    *,
    radius: float | None = None,
    metric: str | Callable[[Any, Any], float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> NeighborGraph:
    """The graph of each object's k nearest neighbours, or of all within a radius; exact.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix (n, d); any sequence with a callable metric; or, with
        metric="precomputed", a dense matrix of dissimilarities or a sparse graph of them.
    k : number of neighbours, the object itself not counted; 15 if no radius is given either.
    radius : largest distance of a neighbour, in place of k.
    metric : a SciPy name, "gower", "nan_euclidean", "haversine", "precomputed" or a callable.
    metric_params : further arguments of the metric.
    n_jobs : threads; None takes all cores. The result does not depend on it.

    Time grows with n^2 (n log n in up to 8 dimensions), memory with n k.
    """
    if k is None and radius is None:
        k = 15
    if isinstance(metric, str) and metric == "precomputed":
        return precomputed_graph(X, k, radius)
    found, rows = resolve_metric(metric, metric_params, X)
    return neighbor_graph(rows, found, k, radius, n_jobs)


def neighbor_graph(
    rows: Any, metric: Metric, k: int | None, radius: float | None, n_jobs: int | None
) -> NeighborGraph:
    """The neighbour graph of prepared rows."""
    if (k is None) == (radius is None):
        raise ValueError(
            "Both n_neighbors and radius are provided: set one of them to None."
            if k is not None
            else "Give either a number of neighbours or a radius."
        )
    if radius is not None:
        radius = checks.real(radius, "radius", 0)
        indptr, indices, distances = within(rows, metric, radius, n_jobs)
        return NeighborGraph(indices, distances, metric.name, fingerprint(rows), indptr)
    indices, distances = nearest(rows, check_k(k, rows.shape[0]), metric, n_jobs)
    return NeighborGraph(indices, distances, metric.name, fingerprint(rows))
