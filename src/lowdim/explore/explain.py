"""`explain`: which features a map follows, where, and in which direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.explore.naming import Effect, FeatureTable, feature_table
from lowdim.explore.regions import Regions, map_coordinates
from lowdim.objects.objects import objects_of
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run, uses_threads
from lowdim.summaries import html_table, short_repr, text_table

DEFAULT_NEIGHBORS = 30
RIDGE = 1e-5  # of the local fits, relative to the spread of the neighbours
MOST_LISTED = 10


@dataclass(frozen=True, eq=False)
class Explanation:
    """Which features a map follows.

    Features are in units of their standard deviation, and positions in units of the map.

    Attributes
    ----------
    features : list of str
        Names of the features.
    r2 : ndarray of shape (d,)
        Share of each feature's variance that the position on the map predicts: each object by
        a plane through its neighbours on the map, without the object itself. At most 1, and 0 or
        less for a feature that the map does not follow.
    directions : ndarray of shape (d, p)
        The slope of each feature over the whole map, by linear regression on the position.
    linear_r2 : ndarray of shape (d,)
        The share of the variance that this plane explains.
    gradients : ndarray of shape (n, d, p)
        The slope of each feature near each object; NaN for objects without coordinates.
    """

    features: list[str]
    r2: Array
    directions: Array
    linear_r2: Array
    gradients: Array
    _table: FeatureTable
    _neighbors: Array
    _at: Array

    @cached_property
    def strengths(self) -> Array:
        """How much each feature changes near each object, (n, d): the lengths of the gradients."""
        return np.asarray(np.linalg.norm(self.gradients, axis=2))

    def changing(self, count: int = 8) -> Array:
        """Return the name of the feature that changes most near each object, (n,).

        Features that the map does not follow are left out. Of more than `count` features, the rarer
        ones are "others"; objects without coordinates have None.
        """
        checks.integer(count, "count", 1)
        followed = np.flatnonzero(self.r2 > 0)
        names = np.array([*(self.features[i] for i in followed), "others", None], dtype=object)
        most = np.full(len(self.gradients), len(names) - 1)
        if len(followed):
            most[self._at] = self.strengths[np.ix_(self._at, followed)].argmax(axis=1)
        commonest = np.argsort(-np.bincount(most, minlength=len(names))[:-2], kind="stable")
        most[np.isin(most, commonest[count:])] = len(names) - 2
        return np.asarray(names[most])

    def top(self, count: int = 5) -> list[str]:
        """Return the features that the map follows most."""
        order = np.argsort(-self.r2, kind="stable")
        return [self.features[i] for i in order[: checks.integer(count, "count", 1)]]

    def region(self, members: Any) -> list[Effect]:
        """Return how some objects differ from all others, the largest effect first.

        Parameters
        ----------
        members : array-like of int
            Row numbers, such as `regions.members(3)`.
        """
        return self._table.effects(_row_numbers(members, "members", len(self._table.values)))

    def contrast(self, first: Any, second: Any) -> list[Effect]:
        """Return how the objects `first` differ from the objects `second`."""
        n = len(self._table.values)
        return self._table.effects(
            _row_numbers(first, "first", n), _row_numbers(second, "second", n)
        )

    def object(self, row: int) -> list[Effect]:
        """Return how an object differs from its neighbours on the map, the largest effect first.

        Sizes are in standard deviations of the whole feature.
        """
        row = checks.integer(row, "row", 0, len(self._table.values) - 1)
        place = int(np.searchsorted(self._at, row))
        if place == len(self._at) or self._at[place] != row:
            raise ValueError(f"row: object {row} has no coordinates on the map.")
        values = self._table.values
        own, around = values[row], np.nanmean(values[self._at[self._neighbors[place]]], axis=0)
        spread = np.nanstd(values, axis=0)
        sizes = (own - around) / np.where(spread > 0, spread, 1.0)
        return self._table.largest_first(sizes, own, around)

    def by_region(self, regions: Regions, k: int | None = None) -> list[dict[str, Any]]:
        """Return the features that set each region apart, and those that change most inside it.

        Parameters
        ----------
        regions : Regions
            The regions of the map.
        k : int, optional
            Number of regions; by default all leaves.

        Returns
        -------
        list of dict
            For each region its `region`, `name` and `size`, its `effects` against all others,
            and `changing`: pairs of a feature and its mean slope within the region.
        """
        level = regions.at(regions.n_leaves if k is None else k)
        rows = []
        for at, region in enumerate(level.regions):
            members = np.flatnonzero(level.membership == at)
            slopes = self.gradients[members].mean(axis=0)
            order = np.argsort(-np.linalg.norm(slopes, axis=1), kind="stable")[:MOST_LISTED]
            rows.append(
                {
                    "region": region.id,
                    "name": region.name,
                    "size": len(members),
                    "effects": self._table.effects(members)[:MOST_LISTED],
                    "changing": [(self.features[i], slopes[i]) for i in order],
                }
            )
        return rows

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each feature, the best followed first."""
        import pandas as pd

        columns = {"r2": self.r2, "linear_r2": self.linear_r2}
        columns |= {f"slope{axis}": self.directions[:, axis] for axis in range(self.n_axes)}
        frame = pd.DataFrame(columns, index=pd.Index(self.features, name="feature"))
        return frame.sort_values("r2", ascending=False, kind="stable")

    @property
    def n_axes(self) -> int:
        """Number of dimensions of the map."""
        return int(self.directions.shape[1])

    def __repr__(self) -> str:
        return short_repr(self, {"n_features": len(self.features), "best": self.top(1)[0]})

    def _rows(self) -> list[list[str]]:
        order = np.argsort(-self.r2, kind="stable")[:MOST_LISTED]
        rows = [["feature", "R²", "linear R²", "slope"]]
        for i in order:
            slope = " ".join(f"{value:+.3f}" for value in self.directions[i])
            rows.append([self.features[i], f"{self.r2[i]:.3f}", f"{self.linear_r2[i]:.3f}", slope])
        return rows

    def __str__(self) -> str:
        return "\n".join(text_table(self._rows()))

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return html_table("Features that the map follows", ["", *head[1:]], rows)


