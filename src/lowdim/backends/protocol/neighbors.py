"""Searches of nearest neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from lowdim.checks import Array

Neighbors = tuple[Array, Array]
"""Indices (int32) and distances of each row's neighbours, ordered by (distance, index)."""


class Index(Protocol):
    """A data structure that finds nearly all of the k nearest rows without comparing all pairs."""

    @property
    def recall(self) -> float:
        """The share of the true neighbours that is found, measured on a sample of the rows."""

    def neighbors(self) -> Neighbors:
        """Each row's k nearest other rows."""

    def query(self, queries: Any, k: int) -> Neighbors:
        """The k rows nearest to each query; they do not depend on the other queries."""


@runtime_checkable
class GrowingIndex(Index, Protocol):
    """An index that can be kept, and to which rows can be added."""

    @property
    def n_bytes(self) -> float:
        """The size of the index beside the rows."""

    def for_queries(self) -> Index:
        """The index without what only `neighbors` needs."""

    def neighbors_of_new(self, rows: Any, first: int) -> Neighbors | None:
        """Neighbours of rows[first:] among all rows, of which the index has those before them.

        At least k, and as many more as have been compared, nearest first; shorter lists are padded
        with infinite distances. None if the index cannot take more rows.
        """


class Ranking(NamedTuple):
    """Another metric than the Euclidean one, by which an index ranks the candidates that it finds.

    Attributes
    ----------
    metric, power : str and float
        As in `Backend.rank_candidates`.
    sample : array of int
        Some rows, ascending.
    reach : array of shape (len(sample),)
        The distance of each row of the sample to its k-th neighbour, slightly enlarged.
    """

    metric: str
    power: float
    sample: Array
    reach: Array


class Heaps(Protocol):
    """For each of n rows, the k smallest of the scores offered so far, and their columns."""

    def offer(
        self,
        tile: Array,
        first: tuple[int | None, int],
        *,
        rows: slice | Array | None = None,
        columns: bool = False,
    ) -> None:
        """Offer the entries of a tile of a larger matrix of scores.

        Parameters
        ----------
        tile : array of shape (a, b)
        first : (int or None, int)
            Object numbers of the tile's first row and first column. An object is not offered to
            itself. None: the objects of the rows are not among those of the columns.
        rows : slice or array of int, default=None
            The heaps that get the entries; default: all.
        columns : bool, default=False
            Offer each column of the tile to a heap, in place of each row.
        """

    def clear(self, rows: Array) -> None:
        """Empty the heaps of some rows."""

    def incomplete_rows(self) -> Array:
        """The rows with fewer than k scores."""

    def sorted(self) -> Neighbors:
        """Columns and scores of each row, ordered by (score, column)."""


class NeighborSearch(Protocol):
    """Nearest neighbours: exact, approximate, and of distances that are computed in tiles."""

    def nearest(self, X: Any, k: int, cosine: bool) -> Neighbors:
        """Each row's k nearest other rows, by the Euclidean or the cosine distance."""

    def nearest_to(self, points: Any, queries: Any, k: int, cosine: bool) -> Neighbors:
        """The k points nearest to each query, for dense vectors."""

    def rank_candidates(
        self,
        points: Array,
        queries: Array,
        candidates: Array,
        k: int,
        metric: str,
        power: float = 2.0,
    ) -> Neighbors:
        """The k nearest of the points that are listed as each query's candidates.

        Parameters
        ----------
        points, queries : arrays of shape (n, d) and (m, d)
        candidates : array of shape (m, c), int32
            Numbers of points, different ones in a row; -1: none.
        k : int
            At most c.
        metric : str
            "euclidean", "cosine", for rows of length 1 or 0, "cityblock", "chebyshev", "canberra",
            "braycurtis" or "minkowski".
        power : float
            That of "minkowski".
        """

    def pairs_within(
        self, points: Array, queries: Array, reach: Array
    ) -> tuple[Array, Array, Array]:
        """Query, point and distance of every pair with |query - point| <= reach[point]."""

    def build_index(
        self,
        rows: Any,
        k: int,
        cosine: bool,
        recall: float,
        random: np.random.Generator,
        ranking: Ranking | None = None,
    ) -> Index | None:
        """An index of at least this recall, or None if the exact search is cheaper.

        With a `ranking`, neighbours, distances and recall are those of its metric.
        """

    def exact_search_seconds(self, rows: Any) -> float:
        """A rough estimate of the time that `nearest` takes."""

    def heaps(self, n: int, k: int, dtype: Any) -> Heaps:
        """Empty heaps for the k smallest scores of n rows."""

    def smallest(self, values: Array, k: int, *, own: bool = False) -> Neighbors:
        """The k smallest entries of each row; entry i of row i is left out if `own`."""
