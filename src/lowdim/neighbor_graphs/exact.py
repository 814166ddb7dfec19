"""Exact searches under any metric: nearest, within a radius, nearest in another component.

Vectors of few dimensions are searched by a k-d tree, other vectors under the Euclidean and the
cosine distance and functions of them by the backend, and everything else by computing the distances
of all pairs in blocks. Rows are an array, or `RowBlocks`, whose blocks are searched one by one.
"""

from __future__ import annotations

import functools
import threading
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, distances_in_range, is_sparse
from lowdim.distances.matrices import TILE_OBJECTS, check_defined, cross_distances, distance_block
from lowdim.distances.metrics import Metric
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.graph import NearestOutside
from lowdim.neighbor_graphs.lists import ascending_entries
from lowdim.runtime.scheduling import blocks, run

TREE_DIMENSIONS = 8  # largest number of dimensions in which a k-d tree is faster than all pairs
TREE_OBJECTS = 256  # with fewer objects a k-d tree is not faster
TREE_ROWS = 1024  # rows that a thread searches in a k-d tree at once
TREE_ROUNDING = 32 * np.finfo(np.float64).eps  # more than that of its distances, relative
TREE_METRICS = {"euclidean": 2.0, "cityblock": 1.0, "chebyshev": np.inf}  # and their p
BATCH_ROWS = 128  # rows of a block of distances to all objects
NO_NUMBER = np.iinfo(np.int32).max  # marks a neighbour that has not been found
MERGED_ROWS = 8192  # rows whose neighbours are merged at once

Triples = tuple[Array, Array, Array]


# --- nearest --------------------------------------------------------------------------------------


def nearest(rows: Any, k: int, metric: Metric) -> tuple[Array, Array]:
    """Indices and distances of each object's k nearest other objects."""
    if isinstance(rows, RowBlocks):
        so_far = NearestSoFar(rows.shape[0], k, rows.dtype)
        for part in rows.blocks():
            own = np.arange(part.start, part.stop)
            so_far.indices[part], so_far.distances[part] = query(
                rows, rows.read(part), k, metric, own
            )
        return so_far.indices, so_far.distances
    if tree_fits(rows, metric):
        return _tree_neighbors(rows, None, k, metric)
    if metric.by_products:
        return backend().nearest(rows, k, metric.name == "cosine")
    return _block_neighbors(rows, k, metric)


def query(
    points: Any, queries: Any, k: int, metric: Metric, own: Array | None = None
) -> tuple[Array, Array]:
    """Indices and distances of the k points nearest to each query.

    `own` are the numbers of the queries if they are points in blocks, which are left out.
    """
    k = checks.integer(k, "k", 1, points.shape[0], " (the number of points)")
    if isinstance(points, RowBlocks):
        so_far = NearestSoFar(len(queries), k, points.dtype)
        everyone = np.arange(len(queries))
        for indices, distances in points.map(_nearest_of_block, queries, k, metric, own):
            so_far.offer(everyone, indices, distances)
        return so_far.indices, so_far.distances
    if tree_fits(points, metric):
        return _tree_neighbors(points, queries, k, metric)
    if metric.by_products and not is_sparse(points):
        return backend().nearest_to(points, queries, k, metric.name == "cosine")
    out_i = np.empty((queries.shape[0], k), dtype=np.int32)
    out_d = np.empty((queries.shape[0], k), dtype=checks.float_kind(points))

    def compare(rows: slice) -> None:
        heaps = backend().build_heaps(rows.stop - rows.start, k, out_d.dtype)
        for part in blocks(points.shape[0], TILE_OBJECTS):
            block = np.ascontiguousarray(metric.block(queries[rows], points[part]), out_d.dtype)
            asked, known = (np.arange(side.start, side.stop) for side in (rows, part))
            check_defined(block, metric, asked, known, new=True)
            heaps.offer(block, (None, part.start))
        out_i[rows], out_d[rows] = heaps.neighbors()

    run(compare, blocks(queries.shape[0], TILE_OBJECTS))
    return out_i, out_d


class NearestSoFar:
    """The k nearest objects of each of n queries that have been found so far."""

    def __init__(self, n: int, k: int, dtype: Any) -> None:
        self.indices = np.full((n, k), NO_NUMBER, dtype=np.int32)
        self.distances = np.full((n, k), np.inf, dtype=dtype)

    def offer(self, queries: Array, indices: Array, distances: Array) -> None:
        """Take in objects that have been found for some of the queries, whose numbers are all
        different.

        They are ordered by (distance, index), and different from those offered before.
        """
        k = self.indices.shape[1]

        def merge(part: slice) -> None:
            own = queries[part]
            if indices.shape[1] == k and (self.indices[own, 0] == NO_NUMBER).all():
                self.indices[own], self.distances[own] = indices[part], distances[part]
                return
            both_i = np.concatenate([self.indices[own], indices[part]], axis=1)
            both_d = np.concatenate([self.distances[own], distances[part]], axis=1)
            self.indices[own], self.distances[own] = first_of_rows(both_i, both_d, k)

        run(merge, blocks(len(queries), MERGED_ROWS))


