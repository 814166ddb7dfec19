"""Distances from some of the objects to all of them, for vectors, any metric or a given matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.backends import native
from lowdim.checks import Array
from lowdim.relations.distances import Metric, check_dissimilarities, measured, resolve_metric
from lowdim.relations.graph import NeighborGraph

MAX_OBJECTS_EXACT = 5000  # objects up to which all rows are compared
MAX_SAMPLED_ROWS = 1000
MAX_COMPARED_PAIRS = 3e8  # of objects, that a sample of rows compares
MAX_BLOCK_DISTANCES = 2**24  # held at once: 128 MB


@dataclass(frozen=True)
class Rows:
    """The objects of one space: how many, and the distances from some of them to all.

    `keys` have the order of the distances, ties included, which `lengths` makes of them: they are
    squared distances where that is cheaper, of vectors divided by 2^unit.
    """

    n: int
    keys: Callable[[Array], Array]
    squared: bool
    vectors: Any = None
    metric: Metric | None = None
    unit: int = 0

    def lengths(self, keys: Array) -> Array:
        if not self.squared:
            return keys
        return np.ldexp(np.sqrt(keys), self.unit) if self.unit else np.sqrt(keys)

    def distances(self, chosen: Array) -> Array:
        """The distances from the chosen objects to all."""
        return self.lengths(self.keys(chosen))


def data_rows(
    X: Any,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Rows:
    """The objects X, as every estimator takes them."""
    if isinstance(X, NeighborGraph):
        raise TypeError(
            "X is a NeighborGraph, but measures of quality compare the distances between all "
            "objects: give the vectors, or all dissimilarities with metric='precomputed'."
        )
    if isinstance(metric, str) and metric == "precomputed":
        if hasattr(X, "tocsr"):
            raise TypeError(
                "X is a sparse graph of distances, but measures of quality compare the distances "
                "between all objects: give a dense matrix of them, or the vectors."
            )
        D = check_dissimilarities(X)
        return Rows(len(D), lambda chosen: D[chosen], squared=False)
    found, rows = resolve_metric(metric, metric_params, X)
    return metric_rows(rows, found, n_jobs)


def metric_rows(rows: Any, metric: Metric, n_jobs: int | None = None) -> Rows:
    """Prepared rows under a metric."""
    if metric.euclidean and isinstance(rows, np.ndarray):
        return _euclidean(rows, metric, n_jobs)
    n = rows.shape[0]
    dtype = rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)

    def keys(chosen: Array) -> Array:
        out = np.empty((len(chosen), n), dtype=dtype)
        asked = rows[chosen]

        def fill(part: slice) -> None:
            out[:, part] = metric.block(asked, rows[part])

        native.run(fill, native.blocks(n, 512), n_jobs)
        out[np.arange(len(chosen)), chosen] = 0
        if np.isnan(out).any():
            i, j = np.argwhere(np.isnan(out))[0]
            i = int(chosen[i])
            measured(rows, metric, slice(i, i + 1), slice(int(j), int(j) + 1))
        return out

    return Rows(n, keys, False, rows, metric)


def _euclidean(rows: Array, metric: Metric, n_jobs: int | None) -> Rows:
    """Squares by differences, of vectors brought to a size at which squares keep their digits."""
    exponent = int(np.frexp(np.abs(rows).max(initial=0.0))[1])
    unit = 0 if abs(exponent) < 32 else exponent
    scaled = np.ascontiguousarray(np.ldexp(rows, -unit) if unit else rows)

    def keys(chosen: Array) -> Array:
        return native.squared_distances(scaled[chosen], scaled, n_jobs)

    return Rows(len(rows), keys, True, rows, metric, unit)


def map_rows(Y: Any, n: int, n_jobs: int | None = None) -> Rows:
    """The objects on the map."""
    Y = checks.vectors(np.reshape(Y, (-1, 1)) if np.ndim(Y) == 1 else Y, name="Y")
    if len(Y) != n:
        raise ValueError(
            f"Y places {len(Y)} objects, but X has {n}: row i of both must be the same object."
        )
    return data_rows(Y, n_jobs=n_jobs)


def chosen_rows(n: int, n_rows: int | None, random_state: Any = None) -> Array:
    """Rows to compare with all objects, ascending: all of few objects, a sample of many."""
    if n_rows is None:
        most = min(MAX_SAMPLED_ROWS, max(int(MAX_COMPARED_PAIRS / n), 256))
        n_rows = n if n <= MAX_OBJECTS_EXACT else most
    count = min(n, checks.integer(n_rows, "n_rows", 2))
    if count == n:
        return np.arange(n, dtype=np.int32)
    random = check_random_state(0 if random_state is None else random_state)
    return np.sort(random.choice(n, count, replace=False)).astype(np.int32)


def blocks_of(chosen: Array, n: int) -> list[Array]:
    """The chosen rows in blocks whose distances to n objects fit in little memory."""
    size = int(min(max(MAX_BLOCK_DISTANCES // max(n, 1), 16), 512))
    return [chosen[part] for part in native.blocks(len(chosen), size)]
