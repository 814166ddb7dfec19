"""`reliability`: how far the place of each object on a map can be believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.catalog import find
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.objects.objects import Objects, is_precomputed
from lowdim.quality.resampling import clone_unfitted
from lowdim.quality.rows import Rows, data_rows, in_same_row, map_rows, placed_objects
from lowdim.quality.suspects import outlier_factors
from lowdim.runtime.scheduling import uses_threads
from lowdim.summaries import html_facts, short_repr

DEFAULT_NEIGHBORS = 15
LEAST_OBJECTS = 5
MOST_SHOWN = 20_000  # objects whose reliability pages show; the time of one fit
UNSTABLE_WEIGHT = 0.5
N_CHANGES = 3  # of each object
CHANGE = 0.5  # as a share of the way to a neighbour
SUBSAMPLE = 0.8  # of the objects
TOLERANCES = (3, 9)  # multiples of k within which neighbours count as kept


@dataclass(frozen=True, eq=False)
class Reliability:
    """How far the place of each object can be believed, with its parts.

    Attributes
    ----------
    score : ndarray of shape (n,)
        Between 0 and 1, higher is better: one minus the mean of `false` and `missed`, and of
        `unstable` with half of their weight.
    false : ndarray of shape (n,)
        Share of the k nearest on the map that are not among the 3 k nearest in the data, and the
        same of the 9 k nearest, averaged: far neighbours count twice.
    missed : ndarray of shape (n,)
        The same of the k nearest in the data that are not near on the map.
    unstable : ndarray of shape (n,) or None
        The same of the k nearest on the map that are not near on other maps of the same data, or of
        a part of them; None if there are none.
    perturbed : ndarray of shape (n,) or None
        The same of the k nearest on the map of the object itself that are not near after a change
        of the object, half of the way to some of its neighbours in the data; None if it was not
        asked for. It is no part of the score.
    displaced : ndarray of shape (n,)
        How far the object is from where its neighbours in the data lie on the map: 0 at their
        median place, 1 far away. It is no part of the score.
    unseen : ndarray of shape (n,)
        How much farther the object is from its neighbours in the data than these are from theirs:
        0 if not farther, towards 1 for an outlier. It is no part of the score.
    n_neighbors : int
        Number of neighbours k.
    """

    score: Array
    false: Array
    missed: Array
    unstable: Array | None
    perturbed: Array | None
    displaced: Array
    unseen: Array
    n_neighbors: int

    def least(self, count: int = 10) -> Array:
        """Return the row numbers of the least reliable objects."""
        order = np.lexsort((np.arange(len(self.score)), self.score))
        return np.asarray(order[: checks.integer(count, "count", 1)])

    def __repr__(self) -> str:
        return short_repr(self, {"mean": float(self.score.mean()), "n_objects": len(self.score)})

    def __str__(self) -> str:
        low = int((self.score < 0.5).sum())
        return (
            f"Mean reliability {self.score.mean():.2f}; {low:,} of {len(self.score):,} objects are "
            "below one half."
        )

    def _repr_html_(self) -> str:
        known = {
            name: float(np.mean(values))
            for name, values in vars(self).items()
            if isinstance(values, np.ndarray)
        }
        return html_facts(f"Reliability of {len(self.score):,} objects, means", known)


@uses_threads
def reliability(
    map: Any,
    X: Any,
    *,
    other_maps: Iterable[Any] = (),
    n_seeds: int = 0,
    n_subsamples: int = 0,
    perturb: bool = False,
    n_neighbors: int = DEFAULT_NEIGHBORS,
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Reliability:
    """Measure how far the place of each object on a map can be believed.

    Parameters
    ----------
    map : array-like of shape (n, p) or fitted estimator
        The map.
    X, metric, metric_params, n_jobs
        As in `compare_ranks`.
    other_maps : iterable of arrays or fitted estimators, optional
        Further maps of the same objects, for the stability.
    n_seeds : int, default=0
        Number of further maps that are fitted with other seeds, and from a random start if the
        method keeps only neighbours. The map must be an estimator.
    n_subsamples : int, default=0
        Number of further maps that are fitted to four fifths of the objects, for the stability of
        these. The map must be an estimator, and X an array.
    perturb : bool, default=False
        Whether to compute `perturbed`, by `transform` of an estimator: three new objects for each.
    n_neighbors : int, default=15
        Size of the neighbourhoods.
    random_state : int, RandomState instance or None, optional
        Seed of the seeds and of the subsamples.

    Returns
    -------
    Reliability
        One number for each object, with its parts.

    Notes
    -----
    Maps are compared by their neighbours, so rotation and scale do not matter. An object whose
    neighbours in the data lie in two places on the map is displaced from at least one of them:
    another start can move it there. A change of the object moves it there where the map is not
    continuous (Liu, Ma and Zhong 2025). Maps of parts of the data find objects in a wrong group
    better than maps of other seeds do. In `benchmarks/questions.py`, where the objects in a wrong
    group are known, `perturbed` finds these less well than the parts of the score, and
    adding it to the score made that worse.

    References
    ----------
    Liu, Ma and Zhong, "Assessing and improving reliability of neighbor embedding methods: a
    map-continuity perspective", Nature Communications 16, 2025.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(150, random_state=0)
    >>> Y = lowdim.PCA(2).fit_transform(X)
    >>> Y[3] = Y[y != y[3]][0]
    >>> lowdim.quality.reliability(Y, X).least(1).tolist()
    [3]
    """
    data = data_rows(X, metric, metric_params)
    if data.n < LEAST_OBJECTS:
        raise ValueError(
            f"X: n_samples = {data.n}, but reliability needs at least {LEAST_OBJECTS} objects."
        )
    placed_rows = map_rows(map, data.n)
    Y = np.asarray(placed_rows.objects.vectors("the map"), dtype=np.float64)
    k = checks.integer(n_neighbors, "n_neighbors", 1)
    k = min(k, max(1, (data.n - 1) // (2 * TOLERANCES[0])))
    wide = min(TOLERANCES[-1] * k, data.n - 1)
    graph = data.objects.neighbor_graph(wide, None, "auto")
    near, distances = graph.indices, graph.distances.astype(np.float64)
    placed, reach = _neighbors(placed_rows, wide)
    false = _missing(placed[:, :k], near)
    missed = _missing(near[:, :k], placed)
    away = np.linalg.norm(Y - np.median(Y[near[:, :k]], axis=1), axis=1)
    scale = np.maximum(reach[:, TOLERANCES[0] * k - 1], np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):  # its neighbours are all at one place
        displaced = 1 - 1 / (1 + (away / scale) ** 2)
    further = [
        *other_maps,
        *_other_seeds(map, X, checks.integer(n_seeds, "n_seeds", 0), random_state),
    ]
    others = [_neighbors(map_rows(other, data.n), wide)[0] for other in further]
    changes = [_missing(placed[:, :k], one) for one in others]
    count = checks.integer(n_subsamples, "n_subsamples", 0)
    changes += _subsample_changes(map, X, Y, k, count, is_precomputed(metric), random_state)
    unstable = None
    if changes:
        known = ~np.isnan(changes)
        mean = np.nansum(changes, axis=0) / np.maximum(known.sum(axis=0), 1)
        unstable = np.where(known.any(axis=0), mean, (false + missed) / 2)  # in no subsample
    perturbed = _change_shares(map, Y, data.objects, near[:, :k], placed) if perturb else None
    factors = outlier_factors(near[:, :k], distances[:, :k])
    unseen = 1 - 1 / np.maximum(factors, 1.0)
    bad = (false + missed) / 2
    if unstable is not None:
        bad = (false + missed + UNSTABLE_WEIGHT * unstable) / (2 + UNSTABLE_WEIGHT)
    return Reliability(1 - bad, false, missed, unstable, perturbed, displaced, unseen, k)


def doubts(Y: Array, X: Any, metric: Any = "euclidean") -> Array:
    """One minus the reliability of each object, for pages; NaN outside of a sample of many."""
    doubt = np.full(len(Y), np.nan, np.float32)
    at, X, Y = placed_objects(X, Y, metric, MOST_SHOWN)
    if len(at) >= LEAST_OBJECTS:
        doubt[at] = 1 - reliability(Y, X, metric=metric).score
    return doubt


def _other_seeds(map: Any, X: Any, count: int, random_state: Any) -> Iterator[Any]:
    """Further maps by the same estimator."""
    if not count:
        return
    if not hasattr(map, "get_params") or "random_state" not in map.get_params():
        raise ValueError(
            f"{argument('n_seeds')} needs a map that is an estimator with "
            f"{argument('random_state')}: give other maps instead."
        )
    random = checks.fixed_random_state(random_state)
    for seed in random.randint(2**31 - 1, size=count).tolist():
        yield clone_unfitted(map).set_params(random_state=seed, **_random_start(map)).fit(X)


def _random_start(map: Any) -> dict[str, str]:
    """The parameters of a random start, if the method keeps only neighbours."""
    row = find(type(map).__name__)
    return {"init": "random"} if row and row.local_only and "init" in map.get_params() else {}


def _subsample_changes(
    map: Any, X: Any, Y: Array, k: int, count: int, square: bool, random_state: Any
) -> list[Array]:
    """The shares of neighbours that maps of parts of the objects lose; NaN for other objects."""
    if not count:
        return []
    if not hasattr(map, "get_params") or not hasattr(X, "shape"):
        raise ValueError(
            f"{argument('n_subsamples')} needs a map that is an estimator, and X as an array."
        )
    random = checks.fixed_random_state(random_state)
    changes = []
    for _ in range(count):
        rows = np.sort(random.choice(len(Y), int(SUBSAMPLE * len(Y)), replace=False))
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        part = part[:, rows] if square else part
        other = clone_unfitted(map).set_params(**_random_start(map)).fit(part)
        wide = min(TOLERANCES[-1] * k, len(rows) - 1)
        placed, new = (_neighbors(map_rows(one, len(rows)), wide)[0] for one in (Y[rows], other))
        changes.append(np.full(len(Y), np.nan))
        changes[-1][rows] = _missing(placed[:, :k], new)
    return changes


def _change_shares(map: Any, Y: Array, objects: Objects, near: Array, placed: Array) -> Array:
    """The share of neighbours that change when the map places the objects after a change."""
    from scipy.spatial import KDTree

    if not hasattr(map, "transform"):
        raise ValueError(f"{argument('perturb')} needs a map that is an estimator with transform.")
    X, (n, k) = objects.vectors(argument("perturb")), near.shape
    tree, shares = KDTree(Y), []
    for neighbor in near[:, np.linspace(k / 3, k, N_CHANGES).astype(int) - 1].T:
        ids = np.asarray(tree.query(map.transform(X + CHANGE * (X[neighbor] - X)), k + 1)[1])
        own = ids == np.arange(n)[:, None]
        own[~own.any(axis=1), -1] = True  # the object is no neighbour of itself
        shares.append(_missing(ids[~own].reshape(n, k), placed))
    return np.asarray(np.mean(shares, axis=0))


def _neighbors(rows: Rows, k: int) -> tuple[Array, Array]:
    graph = rows.objects.neighbor_graph(k)
    return graph.indices, graph.distances.astype(np.float64)


def _missing(ids: Array, others: Array) -> Array:
    """The share of each row's entries that are not in the same row of others, over tolerances."""
    k = ids.shape[1]
    shares = [1 - in_same_row(ids, others[:, : times * k]).mean(axis=1) for times in TOLERANCES]
    return np.asarray(np.mean(shares, axis=0))
