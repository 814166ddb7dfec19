"""Measures that compare the map with labels of the objects."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.quality.interval import IntervalEstimate, mean_of
from lowdim.quality.ranks import Ranks, compare_ranks
from lowdim.quality.stress import Distances, compare_distances
from lowdim.runtime.interrupts import watch_interrupts


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
        on_map = _explained_share(values, ranks, ranks.map_ids)
        return LabelQuality(
            "scale", on_map, _explained_share(values, ranks, ranks.data_ids), None, None
        )
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


def neighborhood_hit(
    Y: Any, labels: Any, n_neighbors: int = 10, **options: Any
) -> IntervalEstimate:
    """Compute the mean share of the k nearest on the map that have the object's own class.

    Parameters are those of `knn_accuracy`.

    References
    ----------
    Paulovich, Nonato, Minghim and Levkowitz, "Least square projection: a fast high-precision
    multidimensional projection technique and its application to document mapping", IEEE
    Transactions on Visualization and Computer Graphics 14, 2008.
    """
    ranks = compare_ranks(Y, Y, n_neighbors, **options)
    return mean_of(_same_class(labels, ranks, ranks.map_ids).mean(axis=1), ranks.n)


def distance_consistency(Y: Any, labels: Any) -> float:
    """Compute the share of objects on the map that are nearest to the mean of their own class.

    Y and labels are those of `knn_accuracy`.

    References
    ----------
    Sips, Neubert, Lewis and Hanrahan, "Selecting good views of high-dimensional data using class
    consistency", Computer Graphics Forum 28, 2009.
    """
    placed = _vectors(Y, "Y")
    classes, codes = class_codes(check_labels(labels, len(placed)))
    return float(_nearest_mean_is_own(placed, codes, len(classes)).mean())


def label_trustworthiness(X: Any, Y: Any, labels: Any) -> float:
    """Measure how far classes that are apart in the data are apart on the map.

    For each pair of classes it compares the `distance_consistency` of their objects: 1 minus the
    mean amount by which the map lowers it. It is between 0 and 1, higher is better.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The data.
    Y : array-like of shape (n, p)
        The map.
    labels : array-like of shape (n,)
        The class of each object; at least two classes.

    References
    ----------
    Jeon, Kuo, Aupetit, Ma and Seo, "Classes are not clusters: improving label-based evaluation of
    dimensionality reduction", IEEE Transactions on Visualization and Computer Graphics 30, 2024.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(120, random_state=0)
    >>> lowdim.quality.label_trustworthiness(X, X, y)
    1.0
    """
    data, placed = _consistencies(X, Y, labels)
    return float(1 - np.maximum(data - placed, 0).mean())


def label_continuity(X: Any, Y: Any, labels: Any) -> float:
    """Measure how far classes that are apart on the map are apart in the data.

    1 minus the mean amount by which the map raises the `distance_consistency` of two classes.
    Parameters and references are those of `label_trustworthiness`.
    """
    data, placed = _consistencies(X, Y, labels)
    return float(1 - np.maximum(placed - data, 0).mean())


def class_angular_distortion(
    X: Any, Y: Any, labels: Any, *, n_triplets: int | None = None, random_state: Any = None
) -> IntervalEstimate:
    """Compute how far the map changes the angles under which objects see other classes.

    It is a quarter of the mean squared difference, between data and map, of the cosine of the angle
    at an object between two objects of another class: between 0 and 1, lower is better.

    Parameters
    ----------
    X, Y, labels
        As in `label_trustworthiness`.
    n_triplets : int, optional
        Number of random angles; 10 n by default.
    random_state : int, RandomState instance or None, optional
        Seed of the angles.

    Returns
    -------
    IntervalEstimate
        The estimate from the angles that were drawn, with its interval.

    References
    ----------
    Gunaratne, Kobourov and Miller, "Class angular distortion index for dimensionality reduction",
    EuroVis 2026.
    """
    data, placed, codes, n_classes = _labelled_pair(X, Y, labels)
    counts = np.bincount(codes, minlength=n_classes)
    eligible = np.flatnonzero(counts >= 2)
    if not len(eligible):
        raise ValueError("labels: angles need a class with at least two objects.")
    count = 10 * len(codes) if n_triplets is None else checks.integer(n_triplets, "n_triplets", 2)
    random = checks.fixed_random_state(random_state)
    seen = eligible[random.randint(len(eligible), size=count)]
    own = (seen + 1 + random.randint(n_classes - 1, size=count)) % n_classes
    members, first = np.argsort(codes, kind="stable"), np.cumsum(counts) - counts

    def member(classes: Array, number: Array) -> Array:
        return np.asarray(members[first[classes] + number])

    one = random.randint(counts[seen])
    other = (one + 1 + random.randint(counts[seen] - 1)) % counts[seen]
    corners = member(own, random.randint(counts[own])), member(seen, one), member(seen, other)
    squares = np.concatenate(
        [
            (_cosines(data, *part) - _cosines(placed, *part)) ** 2 / 4
            for part in zip(*(np.array_split(c, 1 + count // 4096) for c in corners), strict=True)
        ]
    )
    return mean_of(squares, len(squares) ** 2)  # of many more angles than were drawn


def class_aware_trustworthiness(
    X: Any, Y: Any, labels: Any, n_neighbors: int = 5, **options: Any
) -> IntervalEstimate:
    """Compute trustworthiness that counts only false neighbours of another class.

    Such neighbours make classes look mixed that are apart in the data. It is between 0 and 1, and
    at least `trustworthiness`, which has the other parameters.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The class of each object.
    X, Y, n_neighbors, **options
        As in `trustworthiness`.

    References
    ----------
    Colange, Peltonen, Aupetit, Dutykh and Lespinats, "Steering distortions to preserve classes and
    neighbors in supervised dimensionality reduction", NeurIPS 2020.
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
    """
    ranks = compare_ranks(X, Y, n_neighbors, **options)
    same = _same_class(labels, ranks, ranks.data_ids)
    return mean_of(1 - ranks.penalty(np.where(same, ranks.map_ranks, 0)), ranks.n)


def knn_r2(Y: Any, values: Any, n_neighbors: int = 10, **options: Any) -> IntervalEstimate:
    """Compute the share of the values' variance that the mean of the k nearest explains.

    It is at most 1, and 0 or less if neighbours do not predict the values.

    Parameters
    ----------
    values : array-like of shape (n,)
        A number of each object.
    Y, n_neighbors, **options
        As in `knn_accuracy`.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> line = np.linspace(0, 1, 100)
    >>> print(quality.knn_r2(line[:, None], line, 2))
    1.000
    """
    ranks = compare_ranks(Y, Y, n_neighbors, **options)
    return _explained_share(check_labels(values, ranks.n), ranks, ranks.map_ids)


def silhouette(Y: Any, labels: Any, **options: Any) -> IntervalEstimate:
    """Compute the mean silhouette of the classes on the map, between -1 and 1.

    Parameters
    ----------
    Y, labels
        As in `knn_accuracy`.
    **options
        Further arguments of `compare_distances`.

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
    with watch_interrupts():
        from sklearn.metrics import silhouette_samples

    distances = compare_distances(Y, Y, **options)
    codes = class_codes(check_labels(labels, distances.n))[1][distances.objects]
    if not _has_silhouette(codes):
        raise ValueError(
            "labels: a silhouette needs at least two classes, and two objects of one class."
        )
    return mean_of(silhouette_samples(distances.map, codes, metric="precomputed"), distances.n)


