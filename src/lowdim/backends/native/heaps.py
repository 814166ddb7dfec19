"""The k smallest entries of each row of a matrix that is computed tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import _native
from lowdim.backends.native.sparse import csr_indices
from lowdim.checks import Array, is_sparse
from lowdim.runtime.context import current

NO_ID = np.iinfo(np.int32).max  # marks an empty slot of a heap


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
        """Offer the scores `scale * tile + offset` to the heaps of some rows (default: all).

        There is one offset for each column of the tile, or for each row if `columns`. The other
        parameters are those of the protocol.
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

    def sorted(self) -> tuple[Array, Array]:
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


def smallest(values: Array, k: int, *, own: bool = False) -> tuple[Array, Array]:
    """Columns and values of each row's k smallest entries, ordered by (value, column).

    With `own`, entry i of row i is left out.
    """
    heaps = Heaps(values.shape[0], k, values.dtype)
    heaps.offer(np.ascontiguousarray(values), (0 if own else None, 0))
    return heaps.sorted()


def rerank(
    queries: Any, points: Any, candidates: Array, k: int, cosine: bool
) -> tuple[Array, Array]:
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
) -> tuple[Array, Array]:
    """The k nearest of each query's candidates, ordered by (distance, index).

    The cosine distance is that of rows of length 1 or 0. Candidates of -1 are skipped. `power` is
    that of the metric "minkowski".
    """
    ids = np.empty((queries.shape[0], k), dtype=np.int32)
    distances = np.empty((queries.shape[0], k), dtype=queries.dtype)
    threads = current().threads
    _native.rerank(queries, points, candidates, metric, power, ids, distances, threads)
    return ids, distances