def first_of_rows(indices: Array, distances: Array, k: int) -> tuple[Array, Array]:
    """The first k of each row, ordered by (distance, index)."""
    order = np.lexsort((indices, distances), axis=1)[:, :k]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _nearest_of_block(
    rows: Array, first: int, queries: Array, k: int, metric: Metric, own: Array | None
) -> tuple[Array, Array]:
    """The nearest rows of one block; fewer than k if the block has fewer."""
    count = min(k + (own is not None), len(rows))
    indices, distances = query(rows, queries, count, metric)
    indices = indices + np.int32(first)
    if own is None:
        return indices, distances
    itself = indices == own[:, None]
    indices[itself], distances[itself] = NO_NUMBER, np.inf
    return first_of_rows(indices, distances, k)


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
    tree: Any = cKDTree(points)
    p, own = TREE_METRICS[metric.name], queries is None
    ranks = np.arange(1, min(k + own + 1, len(points)) + 1)  # one more than needed, to see ties
    indices = np.empty((len(asked), k), dtype=np.int32)
    distances = np.empty((len(asked), k), dtype=points.dtype)

    def choose(near_i: Array, near_d: Array, numbers: Array) -> tuple[Array, Array]:
        if own:  # move the object itself to the end, where it is cut off
            near_d = np.where(near_i == numbers[:, None], np.inf, near_d)
        return first_of_rows(near_i, near_d, k)

    # SciPy's own threads (workers=) go on after a KeyboardInterrupt, in memory that is freed.
    def search(part: slice) -> None:
        numbers = np.arange(part.start, part.stop)
        near_i = tree.query(asked[part], ranks, p=p)[1]
        near_d = _distances_to(points, asked[part, None], near_i, p)
        indices[part], distances[part] = found = choose(near_i, near_d, numbers)
        last = found[1][:, -1]
        tied = (last >= near_d.max(axis=1) * (1 - TREE_ROUNDING)) & (last < np.inf)
        numbers = numbers[tied]
        if len(ranks) < len(points) and len(numbers):
            near = _ties(tree, points, asked[numbers], last[tied], k + own, p)
            indices[numbers], distances[numbers] = choose(*near, numbers)

    run(search, blocks(len(asked), TREE_ROWS), counts=True)
    distances_in_range(distances)
    return indices, distances


def _ties(
    tree: Any, points: Array, asked: Array, last: Array, k: int, p: float
) -> tuple[Array, Array]:
    """The k nearest points of each query by (distance, index), of which the last are equally far.

    `last` are the distances of the last ones. Queries at the same place are answered together.
    """
    places, first, same = np.unique(asked, axis=0, return_index=True, return_inverse=True)
    reach = last[first] * (1 + TREE_ROUNDING)
    lists = tree.query_ball_point(places, reach, p=p, return_sorted=False)
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    indices, rows = np.concatenate(lists).astype(np.int64), np.repeat(np.arange(len(lists)), counts)
    distances = _distances_to(points, places[rows], indices, p)
    order = np.lexsort((indices, distances, rows))
    order = order[(np.cumsum(counts) - counts)[same.ravel(), None] + np.arange(k)]
    return indices[order], distances[order]


def _distances_to(points: Array, asked: Array, indices: Array, p: float) -> Array:
    """Minkowski distances of rows to some points, the same on all processors.

    Terms are added as SciPy does it without fused products, those of four squares at once.
    """
    rows, columns = (np.asarray(x, dtype=np.float64) for x in (asked, points))
    gaps = [np.abs(rows[..., c] - columns[indices, c]) for c in range(points.shape[1])]
    if p == np.inf:
        return np.asarray(functools.reduce(np.maximum, gaps))
    if p == 1:
        return np.asarray(functools.reduce(np.add, gaps))
    squares = [gap * gap for gap in gaps]
    if len(squares) == 8:
        squares = [a + b for a, b in zip(squares[:4], squares[4:], strict=True)]
    return np.asarray(np.sqrt(functools.reduce(np.add, squares)))


def _block_neighbors(rows: Any, k: int, metric: Metric) -> tuple[Array, Array]:
    """Neighbours under any metric; the distance of each pair is computed once."""
    n = rows.shape[0]
    dtype = checks.float_kind(rows)
    heaps = backend().build_heaps(n, k, dtype)
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
    return heaps.neighbors()


# --- within a radius ------------------------------------------------------------------------------


def reach_of(rows: Any, sample: Array, k: int, metric: Metric) -> Array:
    """The distances of some objects to their k-th neighbours, as a column.

    They are slightly enlarged, so that a neighbour at the same distance counts as found.
    """
    indices, distances = query(rows, rows[sample], k + 1, metric)
    distances = np.where(indices == sample[:, None], np.inf, distances)
    rounding = 32 * np.finfo(distances.dtype).eps
    return np.asarray(np.sort(distances, axis=1)[:, k - 1 : k] * (1 + rounding))


