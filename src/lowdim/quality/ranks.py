"""How the ranks of neighbours change from the data to the map.

Seen from object i, rho_ij is the rank of j by distance in the data and r_ij its rank on the map,
both from 1, ties in the order of the objects. One pass over the rows of both distance matrices
gives every measure here. Up to 5,000 objects all rows are compared; of more, a random sample of
rows, each with all objects, and every number carries its 95 % interval (see `IntervalEstimate`).

Lee and Verleysen, "Quality assessment of dimensionality reduction: rank-based criteria",
Neurocomputing 72, 2009; Venna and Kaski 2001 (trustworthiness, continuity); Lee, Renard, Bernard,
Dupont and Verleysen 2013 (R_NX); Lee, Peluffo-Ordóñez and Verleysen 2015 (its area).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.quality.interval import IntervalEstimate, margins, mean_of
from lowdim.quality.rows import MAX_OBJECTS_EXACT, Rows, blocks_of, choose_rows, data_rows, map_rows
from lowdim.quality.stress import rank_correlation
from lowdim.runtime import memory
from lowdim.runtime.scheduling import uses_threads

PER_OCTAVE = 8  # sizes of neighbourhoods between K and 2 K, for more than MAX_OBJECTS_EXACT objects
MAX_CURVE_POINTS = 120  # of a curve in `to_dict`
LOCAL_NEIGHBORS = 30  # the largest neighbourhood of `Ranks.rnx_auc_local`


class Curve(NamedTuple):
    """A measure for neighbourhoods of K objects, with half its 95 % interval."""

    K: Array
    values: Array
    margin: Array

    def to_dict(self) -> dict[str, Array]:
        """Return up to `MAX_CURVE_POINTS` points, evenly spaced in log K."""
        at = np.arange(len(self.K))
        if len(at) > MAX_CURVE_POINTS:
            at = np.unique(np.geomspace(1, len(at), MAX_CURVE_POINTS).round().astype(np.int64)) - 1
        return {name: values[at] for name, values in self._asdict().items()}


class Split(NamedTuple):
    """Q_NX averaged over neighbourhoods up to and from the size where it gains most on chance."""

    K_max: int
    local: IntervalEstimate
    global_: IntervalEstimate


class PointErrors(NamedTuple):
    """Lost and false neighbours of each object, among its k nearest.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        The objects; a sample if there are many.
    torn : ndarray of shape (m,)
        1 - continuity of the object: how far its neighbours in the data are from it on the map.
    false : ndarray of shape (m,)
        1 - trustworthiness of the object: how far its neighbours on the map are from it in the
        data. Torn and false neighbours are equally many; their ranks differ.
    torn_neighbors : ndarray of shape (m, k)
        Its nearest in the data that are not among the k nearest on the map; -1 for the others.
    false_neighbors : ndarray of shape (m, k)
        Its nearest on the map that are not among the k nearest in the data; -1 for the others.
    """

    rows: Array
    torn: Array
    false: Array
    torn_neighbors: Array
    false_neighbors: Array


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of neighbours in the data and on the map; the measures are properties.

    Attributes
    ----------
    n : int
        Number of objects.
    rows : ndarray of shape (m,)
        The objects whose neighbours were ranked.
    K : ndarray
        Sizes of neighbourhoods, ascending.
    overlap : ndarray of the shape of K
        Sum over the rows of the number of objects among the K nearest in both spaces.
    overlaps : ndarray of shape (m, len(K)) or None
        The same of each row of a sample; None if all rows were compared.
    data_ids, map_ids : ndarray of shape (m, k)
        The nearest in the data and on the map.
    map_ranks, data_ranks : ndarray of shape (m, k)
        The ranks of `data_ids` on the map and of `map_ids` in the data.
    data_distances, map_distances : ndarray of shape (m, k)
        The distances to `data_ids` in the data and to `map_ids` on the map.
    """

    n: int
    rows: Array
    K: Array
    overlap: Array
    overlaps: Array | None
    data_ids: Array
    map_ranks: Array
    map_ids: Array
    data_ranks: Array
    data_distances: Array
    map_distances: Array

    @property
    def n_neighbors(self) -> int:
        return int(self.data_ids.shape[1])

    @property
    def exact(self) -> bool:
        """Whether all rows were compared."""
        return len(self.rows) == self.n

    def penalty(self, ranks: Array) -> Array:
        """Each row's ranks beyond k, as a share of the most there could be."""
        k = self.n_neighbors
        if 2 * k >= self.n:
            raise ValueError(
                f"{argument('n_neighbors')} must be less than half the number of objects: got "
                f"{k} for {self.n}. Trustworthiness and continuity are not defined for more."
            )
        beyond = np.maximum(ranks - k, 0).sum(axis=1, dtype=np.float64)
        return np.asarray(beyond * 2 / (k * (2.0 * self.n - 3 * k - 1)))

    @property
    def trustworthiness(self) -> IntervalEstimate:
        return mean_of(1 - self.penalty(self.data_ranks), self.n)

    @property
    def continuity(self) -> IntervalEstimate:
        return mean_of(1 - self.penalty(self.map_ranks), self.n)

    @property
    def neighborhood_preservation(self) -> IntervalEstimate:
        """Share of the k nearest in the data that are among the k nearest on the map."""
        return mean_of((self.map_ranks <= self.n_neighbors).mean(axis=1), self.n)

    def _relative_error(self, ranks: Array) -> IntervalEstimate:
        own = np.arange(1, self.n_neighbors + 1)
        worst = float((np.abs(self.n - 2 * own + 1) / own).sum())
        return mean_of((np.abs(ranks - own) / own).sum(axis=1) / worst, self.n)

    @property
    def mrre_map(self) -> IntervalEstimate:
        """Mean relative rank error of the neighbours on the map."""
        return self._relative_error(self.data_ranks)

    @property
    def mrre_data(self) -> IntervalEstimate:
        """Mean relative rank error of the neighbours in the data."""
        return self._relative_error(self.map_ranks)

    @property
    def density_correlation(self) -> float:
        """Rank correlation of the distances to the k-th neighbour in the data and on the map."""
        return rank_correlation(self.data_distances[:, -1], self.map_distances[:, -1])

    @property
    def point_errors(self) -> PointErrors:
        k = self.n_neighbors
        return PointErrors(
            self.rows,
            self.penalty(self.map_ranks),
            self.penalty(self.data_ranks),
            np.where(self.map_ranks > k, self.data_ids, -1),
            np.where(self.data_ranks > k, self.map_ids, -1),
        )

    @cached_property
    def qnx(self) -> Curve:
        """Q_NX(K): share of the K nearest that are the same in both spaces."""
        margin = np.zeros(len(self.K))
        if self.overlaps is not None:
            margin = margins(self.overlaps / self.K, self.n)
        return Curve(self.K, self.overlap / (self.K * float(len(self.rows))), margin)

    @cached_property
    def rnx(self) -> Curve:
        """R_NX(K) = ((n - 1) Q_NX(K) - K) / (n - 1 - K): 0 by chance, 1 at best; K < n - 1."""
        K, Q, margin = (values[: np.searchsorted(self.K, self.n - 1)] for values in self.qnx)
        return Curve(K, _rescale(Q, K, self.n), margin * (self.n - 1) / (self.n - 1 - K))

    @property
    def rnx_auc(self) -> IntervalEstimate:
        """The area under R_NX in log K: sum R_NX(K) / K over sum 1 / K."""
        return self._rnx_area(1, self.n)

    @property
    def rnx_auc_local(self) -> IntervalEstimate:
        """The same for neighbourhoods of up to `LOCAL_NEIGHBORS` objects."""
        return self._rnx_area(1, LOCAL_NEIGHBORS)

    @property
    def rnx_auc_global(self) -> IntervalEstimate:
        """The same for larger neighbourhoods, or the largest one where the objects are few."""
        return self._rnx_area(min(LOCAL_NEIGHBORS + 1, self.n - 2), self.n)

    def _rnx_area(self, least: int, most: int) -> IntervalEstimate:
        K = self.rnx.K
        every = np.arange(1, self.n - 1)
        weights = _weights(K, np.where((every >= least) & (every <= most), 1 / every, 0.0))
        if self.overlaps is None:
            return IntervalEstimate(float(weights @ self.rnx.values))
        Q = self.overlaps[:, : len(K)] / K
        return mean_of(_rescale(Q, K, self.n) @ weights, self.n)

    @cached_property
    def split(self) -> Split:
        """The local and the global part of Q_NX (Lee and Verleysen 2010)."""
        gain = self.qnx.values - self.K / (self.n - 1)
        most = int(self.K[gain.argmax()])
        every = np.arange(1, self.n)
        return Split(most, *(self._mean_qnx(part) for part in (every <= most, every >= most)))

    def _mean_qnx(self, counted: Array) -> IntervalEstimate:
        weights = _weights(self.K, counted.astype(np.float64))
        if self.overlaps is None:
            return IntervalEstimate(float(weights @ self.qnx.values))
        return mean_of((self.overlaps / self.K) @ weights, self.n)

    @property
    def q_local(self) -> IntervalEstimate:
        return self.split.local

    @property
    def q_global(self) -> IntervalEstimate:
        return self.split.global_


