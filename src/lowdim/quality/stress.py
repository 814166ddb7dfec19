"""Measures by distances between all pairs of objects; of more than 4,000, between a sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.quality.interval import IntervalEstimate, mean_of
from lowdim.quality.rows import Rows, choose_objects, data_rows, map_rows, rows_of
from lowdim.runtime import memory
from lowdim.runtime.scheduling import uses_threads

MAX_OBJECTS_PAIRED = 4000  # objects all of whose pairs are compared: eight million pairs
N_GROUPS = 10  # parts of a sample, between which the variation gives the confidence interval
PAIR_BYTES = 60  # two matrices, both halves of them and their ranks


class ShepardDiagram(NamedTuple):
    """Pairs by ascending dissimilarity, as `lowdim.plot.shepard` takes them.

    Attributes
    ----------
    dissimilarities, distances : ndarray of shape (n_pairs,)
        In the data and on the map.
    disparities : ndarray of shape (n_pairs,)
        The monotone function of the dissimilarities that is closest to the distances.
    """

    dissimilarities: Array
    distances: Array
    disparities: Array


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances between the same objects in the data and on the map.

    The measures are properties.

    Attributes
    ----------
    objects : ndarray of shape (m,)
        Row numbers of the objects that were compared.
    data, map : ndarray of shape (m, m)
        Their distances.
    n : int
        Number of all objects; those that were compared are a sample if m < n.
    """

    objects: Array
    data: Array
    map: Array
    n: int

    def estimate(self, name: str) -> IntervalEstimate:
        """A measure with its confidence interval, from parts of the sample."""
        value = float(getattr(self, name))
        m = len(self.objects)
        if m == self.n:
            return IntervalEstimate(value)
        groups = [np.arange(start, m, N_GROUPS) for start in range(min(N_GROUPS, m // 3))]
        parts = [
            Distances(self.objects[g], self.data[np.ix_(g, g)], self.map[np.ix_(g, g)], self.n)
            for g in groups
        ]
        known = np.array([getattr(part, name) for part in parts])
        finite = np.sqrt((1 - m / self.n) / (1 - len(parts) / self.n))  # `mean_of` has its own
        return IntervalEstimate(value, mean_of(known, self.n).margin * finite)

    @cached_property
    def pairs(self) -> tuple[Array, Array]:
        """Each pair once: dissimilarities and distances."""
        above = np.triu_indices(len(self.data), 1)
        return self.data[above], self.map[above]

    @property
    def stress_1(self) -> float:
        """Kruskal's stress-1 of the map at its best scale: 0 at best."""
        data, placed = self.pairs
        square = _product(placed, placed)
        if square == 0:
            return 1.0
        scale = _product(data, placed) / square
        size = _product(data, data)
        return float(np.sqrt(np.sum((data - scale * placed) ** 2) / size)) if size else 0.0

    @property
    def normalized_stress(self) -> float:
        """The same at the scale that the map has: more than 1 if it is far too large."""
        data, placed = self.pairs
        size = _product(data, data)
        return float(np.sqrt(np.sum((data - placed) ** 2) / size)) if size else 0.0

    @property
    def nonmetric_stress(self) -> float:
        """Kruskal's stress-1 of the best monotone relation: 0 if the map keeps all orders."""
        _, placed, disparities = self.shepard()
        size = _product(placed, placed)
        return float(np.sqrt(np.sum((placed - disparities) ** 2) / size)) if size else 1.0

    @property
    def sammon_stress(self) -> float:
        """Sammon's stress of the map at its best scale; pairs of no dissimilarity do not count."""
        data, placed = (values[self.pairs[0] > 0] for values in self.pairs)
        total = float(data.sum())
        relative = float((placed**2 / data).sum()) if len(data) else 0.0
        if total == 0 or relative == 0:
            return float(total > 0)
        scale = float(placed.sum()) / relative
        return float(((data - scale * placed) ** 2 / data).sum() / total)

    @property
    def spearman(self) -> float:
        """Rank correlation of the distances."""
        return rank_correlation(*self.pairs)

    @property
    def spearman_far(self) -> float:
        """Rank correlation among the half of the pairs that are farther apart in the data."""
        data, placed = self.pairs
        far = data >= np.median(data)
        return rank_correlation(data[far], placed[far])

    @property
    def pearson(self) -> float:
        """Correlation of the distances."""
        return _pearson(*self.pairs)

    @property
    def residual_variance(self) -> float:
        """1 - R^2 of the distances (Tenenbaum, de Silva and Langford 2000)."""
        return 1 - self.pearson**2

    @property
    def distance_correlation(self) -> float:
        """Distance correlation of data and map, 0 to 1 (Székely, Rizzo and Bakirov 2007)."""
        a, b = _double_center(self.data), _double_center(self.map)
        size = float(np.sqrt((a**2).mean() * (b**2).mean()))
        return float(np.sqrt(max(float((a * b).mean()) / size, 0.0))) if size else 0.0

    def shepard(self) -> ShepardDiagram:
        """The Shepard diagram, with the best monotone relation as disparities."""
        data, placed = self.pairs
        order = np.lexsort((placed, data))
        return ShepardDiagram(
            data[order], placed[order], backend().isotonic(placed[order], None, None, False)
        )


def _product(a: Array, b: Array) -> float:
    """The inner product, without BLAS, whose sums depend on the number of its threads."""
    return float(np.sum(a * b))


def _pearson(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt(_product(a, a) * _product(b, b)))
    return _product(a, b) / size if size else 0.0


def _double_center(D: Array) -> Array:
    return np.asarray(D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean())


def pairwise_distances(rows: Rows, chosen: Array) -> Array:
    """The distances between the chosen objects, in double precision."""
    if not rows.objects.measured:
        return np.asarray(rows.distances(chosen)[:, chosen], dtype=np.float64)
    part = rows_of(rows.objects.subset(chosen))
    return np.asarray(part.distances(np.arange(len(chosen))), dtype=np.float64)


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's correlation; 0 where one of the two is constant."""
    from scipy.stats import rankdata

    return _pearson(rankdata(a), rankdata(b)) if len(a) else 0.0


def distances_of(data: Rows, placed: Rows, objects: Array) -> Distances:
    """The distances between some objects in two spaces."""
    memory.claim(
        PAIR_BYTES * len(objects) ** 2,
        f"Comparing all distances between {len(objects):,} objects",
        "Compare fewer of them (n_objects).",
    )
    own, mapped = pairwise_distances(data, objects), pairwise_distances(placed, objects)
    return Distances(objects, own, mapped, data.n)


@uses_threads
def compare_distances(
    X: Any,
    Y: Any,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_objects: int = MAX_OBJECTS_PAIRED,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Distances:
    """Compute all measures by distances at once.

    Parameters
    ----------
    X, Y, metric, metric_params, n_jobs
        As in `compare_ranks`.
    n_objects : int, default=4000
        All pairs of this many objects are compared, drawn at random if there are more.
    random_state : int, RandomState instance or None, optional
        Seed of the sample.

    Returns
    -------
    Distances
        The distances, with the measures as properties.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> result = quality.compare_distances(X, X[:, :2])
    >>> round(result.stress_1, 3), round(result.spearman, 3)
    (0.231, 0.846)
    """
    data = data_rows(X, metric, metric_params)
    placed = map_rows(Y, data.n)
    count = checks.integer(n_objects, "n_objects", 3)
    return distances_of(data, placed, choose_objects(data.n, count, random_state))


def stress_1(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute Kruskal's stress-1 of the map at its best scale: 0 to 1, lower is better.

    Parameters are those of `compare_distances`.

    References
    ----------
    Kruskal, "Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis",
    Psychometrika 29, 1964.
    """
    return compare_distances(X, Y, **options).estimate("stress_1")


def normalized_stress(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute the stress of the map at its own scale: 0 if its distances are those of the data.

    Only for maps whose distances are meant to be those of the data, such as that of `MDS`; a factor
    changes it. Parameters are those of `compare_distances`.

    References
    ----------
    Smelser, Miller and Kobourov, "'Normalized stress' is not normalized: how to interpret stress
    correctly", IEEE BELIV 2024.
    """
    return compare_distances(X, Y, **options).estimate("normalized_stress")


def nonmetric_stress(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute the stress-1 of the distances from a monotone function of the dissimilarities.

    0 if the map keeps the order of all distances. Parameters and references are those of
    `stress_1`.
    """
    return compare_distances(X, Y, **options).estimate("nonmetric_stress")


def pearson(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute the correlation of the distances in data and map: -1 to 1, higher is better.

    Parameters are those of `compare_distances`.
    """
    return compare_distances(X, Y, **options).estimate("pearson")


def sammon_stress(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute Sammon's stress of the map at its best scale: 0 to 1, lower is better.

    Parameters are those of `compare_distances`.

    References
    ----------
    Sammon, "A nonlinear mapping for data structure analysis", IEEE Transactions on Computers 18,
    1969.
    """
    return compare_distances(X, Y, **options).estimate("sammon_stress")


def spearman(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute the rank correlation of the distances in data and map: higher is better.

    Parameters are those of `compare_distances`.
    """
    return compare_distances(X, Y, **options).estimate("spearman")


def spearman_far(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute `spearman` for the half of the pairs that are farther apart in the data.

    Parameters are those of `compare_distances`.
    """
    return compare_distances(X, Y, **options).estimate("spearman_far")


def distance_correlation(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute the distance correlation of data and map: 0 to 1, higher is better.

    Parameters are those of `compare_distances`.

    References
    ----------
    Székely, Rizzo and Bakirov, "Measuring and testing dependence by correlation of distances",
    Annals of Statistics 35, 2007.
    """
    return compare_distances(X, Y, **options).estimate("distance_correlation")


def residual_variance(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute 1 - R² of the distances in data and map: 0 to 1, lower is better.

    Parameters are those of `compare_distances`.

    References
    ----------
    Tenenbaum, de Silva and Langford, "A global geometric framework for nonlinear dimensionality
    reduction", Science 290, 2000.
    """
    return compare_distances(X, Y, **options).estimate("residual_variance")


def shepard(X: Any, Y: Any, **options: Any) -> ShepardDiagram:
    """Compute the pairs of a Shepard diagram, for `lowdim.plot.shepard`.

    Parameters are those of `compare_distances`.
    """
    return compare_distances(X, Y, **options).shepard()
