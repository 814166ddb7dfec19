"""Approximate nearest neighbours under metrics that order pairs much as Euclid's distance does.

An object's candidates are its m nearest neighbours by the Euclidean distance, which the backend
searches fast; the k nearest of them by the metric itself are its neighbours. m is the smallest
number that reaches the wanted recall on a sample of the objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.protocol import Index
from lowdim.checks import Array, distances_in_range, is_sparse
from lowdim.relations.metrics import Metric
from lowdim.relations.search import reach_of
from lowdim.runtime.scheduling import blocks

METRICS = ("cityblock", "chebyshev", "canberra", "braycurtis")
SAMPLE_OBJECTS = 256  # sample on which recall is measured
LARGEST_SHARE = 0.02  # of all objects: with more candidates the exact search is as fast
LARGEST_NUMBER = 1000  # of candidates, at which their lists take 12 kB an object
INDEX_RECALL = 0.99  # of an approximate Euclidean search
PER_DIMENSION = 3  # candidates of an exact Euclidean search, with more of which it is no faster
AT_ONCE = 16_384  # objects whose lists of candidates are held at once


def has_candidates(rows: Any, metric: Metric) -> bool:
    """Whether neighbours of these rows can be searched among Euclidean candidates."""
    return metric.name in METRICS and not is_sparse(rows)


@dataclass(frozen=True, eq=False)
class CandidateIndex:
    """A Euclidean search and a metric; an `Index` of `lowdim.backends.protocol`."""

    rows: Array
    metric: Metric
    k: int
    m: int  # number of candidates
    index: Index | None = None  # the Euclidean search; None: an exact one
    recall: float = 0.0

    def neighbors(self) -> tuple[Array, Array]:
        """Indices and distances of each object's k nearest other objects."""
        n = len(self.rows)
        if self.index is None:
            near = backend().nearest(self.rows, self.m, False)[0]
            return self._ranked(self.rows, near, self.k)
        parts = [self._of_objects(np.arange(p.start, p.stop)) for p in blocks(n, AT_ONCE)]
        indices, distances = (np.concatenate(side) for side in zip(*parts, strict=True))
        return indices, distances

    def query(self, queries: Any, k: int) -> tuple[Array, Array]:
        """Indices and distances of the k objects nearest to each query, for k <= self.k."""
        k = checks.integer(k, "k", 1, self.k, " (that of the index)")
        asked = np.ascontiguousarray(queries, dtype=self.rows.dtype)
        return self._ranked(asked, self._near(asked, self.m), k)

    def _near(self, queries: Array, m: int) -> Array:
        """The m candidates of each query, nearest first."""
        if self.index is not None:
            return self.index.query(queries, m)[0]
        return backend().nearest_to(self.rows, queries, m, False)[0]

    def _others(self, numbers: Array) -> Array:
        """The m candidates of some objects, nearest first."""
        near = self._near(self.rows[numbers], self.m + 1)
        itself = near == numbers[:, None]
        itself[~itself.any(axis=1), -1] = True  # behind m + 1 equal rows
        return np.asarray(near[~itself].reshape(len(near), self.m))

    def _of_objects(self, numbers: Array) -> tuple[Array, Array]:
        """Indices and distances of the k nearest other objects of some objects."""
        return self._ranked(self.rows[numbers], self._others(numbers), self.k)

    def _ranked(self, queries: Array, near: Array, k: int) -> tuple[Array, Array]:
        """The k nearest candidates of each query, ordered by (distance, index)."""
        found = backend().rank_candidates(self.rows, queries, near, k, self.metric.name)
        distances_in_range(found[1])
        return found

    def _share(self, sample: Array, reach: Array) -> float:
        """The share of the true neighbours of a sample that is found.

        `reach` is the distance of each object of the sample to its k-th neighbour.
        """
        return float((self._of_objects(sample)[1] <= reach).mean())


def build_candidates(
    rows: Array, metric: Metric, k: int, wanted: float, random: np.random.Generator
) -> CandidateIndex | None:
    """An index of at least the wanted recall; None if it would need too many candidates."""
    n = len(rows)
    rows = np.ascontiguousarray(rows)
    largest = min(int(LARGEST_SHARE * n), LARGEST_NUMBER)
    sample = np.sort(random.choice(n, SAMPLE_OBJECTS, replace=False))
    reach = reach_of(rows, sample, k, metric)
    m = k + k // 8 + 4
    while m <= largest:
        exact = CandidateIndex(rows, metric, k, m)
        share = exact._share(sample, reach)
        if share >= wanted:
            break
        m += max(1, m // 8)
    else:
        return None
    cells = backend().build_index(rows, m + 1, False, INDEX_RECALL, random)
    if cells is not None:
        by_cells = replace(exact, index=cells)
        found = by_cells._share(sample, reach)
        if found >= wanted:
            return replace(by_cells, recall=found)
    return replace(exact, recall=share) if m <= PER_DIMENSION * rows.shape[1] else None