def _rescale(Q: Array, K: Array, n: int) -> Array:
    return np.asarray(((n - 1) * Q - K) / (n - 1 - K))


def _weights(K: Array, measure: Array) -> Array:
    """Weights of the sizes K so that their sum is the average over 1, 2, ... under a measure.

    Between two of the sizes a curve is taken to be straight in K.
    """
    every = np.arange(1, len(measure) + 1)
    right = np.clip(np.searchsorted(K, every), 0, len(K) - 1)
    left = np.maximum(right - (K[right] != every), 0)
    gap = np.maximum(K[right] - K[left], 1)
    share = np.clip((every - K[left]) / gap, 0.0, 1.0)
    weights = np.bincount(left, measure * (1 - share), len(K))
    weights += np.bincount(right, measure * share, len(K))
    return np.asarray(weights / measure.sum())


def rank_grid(n: int, k: int) -> Array:
    """Sizes of neighbourhoods to look at: all, or evenly spread over log K for many objects."""
    if n - 1 <= MAX_OBJECTS_EXACT:
        return np.arange(1, n, dtype=np.int32)
    steps = int(np.ceil(PER_OCTAVE * np.log2(n - 1)))
    spread = np.geomspace(1, n - 2, steps).round()
    return np.unique(np.append(spread, [k, n - 1])).astype(np.int32)


