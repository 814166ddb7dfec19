"""Searches among objects under any metric: nearest, within a radius, in another component.

Euclidean and cosine distances of vectors go to `products`, few dimensions to a k-d tree, and
everything else to blocks of distances, each pair measured once.
"""

from __future__ import annotations

import threading
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import native
from lowdim.checks import Array
from lowdim.relations.distances import Metric, measured
from lowdim.relations.graph import NearestOutside
from lowdim.relations.products import (
    check_overflow,
    empty_heaps,
    product_neighbors,
    product_pairs,
    product_query,
)

TREE_DIMENSIONS = 8  # at most this many: a k-d tree beats comparing all pairs
BLOCK = 512  # objects on a side of a block of distances


def nearest(rows: Any, k: int, metric: Metric, n_jobs: int | None) -> tuple[Array, Array]:
    """Indices and distances of each object's k nearest others."""
    if tree_fits(rows, metric):
        return _tree_neighbors(rows, None, k, metric, n_jobs)
    if metric.name in ("euclidean", "cosine"):
        return product_neighbors(rows, k, metric.name == "cosine", n_jobs)
    return _block_neighbors(rows, k, metric, n_jobs)


def query(
    points: Any, queries: Any, k: int, metric: Metric, n_jobs: int | None = None
) -> tuple[Array, Array]:
    """Indices and distances of the k points nearest to each query."""
    k = checks.integer(k, "k", 1, points.shape[0], " (the number of points)")
    if tree_fits(points, metric):
        return _tree_neighbors(points, queries, k, metric, n_jobs)
    if metric.name in ("euclidean", "cosine") and not hasattr(points, "tocsr"):
        return product_query(points, queries, k, metric.name == "cosine", n_jobs)
    out_i = np.empty((queries.shape[0], k), dtype=np.int32)
    out_d = np.empty((queries.shape[0], k), dtype=_float(points))

    def compare(rows: slice) -> None:
        values, ids = empty_heaps(rows.stop - rows.start, k, out_d.dtype)
        for part in native.blocks(points.shape[0], BLOCK):
            block = np.ascontiguousarray(metric.block(queries[rows], points[part]), out_d.dtype)
            offset = np.zeros(block.shape[1], dtype=block.dtype)
            native.offer(block, offset, (-1 - len(block), part.start), 1.0, values, ids)
        out_i[rows], out_d[rows] = _ascending(ids, values)

    native.run(compare, native.blocks(queries.shape[0], BLOCK), n_jobs)
    return out_i, out_d


def within_reach(
    points: Any, queries: Any, reach: Array, metric: Metric, n_jobs: int | None = None
) -> tuple[Array, Array, Array]:
    """Row, column and distance of every pair with d(query, point) at most the point's reach."""
    sparse = hasattr(points, "tocsr") or hasattr(queries, "tocsr")
    if metric.name == "euclidean" and not sparse:
        return product_pairs(points, queries, reach, n_jobs)

    def one(part: slice) -> tuple[Array, Array, Array]:
        block = np.asarray(metric.block(queries[part], points))
        rows, columns = np.nonzero(block <= reach)
        return rows + part.start, columns, block[rows, columns]

    found = native.run(one, native.blocks(queries.shape[0], 128), n_jobs)
    rows, columns, distances = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return rows, columns, distances.astype(_float(points))


def smallest(values: Array, k: int, *, own: bool = False) -> tuple[Array, Array]:
    """Columns and values of each row's k smallest entries, ordered by (value, column).

    `own` tells that row i and column i are the same object, which is left out.
    """
    heap, ids = empty_heaps(values.shape[0], k, values.dtype)
    offset = np.zeros(values.shape[1], dtype=values.dtype)
    first = (0 if own else -1 - values.shape[0], 0)
    native.offer(np.ascontiguousarray(values), offset, first, 1.0, heap, ids)
    return _ascending(ids, heap)


