"""Jackknife and bootstrap of maps, and a permutation test of their stress."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.numerics.procrustes import procrustes
from lowdim.objects.pairs import check_known, dense_pairs
from lowdim.runtime.scheduling import run
from lowdim.summaries import summary

MAX_ROUNDS = 200
TOLERANCE = 1e-9  # movement of the mean in a round, as a share of its size


@summary("Jackknife")
class Jackknife(NamedTuple):
    """Stability of a map when single objects are left out.

    Attributes
    ----------
    stability : float
        1 - squared distances of the replications from their mean, as a share of their sum of
        squares: 1 at best.
    cross_validity : float
        1 - squared distance of the full map from the mean, weighted alike: 1 at best.
    dispersion : float
        2 - (stability + cross_validity): 0 at best.
    mean : ndarray of shape (n, p)
        The mean of the replications.
    base : ndarray of shape (n, p)
        The map of all objects, rotated to the mean.
    replications : ndarray of shape (n, n, p)
        The map without object i in row i, rotated to the mean, with NaN in the place of i.
    """

    stability: float
    cross_validity: float
    dispersion: float
    mean: Array
    base: Array
    replications: Array

    def _facts(self) -> dict[str, Any]:
        names = ("stability", "cross_validity", "dispersion")
        return {name: getattr(self, name) for name in names} | {"n_objects": len(self.base)}


@summary("Bootstrap")
class Bootstrap(NamedTuple):
    """Maps of bootstrap samples of the features.

    Attributes
    ----------
    stability : float
        1 - squared distances of the replications from their mean, as a share of their sum of
        squares: 1 at best.
    base : ndarray of shape (n, p)
        The map of all features, centred.
    replications : ndarray of shape (n_samples, n, p)
        The maps of the samples, rotated, moved and scaled to `base`.
    covariances : ndarray of shape (n, p, p)
        Covariance of the places of each object in the replications.
    """

    stability: float
    base: Array
    replications: Array
    covariances: Array

    def _facts(self) -> dict[str, Any]:
        count, n_objects, _ = self.replications.shape
        return {"stability": self.stability, "n_samples": count, "n_objects": n_objects}


@summary("Permutation test")
class Permutations(NamedTuple):
    """Stress of a map, stresses of maps of permuted dissimilarities, and the p-value."""

    stress: float
    null: Array
    p_value: float

    def _facts(self) -> dict[str, Any]:
        return {
            "stress": self.stress,
            "p_value": self.p_value,
            "least_permuted_stress": float(self.null.min()),
            "n_permutations": len(self.null),
        }


def clone_unfitted(estimator: Any) -> Any:
    """A copy that is not fitted and keeps no checkpoint: those of several fits would clash."""
    copy = clone(estimator)
    return copy.set_params(checkpoint=None) if "checkpoint" in copy.get_params() else copy


def jackknife(estimator: Any, D: Any) -> Jackknife:
    """Leave out each object in turn and compare the maps of the other objects.

    Parameters
    ----------
    estimator : estimator with `metric="precomputed"`
        A method of the stress family. It is cloned, and fitted n + 1 times.
    D : array-like of shape (n, n)
        The dissimilarities.

    Returns
    -------
    Jackknife
        Stability, cross-validity and dispersion, and the aligned maps.

    Notes
    -----
    The replications are rotated and moved to their mean, by turns: Procrustes rotations, with
    reflections, of all of them, then the mean over those that hold an object. They are not scaled:
    sizes carry information, and scaling each to the mean would shrink the mean in every round. In
    the sums of squares the missing object of a replication is at its place in the mean.

    References
    ----------
    de Leeuw and Meulman, "A special jackknife for multidimensional scaling", Journal of
    Classification 3, 1986.

    Examples
    --------
    >>> import lowdim
    >>> D, names = lowdim.data.cities()
    >>> result = lowdim.quality.jackknife(lowdim.MDS(metric="precomputed", random_state=0), D)
    >>> print(f"{result.stability:.2f} {result.cross_validity:.2f}")
    0.96 1.00
    """
    D = check_known(D, "D")
    n = len(D)
    if n < 4:
        raise ValueError(f"D: n_samples = {n}, but leaving one out needs at least 4 objects.")
    base = clone_unfitted(estimator).fit(D).embedding_.astype(np.float64)
    base -= base.mean(axis=0)
    maps = np.full((n, *base.shape), np.nan)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        maps[i, others] = _refit(estimator, D[np.ix_(others, others)], base[others])
    mean, maps = _rotate_to_mean(maps, base)
    base = procrustes(mean, base, scaling=False).aligned
    missing = float(np.sum(mean**2))  # of all replications together
    total = float(np.nansum(maps**2)) + missing
    if total == 0:
        return Jackknife(1.0, 1.0, 0.0, mean, base, maps)
    stability = 1 - float(np.nansum((maps - mean) ** 2)) / total
    validity = 1 - n * float(np.sum((mean - base) ** 2)) / total
    return Jackknife(stability, validity, 2 - (stability + validity), mean, base, maps)


def _refit(estimator: Any, data: Any, start: Array) -> Array:
    """The map of other data that begins at a map, if the method can begin at one."""
    copy = clone_unfitted(estimator)
    if "init" in copy.get_params():
        copy.set_params(init=start)
    return np.asarray(copy.fit(data).embedding_, dtype=np.float64)


def _rotate_to_mean(maps: Array, start: Array) -> tuple[Array, Array]:
    """Rotate and move maps to their mean, each without its missing object, until it converges."""
    n = len(maps)
    mean, maps = start, maps.copy()
    size = float(np.sqrt(np.sum(start**2)))
    for _ in range(MAX_ROUNDS):
        for i in range(n):
            others = np.delete(np.arange(n), i)
            maps[i, others] = procrustes(mean[others], maps[i, others], scaling=False).aligned
        new = np.nanmean(maps, axis=0)
        new -= new.mean(axis=0)
        moved = float(np.sqrt(np.sum((new - mean) ** 2)))
        mean = new
        if moved <= TOLERANCE * size:
            break
    return mean, maps


def bootstrap(
    estimator: Any, X: Any, *, n_samples: int = 100, random_state: Any = None
) -> Bootstrap:
    """Fit maps to bootstrap samples of the features: how sure is the place of each object?

    Parameters
    ----------
    estimator : estimator
        A method that takes vectors, such as `MDS()` or `MDS(metric="correlation")`. It is cloned,
        and fitted n_samples + 1 times.
    X : array-like of shape (n, n_features)
        One object a row. The columns, such as judges or questions, are a sample of those that
        could have been observed: n_features of them are drawn with replacement for each map.
    n_samples : int, default=100
        Number of bootstrap samples.
    random_state : int, RandomState instance or None, optional
        Seed of the samples.

    Returns
    -------
    Bootstrap
        The maps and the covariances of the places, of which `lowdim.plot.ellipses` draws
        confidence regions.

    Notes
    -----
    Maps of samples begin at the map of all features, if the method has `init`, and are rotated,
    moved and scaled to it. So the regions describe the shape of the map, not its position and size.

    References
    ----------
    .. [1] Jacoby and Armstrong, "Bootstrap confidence regions for multidimensional scaling
       solutions", American Journal of Political Science 58, 2014.
    .. [2] Meulman and Heiser, "The display of bootstrap solutions in multidimensional scaling",
       Bell Laboratories, 1983.

    Examples
    --------
    >>> import lowdim
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(8, 2)) @ random.normal(size=(2, 50))
    >>> X += random.normal(size=X.shape)
    >>> result = lowdim.quality.bootstrap(lowdim.MDS(), X, n_samples=20, random_state=0)
    >>> result.covariances.shape
    (8, 2, 2)
    """
    if isinstance(metric := getattr(estimator, "metric", None), str) and metric == "precomputed":
        raise ValueError(
            f"bootstrap draws columns of vectors, but {argument('metric', metric)}. Give vectors "
            "and the metric, or use jackknife."
        )
    X = checks.vectors(X, allow_nan=True)
    count = checks.integer(n_samples, "n_samples", 2)
    random = checks.fixed_random_state(random_state)
    n_features = X.shape[1]
    base = clone_unfitted(estimator).fit(X).embedding_.astype(np.float64)
    base -= base.mean(axis=0)

    def replicate(columns: Array) -> Array:
        sample = np.ascontiguousarray(X[:, columns])
        return procrustes(base, _refit(estimator, sample, base)).aligned

    draws = [random.choice(n_features, n_features) for _ in range(count)]
    maps = np.array(run(replicate, draws))
    apart = maps - maps.mean(axis=0)
    squares = apart[:, :, :, None] * apart[:, :, None, :]
    total = float(np.sum(maps**2))
    stability = 1 - float(np.sum(apart**2)) / total if total else 1.0
    return Bootstrap(stability, base, maps, squares.sum(axis=0) / (count - 1))


def permutation_test(
    estimator: Any, D: Any, *, n_permutations: int = 100, random_state: Any = None
) -> Permutations:
    """Test whether a map of the dissimilarities has less stress than maps of permuted ones.

    Parameters
    ----------
    estimator : estimator with `metric="precomputed"`
        A method of the stress family; it is cloned.
    D : array-like of shape (n, n)
        The dissimilarities.
    n_permutations : int, default=100
        Number of permutations of the pairs.
    random_state : int, RandomState instance or None, optional
        Seed of the permutations.

    Returns
    -------
    Permutations
        The stress, the stresses under the null hypothesis, and the p-value: the share of maps,
        that of D included, whose stress is at most that of D.

    References
    ----------
    Mair, Borg and Rusch, "Goodness-of-fit assessment in multidimensional scaling and unfolding",
    Multivariate Behavioral Research 51, 2016.

    Examples
    --------
    >>> import lowdim
    >>> D, names = lowdim.data.cities()
    >>> mds = lowdim.MDS(metric="precomputed", random_state=0)
    >>> result = lowdim.quality.permutation_test(mds, D, n_permutations=19, random_state=0)
    >>> round(result.p_value, 2)
    0.05
    """
    D = check_known(D, "D")
    count = checks.integer(n_permutations, "n_permutations", 1)
    random = checks.fixed_random_state(random_state)
    pairs = dense_pairs(D)
    shuffled = [pairs.matrix(random.permutation(pairs.values)) for _ in range(count)]

    def stress(values: Array) -> float:
        return float(clone_unfitted(estimator).fit(values).stress_)

    own = stress(D)
    null = np.array(run(stress, shuffled))
    return Permutations(own, null, float((1 + np.sum(null <= own)) / (1 + count)))
