"""The argument of `transform`: new objects and their distances to the training objects.

There is one type for each kind of input; see `objects` for the training objects.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_defined, cross_distances
from lowdim.distances.units import scale_by_power
from lowdim.neighbor_graphs.exact import distances_to, within_reach
from lowdim.neighbor_graphs.lists import (
    check_stored_dissimilarities,
    merge_lists,
    pad_lists,
    sparse_rows,
)
from lowdim.objects.block_sources import read_whole
from lowdim.objects.objects import BlockedObjects, MeasuredObjects, Objects
from lowdim.runtime import memory


class NewObjects(Protocol):
    """New objects and their distances to the training objects.

    `nearest` and `within` return arrays of indices and distances, one row per new object,
    ascending; shorter lists are padded with infinite distances.
    """

    n: int

    def subset(self, rows: Any) -> NewObjects:
        """Some of the new objects."""

    def among(self, known: Array) -> NewObjects:
        """The same new objects, with only these training objects, numbered from 0."""

    def distances(self) -> Array:
        """The distances to all training objects, of shape (n, n_training)."""

    def nearest(self, k: int, method: str = "exact") -> tuple[Array, Array]:
        """The k nearest training objects; `method` is that of `lowdim.neighbors`."""

    def within(self, radius: float) -> tuple[Array, Array]:
        """The training objects within a radius, or the nearest one if there is none."""

    def within_reach(self, reach: Array) -> tuple[Array, Array, Array]:
        """The pairs with distance at most reach[training object]: new objects, training objects and
        distances."""

    def vectors(self) -> Any:
        """The new objects as the rows that were given."""


class MeasuredNewObjects:
    """Rows that are measured against those of the training objects, in memory or in blocks.

    `numbers` are the rows' numbers in the user's X and `known_numbers` those of the training
    objects, for error messages; the first n unless given.
    """

    def __init__(
        self,
        rows: Any,
        known: MeasuredObjects | BlockedObjects,
        numbers: Array | None = None,
        known_numbers: Array | None = None,
    ) -> None:
        there: Any = known.rows
        if rows.dtype.kind == "f" and there.dtype.kind == "f":
            rows = rows.astype(there.dtype, copy=False)
            if is_sparse(rows) and not is_sparse(there):
                rows = rows.toarray()
            elif is_sparse(there) and not is_sparse(rows):
                rows = type(there)(rows)
        self.rows, self.known, self.n = rows, known, rows.shape[0]
        self.numbers = np.arange(self.n) if numbers is None else numbers
        self.known_numbers = np.arange(known.n) if known_numbers is None else known_numbers
        self._neighbor_lists: dict[str, tuple[Array, Array]] = {}  # by method

    def subset(self, rows: Any) -> MeasuredNewObjects:
        return MeasuredNewObjects(
            self.rows[rows], self.known, self.numbers[rows], self.known_numbers
        )

    def among(self, known: Array) -> MeasuredNewObjects:
        return MeasuredNewObjects(
            self.rows, self.known.subset(known), self.numbers, self.known_numbers[known]
        )

    def distances(self) -> Array:
        if not self.known.in_memory:
            memory.claim(
                self.n * self.known.n * self.known.dtype.itemsize,
                f"The distances of {self.n} new objects to {self.known.n} training objects",
                "Transform fewer objects at a time.",
            )
            return distances_to(self.known.rows, self.rows, self.known.metric)
        D = cross_distances(self.rows, self.known.rows, self.known.metric)
        check_defined(D, self.known.metric, self.numbers, self.known_numbers, new=True)
        return D

    def nearest(self, k: int, method: str = "exact") -> tuple[Array, Array]:
        known = self._neighbor_lists.get(method)
        if known is None or known[0].shape[1] < k:
            known = self._neighbor_lists[method] = self.known.search(k, method)(self.rows)
        return known[0][:, :k].copy(), known[1][:, :k].copy()

    def remember(self, lists: tuple[Array, Array], method: str) -> None:
        """Answer `nearest` by lists that have been found already, if they are long enough."""
        self._neighbor_lists[method] = lists

    def within(self, radius: float) -> tuple[Array, Array]:
        if self.known.in_memory:
            return _nearest_within(self.distances(), radius)
        return merge_lists(*self.nearest(1), self.within_reach(np.full(1, radius)))

    def within_reach(self, reach: Array) -> tuple[Array, Array, Array]:
        return within_reach(self.known.rows, self.rows, reach, self.known.metric)

    def vectors(self) -> Any:
        return self.rows


class NewDissimilarities:
    """A matrix of dissimilarities (new x training); NaN, where allowed, marks unknown ones."""

    def __init__(self, matrix: Any) -> None:
        self.matrix, self.n = matrix, matrix.shape[0]

    def subset(self, rows: Any) -> NewDissimilarities:
        return type(self)(self.matrix[rows])

    def among(self, known: Array) -> NewDissimilarities:
        return type(self)(self.matrix[:, known])

    def distances(self) -> Array:
        return np.asarray(self.matrix)

    def nearest(self, k: int, method: str = "exact") -> tuple[Array, Array]:
        return backend().smallest(self.matrix, k)

    def within(self, radius: float) -> tuple[Array, Array]:
        return _nearest_within(self.matrix, radius)

    def within_reach(self, reach: Array) -> tuple[Array, Array, Array]:
        new, known = np.nonzero(self.matrix <= reach)
        return new, known, self.matrix[new, known]

    def vectors(self) -> Any:
        return self.matrix


class NewSparseDissimilarities(NewDissimilarities):
    """A sparse matrix of dissimilarities to some training objects; stored zeros are entries."""

    def distances(self) -> Array:
        raise ValueError(
            "X: the dissimilarities to all training objects are needed as a dense array, got a "
            "sparse matrix. Use X.toarray() if it holds them all."
        )

    def nearest(self, k: int, method: str = "exact") -> tuple[Array, Array]:
        return pad_lists(*sparse_rows(self.matrix, k, None))

    def within(self, radius: float) -> tuple[Array, Array]:
        return pad_lists(*sparse_rows(self.matrix, None, radius))

    def within_reach(self, reach: Array) -> tuple[Array, Array, Array]:
        stored = self.matrix.tocoo()
        near = stored.data <= reach[stored.coords[1]]
        return stored.coords[0][near], stored.coords[1][near], stored.data[near]


class BlocksAsNew(MeasuredNewObjects):
    """Training objects that are read in blocks, as new objects: to place them by landmarks."""

    def __init__(self, objects: BlockedObjects, known: Any = None) -> None:
        self.blocks, self.n = objects.rows, objects.n
        self.known = objects if known is None else known
        self.numbers, self.known_numbers = np.arange(self.n), np.arange(self.known.n)
        self._neighbor_lists = {}

    @cached_property
    def rows(self) -> Array:  # all of them; most methods ask for a subset
        return self.blocks.read(slice(0, self.n))

    def subset(self, rows: slice) -> MeasuredNewObjects:
        return MeasuredNewObjects(self.blocks.read(rows), self.known, self.numbers[rows])

    def among(self, known: Array) -> BlocksAsNew:
        return BlocksAsNew(BlockedObjects(self.blocks, self.known.metric), self.known.subset(known))

    def vectors(self) -> Array:
        return read_whole(self.blocks, "This method")


def as_new(objects: Objects) -> NewObjects:
    """Training objects as new objects, to place them again."""
    if isinstance(objects, MeasuredObjects):
        return MeasuredNewObjects(objects.rows, objects)
    if isinstance(objects, BlockedObjects):
        return BlocksAsNew(objects)
    return NewDissimilarities(objects.all_pairs())


def check_relations(X: Any, *, unknown_pairs: bool = False, exponent: int = 0) -> NewObjects:
    """Check dissimilarities between new objects (rows) and training objects, whose own are in units
    of 2^exponent; with `unknown_pairs`, NaN marks an unknown one."""
    if is_sparse(X) and not unknown_pairs:
        return NewSparseDissimilarities(scale_by_power(check_stored_dissimilarities(X), -exponent))
    X = checks.vectors(X, allow_nan=unknown_pairs)
    if X.size and np.nanmin(X, initial=0) < 0:
        raise ValueError(f"X: dissimilarities must not be negative, found {np.nanmin(X):g}.")
    return NewDissimilarities(scale_by_power(X, -exponent))


def _nearest_within(distances: Array, radius: float) -> tuple[Array, Array]:
    """Indices and distances of each row's entries up to the radius, at least one; padded."""
    most = max(1, int((distances <= radius).sum(axis=1).max(initial=1)))
    nearest, lengths = backend().smallest(distances, most)
    lengths[:, 1:][lengths[:, 1:] > radius] = np.inf
    return nearest, lengths