def within_reach(points: Any, queries: Any, reach: Array, metric: Metric) -> Triples:
    """Query, point and distance of every pair with d(query, point) <= reach[point].

    Of points in blocks, `reach` may have one entry for all.
    """
    if isinstance(points, RowBlocks):
        rows, columns, distances = _concatenate(points.map(_pairs_of_block, queries, reach, metric))
        order = np.lexsort((columns, rows))
        return rows[order], columns[order], distances[order]
    if metric.euclidean and not is_sparse(points) and not is_sparse(queries):
        return backend().pairs_within(points, queries, reach)

    def one(part: slice) -> Triples:
        block = np.asarray(metric.block(queries[part], points))
        asked, known = np.arange(part.start, part.stop), np.arange(points.shape[0])
        check_defined(block, metric, asked, known, new=True)
        rows, columns = np.nonzero(block <= reach)
        return rows + part.start, columns, block[rows, columns]

    rows, columns, distances = _concatenate(run(one, blocks(queries.shape[0], BATCH_ROWS)))
    return rows, columns, distances.astype(checks.float_kind(points))


def _pairs_of_block(
    rows: Array, first: int, queries: Array, reach: Array, metric: Metric
) -> Triples:
    own = reach[first : first + len(rows)] if len(reach) > 1 else np.repeat(reach, len(rows))
    asked, known, distances = within_reach(rows, queries, own.astype(rows.dtype), metric)
    return asked, known + first, distances


def _concatenate(parts: Any) -> Any:
    """Tuples of arrays, put together to one tuple of arrays."""
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def within(rows: Any, metric: Metric, radius: float) -> Triples:
    """indptr, indices and distances of each object's neighbours within the radius."""
    n = rows.shape[0]

    def one(part: slice) -> Triples:
        distances = distance_block(rows, metric, part, slice(0, n))
        near = distances <= radius
        near[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = False
        return ascending_entries(distances, near)

    def in_blocks(part: slice) -> Triples:
        own, columns, distances = within_reach(rows, rows.read(part), np.full(1, radius), metric)
        other = own + part.start != columns
        own, columns, distances = own[other], columns[other], distances[other]
        order = np.lexsort((columns, distances, own))
        counts = np.bincount(own, minlength=part.stop - part.start)
        return counts, columns[order], distances[order]

    if isinstance(rows, RowBlocks):
        parts = [in_blocks(part) for part in rows.blocks()]
    else:
        parts = run(one, blocks(n, BATCH_ROWS))
    counts, indices, distances = _concatenate(parts)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, indices.astype(np.int32), distances.astype(checks.float_kind(rows))


# --- all distances, and nearest in another component ----------------------------------------------


def distances_to(points: Any, queries: Any, metric: Metric) -> Array:
    """The distances of queries to all points."""
    if isinstance(points, RowBlocks):
        return np.concatenate(list(points.map(_distances_to_block, queries, metric)), axis=1)
    return _distances_to_block(points, 0, queries, metric)


def _distances_to_block(rows: Any, first: int, queries: Any, metric: Metric) -> Array:
    distances = cross_distances(queries, rows, metric)
    known = np.arange(first, first + rows.shape[0])
    check_defined(distances, metric, np.arange(queries.shape[0]), known, new=True)
    return distances


def nearest_outside(rows: Any, metric: Metric) -> NearestOutside:
    """The search for the nearest object in another component that `graph.bridge` needs."""

    def search(asked: Array, labels: Array) -> Triples:
        if not isinstance(rows, RowBlocks):
            return asked, *_outside_of_block(rows, 0, None, asked, labels, metric)
        others = np.zeros(len(asked), dtype=np.int64)
        lengths = np.full(len(asked), np.inf, dtype=rows.dtype)
        for part in blocks(len(asked), rows.block_rows):
            shared = rows.take(asked[part]), asked[part], labels, metric
            best, at = lengths[part], others[part]
            for place, distance in rows.map(_outside_of_block, *shared):
                distance = distance.astype(rows.dtype)
                nearer = distance < best
                best[nearer], at[nearer] = distance[nearer], place[nearer]
        return asked, others, lengths

    return search


def _outside_of_block(
    rows: Any, first: int, queries: Any, numbers: Array, labels: Array, metric: Metric
) -> tuple[Array, Array]:
    """The nearest row of a block whose label is not that of the query, and its distance.

    Queries are rows, of these numbers; None: of this block.
    """
    known = np.arange(first, first + rows.shape[0])

    def one(part: slice) -> tuple[Array, Array]:
        own = numbers[part]
        distances = np.array(metric.block(rows[own] if queries is None else queries[part], rows))
        distances[own[:, None] == known] = 0  # whatever the metric says
        check_defined(distances, metric, own, known)
        distances[labels[own][:, None] == labels[known]] = np.inf
        best = distances.argmin(axis=1)
        return best + first, distances[np.arange(len(best)), best]

    nearest: tuple[Array, Array] = _concatenate(run(one, blocks(len(numbers), BATCH_ROWS)))
    return nearest
