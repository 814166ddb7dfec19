"""Distances from some of the objects to all of them, for vectors, any metric or a given matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.matrices import check_defined
from lowdim.distances.row_blocks import RowBlocks
from lowdim.distances.units import scale_by_power
from lowdim.messages import argument
from lowdim.objects.block_sources import open_source
from lowdim.objects.objects import (
    Dissimilarities,
    MeasuredObjects,
    Objects,
    is_precomputed,
    objects_of,
)
from lowdim.runtime.scheduling import blocks, run

MAX_OBJECTS_EXACT = 5000  # objects up to which all rows are compared
MAX_SAMPLED_ROWS = 1000
SAMPLED_OBJECTS = 20_000  # of data that are read in blocks
MAX_COMPARED_PAIRS = 3e8  # of objects, that a sample of rows compares
MAX_BLOCK_DISTANCES = 2**24  # held at once: 128 MB


@dataclass(frozen=True)
class Rows:
    """The objects of one space, and the distances from some of them to all.

    `keys` have the order of the distances, ties included, which `lengths` makes of them: they are
    squared distances where that is cheaper, in the unit of the objects.
    """

    objects: Objects
    keys: Callable[[Array], Array]
    squared: bool = False

    @property
    def n(self) -> int:
        return self.objects.n

    def lengths(self, keys: Array) -> Array:
        return np.asarray(
            scale_by_power(np.sqrt(keys) if self.squared else keys, self.objects.exponent)
        )

    def distances(self, chosen: Array) -> Array:
        """The distances from the chosen objects to all."""
        return self.lengths(self.keys(chosen))


def data_rows(
    X: Any, metric: Any = "euclidean", metric_params: dict[str, Any] | None = None
) -> Rows:
    """The objects X, as every estimator takes them."""
    return rows_of(objects_of(X, metric, metric_params))


def sample_objects(X: Any, metric: Any, random_state: Any) -> tuple[Any, Array | None]:
    """The objects to assess, and their numbers if they are a sample.

    Data in files that are large for the memory of the computation are assessed by a sample.
    """
    if is_precomputed(metric):
        return X, None
    X = open_source(X)
    if not isinstance(X, RowBlocks):
        return X, None
    chosen = choose_objects(X.shape[0], SAMPLED_OBJECTS, random_state)
    return X.take(chosen), chosen


def rows_of(objects: Objects) -> Rows:
    """Objects all of whose distances can be had."""
    if isinstance(objects, Dissimilarities):
        D = objects.matrix
        return Rows(objects, lambda chosen: D[chosen])
    if not isinstance(objects, MeasuredObjects):
        raise TypeError(
            "X is a NeighborGraph or a sparse graph of distances, but measures of quality compare "
            "the distances between all objects: give the vectors, or all dissimilarities with "
            f"{argument('metric', 'precomputed')}."
        )
    if objects.euclidean and isinstance(objects.rows, np.ndarray):
        X = np.ascontiguousarray(objects.rows)
        return Rows(objects, lambda chosen: backend().squared_distances(X[chosen], X), True)
    return Rows(objects, partial(_distance_blocks, objects))


def _distance_blocks(objects: MeasuredObjects, chosen: Array) -> Array:
    """The distances from the chosen objects to all, by blocks."""
    rows, metric = objects.rows, objects.metric
    out = np.empty((len(chosen), objects.n), dtype=objects.dtype)
    chosen_rows = rows[chosen]

    def fill(part: slice) -> None:
        out[:, part] = metric.block(chosen_rows, rows[part])

    run(fill, blocks(objects.n, 512))
    out[np.arange(len(chosen)), chosen] = 0
    check_defined(out, metric, chosen, np.arange(objects.n))
    return out


def map_rows(Y: Any, n: int) -> Rows:
    """The objects on the map: coordinates, or a fitted estimator."""
    Y = getattr(Y, "embedding_", Y)
    Y = checks.vectors(np.reshape(Y, (-1, 1)) if np.ndim(Y) == 1 else Y, name="Y")
    if len(Y) != n:
        raise ValueError(
            f"Y places {len(Y)} objects, but X has {n}: row i of both must be the same object."
        )
    return data_rows(Y)


def choose_objects(n: int, most: int, random_state: Any = None) -> Array:
    """All objects, or `most` of them drawn at random, ascending."""
    if n <= most:
        return np.arange(n, dtype=np.int32)
    random = checks.fixed_random_state(random_state)
    return np.sort(random.choice(n, most, replace=False)).astype(np.int32)


def placed_objects(X: Any, Y: Array, metric: Any, most: int) -> tuple[Array, Any, Array]:
    """The objects that a map places, or a sample of them: their numbers, data and coordinates."""
    at = np.flatnonzero(np.isfinite(Y).all(axis=1))
    at = at[choose_objects(len(at), most)]
    if len(at) < len(Y):
        X = X[at][:, at] if is_precomputed(metric) else getattr(X, "iloc", X)[at]
    return at, X, Y[at]


def choose_rows(n: int, n_rows: int | None, random_state: Any = None) -> Array:
    """Rows to compare with all objects, ascending: all of few objects, a sample of many."""
    if n_rows is None:
        most = min(MAX_SAMPLED_ROWS, max(int(MAX_COMPARED_PAIRS / n), 256))
        n_rows = n if n <= MAX_OBJECTS_EXACT else most
    return choose_objects(n, checks.integer(n_rows, "n_rows", 2), random_state)


def in_same_row(ids: Array, others: Array) -> Array:
    """Whether each entry is also in the same row of another array."""
    n = len(ids)
    rows = n * np.arange(n, dtype=np.int64)[:, None]
    return np.isin(rows + ids, rows + others)


def blocks_of(chosen: Array, n: int) -> list[Array]:
    """The chosen rows in blocks whose distances to n objects fit in little memory."""
    size = int(min(max(MAX_BLOCK_DISTANCES // max(n, 1), 16), 512))
    return [chosen[part] for part in blocks(len(chosen), size)]