def within(
    rows: Any, metric: Metric, radius: float, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    """indptr, indices and distances of all neighbours within the radius."""
    n = rows.shape[0]

    def one(part: slice) -> tuple[Array, Array, Array]:
        distances = measured(rows, metric, part, slice(0, n))
        near = distances <= radius
        near[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = False
        i, j = np.nonzero(near)
        values = distances[i, j]
        order = np.lexsort((j, values, i))
        return near.sum(axis=1), j[order], values[order]

    found = native.run(one, native.blocks(n, 128), n_jobs)
    counts = np.concatenate([f[0] for f in found])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices = np.concatenate([f[1] for f in found]).astype(np.int32)
    return indptr, indices, np.concatenate([f[2] for f in found]).astype(_float(rows))


def nearest_outside(rows: Any, metric: Metric, n_jobs: int | None) -> NearestOutside:
    """How `bridge` finds, for some objects, the nearest one in another component."""

    def search(asked: Array, labels: Array) -> tuple[Array, Array, Array]:
        def one(part: slice) -> tuple[Array, Array]:
            mine = asked[part]
            distances = np.asarray(metric.block(rows[mine], rows))
            distances[labels[mine][:, None] == labels[None, :]] = np.inf
            best = distances.argmin(axis=1)
            return best, distances[np.arange(len(mine)), best]

        found = native.run(one, native.blocks(len(asked), 128), n_jobs)
        return asked, np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    return search


def tree_fits(rows: Any, metric: Metric) -> bool:
    """Whether a k-d tree finds the neighbours, exactly and fast."""
    powers = ("euclidean", "cityblock", "chebyshev")
    return (
        metric.name in powers
        and not hasattr(rows, "tocsr")
        and rows.shape[1] <= TREE_DIMENSIONS
        and rows.shape[0] > 256
    )


def _tree_neighbors(
    points: Array, queries: Array | None, k: int, metric: Metric, n_jobs: int | None
) -> tuple[Array, Array]:
    from scipy.spatial import cKDTree

    p = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}[metric.name]
    asked = points if queries is None else queries
    tree: Any = cKDTree(points)
    found_d, found_i = tree.query(
        asked, np.arange(1, k + 1 + (queries is None)), p=p, workers=native.n_threads(n_jobs)
    )
    if queries is None:  # put the object itself last, or drop the farthest where it was not found
        own = found_i == np.arange(len(points))[:, None]
        found_d = np.where(own, np.inf, found_d)
    order = np.lexsort((found_i, found_d), axis=1)[:, :k]
    indices = np.take_along_axis(found_i, order, axis=1).astype(np.int32)
    distances = np.take_along_axis(found_d, order, axis=1).astype(points.dtype)
    check_overflow(distances, asked)
    return indices, distances


def _block_neighbors(rows: Any, k: int, metric: Metric, n_jobs: int | None) -> tuple[Array, Array]:
    """Neighbours under any metric, each pair measured once."""
    n = rows.shape[0]
    values, ids = empty_heaps(n, k, _float(rows))
    tiles = native.blocks(n, BLOCK)
    locks = {part.start: threading.Lock() for part in tiles}
    zeros = np.zeros(BLOCK, dtype=values.dtype)

    def measure(pair: tuple[slice, slice]) -> None:
        left, right = pair
        tile = np.ascontiguousarray(measured(rows, metric, left, right), dtype=values.dtype)
        first = (left.start, right.start)
        with locks[left.start]:
            native.offer(tile, zeros[: tile.shape[1]], first, 1.0, values[left], ids[left])
        if left != right:
            with locks[right.start]:
                native.offer(
                    tile,
                    zeros[: tile.shape[0]],
                    first,
                    1.0,
                    values[right],
                    ids[right],
                    columns=True,
                )

    native.run(measure, combinations_with_replacement(tiles, 2), n_jobs)
    return _ascending(ids, values)


def _ascending(ids: Array, values: Array) -> tuple[Array, Array]:
    """Heaps as lists ordered by (value, id)."""
    order = np.lexsort((ids, values), axis=1)
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(values, order, axis=1)


def _float(rows: Any) -> Any:
    return rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)
