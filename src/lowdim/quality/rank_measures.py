"""The measures by ranks, one function each; `compare_ranks` gives them all from one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.quality.interval import IntervalEstimate, mean_of
from lowdim.quality.ranks import Curve, PointErrors, Split, compare_ranks
from lowdim.quality.rows import blocks_of, data_rows, map_rows
from lowdim.runtime.scheduling import use_threads


def trustworthiness(
    X: Any, Y: Any = None, n_neighbors: int = 5, *, X_embedded: Any = None, **options: Any
) -> IntervalEstimate:
    """Measure how far the neighbours on the map are neighbours in the data.

    Parameters
    ----------
    n_neighbors : int, default=5
        Size of the neighbourhoods, less than n / 2.
    X_embedded : array-like of shape (n, p), optional
        The name of Y in scikit-learn; give one of the two.
    X, Y, **options
        As in `compare_ranks`.

    Returns
    -------
    IntervalEstimate
        Between 0 and 1, higher is better. Equal to scikit-learn's where all rows are compared.

    References
    ----------
    Venna and Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> print(quality.trustworthiness(X, X[:, :2]))
    0.871
    """
    if (Y is None) == (X_embedded is None):
        raise TypeError("trustworthiness needs one map: give either Y or X_embedded.")
    placed = X_embedded if Y is None else Y
    return compare_ranks(X, placed, n_neighbors, **options).trustworthiness


def continuity(X: Any, Y: Any, n_neighbors: int = 5, **options: Any) -> IntervalEstimate:
    """Measure how far neighbours in the data stay neighbours on the map, between 0 and 1.

    Trustworthiness with the data and the map exchanged; parameters and references are those of
    `trustworthiness`.
    """
    return compare_ranks(X, Y, n_neighbors, **options).continuity


def mean_relative_rank_errors(
    X: Any, Y: Any, n_neighbors: int = 5, **options: Any
) -> tuple[IntervalEstimate, IntervalEstimate]:
    """Measure by how much ranks of neighbours change, relative to the ranks.

    Two errors between 0 and 1, lower is better: that of the neighbours on the map, and that of the
    neighbours in the data. Parameters are those of `trustworthiness`.

    References
    ----------
    Lee and Verleysen, "Nonlinear Dimensionality Reduction", Springer 2007.
    """
    ranks = compare_ranks(X, Y, n_neighbors, **options)
    return ranks.mrre_map, ranks.mrre_data


def neighborhood_preservation(
    X: Any, Y: Any, n_neighbors: int = 5, **options: Any
) -> IntervalEstimate:
    """Compute the share of the k nearest in the data that are among the k nearest on the map.

    This is Q_NX(k), between 0 and 1. Parameters are those of `trustworthiness`.
    """
    return compare_ranks(X, Y, n_neighbors, **options).neighborhood_preservation


def local_continuity(X: Any, Y: Any, n_neighbors: int = 5, **options: Any) -> IntervalEstimate:
    """Compute the local continuity meta-criterion: kept neighbours beyond those kept by chance.

    It is Q_NX(k) - k / (n - 1): 0 for a random map and 1 - k / (n - 1) for a perfect one.
    Parameters are those of `trustworthiness`.

    References
    ----------
    Chen and Buja, "Local multidimensional scaling for nonlinear dimension reduction, graph drawing,
    and proximity analysis", Journal of the American Statistical Association 104, 2009.
    """
    ranks = compare_ranks(X, Y, n_neighbors, **options)
    kept = (ranks.map_ranks <= ranks.n_neighbors).mean(axis=1)
    return mean_of(kept - ranks.n_neighbors / (ranks.n - 1), ranks.n)


def topographic_product(
    X: Any,
    Y: Any,
    n_neighbors: int = 5,
    *,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> IntervalEstimate:
    """Compute the topographic product over the neighbourhoods of up to k objects.

    Parameters are those of `trustworthiness`.

    Returns
    -------
    IntervalEstimate
        0 if all neighbourhoods are preserved; as a rule negative if the map has too few dimensions
        and positive if it has too many.

    Notes
    -----
    For the j-th neighbours of an object in the data and on the map, Q1 is the distance in the data
    to the one on the map over that to the one in the data, and Q2 the same of distances on the map.
    The measure is the mean over objects and sizes K of neighbourhoods of the logarithm of
    (prod Q1 Q2 over j up to K)^(1 / 2K). It is not defined for objects in the same place.

    References
    ----------
    Bauer and Pawelzik, "Quantifying the neighborhood preservation of self-organizing feature
    maps", IEEE Transactions on Neural Networks 3, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import quality
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> print(quality.topographic_product(X, 2 * X))
    0.000
    """
    space: dict[str, Any] = {"metric": metric, "metric_params": metric_params}
    with use_threads(n_jobs):
        ranks = compare_ranks(X, Y, n_neighbors, **space, **options)
        data, placed = data_rows(X, **space), map_rows(Y, ranks.n)
        parts = []
        for rows in blocks_of(ranks.rows, ranks.n):
            at = np.searchsorted(ranks.rows, rows)
            across = np.take_along_axis(data.distances(rows), ranks.map_ids[at], axis=1)
            back = np.take_along_axis(placed.distances(rows), ranks.data_ids[at], axis=1)
            lengths = (across, ranks.map_distances[at], ranks.data_distances[at], back)
            if min(float(part.min()) for part in lengths) <= 0:
                raise ValueError(
                    "X, Y: the topographic product is not defined if neighbours are in the same "
                    "place; leave out duplicates."
                )
            first, second, third, fourth = (np.log(part.astype(np.float64)) for part in lengths)
            sums = np.cumsum(first + second - third - fourth, axis=1)
            parts.append((sums / (2 * np.arange(1, ranks.n_neighbors + 1))).mean(axis=1))
    return mean_of(np.concatenate(parts), ranks.n)


def density_correlation(X: Any, Y: Any, n_neighbors: int = 15, **options: Any) -> float:
    """Compute the rank correlation of local scale in the data and on the map.

    The local scale of an object is the distance to its k-th nearest neighbour. Parameters are
    those of `trustworthiness`.
    """
    return compare_ranks(X, Y, n_neighbors, **options).density_correlation


def qnx(X: Any, Y: Any, **options: Any) -> Curve:
    """Compute Q_NX(K), the share of the K nearest that are the same in the data and on the map.

    For every K with up to 5,000 objects; for sizes K evenly spaced in log K with more. Parameters
    are those of `trustworthiness`, without `n_neighbors`.
    """
    return compare_ranks(X, Y, 1, **options).qnx


def rnx_curve(X: Any, Y: Any, **options: Any) -> Curve:
    """Compute R_NX(K): Q_NX rescaled so that a random map has 0 and a perfect one 1.

    Parameters are those of `qnx`.

    References
    ----------
    Lee, Renard, Bernard, Dupont and Verleysen, "Type 1 and 2 mixtures of Kullback-Leibler
    divergences as cost functions in dimensionality reduction", Neurocomputing 112, 2013.
    """
    return compare_ranks(X, Y, 1, **options).rnx


def rnx_auc(X: Any, Y: Any, **options: Any) -> IntervalEstimate:
    """Compute the area under R_NX over log K, in which small neighbourhoods count most.

    It is 0 for a random map and 1 for a perfect one. Parameters are those of `qnx`.

    References
    ----------
    Lee, Peluffo-Ordóñez and Verleysen, "Multi-scale similarities in stochastic neighbour
    embedding", Neurocomputing 169, 2015.
    """
    return compare_ranks(X, Y, 1, **options).rnx_auc


def local_global(X: Any, Y: Any, **options: Any) -> Split:
    """Average Q_NX over small and over large neighbourhoods.

    Parameters are those of `qnx`.

    Returns
    -------
    Split
        `K_max`, the size at which Q_NX exceeds that of a random map most; the mean of Q_NX up to
        that size (`local`) and from it on (`global_`).

    References
    ----------
    Lee and Verleysen, "Scale-independent quality criteria for dimensionality reduction", Pattern
    Recognition Letters 31, 2010.
    """
    return compare_ranks(X, Y, 1, **options).split


def point_errors(X: Any, Y: Any, n_neighbors: int = 15, **options: Any) -> PointErrors:
    """Find which neighbours of each object the map lost, and which it shows falsely.

    Parameters are those of `trustworthiness`.
    """
    return compare_ranks(X, Y, n_neighbors, **options).point_errors
