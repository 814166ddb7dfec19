"""Steadiness and cohesiveness: are groups of the map groups in the data, and vice versa?"""

from __future__ import annotations

from collections import deque
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.quality.rows import Rows, choose_objects, data_rows, map_rows, rows_of
from lowdim.runtime.interrupts import watch_interrupts
from lowdim.runtime.scheduling import uses_threads

ALPHA = 0.1  # added to similarities before they are inverted to distances
WALK = 0.3  # steps of a random walk, as a share of the objects
MIN_GROUP = 5  # least size of a group within a walk
MAX_TRIES = 1000  # of a walk to leave its start


class SteadinessCohesiveness(NamedTuple):
    """Two measures between 0 and 1, higher is better.

    Attributes
    ----------
    steadiness : float
        How far groups of the map are groups in the data.
    cohesiveness : float
        How far groups in the data are groups of the map.
    """

    steadiness: float
    cohesiveness: float


@uses_threads
def steadiness_cohesiveness(
    X: Any,
    Y: Any,
    n_neighbors: int | None = None,
    *,
    n_walks: int = 150,
    n_objects: int = 2000,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> SteadinessCohesiveness:
    """Measure how far groups of the map are groups in the data, and the other way round.

    Parameters
    ----------
    X, Y, metric, metric_params, n_jobs
        As in `compare_ranks`.
    n_neighbors : int, optional
        Number of neighbours by which similarities are measured; by default the square root of n.
    n_walks : int, default=150
        Number of random walks for each of the two measures.
    n_objects : int, default=2000
        Of more objects, this many are drawn at random.
    random_state : int, RandomState instance or None, optional
        Seed of the walks.

    Returns
    -------
    SteadinessCohesiveness
        The two measures.

    Notes
    -----
    The similarity of two objects is that of their lists of neighbours. A random walk from neighbour
    to neighbour on the map collects a group, which HDBSCAN divides by the similarities in the data.
    Pairs of its parts that are farther apart in the data than on the map lower the steadiness, each
    by its share of the largest such difference, weighted with the product of the sizes.
    Cohesiveness is the same with the map and the data exchanged.

    References
    ----------
    Jeon, Ko, Jo, Kim and Seo, "Measuring and explaining the inter-cluster reliability of
    multidimensional projections", IEEE Transactions on Visualization and Computer Graphics 28,
    2022.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(120, random_state=0)
    >>> lowdim.quality.steadiness_cohesiveness(X, 2 * X).steadiness
    1.0
    """
    data = data_rows(X, metric, metric_params)
    spaces = [data, map_rows(Y, data.n)]
    chosen = choose_objects(data.n, checks.integer(n_objects, "n_objects", 3), random_state)
    n = len(chosen)
    if n < data.n:
        spaces = [rows_of(one.objects.subset(chosen)) for one in spaces]
    if n < 3:
        raise ValueError(f"X: n_samples = {n}, but groups need at least 3 objects.")
    k = isqrt(n) if n_neighbors is None else n_neighbors
    k = checks.integer(k, "n_neighbors", 1, n - 1, " (the number of other objects)")
    count = checks.integer(n_walks, "n_walks", 1)
    random = checks.fixed_random_state(random_state)
    ids, shared = zip(*(_shared_neighbors(one, k) for one in spaces), strict=True)
    steady = _agreement(ids[1], shared[1], shared[0], count, random)
    return SteadinessCohesiveness(steady, _agreement(ids[0], shared[0], shared[1], count, random))


def _shared_neighbors(rows: Rows, k: int) -> tuple[Array, Any]:
    """The k nearest of each object, and the similarities of their lists: a sparse matrix.

    The j-th neighbour has the weight k + 2 - j, and two objects the inner product of their weights,
    as a share of the largest one.
    """
    from scipy.sparse import csr_array

    graph = rows.objects.neighbor_graph(k)
    n = graph.n_objects
    weights = np.tile(np.arange(k + 1.0, 1.0, -1.0), n)
    lists = csr_array((weights, graph.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    shared = csr_array(lists @ lists.T)
    shared.setdiag(0.0)
    shared.eliminate_zeros()
    shared.data /= shared.data.max(initial=0.0) or 1.0
    return graph.indices, shared


def _agreement(ids: Array, own: Any, other: Any, n_walks: int, random: Any) -> float:
    """How far groups of a space, by its neighbours and similarities, are groups of another."""
    from scipy.sparse import csr_array

    n = len(ids)
    seen = own + other
    rows, columns = np.repeat(np.arange(n), np.diff(seen.indptr)), seen.indices
    farther = 1 / (other[rows, columns] + ALPHA) - 1 / (own[rows, columns] + ALPHA)
    most = float(np.max(farther, initial=0.0))
    likely = np.asarray(own[np.repeat(np.arange(n), ids.shape[1]), ids.ravel()]).reshape(ids.shape)
    if not likely.any():
        return 1.0
    distortion, total = 0.0, 0.0
    for _ in range(n_walks):
        group = _walk(ids, likely, max(1, int(WALK * n)), random)
        part = _divide(other[group][:, group].toarray())
        sizes = np.bincount(part).astype(np.float64)
        members = csr_array((np.ones(len(group)), (part, group)), shape=(len(sizes), n))
        pairs = np.outer(sizes, sizes)
        there, here = (
            1 / ((members @ one @ members.T).toarray() / pairs + ALPHA) for one in (other, own)
        )
        apart = np.maximum(there - here, 0.0)[np.tril_indices(len(sizes), -1)]
        weight = pairs[np.tril_indices(len(sizes), -1)]
        distortion += float(np.sum(apart * weight))
        total += float(np.sum(weight[apart > 0]))
    return 1.0 - distortion / (most * total) if most * total > 0 else 1.0


def _walk(ids: Array, likely: Array, n_steps: int, random: Any) -> Array:
    """The objects that a random walk visits, more than one; it goes on to similar neighbours."""
    while True:
        start = int(random.randint(len(ids)))
        if not likely[start].any():
            continue
        for _ in range(MAX_TRIES):
            visited, waiting, steps = {start}, deque([start]), 0
            while waiting and steps < n_steps:
                at = waiting.popleft()
                reached = ids[at][random.rand(ids.shape[1]) > 1 - likely[at]].tolist()
                waiting.extend(reached)
                visited.update(reached)
                steps += len(reached)
            if len(visited) > 1:
                return np.array(list(visited))


def _divide(similarities: Array) -> Array:
    """The part of each object of a group by HDBSCAN; objects of no part are parts of their own."""
    with watch_interrupts():
        from sklearn.cluster import HDBSCAN

    distances = 1 / (similarities + ALPHA)
    np.fill_diagonal(distances, 0.0)
    model = HDBSCAN(
        min_cluster_size=MIN_GROUP,
        min_samples=min(MIN_GROUP + 1, len(distances)),  # the object itself counts
        metric="precomputed",
        allow_single_cluster=True,
        copy=True,
    )
    part = model.fit_predict(distances)
    alone = np.flatnonzero(part < 0)
    part[alone] = part.max(initial=-1) + 1 + np.arange(len(alone))
    return np.asarray(part)
