"""Nearest neighbours of a data set, exact or approximate: graphs, and searches for new rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowdim import checks
from lowdim.callbacks import phase
from lowdim.checks import Array
from lowdim.relations.approximate import build_index, report_exact_search
from lowdim.relations.graph import NeighborGraph, fingerprint
from lowdim.relations.metrics import Metric, resolve_metric
from lowdim.relations.precomputed import check_k, precomputed_graph
from lowdim.relations.search import nearest, query, tree_fits, within
from lowdim.runtime.scheduling import uses_threads

METHODS = ("auto", "exact", "approximate")
SEED = 0  # default seed of an approximate search
EXACT_UP_TO = 10_000  # objects up to which "auto" is an exact search
BLOCKS_UP_TO = 30_000  # the same for SciPy metrics: cdist is fast, and their index is slow


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
        matrix of dissimilarities or a sparse graph of them.
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
        the `recall`; it is exact where that is no slower. "auto" is exact for up to 10,000 objects
        (30,000 under named metrics other than "euclidean" and "cosine") and wherever a k-d tree
        can be used. A graph with a radius is always exact.
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
    if isinstance(metric, str) and metric == "precomputed":
        return precomputed_graph(X, k, radius)
    found, rows = resolve_metric(metric, metric_params, X)
    seed = index_seed(random_state)
    return neighbor_graph(rows, found, k, radius, method=method, recall=recall, seed=seed)


def index_seed(random_state: Any) -> int:
    """The seed of an approximate search as an integer; fixed for None, for reproducible graphs."""
    from sklearn.utils import check_random_state

    if random_state is None:
        return SEED
    return int(check_random_state(random_state).randint(2**31 - 1))


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
    with phase("nearest neighbours"):
        if _wants_index(rows, metric, method):
            index = build_index(rows, metric, k, recall, seed)
            if index is None:
                report_exact_search(rows, metric, recall)
        indices, distances = nearest(rows, k, metric) if index is None else index.neighbors()
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
    if _wants_index(rows, metric, method):
        index = build_index(rows, metric, k, recall, seed)
    if index is None:
        return lambda new: query(rows, new, k, metric)
    return lambda new: index.query(new, k)


def _wants_index(rows: Any, metric: Metric, method: str) -> bool:
    """Whether a method of search asks for an index."""
    return method == "approximate" or (method == "auto" and not exact_is_fast(rows, metric))


def exact_is_fast(rows: Any, metric: Metric) -> bool:
    """Whether method="auto" is the exact search."""
    in_blocks = not metric.by_products and metric.name != "callable"
    up_to = BLOCKS_UP_TO if in_blocks else EXACT_UP_TO
    return rows.shape[0] <= up_to or tree_fits(rows, metric)