@uses_threads
def explain(
    map: Any,
    X: Any,
    *,
    feature_names: Any = None,
    n_neighbors: int = DEFAULT_NEIGHBORS,
    n_jobs: int | None = None,
) -> Explanation:
    """Find which features a map follows, where, and in which direction.

    Parameters
    ----------
    map : array-like of shape (n, p) or fitted estimator
        The map.
    X : array-like or DataFrame of shape (n, d)
        Features of the objects, those that the map was made of or others.
    feature_names : sequence of str, optional
        Names of the columns of X; by default those of a DataFrame, else "column 0" and so on.
    n_neighbors : int, default=30
        Number of neighbours on the map of each local fit.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    Explanation
        The fit of each feature by position, its slope over the whole map and near each object, and
        contrasts of regions and objects.

    Notes
    -----
    Near each object every feature is fitted by a plane through the object's neighbours on the map,
    with weights that fall with the distance. The object itself is left out, so its prediction is
    cross-validated and R² is that of objects not seen by the fit. The slope of the plane is the
    local gradient. For PCA the slopes over the whole map are the loadings: `directions` of
    features with their own standard deviation are `components_.T` in units of it.

    The time is proportional to n d n_neighbors.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(500, random_state=0)
    >>> sorted(lowdim.explain(X[:, [0, 2]], X).top(2))
    ['column 0', 'column 2']
    """
    Y, placed = map_coordinates(map)
    table = feature_table(X, len(Y), feature_names)
    at = np.flatnonzero(placed)
    p, d = Y.shape[1], len(table.names)
    least = p + 2
    if len(at) <= least:
        raise ValueError(f"map places {len(at)} objects; local fits in {p} dimensions need more.")
    k = min(checks.integer(n_neighbors, "n_neighbors", least), len(at) - 1)
    memory.claim(8 * len(Y) * d * p, "The gradients of all features", "Explain fewer features.")
    places = np.ascontiguousarray(Y[at])
    graph = objects_of(places, "euclidean", None).neighbor_graph(k)
    values = _standardize(table.values[at])
    gradients, predicted = _local_planes(places, values, graph.indices, graph.distances)
    every = np.full((len(Y), d, p), np.nan)
    every[at] = gradients
    directions, linear = _plane(places, values)
    return Explanation(
        table.names,
        _explained_share(values, predicted),
        directions,
        _explained_share(values, linear),
        every,
        table,
        graph.indices,
        at,
    )


def _row_numbers(rows: Any, name: str, n: int) -> Array:
    numbers = np.asarray(rows)
    if numbers.dtype == bool and len(numbers) == n:
        return np.flatnonzero(numbers)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"{name} must be row numbers, at least one.")
    if numbers.min() < 0 or numbers.max() >= n:
        raise ValueError(f"{name} must be row numbers from 0 to {n - 1}.")
    return numbers


def _explained_share(values: Array, fitted: Array) -> Array:
    """R² of each column; 0 for one that is constant."""
    variance = values.var(axis=0)
    share = 1 - ((values - fitted) ** 2).mean(axis=0) / np.where(variance > 0, variance, 1.0)
    return np.where(variance > 0, share, 0.0)


def _standardize(values: Array) -> Array:
    """Columns with mean 0 and standard deviation 1; gaps get the mean."""
    spread = np.nanstd(values, axis=0)
    centered = values - np.nanmean(values, axis=0)
    return np.asarray(np.nan_to_num(centered / np.where(spread > 0, spread, 1.0)))


def _plane(places: Array, values: Array) -> tuple[Array, Array]:
    """The slopes of all features over the whole map, and their fit."""
    centered = places - places.mean(axis=0)
    slopes = np.linalg.lstsq(centered, values, rcond=None)[0]
    return slopes.T, centered @ slopes + values.mean(axis=0)


def _local_planes(
    places: Array, values: Array, ids: Array, distances: Array
) -> tuple[Array, Array]:
    """Slopes of the features near each object, and the prediction without the object."""
    n, p = places.shape
    gradients = np.empty((n, values.shape[1], p))
    predicted = np.empty(values.shape)

    def fill(part: slice) -> None:
        near = ids[part]
        reach = distances[part, -1:].astype(np.float64)
        reach = np.where(reach > 0, reach, 1.0)
        weights = (1 - (distances[part] / reach) ** 3 * 0.999) ** 3  # tricube
        offsets = (places[near] - places[part, None]) / reach[:, :, None]
        design = np.concatenate([np.ones((*offsets.shape[:2], 1)), offsets], axis=2)
        weighted = design * weights[:, :, None]
        normal = np.einsum("nki,nkj->nij", weighted, design)
        normal[:, np.arange(1, p + 1), np.arange(1, p + 1)] += RIDGE * weights.sum(axis=1)[:, None]
        solved = np.linalg.solve(normal, np.swapaxes(weighted, 1, 2))  # (rows, p + 1, k)
        fitted = np.einsum("nik,nkd->nid", solved, values[near])
        predicted[part] = fitted[:, 0]
        gradients[part] = np.swapaxes(fitted[:, 1:], 1, 2) / reach[:, :, None]

    run(fill, blocks(n, max(16, 2**21 // (ids.shape[1] * max(values.shape[1], 1)))))
    return gradients, predicted
