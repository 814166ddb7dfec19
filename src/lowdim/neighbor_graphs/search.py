"""Exact searches under any metric: nearest, within a radius, nearest in another component.

Vectors of few dimensions are searched by a k-d tree, other vectors under the Euclidean and the
cosine distance and functions of them by the backend, and everything else by computing the distances
of all pairs in blocks.
"""

from __future__ import annotations

import threading
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, distances_in_range, is_sparse
from lowdim.distances.matrices import TILE_OBJECTS, check_defined, distance_block
from lowdim.distances.metrics import Metric
from lowdim.neighbor_graphs.euclidean_forms import mapped, measured
from lowdim.neighbor_graphs.graph import NearestOutside
from lowdim.neighbor_graphs.lists import ascending
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

TREE_DIMENSIONS = 8  # largest number of dimensions in which a k-d tree is faster than all pairs
TREE_OBJECTS = 256  # with fewer objects a k-d tree is not faster
TREE_METRICS = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}  # and their p
BATCH_ROWS = 128  # rows of a block of distances to all objects


def nearest(rows: Any, k: int, metric: Metric) -> tuple[Array, Array]:
    """Indices and distances of each object's k nearest other objects."""
    if tree_fits(rows, metric):
        return _tree_neighbors(rows, None, k, metric)
    if metric.by_products:
        return backend().nearest(rows, k, metric.name == "cosine")
    form = mapped(rows, metric)
    if form is not None:
        return measured(backend().nearest(form, k, False), metric)
    return _block_neighbors(rows, k, metric)


def query(points: Any, queries: Any, k: int, metric: Metric) -> tuple[Array, Array]:
    """Indices and distances of the k points nearest to each query."""
    k = checks.integer(k, "k", 1, points.shape[0], " (the number of points)")
    if tree_fits(points, metric):
        return _tree_neighbors(points, queries, k, metric)
    if metric.by_products and not is_sparse(points):
        return backend().nearest_to(points, queries, k, metric.name == "cosine")
    forms = mapped(points, metric), mapped(queries, metric)
    if forms[0] is not None and forms[1] is not None:
        return measured(backend().nearest_to(*forms, k, False), metric)
    out_i = np.empty((queries.shape[0], k), dtype=np.int32)
    out_d = np.empty((queries.shape[0], k), dtype=checks.float_kind(points))

    def compare(rows: slice) -> None:
        heaps = backend().heaps(rows.stop - rows.start, k, out_d.dtype)
        for part in blocks(points.shape[0], TILE_OBJECTS):
            block = np.ascontiguousarray(metric.block(queries[rows], points[part]), out_d.dtype)
            asked, known = (np.arange(side.start, side.stop) for side in (rows, part))
            check_defined(block, metric, asked, known, new=True)
            heaps.offer(block, (None, part.start))
        out_i[rows], out_d[rows] = heaps.sorted()

    run(compare, blocks(queries.shape[0], TILE_OBJECTS))
    return out_i, out_d


def reach_of(rows: Any, sample: Array, k: int, metric: Metric) -> Array:
    """The distances of some objects to their k-th neighbours, as a column.

    They are slightly enlarged, so that a neighbour at the same distance counts as found.
    """
    indices, distances = query(rows, rows[sample], k + 1, metric)
    distances = np.where(indices == sample[:, None], np.inf, distances)
    rounding = 32 * np.finfo(distances.dtype).eps
    return np.asarray(np.sort(distances, axis=1)[:, k - 1 : k] * (1 + rounding))


def within_reach(
    points: Any, queries: Any, reach: Array, metric: Metric
) -> tuple[Array, Array, Array]:
    """Query, point and distance of every pair with d(query, point) <= reach[point]."""
    if metric.euclidean and not is_sparse(points) and not is_sparse(queries):
        return backend().pairs_within(points, queries, reach)

    def one(part: slice) -> tuple[Array, Array, Array]:
        block = np.asarray(metric.block(queries[part], points))
        asked, known = np.arange(part.start, part.stop), np.arange(points.shape[0])
        check_defined(block, metric, asked, known, new=True)
        rows, columns = np.nonzero(block <= reach)
        return rows + part.start, columns, block[rows, columns]

    found = run(one, blocks(queries.shape[0], BATCH_ROWS))
    rows, columns, distances = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return rows, columns, distances.astype(checks.float_kind(points))


