"""Measures that compare the map with labels of the objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.quality.interval import IntervalEstimate, mean_of
from lowdim.quality.ranks import Ranks, compare_ranks
from lowdim.quality.stress import Distances, compare_distances


@dataclass(frozen=True)
class LabelQuality:
    """Labels predicted from the nearest neighbours, and how far classes are apart.

    Attributes
    ----------
    kind : {"classes", "scale"}
        Whether the labels are classes or numbers on a scale.
    knn_map, knn_data : IntervalEstimate
        Accuracy of the k nearest neighbours on the map and in the data for classes; R² for numbers.
    silhouette_map, silhouette_data : float or None
        Rousseeuw's mean silhouette of the classes; None for numbers on a scale, for a single class
        and if no two objects are of the same class.
    """

    kind: str
    knn_map: IntervalEstimate
    knn_data: IntervalEstimate
    silhouette_map: float | None
    silhouette_data: float | None


def label_quality(labels: Any, ranks: Ranks, distances: Distances) -> LabelQuality:
    """Compare labels with neighbourhoods on the map and in the data."""
    values = check_labels(labels, ranks.n)
    if is_scale(values):
        numbers = values.astype(np.float64)
        on_map, in_data = (
            _explained_share(numbers, ranks, i) for i in (ranks.map_ids, ranks.data_ids)
        )
        return LabelQuality("scale", on_map, in_data, None, None)
    codes = class_codes(values)[1]
    some = codes[distances.objects]
    return LabelQuality(
        "classes",
        _accuracy(codes, ranks, ranks.map_ids),
        _accuracy(codes, ranks, ranks.data_ids),
        _silhouette(distances.map, some),
        _silhouette(distances.data, some),
    )


def check_labels(labels: Any, n: int) -> Array:
    """Check that there is one label for each object."""
    values = np.asarray(labels).ravel()
    if len(values) != n:
        raise ValueError(f"labels has {len(values)} entries for {n} objects: give one for each.")
    return values


def is_scale(values: Array) -> bool:
    """Whether labels are numbers on a scale: floats that are not all whole numbers."""
    return values.dtype.kind == "f" and bool((values != np.round(values)).any())


def class_codes(values: Array) -> tuple[Array, Array]:
    """The classes, ascending, and the number of each object's class."""
    comparable = values.astype(str) if values.dtype == object else values
    classes, codes = np.unique(comparable, return_inverse=True)
    return classes, codes


def most_common(codes: Array) -> tuple[Array, Array]:
    """The commonest entry of each row and how often it occurs; of several, the smallest."""
    n = len(codes)
    kinds = int(codes.max(initial=0)) + 1
    pairs, counts = np.unique(codes + kinds * np.arange(n)[:, None], return_counts=True)
    rows = pairs // kinds
    order = np.lexsort((pairs, -counts, rows))
    first = order[np.searchsorted(rows[order], np.arange(n))]
    return pairs[first] % kinds, counts[first]


def knn_accuracy(Y: Any, labels: Any, n_neighbors: int = 10, **options: Any) -> IntervalEstimate:
    """Compute the share of objects whose class is the commonest of their k nearest on the map.

    Parameters
    ----------
    Y : array-like of shape (n, p)
        The map, or any other vectors.
    labels : array-like of shape (n,)
        The class of each object.
    n_neighbors : int, default=10
        Number of neighbours; the object itself is not one of them.
    **options
        Further arguments of `compare_ranks`.

    Returns
    -------
    IntervalEstimate
        Between 0 and 1, higher is better.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> y = np.repeat([0, 1], 20)
    >>> Y = np.random.default_rng(0).normal(10 * y[:, None], size=(40, 2))
    >>> print(quality.knn_accuracy(Y, y))
    1.000
    """
    ranks = compare_ranks(Y, Y, n_neighbors, **options)
    codes = class_codes(check_labels(labels, ranks.n))[1]
    return _accuracy(codes, ranks, ranks.map_ids)


