"""The k smallest of rows that are computed in tiles, and the nearest of lists of candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim import _native
from lowdim.backends.native.arrays import csr_indices
from lowdim.checks import Array, is_sparse
from lowdim.runtime.context import current

NO_ID = np.iinfo(np.int32).max  # marks an empty slot of a heap


Neighbors = tuple[Array, Array]
"""Indices (int32) and distances of each row's neighbours, ordered by (distance, index)."""


class Heaps:
    """For each of n rows, the k smallest of the scores offered so far, and their columns."""

    def __init__(self, n: int, k: int, dtype: Any) -> None:
        self.values = np.full((n, k), np.inf, dtype=dtype)
        self.ids = np.full((n, k), NO_ID, dtype=np.int32)

    def offer(
        self,
        tile: Array,
        first: tuple[int | None, int],
        *,
        rows: slice | Array | None = None,
        scale: float = 1.0,
        offset: Array | None = None,
        columns: bool = False,
    ) -> None:
        """Offer the scores `scale * tile + offset`, a tile of a larger matrix, to the heaps `rows`
        (default: all).

        `first` are the object numbers of the tile's first row and column; an object is not offered
        to itself. None in place of the row: its objects are not among those of the columns. There
        is one offset for each column. With `columns`, each column is offered to a heap in place of
        each row, and there is one offset for each row.
        """
        own = slice(None) if rows is None else rows
        first_row = -1 - len(tile) if first[0] is None else first[0]
        if offset is None:
            offset = np.zeros(tile.shape[0 if columns else 1], dtype=tile.dtype)
        kernel = _native.offer_to_columns if columns else _native.offer_to_rows
        values, ids = self.values[own], self.ids[own]
        kernel(tile, offset, first_row, first[1], scale, values, ids, 1)
        if isinstance(own, np.ndarray):  # indexing by an array has made copies
            self.values[own], self.ids[own] = values, ids

    def clear(self, rows: Array) -> None:
        """Empty the heaps of some rows."""
        self.values[rows], self.ids[rows] = np.inf, NO_ID

    def incomplete_rows(self) -> Array:
        """The rows with fewer than k scores."""
        return np.flatnonzero((self.ids == NO_ID).any(axis=1))

    def neighbors(self) -> Neighbors:
        """Columns and scores of each row, ordered by (score, column)."""
        order = np.lexsort((self.ids, self.values), axis=1)
        return (
            np.take_along_axis(self.ids, order, axis=1),
            np.take_along_axis(self.values, order, axis=1),
        )

    def candidates(self) -> Array:
        """The columns of each row, unordered, with -1 in empty slots."""
        self.ids[self.ids == NO_ID] = -1
        return self.ids


class Ranking(NamedTuple):
    """Another metric than the Euclidean one, by which an index ranks the candidates that it finds.

    `metric` and `power` are those of `rank_candidates`, `sample` are numbers of rows, ascending,
    and `reach` the distance of each of them to its k-th neighbour, slightly enlarged.
    """

    metric: str
    power: float
    sample: Array
    reach: Array


def smallest(values: Array, k: int, *, own: bool = False) -> Neighbors:
    """Columns and values of each row's k smallest entries, ordered by (value, column).

    With `own`, entry i of row i is left out.
    """
    heaps = Heaps(values.shape[0], k, values.dtype)
    heaps.offer(np.ascontiguousarray(values), (0 if own else None, 0))
    return heaps.neighbors()


def rerank(queries: Any, points: Any, candidates: Array, k: int, cosine: bool) -> Neighbors:
    """The k nearest of each row's candidates by exact distance, ordered by (distance, index).

    `queries` and `points` are both arrays or both CSR matrices. Candidates of -1 are skipped.
    """
    if not is_sparse(points):
        metric = "cosine" if cosine else "euclidean"
        return rank_candidates(points, queries, candidates, k, metric)
    ids = np.empty((queries.shape[0], k), dtype=np.int32)
    distances = np.empty((queries.shape[0], k), dtype=queries.dtype)
    parts = (*csr_indices(queries), queries.data, *csr_indices(points), points.data)
    out = (candidates, cosine, ids, distances, current().threads)
    _native.rerank_sparse(*parts, points.shape[1], *out)
    return ids, distances


def rank_candidates(
    points: Array, queries: Array, candidates: Array, k: int, metric: str, power: float = 2.0
) -> Neighbors:
    """The k nearest of the points that are listed as each query's candidates, by (distance, index).

    A row of `candidates` has at least k different numbers of points; those of -1 are skipped. The
    metric is "euclidean", "cosine" (of rows of length 1 or 0), "cityblock", "chebyshev",
    "canberra", "braycurtis", or "minkowski" with its `power`. `queries` are vectors, or numbers of
    points.
    """
    if queries.ndim == 1:
        queries = points[queries]
    ids = np.empty((queries.shape[0], k), dtype=np.int32)
    distances = np.empty((queries.shape[0], k), dtype=queries.dtype)
    threads = current().threads
    _native.rerank(queries, points, candidates, metric, power, ids, distances, threads)
    return ids, distances
