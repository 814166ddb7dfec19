"""Estimates of the intrinsic dimension of the data.

Four estimators: from the number of neighbours within a distance (maximum likelihood), from the
ratio of the distances to the second and first neighbour (two nearest neighbours), from the number
of close pairs (correlation dimension), and from the residual variance of Isomap. Where they differ
much, the dimension depends on the scale, the data are noisy, or the objects are too few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.quality.rows import Rows, blocks_of, choose_objects, choose_rows, data_rows
from lowdim.quality.stress import pairwise_distances
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import summary

ISOMAP_OBJECTS = 1000
MAX_DIMENSIONS = 10  # that Isomap's residual variance is looked at for


@summary("Intrinsic dimension")
@dataclass(frozen=True)
class IntrinsicDimension:
    """Estimates of the intrinsic dimension.

    Attributes
    ----------
    maximum_likelihood, two_nn, correlation : float
        The estimates; NaN where the objects are too few.
    isomap : int or None
        Number of dimensions at which Isomap's residual variance levels off; None if it was not
        computed, or if 10 dimensions explain less than half of the variance.
    consensus : float
        The median of the estimates.
    """

    maximum_likelihood: float
    two_nn: float
    correlation: float
    isomap: int | None
    consensus: float

    def __str__(self) -> str:
        parts = [
            f"maximum likelihood {self.maximum_likelihood:.1f}",
            f"two nearest neighbours {self.two_nn:.1f}",
            f"correlation {self.correlation:.1f}",
        ]
        if self.isomap is not None:
            parts.append(f"Isomap {self.isomap}")
        return f"about {self.consensus:.1f} ({', '.join(parts)})"

    def _facts(self) -> dict[str, Any]:
        return vars(self)


@uses_threads
def intrinsic_dimension(
    X: Any,
    *,
    n_neighbors: int = 20,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    isomap: bool = True,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> IntrinsicDimension:
    """Estimate the intrinsic dimension of the data in several ways.

    Parameters
    ----------
    X, metric, metric_params, n_jobs
        As in `compare_ranks`.
    n_neighbors : int, default=20
        Number of neighbours of the maximum likelihood estimate.
    isomap : bool, default=True
        Whether to fit Isomap to up to 1,000 objects for its residual variance.
    random_state : int, RandomState instance or None, optional
        Seed of the samples of many objects.

    Returns
    -------
    IntrinsicDimension
        The estimates and their median.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(1000, random_state=0)
    >>> lowdim.quality.intrinsic_dimension(X).isomap
    2
    """
    data = data_rows(X, metric, metric_params)
    return dimension_of(data, n_neighbors, isomap, random_state)


def dimension_of(
    data: Rows,
    n_neighbors: int = 20,
    isomap: bool = True,
    random_state: Any = None,
) -> IntrinsicDimension:
    """The estimates for prepared rows."""
    near = nearest_distances(data, min(n_neighbors, data.n - 1), random_state)
    objects = choose_objects(data.n, 2000, random_state)
    D = pairwise_distances(data, objects)
    steps = None
    if isomap and data.n >= 20:
        part = objects[:: -(-len(objects) // ISOMAP_OBJECTS)]
        steps = elbow(isomap_residuals(pairwise_distances(data, part)))
    return dimension_from_distances(near, D[np.triu_indices(len(D), 1)], steps)


def dimension_from_distances(
    near: Array, pairs: Array, isomap: int | None = None
) -> IntrinsicDimension:
    """The estimates from distances to the nearest and between pairs, and their median."""
    values = (from_neighbors(near), from_two_neighbors(near), from_pairs(pairs))
    known = [one for one in (*values, isomap) if one is not None and np.isfinite(one)]
    return IntrinsicDimension(*values, isomap, float(np.median(known)) if known else float("nan"))


def nearest_distances(data: Rows, k: int, random_state: Any = None) -> Array:
    """Distances of a sample of objects to their k nearest among all, (rows, k), ascending."""
    k = checks.n_neighbors(k, data.n)
    parts = []
    for rows in blocks_of(choose_rows(data.n, None, random_state), data.n):
        keys = data.keys(rows)
        keys[np.arange(len(rows)), rows] = np.inf
        parts.append(data.lengths(backend().smallest(keys, k)[1]).astype(np.float64))
    return np.concatenate(parts)


def maximum_likelihood(X: Any, n_neighbors: int = 20, **options: Any) -> float:
    """Estimate the dimension by maximum likelihood.

    Further arguments are those of `intrinsic_dimension`.

    References
    ----------
    Levina and Bickel, "Maximum likelihood estimation of intrinsic dimension", NIPS 2004; averaged
    as MacKay and Ghahramani proposed in 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> round(quality.maximum_likelihood(X))
    2
    """
    return intrinsic_dimension(
        X, n_neighbors=n_neighbors, isomap=False, **options
    ).maximum_likelihood


def two_nn(X: Any, **options: Any) -> float:
    """Estimate the dimension from the two nearest neighbours of each object.

    Arguments are those of `intrinsic_dimension`.

    References
    ----------
    Facco, d'Errico, Rodriguez and Laio, "Estimating the intrinsic dimension of datasets by a
    minimal neighborhood information", Scientific Reports 7, 2017.
    """
    return intrinsic_dimension(X, isomap=False, **options).two_nn


def correlation_dimension(X: Any, **options: Any) -> float:
    """Estimate the correlation dimension.

    Arguments are those of `intrinsic_dimension`.

    References
    ----------
    Grassberger and Procaccia, "Measuring the strangeness of strange attractors", Physica D 9, 1983.
    """
    return intrinsic_dimension(X, isomap=False, **options).correlation


def from_neighbors(near: Array) -> float:
    """Maximum likelihood, from distances to the k nearest (rows, k).

    The inverse estimates of the objects are averaged: 1 / d = mean of ln(T_k / T_j) over j < k.
    """
    inside = near[near[:, 0] > 0]  # duplicates carry no information on the dimension
    if len(inside) == 0 or inside.shape[1] < 3:
        return float("nan")
    logs = np.log(inside[:, -1:] / inside[:, :-1])
    mean = float(logs.mean())
    return 1 / mean if mean > 0 else float("inf")


def from_two_neighbors(near: Array, discard: float = 0.1) -> float:
    """The slope of -ln(1 - F(mu)) over ln mu, mu = r_2 / r_1, without the largest tenth."""
    if near.shape[1] < 2:
        return float("nan")
    inside = near[(near[:, 0] > 0) & (near[:, 1] > near[:, 0])]  # no duplicates, nor two of them
    if len(inside) < 3:
        return float("nan")
    mu = np.sort(np.log(inside[:, 1] / inside[:, 0]))
    kept = max(2, int(len(mu) * (1 - discard)))
    below = np.arange(1, kept + 1) / len(mu)
    x, y = mu[:kept], -np.log1p(-below * len(mu) / (len(mu) + 1))
    square = float(x @ x)
    return float(x @ y) / square if square > 0 else float("inf")


def from_pairs(distances: Array, low: float = 0.002, high: float = 0.05) -> float:
    """The slope of ln C(r) over ln r, where C(r), the share of pairs nearer than r, is small."""
    positive = np.sort(distances[distances > 0])
    if len(positive) < 20:
        return float("nan")
    shares = np.geomspace(max(low, 5 / len(positive)), max(high, 20 / len(positive)), 20)
    at = np.minimum((shares * len(positive)).astype(np.int64), len(positive) - 1)
    x, y = np.log(positive[at]), np.log((at + 1) / len(positive))
    x = x - x.mean()
    square = float(x @ x)
    return float(x @ (y - y.mean())) / square if square > 0 else float("inf")


def isomap_residuals(D: Array) -> Array:
    """Isomap's residual variance in 1, 2, ... dimensions, from dissimilarities."""
    import warnings

    from lowdim.spectral.isomap import Isomap

    model = Isomap(n_neighbors=min(10, len(D) - 1), metric="precomputed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joined components, negative eigenvalues
        return model.fit(D).residual_variance(min(MAX_DIMENSIONS, len(D) - 2))


def elbow(residuals: Any) -> int | None:
    """The number of dimensions at which a falling curve of residual variances bends.

    The entry farthest below the line from the curve's start to its end, by logarithms, for the
    second dimension of a long strip is real though the first explains most. What is below one in
    a thousand counts as that. A curve that hardly falls bends at 1, and has no bend at all, None,
    where most of the variance is left at its end.
    """
    values = np.minimum.accumulate(np.asarray(residuals, dtype=np.float64))
    checks.integer(len(values), "the number of residuals", 1)
    if values[-1] > 0.5:
        return None
    logs = np.log(np.maximum(values, 1e-3))
    if logs[0] - logs[-1] < np.log(2):
        return 1
    line = np.linspace(logs[0], logs[-1], len(logs))
    return int(np.argmax(line - logs)) + 1