def class_aware_trustworthiness(
    X: Any, Y: Any, labels: Any, n_neighbors: int = 5, **options: Any
) -> IntervalEstimate:
    """Compute trustworthiness that counts only false neighbours of another class.

    Such neighbours make classes look mixed that are apart in the data.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The class of each object.
    n_neighbors : int, default=5
        Size of the neighbourhoods, less than n / 2.
    X, Y, **options
        As in `compare_ranks`.

    Returns
    -------
    IntervalEstimate
        Between 0 and 1, higher is better; at least `trustworthiness`.

    References
    ----------
    Colange, Peltonen, Aupetit, Dutykh and Lespinats, "Steering distortions to preserve classes and
    neighbors in supervised dimensionality reduction", NeurIPS 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> print(quality.class_aware_trustworthiness(X, X[:, :2], X[:, 0] > 0))
    0.983
    """
    ranks = compare_ranks(X, Y, n_neighbors, **options)
    same = _same_class(labels, ranks, ranks.map_ids)
    return mean_of(1 - ranks.penalty(np.where(same, 0, ranks.data_ranks)), ranks.n)


def class_aware_continuity(
    X: Any, Y: Any, labels: Any, n_neighbors: int = 5, **options: Any
) -> IntervalEstimate:
    """Compute continuity that counts only missed neighbours of the same class.

    Such neighbours make a class look torn. Parameters and references are those of
    `class_aware_trustworthiness`.

    Returns
    -------
    IntervalEstimate
        Between 0 and 1, higher is better; at least `continuity`.
    """
    ranks = compare_ranks(X, Y, n_neighbors, **options)
    same = _same_class(labels, ranks, ranks.data_ids)
    return mean_of(1 - ranks.penalty(np.where(same, ranks.map_ranks, 0)), ranks.n)


def knn_r2(Y: Any, values: Any, n_neighbors: int = 10, **options: Any) -> IntervalEstimate:
    """Compute the share of the values' variance that the mean of the k nearest explains.

    Parameters
    ----------
    values : array-like of shape (n,)
        A number of each object.
    Y, n_neighbors, **options
        As in `knn_accuracy`.

    Returns
    -------
    IntervalEstimate
        At most 1, higher is better; 0 or less if neighbours do not predict the values.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> line = np.linspace(0, 1, 100)
    >>> print(quality.knn_r2(line[:, None], line, 2))
    1.000
    """
    ranks = compare_ranks(Y, Y, n_neighbors, **options)
    return _explained_share(check_labels(values, ranks.n).astype(np.float64), ranks, ranks.map_ids)


def silhouette(Y: Any, labels: Any, **options: Any) -> IntervalEstimate:
    """Compute the mean silhouette of the classes on the map.

    Parameters
    ----------
    Y : array-like of shape (n, p)
        The map, or any other vectors.
    labels : array-like of shape (n,)
        The class of each object.
    **options
        Further arguments of `compare_distances`.

    Returns
    -------
    IntervalEstimate
        Between -1 and 1, higher is better.

    References
    ----------
    Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis", Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> from lowdim import quality
    >>> round(quality.silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 2)
    0.9
    """
    from sklearn.metrics import silhouette_samples

    distances = compare_distances(Y, Y, **options)
    codes = class_codes(check_labels(labels, distances.n))[1][distances.objects]
    if not _has_silhouette(codes):
        raise ValueError(
            "labels: a silhouette needs at least two classes, and two objects of one class."
        )
    return mean_of(silhouette_samples(distances.map, codes, metric="precomputed"), distances.n)


def _same_class(labels: Any, ranks: Ranks, ids: Array) -> Array:
    """Which neighbours are of the object's own class."""
    codes = class_codes(check_labels(labels, ranks.n))[1]
    return np.asarray(codes[ids] == codes[ranks.rows][:, None])


def _accuracy(codes: Array, ranks: Ranks, ids: Array) -> IntervalEstimate:
    """Whether the commonest class of the neighbours is the object's own."""
    hits = most_common(codes[ids])[0] == codes[ranks.rows]
    return mean_of(hits.astype(np.float64), ranks.n)


def _explained_share(values: Array, ranks: Ranks, ids: Array) -> IntervalEstimate:
    """The share of the values' variance that the neighbours' mean explains."""
    own = values[ranks.rows]
    spread = float(own.var()) or 1.0
    return mean_of(1 - (values[ids].mean(axis=1) - own) ** 2 / spread, ranks.n)


def _silhouette(D: Array, codes: Array) -> float | None:
    from sklearn.metrics import silhouette_score

    if not _has_silhouette(codes):
        return None
    return float(silhouette_score(D, codes, metric="precomputed"))


def _has_silhouette(codes: Array) -> bool:
    return 2 <= len(np.unique(codes)) < len(codes)
