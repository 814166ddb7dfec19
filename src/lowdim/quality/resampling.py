"""How far to trust a map made by stress: is it stable, and is it better than chance?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.backends import native
from lowdim.checks import Array
from lowdim.relations.pairs import check_known, dense_pairs
from lowdim.solvers.procrustes import procrustes


class Jackknife(NamedTuple):
    """How near the maps are to their average (`stability`) and that to the full map
    (`cross_validity`), both 1 at best; `dispersion` is 2 minus the two, 0 at best.

    `replications` holds the map without object i in row i, NaN in the place of i, turned and
    scaled to the average map `mean`.
    """

    stability: float
    cross_validity: float
    dispersion: float
    mean: Array
    replications: Array


class Permutations(NamedTuple):
    """Stress of the map, stresses of maps of shuffled dissimilarities, and the p-value."""

    stress: float
    null: Array
    p_value: float


def jackknife(estimator: Any, D: Any) -> Jackknife:
    """Leave out each object in turn and see how the map of the others changes.

    De Leeuw and Meulman (1986): stability = 1 - (sum of squared distances of the maps without an
    object from their average) / (sum of squares of the maps), after the maps are turned and
    scaled to the average (without the object that is missing in each).

    Parameters
    ----------
    estimator : an estimator of the stress family with metric="precomputed"; it is cloned.
    D : the dissimilarities, n x n. The estimator is fitted n times.
    """
    D = check_known(D, "D")
    n = len(D)
    if n < 4:
        raise ValueError(f"D: n_samples = {n}, but leaving one out needs at least 4 objects.")
    base = clone(estimator).fit(D).embedding_.astype(np.float64)
    base -= base.mean(axis=0)
    maps = np.full((n, *base.shape), np.nan)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        start = {"init": base[others]} if hasattr(estimator, "init") else {}
        fitted = clone(estimator).set_params(**start).fit(D[np.ix_(others, others)])
        maps[i, others] = fitted.embedding_
    mean = base
    for _ in range(20):  # turn all to the average, average anew
        for i in range(n):
            others = np.delete(np.arange(n), i)
            maps[i, others] = procrustes(mean[others], maps[i, others]).aligned
        mean = np.nanmean(maps, axis=0)
    size = float(np.nansum(maps**2))
    stability = 1 - float(np.nansum((maps - mean) ** 2)) / size
    validity = 1 - float(n * np.sum((mean - base) ** 2)) / size
    return Jackknife(stability, validity, 2 - (stability + validity), mean, maps)


def permutation_test(
    estimator: Any, D: Any, *, n_permutations: int = 100, random_state: Any = None
) -> Permutations:
    """Fit dissimilarities dealt to the pairs at random: is the map of D better than those?

    The p-value is the share of maps, that of D included, with a stress as low as that of D
    (Mair, Borg and Rusch 2016). The null hypothesis is that the pairs could be exchanged.

    Parameters
    ----------
    estimator : an estimator of the stress family with metric="precomputed"; it is cloned.
    D : the dissimilarities, n x n.
    """
    D = check_known(D, "D")
    count = checks.integer(n_permutations, "n_permutations", 1)
    random = check_random_state(0 if random_state is None else random_state)
    pairs = dense_pairs(D)
    shuffled = [pairs.matrix(random.permutation(pairs.values)) for _ in range(count)]

    def stress(values: Array) -> float:
        return float(clone(estimator).fit(values).stress_)

    own = stress(D)
    null = np.array(native.run(stress, shuffled, getattr(estimator, "n_jobs", None)))
    return Permutations(own, null, float((1 + np.sum(null <= own)) / (1 + count)))
