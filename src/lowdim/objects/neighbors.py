"""Nearest neighbours of a data set as a graph, exact or approximate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.search import METHODS, SEED
from lowdim.objects.block_sources import open_source
from lowdim.objects.objects import is_precomputed, objects_of
from lowdim.runtime.scheduling import uses_threads


@uses_threads
def neighbors(
    X: Any,
    k: int | None = None,
    *,
    radius: float | None = None,
    metric: str | Callable[[Any, Any], float] = "euclidean",
    metric_params: dict[str, Any] | None = None,
    method: str = "auto",
    recall: float = 0.95,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> NeighborGraph:
    """Compute the graph of each object's k nearest neighbours, or of all within a radius.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        The objects; any sequence if the metric is a function. With metric="precomputed" a dense
        matrix of dissimilarities or a sparse graph of them. Data in a file (a memory map, an HDF5
        or Zarr array, or the path of a .npy or Parquet file) are read in blocks if they are large.
    k : int, default=None
        Number of neighbours, not counting the object itself; 15 if no radius is given either.
    radius : float, default=None
        Largest distance of a neighbour, instead of k.
    metric : str or callable, default="euclidean"
        Name of a SciPy metric, "gower", "nan_euclidean", "haversine", "precomputed", or a function
        of two objects.
    metric_params : dict, default=None
        Further arguments of the metric.
    method : {"auto", "exact", "approximate"}, default="auto"
        "exact" compares all pairs, or uses a k-d tree in up to 8 dimensions. "approximate" searches
        each object's neighbours in a few cells, as many as a sample of the objects needs to reach
        the `recall`; it is exact where that is no slower. Neighbours of vectors under "cityblock",
        "chebyshev", "canberra", "braycurtis" and "minkowski" are sought among more neighbours
        under the Euclidean distance. "auto" is exact wherever a k-d tree can be used and for up to
        10,000 objects, or 30,000 under a named metric other than these, "euclidean", "sqeuclidean",
        "cosine", "true_angular", "correlation", "spearmanr" and "hellinger". A graph with a radius
        is always exact.
    recall : float, default=0.95
        Share of the true neighbours that an approximate graph must hold.
    random_state : int, RandomState or None, default=None
        Seed of the sample and the cells; None is a fixed seed.
    n_jobs : int, default=None
        Number of threads; None takes those of `lowdim.compute`, -1 takes all. The result does not
        depend on it.

    Returns
    -------
    NeighborGraph
        The neighbours, nearest first. Its `recall` is the share measured on the sample, or None if
        the graph is exact.

    Notes
    -----
    Time is proportional to n^2 if exact (n log n in up to 8 dimensions) and to about n^1.5 if
    approximate. Memory is proportional to n k, and for an approximate graph to n times the
    dimension, at most 257.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(500, random_state=0)
    >>> graph = lowdim.neighbors(X, k=10)
    >>> graph
    NeighborGraph(500 objects, k=10, metric='euclidean')
    >>> lowdim.Isomap(n_neighbors=8).fit(X, graph=graph).embedding_.shape
    (500, 2)
    """
    checks.choice(method, "method", METHODS)
    recall = checks.real(recall, "recall", 0, 1, open_low=True)
    if k is None and radius is None:
        k = 15
    if k is not None and radius is not None:
        raise ValueError("Both k and radius are provided: set one of them to None.")
    X = X if is_precomputed(metric) else open_source(X)
    objects = objects_of(X, metric, metric_params)
    if k is not None:
        checks.n_neighbors(k, objects.n, "k")
    if radius is not None:
        radius = float(np.ldexp(checks.real(radius, "radius", 0), -objects.exponent))
    seed = index_seed(random_state) if objects.measured else SEED
    graph = objects.neighbor_graph(k, radius, method, recall=recall, seed=seed)
    result = graph.scale(objects.exponent)
    if objects.exponent:
        checks.distances_in_range(result.distances)
    return result


def index_seed(random_state: Any) -> int:
    """The seed of an approximate search as an integer; fixed for None, for reproducible graphs."""
    if random_state is None:
        return SEED
    return int(checks.check_random_state(random_state).randint(2**31 - 1))
