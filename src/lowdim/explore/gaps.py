"""Are the regions of a map apart in the data too? The links across the borders between them.

Links are those of each object to its nearest neighbours in the data. A cloud, sheet or curve that a
map tears into regions has about as many links across such a border as across a line through the
middle of the smaller region. Where the data have a gap there are few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.objects.objects import objects_of
from lowdim.quality.rows import choose_objects

LINKS = 30  # of an object; fewer see chance gaps of a curve
GAP = 0.5  # of the links across the middle: with fewer across a border, there is a gap
MAX_TESTED = 20_000  # objects among which neighbours are sought


def border_links(X: Array, leaf: Array, count: int, random_state: Any) -> Array:
    """Links across the border of two leaves over those across the middle of the smaller one.

    `leaf` is that of each object, one of `count`. The array of shape (count, count) is symmetric,
    with zeros on the diagonal; infinite for a leaf whose objects all have more neighbours in
    another one.
    """
    from scipy.sparse import csr_array

    some = choose_objects(len(X), MAX_TESTED, random_state)
    values = np.nan_to_num(X[some] - np.nanmean(X[some], axis=0))
    graph = objects_of(values, "euclidean", None).neighbor_graph(
        min(LINKS, len(some) - 1), None, "auto"
    )
    n, k = graph.indices.shape
    lengths = np.maximum(graph.distances.ravel().astype(np.float64), np.finfo(np.float64).tiny)
    indptr = np.arange(0, n * k + 1, k)
    links = csr_array((lengths, graph.indices.ravel(), indptr), shape=(n, n))
    leaf = _majority(graph.indices, leaf[some], count)
    sizes = np.bincount(leaf, minlength=count)
    rank = np.tile(np.arange(k), n)
    source, target = np.repeat(leaf, k), leaf[graph.indices.ravel()]
    counted = rank < np.maximum(sizes[source] // 2, 1)  # small leaves need near neighbours alone
    far = np.zeros(n, dtype=bool)
    for one in np.flatnonzero(sizes > 1):
        inside = np.flatnonzero(leaf == one)
        far[inside] = _far_half(links[inside][:, inside])
    halved = counted & (source == target) & (np.repeat(far, k) != far[graph.indices.ravel()])
    middle = np.bincount(source[halved], minlength=count).astype(np.float64)
    pairs = np.bincount(count * source[counted] + target[counted], minlength=count**2)
    across_borders = pairs.reshape(count, count) + pairs.reshape(count, count).T
    border = across_borders / np.maximum(np.minimum(middle, middle[:, None]), 1.0)
    border[sizes == 0], border[:, sizes == 0] = np.inf, np.inf
    np.fill_diagonal(border, 0.0)
    return np.asarray(border)


def _majority(ids: Array, leaf: Array, count: int) -> Array:
    """The leaf of most of each object and its neighbours: the map puts some into a wrong one."""
    from scipy.sparse import csr_array

    n, k = ids.shape
    columns = np.column_stack([leaf, leaf[ids]]).ravel()
    votes = csr_array(
        (np.ones(n * (k + 1)), columns, np.arange(0, n * (k + 1) + 1, k + 1)), shape=(n, count)
    )
    votes.sum_duplicates()
    return np.ravel(votes.argmax(axis=1))


def _far_half(links: Any) -> Array:
    """The half of the objects that is farther from one end, along the links among them."""
    from scipy.sparse.csgraph import dijkstra

    from_first = dijkstra(links, directed=False, indices=[0])[0]
    end = int(np.where(np.isfinite(from_first), from_first, -1.0).argmax())
    order = np.argsort(dijkstra(links, directed=False, indices=[end])[0], kind="stable")
    far = np.zeros(len(order), dtype=bool)
    far[order[len(order) // 2 :]] = True
    return far