def _vectors(X: Any, name: str) -> Array:
    return np.asarray(checks.vectors(getattr(X, "embedding_", X), name=name), dtype=np.float64)


def _labelled_pair(X: Any, Y: Any, labels: Any) -> tuple[Array, Array, Array, int]:
    """Data, map, the number of each object's class, and of classes."""
    data, placed = _vectors(X, "X"), _vectors(Y, "Y")
    if len(data) != len(placed):
        raise ValueError(f"Y places {len(placed)} objects, but X has {len(data)}.")
    classes, codes = class_codes(check_labels(labels, len(data)))
    if len(classes) < 2:
        raise ValueError("labels: at least two classes are needed, got one.")
    return data, placed, codes, len(classes)


def _nearest_mean_is_own(points: Array, codes: Array, n_classes: int) -> Array:
    means = np.array([points[codes == c].mean(axis=0) for c in range(n_classes)])
    nearest = np.argmin([np.linalg.norm(points - mean, axis=1) for mean in means], axis=0)
    return np.asarray(nearest == codes)


def _consistencies(X: Any, Y: Any, labels: Any) -> tuple[Array, Array]:
    """The distance consistency of each pair of classes, in the data and on the map."""
    data, placed, codes, n_classes = _labelled_pair(X, Y, labels)
    pairs = []
    for a, b in combinations(range(n_classes), 2):
        some = (codes == a) | (codes == b)
        which = (codes[some] == b).astype(int)
        pairs.append([_nearest_mean_is_own(P[some], which, 2).mean() for P in (data, placed)])
    before, after = np.array(pairs).T
    return before, after


def _cosines(points: Array, corner: Array, one: Array, other: Array) -> Array:
    """The cosine of the angle at each corner; 0 where a side has no length."""
    a, b = points[one] - points[corner], points[other] - points[corner]
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    dots = np.einsum("ij,ij->i", a, b)
    cosines = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return np.asarray(np.clip(cosines, -1, 1))


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
    values = values.astype(np.float64)
    own = values[ranks.rows]
    spread = float(own.var()) or 1.0
    return mean_of(1 - (values[ids].mean(axis=1) - own) ** 2 / spread, ranks.n)


def _silhouette(D: Array, codes: Array) -> float | None:
    with watch_interrupts():
        from sklearn.metrics import silhouette_score

    if not _has_silhouette(codes):
        return None
    return float(silhouette_score(D, codes, metric="precomputed"))


def _has_silhouette(codes: Array) -> bool:
    return 2 <= len(np.unique(codes)) < len(codes)
