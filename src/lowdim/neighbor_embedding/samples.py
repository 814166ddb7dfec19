"""Samples of the other objects of each object that are denser for nearer ones.

Objects are divided at random into groups: one group at level 0, and `RATIO` times as many, each a
part of a group of the level before, at every further level. The sample of an object has its nearest
objects in its groups of all levels. An object beyond the reach of the levels before stands for
about RATIO^level objects at about its distance.

de Bodt, Mulders, Verleysen and Lee (2020) take the neighbours of larger scales from smaller
subsets. Here a sample has known weights, so that sums over all objects can be estimated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.metrics import to_euclidean
from lowdim.neighbor_graphs.indexes import has_candidates, ranked_candidates
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Dissimilarities, MeasuredObjects, Objects
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

RATIO = 8  # objects of a group for each one of its parts
# Nearest objects of each level, in the data and again on the map. Up to MANY objects the maps have
# the quality of those of all pairs; a larger sample has less of an effect there.
NEAR, NEAR_OF_MANY, MANY = 128, 40, 4000
MEMBERS = 64  # least number of objects of a group, on average, within a perplexity
SMALL_GROUP = 512  # objects up to which all distances of a group are computed
ROWS = 1024  # handled at once


class Lists(NamedTuple):
    """Other objects of each object: those of i are the entries indptr[i] to indptr[i + 1] - 1.

    Entry k is the object indices[k] at the squared distance squared[k], and stands for weights[k]
    objects.
    """

    indptr: Array
    indices: Array
    squared: Array
    weights: Array

    def precisions(self, perplexities: Array) -> Array:
        """The precisions (n, n_perplexities) of Gaussian probabilities of some perplexities."""
        lists = self.indptr, self.squared, self.weights
        return backend().listed_precisions(*lists, perplexities)

    def spreads(self) -> Array:
        """The mean of the squared distances of each list."""
        sums = np.add.reduceat(self.squared, self.indptr[:-1], dtype=np.float64)
        return np.asarray(sums / np.diff(self.indptr))

    def divergence(
        self, widths: Array, precisions: Array, trade_off: float
    ) -> Callable[[Array], tuple[float, float, Array]]:
        """`listed_divergence_gradient` as a function of coordinates.

        `widths` are the precisions in the data, `precisions` those on the map, (n, n_scales).
        """
        costs = backend().mixture_costs(self.indptr, self.squared, self.weights, widths)
        scales = np.ascontiguousarray(precisions, dtype=self.squared.dtype)
        lists = self.indptr, self.indices, costs, self.weights
        return lambda Y: backend().listed_divergence_gradient(*lists, scales, trade_off, Y)


@dataclass(frozen=True)
class Levels:
    """The nearest objects in the groups of all levels, and the reach of each level."""

    indices: Array  # int32, of shape (n, n_entries); -1: none
    distances: Array
    radii: Array  # (n, n_levels - 1), ascending: up to there all objects of a group are listed


class SampledObjects:
    """Objects that `can_sample` accepts, of which each knows its distances to a sample of the
    others."""

    def __init__(self, objects: Objects) -> None:
        self.objects, self.labels, self.n_draws = objects, labels_of(objects.n), 0
        self.on_device = _sample_on_device(objects, self.labels)
        if self.on_device is not None:
            self.largest: float = self.on_device.largest
            return
        self.data = nearest_of_levels(objects, self.labels, n_near(objects.n))
        self.largest = float(self.data.distances[self.data.indices >= 0].max(initial=0)) or 1.0

    def redraw(self) -> None:
        """Divide the objects into other groups, which leaves a sample on a device as it is."""
        if self.on_device is None:
            self.n_draws += 1
            self.labels = labels_of(self.objects.n, self.n_draws)
            near = n_near(self.objects.n)
            self.data = nearest_of_levels(self.objects, self.labels, near, self.data)

    def lists(self, Y: Array | None = None, perplexity: float = 1.0) -> Lists:
        """The samples of all objects, with squared distances in units of the square of `largest`.

        With coordinates Y, they also have those objects that are near on the map. Then an object
        has the smaller of its weights in the data and on the map. Levels that are finer than the
        smallest `perplexity` of interest needs are left out, but for the sample on a device.
        """
        if self.on_device is not None:
            lists: Lists = self.on_device.lists(Y)
            return lists
        n, n_data = len(self.labels), self.data.radii.shape[1] + 1
        finest = 0
        while finest < n_data - 1 and RATIO ** (finest + 1) * MEMBERS <= perplexity:
            finest += 1
        radii = self.data.radii.copy()
        radii[:, :finest] = -1
        if Y is None:
            Y, reach = np.zeros((n, 1)), np.full((n, n_data - 1), -1.0)
            more = np.empty((n, 0), np.int32), np.empty((n, 0), self.data.distances.dtype)
        else:
            more, reach = self._near_on_map(Y, finest)
        weights = [(n - 1) / (n / RATIO**t - 1) for t in range(n_data)]
        parts = backend().join_samples(
            (self.data.indices, self.data.distances),
            more,
            radii,
            reach,
            Y,
            self.labels,
            RATIO,
            self.largest,
            np.array(weights, np.float32),
        )
        return Lists(*parts)

    def _near_on_map(self, Y: Array, finest: int) -> tuple[tuple[Array, Array], Array]:
        """Objects near on the map that the data do not list, with their distances in the data, and
        the reaches of levels on the map."""
        n, near = len(Y), n_near(len(Y))
        levels = n_levels(n, near)
        measure = pair_distances(self.objects)
        radii, parts = np.full((n, finest), -1.0), []
        for level in range(finest, levels):
            k = min(near, n - 1)
            ids, d, order = backend().nearest_in_groups(Y, self.labels % RATIO**level, k)
            if radii.shape[1] > 0:
                ids[d <= radii[:, -1:]] = -1
            if level < levels - 1:
                reach = np.maximum(radii[:, -1:].max(axis=1, initial=0.0), d[:, -1])
                radii = np.column_stack([radii, reach * (1 + 1e-12)])
            backend().drop_listed(self.data.indices, ids)
            parts.append(_measure_lists(measure, order, ids, self.data.distances.dtype))
        ids, distances = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return (ids, distances), radii


def _sample_on_device(objects: Objects, labels: Array) -> Any:
    """The sample that the backend holds on a device, if it has one for these objects."""
    if not isinstance(objects, MeasuredObjects) or not can_sample(objects):
        return None
    rows, metric = to_euclidean(objects.rows, objects.metric)
    near = n_near(objects.n)
    if not metric.euclidean or current().device == "cpu":  # the search is for a device alone
        return None
    graph = objects.neighbor_graph(min(near, objects.n - 1), method="auto")
    nearest = graph.indices, graph.distances
    return backend().vector_sample(rows, labels, RATIO, nearest, n_levels(objects.n, near))


def labels_of(n: int, draw: int = 0) -> Array:
    """A random permutation, the same for all data of n objects and one number of a draw.

    Two objects are in the same group of level t if their labels are equal modulo RATIO^t.
    """
    return np.random.default_rng([n, draw] if draw else n).permutation(n).astype(np.int32)


def sample_of_new(new: NewObjects, n: int) -> tuple[Array, Array, Array]:
    """Indices, distances and weights of a sample of the n training objects for each new object.

    They have the shape (n_new, width); weights of 0 are padding.
    """
    labels, parts, reach, near = labels_of(n), [], np.full((new.n, 1), -1.0), n_near(n)
    for level in range(n_levels(n, near)):
        members = np.flatnonzero(labels % RATIO**level == 0)
        among = new if level == 0 else new.among(members)
        ids, d = among.nearest(min(near, len(members)), "auto" if level == 0 else "exact")
        d = d.astype(np.float64)
        parts.append((members[ids], d, np.where(d > reach, n / len(members), 0.0)))
        reach = np.maximum(reach, d[:, -1:])
    ids, d, weights = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return ids.astype(np.int32), d, weights


def can_sample(objects: Objects) -> bool:
    """Whether the distances of listed pairs of the objects can be computed fast."""
    if isinstance(objects, Dissimilarities):
        return True
    if not isinstance(objects, MeasuredObjects) or not objects.has_vectors:
        return False
    rows, metric = to_euclidean(objects.rows, objects.metric)
    return isinstance(rows, np.ndarray) and (metric.euclidean or has_candidates(rows, metric))


def pair_distances(objects: Objects) -> Callable[[Array, Array], tuple[Array, Array]]:
    """A function of some objects and lists of others, which returns these lists, in another order,
    and the distances. -1 in a list is none."""
    if isinstance(objects, Dissimilarities):
        D = objects.matrix
        return lambda some, ids: (ids, D[some[:, None], ids])
    assert isinstance(objects, MeasuredObjects)
    if can_sample(objects):
        rows, metric = to_euclidean(objects.rows, objects.metric)
        return lambda some, ids: ranked_candidates(rows, some, ids, metric)
    known, block = objects.rows, objects.metric.block

    def measure(some: Array, ids: Array) -> tuple[Array, Array]:
        lists = zip(some, ids, strict=True)
        return ids, np.stack([block(known[i : i + 1], known[others])[0] for i, others in lists])

    return measure


def n_near(n: int) -> int:
    """The number of nearest objects of each level."""
    return max(NEAR_OF_MANY, round(NEAR * min(1.0, math.sqrt(MANY / n))))


def n_levels(n: int, near: int) -> int:
    """The number of levels: the groups of the last one have at most `near` others."""
    levels = 1
    while -(-n // RATIO ** (levels - 1)) > near + 1:
        levels += 1
    return levels


def sample_size(n: int) -> int:
    """About the number of entries of the sample of an object."""
    near = n_near(n)
    return 2 * min(near, n) * n_levels(n, near)


def nearest_of_levels(
    objects: Objects, labels: Array, near: int, before: Levels | None = None
) -> Levels:
    """Each object's nearest in its groups of all levels, without those in reach of finer levels.

    Those among all objects are taken from the levels of other groups `before`, if given.
    """
    n, levels = len(labels), n_levels(len(labels), near)
    ids, distances, radii = [], [], np.empty((n, 0))
    for level in range(levels):
        if level == 0 and before is not None:
            k = min(near, n - 1)
            nearest, d = before.indices[:, :k], before.distances[:, :k]
        else:
            nearest, d = _nearest_in_groups(objects, labels % RATIO**level, near)
        if level > 0:
            nearest[d <= radii[:, -1:]] = -1
        if level < levels - 1:
            reach = d[:, -1:] if level == 0 else np.maximum(radii[:, -1:], d[:, -1:])
            radii = np.concatenate([radii.astype(d.dtype), reach], axis=1)
        used = (nearest >= 0).sum(axis=1).max()
        last = np.argsort(nearest < 0, axis=1, kind="stable")[:, :used]
        ids.append(np.take_along_axis(nearest, last, axis=1))
        distances.append(np.take_along_axis(d, last, axis=1))
    return Levels(np.concatenate(ids, axis=1), np.concatenate(distances, axis=1), radii)


def _nearest_in_groups(objects: Objects, groups: Array, k: int) -> tuple[Array, Array]:
    """Indices and distances, ascending, of the k nearest objects in the group of each object; -1
    and infinity if the group has fewer."""
    n = len(groups)
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    k = min(k, n - 1)
    ids, distances = np.full((n, k), -1, np.int32), np.full((n, k), np.inf, objects.dtype)

    def search(rows: Array) -> None:
        if len(rows) < 2:
            return
        count = min(k, len(rows) - 1)
        if len(rows) <= SMALL_GROUP:
            nearest, d = backend().smallest(objects.between(rows), count, own=True)
        else:
            part = objects if len(rows) == n else objects.subset(rows)
            graph = part.neighbor_graph(count, method="auto")
            nearest, d = graph.indices, graph.distances
        ids[rows, :count] = rows[nearest.reshape(len(rows), count)]
        distances[rows, :count] = d.reshape(len(rows), count)

    for rows in members:
        search(rows)
    return ids, distances


def _measure_lists(
    measure: Callable[[Array, Array], tuple[Array, Array]], order: Array, ids: Array, kind: Any
) -> tuple[Array, Array]:
    """Lists and distances of their entries, computed in an order in which near objects are near
    each other, so that their lists have much in common."""
    out, distances = np.empty_like(ids), np.empty(ids.shape, kind)

    def one(part: slice) -> None:
        some = order[part]
        out[some], distances[some] = measure(some, ids[some])

    run(one, blocks(len(ids), ROWS))
    return out, distances