def within(rows: Any, metric: Metric, radius: float) -> tuple[Array, Array, Array]:
    """indptr, indices and distances of each object's neighbours within the radius."""
    n = rows.shape[0]

    def one(part: slice) -> tuple[Array, Array, Array]:
        distances = distance_block(rows, metric, part, slice(0, n))
        near = distances <= radius
        near[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = False
        return ascending(distances, near)

    found = run(one, blocks(n, BATCH_ROWS))
    counts = np.concatenate([f[0] for f in found])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices = np.concatenate([f[1] for f in found]).astype(np.int32)
    return indptr, indices, np.concatenate([f[2] for f in found]).astype(checks.float_kind(rows))


def nearest_outside(rows: Any, metric: Metric) -> NearestOutside:
    """The search for the nearest object in another component that `graph.bridge` needs."""

    def search(asked: Array, labels: Array) -> tuple[Array, Array, Array]:
        def one(part: slice) -> tuple[Array, Array]:
            mine = asked[part]
            distances = np.array(metric.block(rows[mine], rows))
            distances[np.arange(len(mine)), mine] = 0  # whatever the metric says
            check_defined(distances, metric, mine, np.arange(rows.shape[0]))
            distances[labels[mine][:, None] == labels[None, :]] = np.inf
            best = distances.argmin(axis=1)
            return best, distances[np.arange(len(mine)), best]

        found = run(one, blocks(len(asked), BATCH_ROWS))
        return asked, np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    return search


def tree_fits(rows: Any, metric: Metric) -> bool:
    """Whether a k-d tree is the fastest exact search."""
    return (
        metric.name in TREE_METRICS
        and not is_sparse(rows)
        and rows.shape[1] <= TREE_DIMENSIONS
        and rows.shape[0] > TREE_OBJECTS
    )


def _tree_neighbors(
    points: Array, queries: Array | None, k: int, metric: Metric
) -> tuple[Array, Array]:
    """The k nearest points of each query, or (None) of each point among the others."""
    from scipy.spatial import cKDTree

    asked = points if queries is None else queries
    p = TREE_METRICS[metric.name]
    tree: Any = cKDTree(points)
    found_d, found_i = tree.query(
        asked, np.arange(1, k + 1 + (queries is None)), p=p, workers=current().threads
    )
    if queries is None:  # move the object itself to the end, where it is cut off
        own = found_i == np.arange(len(points))[:, None]
        found_d = np.where(own, np.inf, found_d)
    order = np.lexsort((found_i, found_d), axis=1)[:, :k]
    indices = np.take_along_axis(found_i, order, axis=1).astype(np.int32)
    distances = np.take_along_axis(found_d, order, axis=1).astype(points.dtype)
    distances_in_range(distances)
    return indices, distances


def _block_neighbors(rows: Any, k: int, metric: Metric) -> tuple[Array, Array]:
    """Neighbours under any metric; the distance of each pair is computed once."""
    n = rows.shape[0]
    dtype = checks.float_kind(rows)
    heaps = backend().heaps(n, k, dtype)
    tiles = blocks(n, TILE_OBJECTS)
    locks = {part.start: threading.Lock() for part in tiles}

    def measure(pair: tuple[slice, slice]) -> None:
        left, right = pair
        tile = np.ascontiguousarray(distance_block(rows, metric, left, right), dtype)
        first = (left.start, right.start)
        with locks[left.start]:
            heaps.offer(tile, first, rows=left)
        if left != right:
            with locks[right.start]:
                heaps.offer(tile, first, rows=right, columns=True)

    run(measure, combinations_with_replacement(tiles, 2), counts=True)
    return heaps.sorted()
