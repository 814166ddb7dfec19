"""Exact searches in rows that are read in blocks, and the merging of their results."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.distances.matrices import check_defined, cross_distances
from lowdim.distances.metrics import DEGREES, Metric, named_block
from lowdim.distances.preparation import preparation
from lowdim.distances.row_blocks import RowBlocks
from lowdim.neighbor_graphs.graph import NearestOutside
from lowdim.neighbor_graphs.search import query, within_reach
from lowdim.runtime.scheduling import blocks, run

NO_NUMBER = np.iinfo(np.int32).max  # marks a neighbour that has not been found
MERGED_ROWS = 8192  # rows whose neighbours are merged at once


@cache
def plain_metric(name: str) -> Metric:
    """A metric without parameters, by its canonical name."""
    return Metric(name, named_block(name, {}), preparation(name), {}, DEGREES.get(name))


class Nearest:
    """The k nearest objects of each query that have been found so far.

    Parameters
    ----------
    n : int
        Number of queries.
    k : int
    dtype : dtype
        Of the distances.
    """

    def __init__(self, n: int, k: int, dtype: Any) -> None:
        self.indices = np.full((n, k), NO_NUMBER, dtype=np.int32)
        self.distances = np.full((n, k), np.inf, dtype=dtype)

    def offer(self, queries: Array, indices: Array, distances: Array) -> None:
        """Take in objects that have been found for some of the queries.

        Parameters
        ----------
        queries : array of shape (m,)
            Numbers of queries, all different.
        indices, distances : arrays of shape (m, c)
            Ordered by (distance, index), different from those offered before.
        """
        k = self.indices.shape[1]

        def merge(part: slice) -> None:
            own = queries[part]
            if indices.shape[1] == k and (self.indices[own, 0] == NO_NUMBER).all():
                self.indices[own], self.distances[own] = indices[part], distances[part]
                return
            both_i = np.concatenate([self.indices[own], indices[part]], axis=1)
            both_d = np.concatenate([self.distances[own], distances[part]], axis=1)
            order = np.lexsort((both_i, both_d), axis=1)[:, :k]
            self.indices[own] = np.take_along_axis(both_i, order, axis=1)
            self.distances[own] = np.take_along_axis(both_d, order, axis=1)

        run(merge, blocks(len(queries), MERGED_ROWS))


def nearest_in_blocks(
    source: RowBlocks, queries: Array, k: int, metric: str, own: Array | None = None
) -> tuple[Array, Array]:
    """Indices and distances of the k rows of the source that are nearest to each query.

    `own` are the numbers of the queries if they are rows of the source, which are left out.
    """
    found = Nearest(len(queries), k, source.dtype)
    everyone = np.arange(len(queries))
    for indices, distances in source.map(nearest_of_block, queries, k, metric, own):
        found.offer(everyone, indices, distances)
    return found.indices, found.distances


def nearest_of_block(
    rows: Array, first: int, queries: Array, k: int, metric: str, own: Array | None = None
) -> tuple[Array, Array]:
    """The same for the rows of one block; fewer than k if the block has fewer."""
    count = min(k + (own is not None), len(rows))
    indices, distances = query(rows, queries, count, plain_metric(metric))
    indices = indices + np.int32(first)
    if own is None:
        return indices, distances
    itself = indices == own[:, None]
    indices[itself], distances[itself] = NO_NUMBER, np.inf
    order = np.lexsort((indices, distances), axis=1)[:, :k]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)


def all_nearest(source: RowBlocks, k: int, metric: str) -> tuple[Array, Array]:
    """Indices and distances of each row's k nearest other rows, by comparing all pairs."""
    found = Nearest(source.shape[0], k, source.dtype)
    for part in source.blocks():
        own = np.arange(part.start, part.stop)
        found.indices[part], found.distances[part] = nearest_in_blocks(
            source, source.read(part), k, metric, own
        )
    return found.indices, found.distances


def within_radius(source: RowBlocks, metric: str, radius: float) -> tuple[Array, Array, Array]:
    """indptr, indices and distances of each row's neighbours within the radius."""
    lists: list[tuple[Array, Array]] = []
    counts: list[Array] = []
    everywhere = np.full(1, radius)
    for part in source.blocks():
        own = np.arange(part.start, part.stop)
        asked = source.read(part)
        found = list(source.map(pairs_in_block, asked, everywhere, metric))
        rows, columns, distances = (np.concatenate(one) for one in zip(*found, strict=True))
        other = own[rows] != columns
        rows, columns, distances = rows[other], columns[other], distances[other]
        order = np.lexsort((columns, distances, rows))
        lists.append((columns[order].astype(np.int32), distances[order]))
        counts.append(np.bincount(rows, minlength=len(own)))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    indices, distances = (np.concatenate(one) for one in zip(*lists, strict=True))
    return indptr, indices, distances


def pairs_in_block(
    rows: Array, first: int, queries: Array, reach: Array, metric: str
) -> tuple[Array, Array, Array]:
    """Query, row and distance of every pair with a distance up to reach[row].

    `reach` has an entry for each row of the source, or one for all.
    """
    own = reach[first : first + len(rows)] if len(reach) > 1 else np.repeat(reach, len(rows))
    asked, known, distances = within_reach(
        rows, queries, own.astype(rows.dtype), plain_metric(metric)
    )
    return asked, known + first, distances


def distances_to_block(rows: Array, first: int, queries: Array, metric: str) -> Array:
    """Distances of all queries to the rows of a block."""
    measure = plain_metric(metric)
    found = cross_distances(queries, rows, measure)
    known = np.arange(first, first + len(rows))
    check_defined(found, measure, np.arange(len(queries)), known, new=True)
    return found


def nearest_outside_in_blocks(source: RowBlocks, metric: str) -> NearestOutside:
    """The search for the nearest object in another component that `graph.bridge` needs."""

    def search(asked: Array, labels: Array) -> tuple[Array, Array, Array]:
        others = np.empty(len(asked), dtype=np.int64)
        lengths = np.empty(len(asked), dtype=source.dtype)
        for part in blocks(len(asked), source.block_rows):
            own = asked[part]
            rows = source.take(own)
            best = np.full(len(own), np.inf, dtype=source.dtype)
            at = np.zeros(len(own), dtype=np.int64)
            for place, distance in source.map(_outside_of_block, rows, labels, labels[own], metric):
                nearer = distance < best
                best[nearer], at[nearer] = distance[nearer], place[nearer]
            others[part], lengths[part] = at, best
        return asked, others, lengths

    return search


def _outside_of_block(
    rows: Array, first: int, queries: Array, labels: Array, own: Array, metric: str
) -> tuple[Array, Array]:
    """The nearest row of a block whose label is not that of the query, and its distance."""
    theirs = labels[first : first + len(rows)]

    def one(part: slice) -> tuple[Array, Array]:
        distances = np.array(distances_to_block(rows, first, queries[part], metric))
        distances[own[part, None] == theirs[None, :]] = np.inf
        best = distances.argmin(axis=1)
        return best + first, distances[np.arange(len(best)), best]

    found = run(one, blocks(len(queries), 128))
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])
