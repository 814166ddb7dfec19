"""Metrics that are increasing functions of the Euclidean distance of mapped rows.

Neighbours under them are searched as under the Euclidean distance, which is several times faster
than the computation of all distances by their formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends.protocol import Index
from lowdim.checks import Array, is_sparse
from lowdim.distances.formulas import softmax
from lowdim.distances.matrices import check_defined
from lowdim.distances.metrics import Metric


@dataclass(frozen=True)
class Form:
    """The map of the rows, and the distance of two objects from that of their mapped rows."""

    rows: Callable[[Array], Array]
    distances: Callable[[Array], Array]


def _identity(rows: Array) -> Array:
    return rows


def _units(rows: Array) -> Array:
    """Rows of length 1. A zero row gets a direction of its own, at right angles to all others.

    Its distances are then those that `formulas` states.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    zero = (lengths == 0).astype(rows.dtype)
    return np.hstack([rows / (lengths + zero), zero])


def _deviations(rows: Array) -> Array:
    """Rows minus their means: exactly zero for constant rows."""
    centered = rows - rows.mean(axis=1, keepdims=True)
    centered[np.ptp(rows, axis=1) == 0] = 0
    return np.asarray(centered)


def _ranks(rows: Array) -> Array:
    from scipy.stats import rankdata

    return np.asarray(rankdata(rows, axis=1), dtype=rows.dtype)


def _roots(rows: Array) -> Array:
    with np.errstate(invalid="ignore"):  # of negative entries, which the exact search reports
        return np.asarray(np.sqrt(rows))


FORMS = {
    "sqeuclidean": Form(_identity, np.square),
    "correlation": Form(lambda rows: _units(_deviations(rows)), lambda d: d**2 / 2),
    "spearmanr": Form(lambda rows: _units(_deviations(_ranks(rows))), lambda d: d**2 / 2),
    "true_angular": Form(_units, lambda d: 2 / np.pi * np.arcsin(np.minimum(d / 2, 1))),
    "hellinger": Form(lambda rows: _units(_roots(rows)), lambda d: d / np.sqrt(2)),
    "softmax_hellinger": Form(lambda rows: np.sqrt(softmax(rows)), lambda d: d / np.sqrt(2)),
}


def map_rows(rows: Any, metric: Metric) -> Array | None:
    """Dense rows mapped by the form of a metric; None if it has none, or for undefined rows."""
    if is_sparse(rows) or metric.name not in FORMS:
        return None
    vectors = np.ascontiguousarray(FORMS[metric.name].rows(rows), dtype=rows.dtype)
    return vectors if np.isfinite(vectors).all() else None


def metric_distances(neighbors: tuple[Array, Array], metric: Metric) -> tuple[Array, Array]:
    """Indices and distances from indices and Euclidean distances of mapped rows."""
    indices, distances = neighbors
    return indices, np.asarray(FORMS[metric.name].distances(distances), dtype=distances.dtype)


@dataclass(frozen=True, eq=False)
class MappedIndex:
    """The index of mapped rows; an `Index` of `lowdim.backends.protocol`."""

    index: Index
    metric: Metric

    @property
    def recall(self) -> float:
        return self.index.recall

    def neighbors(self) -> tuple[Array, Array]:
        return metric_distances(self.index.neighbors(), self.metric)

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        rows = FORMS[self.metric.name].rows(np.asarray(queries))
        undefined = np.where(np.isfinite(rows).all(axis=1), 0, np.nan)  # for every other object
        check_defined(
            undefined[:, None], self.metric, np.arange(len(rows)), np.zeros(1, int), new=True
        )
        return metric_distances(self.index.query(rows, k), self.metric)