def _passes(data: Rows, placed: Rows, chosen: Array, k: int, grid: Array) -> Iterator[list[Array]]:
    """Compare the ranks seen from the chosen objects, some of them at a time.

    The arrays are those of `compare_orders` of the backend, and the distances to the nearest in
    the data and on the map.
    """
    for rows in blocks_of(chosen, data.n):
        first, second = data.keys(rows), placed.keys(rows)
        dtype = np.result_type(first, second)
        first, second = (np.ascontiguousarray(keys, dtype) for keys in (first, second))
        orders = backend().compare_orders(first, second, rows, k, grid)
        in_data = data.lengths(np.take_along_axis(first, orders[0], axis=1))
        on_map = placed.lengths(np.take_along_axis(second, orders[2], axis=1))
        yield [*orders, in_data, on_map]


def ranks_between(data: Rows, placed: Rows, chosen: Array, k: int) -> Ranks:
    """One pass over the chosen rows of two spaces."""
    if data.n < 3:
        raise ValueError(f"X: n_samples = {data.n}, but ranks need at least 3 objects.")
    k = checks.n_neighbors(k, data.n)
    grid = rank_grid(data.n, k)
    exact = len(chosen) == data.n
    overlap = np.zeros(len(grid), dtype=np.int64)
    overlaps, parts = [], []
    for *near, shared, in_data, on_map in _passes(data, placed, chosen, k, grid):
        overlap += shared.sum(axis=0, dtype=np.int64)
        if not exact:
            overlaps.append(shared)
        parts.append([*near, in_data, on_map])
    joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    by_row = None if exact else np.concatenate(overlaps)
    return Ranks(data.n, chosen, grid, overlap, by_row, *joined)


@uses_threads
def compare_ranks(
    X: Any,
    Y: Any,
    n_neighbors: int = 15,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_rows: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Ranks:
    """Compute all measures by ranks in one pass.

    Parameters
    ----------
    X : array-like
        The data, or all dissimilarities with `metric="precomputed"`.
    Y : array-like of shape (n, p)
        The map.
    n_neighbors : int, default=15
        Size of the neighbourhoods of the measures that have one.
    metric : str or callable, default="euclidean"
        How distances in the data are measured.
    metric_params : dict, optional
        Further arguments of the metric.
    n_rows : int, optional
        Number of objects from which the others are ranked, drawn at random; by default all of up to
        5,000 objects and 1,000 of more (fewer above 300,000).
    random_state : int, RandomState instance or None, optional
        Seed of the sample.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    Ranks
        The ranks of neighbours, with the measures as properties.

    Notes
    -----
    The time grows with n_rows * n, the memory with n.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> print(quality.compare_ranks(X, X[:, :2], 5).continuity)
    0.955
    """
    data = data_rows(X, metric, metric_params)
    placed = map_rows(Y, data.n)
    chosen = choose_rows(data.n, n_rows, random_state)
    return ranks_between(data, placed, chosen, n_neighbors)


@uses_threads
def coranking(
    X: Any,
    Y: Any,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Array:
    """Compute the co-ranking matrix.

    Parameters are those of `compare_ranks`.

    Returns
    -------
    ndarray of shape (n - 1, n - 1)
        Entry (k - 1, l - 1) is the number of pairs with rank k in the data and l on the map. A
        perfect map has n on the diagonal and zeros elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> X = np.random.default_rng(0).normal(size=(4, 2))
    >>> quality.coranking(X, 2 * X)
    array([[4, 0, 0],
           [0, 4, 0],
           [0, 0, 4]])
    """
    data = data_rows(X, metric, metric_params)
    placed = map_rows(Y, data.n)
    n, m = data.n, data.n - 1
    memory.claim(
        8 * m * m,
        f"The co-ranking matrix of {n} objects",
        "rnx_curve and compare_ranks summarise it without the matrix.",
    )
    counts = np.zeros((m, m), dtype=np.int64)
    rank = np.arange(m)
    none = np.empty(0, dtype=np.int32)
    for block in _passes(data, placed, np.arange(n, dtype=np.int32), m, none):
        for ranks in block[1]:  # on the map; each row holds every rank once
            counts[rank, ranks - 1] += 1
    return counts
