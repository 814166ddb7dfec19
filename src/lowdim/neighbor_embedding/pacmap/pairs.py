"""The pairs of PaCMAP: near, mid-near and further ones (Wang et al. 2021, section 5).

Pairs are int32 arrays of shape (n_pairs, 2). Random numbers belong to objects in the order of their
absolute first coordinates in the start, so that pairs depend neither on the order of the rows nor
on the signs of the axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.metrics import euclidean
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.lists import pad_lists
from lowdim.objects.objects import Dissimilarities, MeasuredObjects, Objects
from lowdim.objects.samples import pair_distances
from lowdim.runtime.scheduling import blocks

SCALE_NEIGHBORS = slice(3, 6)  # neighbours whose mean distance is the scale of an object
CANDIDATES = 6  # random objects, of which the second nearest becomes a mid-near partner
ROWS = 2048  # objects whose candidates are measured at once


def neighbor_scales(distances: Array) -> Array:
    """The mean distance of each object to its fourth to sixth neighbours, or to its last one."""
    known = distances[:, SCALE_NEIGHBORS] if distances.shape[1] > 3 else distances[:, -1:]
    finite = np.where(np.isfinite(known), known, distances[:, :1])
    scales = finite.mean(axis=1)
    return np.asarray(np.where(scales > 0, scales, np.finfo(scales.dtype).tiny ** 0.25))


def nearest_scaled(
    indices: Array, distances: Array, own: Array, scales: Array, k: int, other: Array | None = None
) -> Array:
    """The k objects of least d_ij^2 / (scale_i scale_j) in each list; those of `other` last."""
    scaled = (distances / own[:, None]) * (distances / scales[indices])
    if other is not None:
        scaled = np.where(other, np.inf, scaled)
    chosen = np.argsort(scaled, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(indices, chosen, axis=1)


def as_pairs(lists: Array) -> Array:
    """Lists of partners, one a row, as pairs; -1 is none."""
    first = np.repeat(np.arange(len(lists), dtype=np.int32), lists.shape[1])
    pairs = np.stack([first, lists.ravel().astype(np.int32)], axis=1)
    return pairs if lists.min(initial=0) >= 0 else pairs[pairs[:, 1] >= 0]


def as_lists(pairs: Array, n: int) -> Array:
    """The partners of each object as rows of equal length, padded with -1."""
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    counts = np.bincount(pairs[:, 0], minlength=n)
    place = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
    lists = np.full((n, max(1, counts.max(initial=1))), -1, dtype=np.int32)
    lists[pairs[:, 0], place] = pairs[:, 1]
    return lists


def near_pairs(graph: NeighborGraph, k: int, labels: Array | None) -> tuple[Array, Array]:
    """Each object with k of its neighbours, and the scales of the objects.

    With labels, of which -1 is unknown, neighbours of another label come last.
    """
    lists = graph.indices, graph.distances
    if graph.indptr is not None:
        lists = pad_lists(graph.indptr, *lists)
    indices, distances = lists
    scales = neighbor_scales(distances)
    other = None if labels is None else differ(labels[:, None], labels[indices])
    near = nearest_scaled(indices, distances, scales, scales, k, other)
    if graph.indptr is not None:
        near = np.where(np.arange(near.shape[1]) < graph.counts()[:, None], near, -1)
    return as_pairs(near), scales


def mid_pairs(
    objects: Objects, start: Array, order: Array, count: int, seed: int, labels: Array | None
) -> Array:
    """Each object with `count` others, each the second nearest of six random ones.

    Objects that are given by a graph or read in blocks are compared by their distances in the
    start. With labels, objects of the same or of an unknown label count as nearer than all others.
    """
    n, random = objects.n, np.random.RandomState(seed)
    size = min(CANDIDATES, n - 1)
    if count == 0 or size < 2:
        return np.empty((0, 2), np.int32)
    measure = measure_pairs(objects, start)
    drawn = random.randint(n - 1, size=(n, count, size))
    drawn += drawn >= np.arange(n)[:, None, None]  # never the object itself
    partners = np.empty((n, count), np.int32)
    for part in blocks(n, ROWS):
        own = np.repeat(order[part], count)
        ids = order[drawn[part].reshape(-1, size)].astype(np.int32)
        ids, distances = measure(own, ids)
        far = distances.astype(np.float64)
        if labels is not None:
            far[differ(labels[own][:, None], labels[ids])] = np.inf
        second = np.argsort(far, axis=1, kind="stable")[:, 1]
        partners[order[part]] = ids[np.arange(len(ids)), second].reshape(-1, count)
    return as_pairs(partners)


def measure_pairs(objects: Objects, start: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
    """The function `pair_distances`; of places in the start if the objects have no distances."""
    known = isinstance(objects, MeasuredObjects | Dissimilarities)
    return pair_distances(objects if known else MeasuredObjects(start, euclidean()))


def further_pairs(
    near: Array,
    Y: Array,
    order: Array,
    count: int,
    seed: int,
    reach: float = np.inf,
    before: Array | None = None,
) -> Array:
    """Each object with `count` random others that are not its near partners.

    With `reach` they lie within it on the map Y; where none is found, the partners `before` stay.
    Y is in the order of the random numbers.
    """
    known = None if before is None else as_lists(before, len(order))
    return as_pairs(draw_others(as_lists(near, len(order)), Y, order, count, seed, reach, known))


def draw_others(
    listed: Array,
    Y: Array,
    order: Array,
    count: int,
    seed: int,
    reach: float = np.inf,
    before: Array | None = None,
) -> Array:
    """`count` random others of each object that are not in its row of `listed`; -1 is none.

    The last arguments are those of `further_pairs`.
    """
    n = len(order)
    rank = np.empty(n + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(n, dtype=np.int32), -1
    drawn = np.full((n, count), -1, dtype=np.int32)
    if before is not None:
        drawn[:, : before.shape[1]] = rank[before[order]]
    backend().draw_others(
        np.ascontiguousarray(rank[listed[order]]), drawn, seed=seed, Y=Y, reach=reach
    )
    partners = np.empty_like(drawn)
    partners[order] = np.where(drawn < 0, -1, order[drawn])
    return partners


def differ(one: Array, other: Array) -> Array:
    """Whether two labels are known and different; -1 is unknown."""
    return np.asarray((one != other) & (one >= 0) & (other >= 0))


def check_pairs(pairs: Any, name: str, n: int) -> Array:
    """Pairs given by the user."""
    found = np.asarray(pairs)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be an array of integers of shape (n_pairs, 2), got shape {found.shape} "
            f"and type {found.dtype}."
        )
    if len(found) and not (found.min() >= 0 and found.max() < n):
        raise ValueError(f"{name} must be in [0, {n}), found {found.min()} to {found.max()}.")
    return found.astype(np.int32)


def pair_counts(n: int, n_neighbors: Any, mid_ratio: float, further_ratio: float) -> list[int]:
    """The numbers of near, mid-near and further partners of each of n objects.

    Without `n_neighbors` it is 10, and 10 + 15 log10(n / 10,000) for more than 10,000 objects. Few
    objects have fewer partners, in the same ratios.
    """
    if n_neighbors is None:
        n_neighbors = 10 if n <= 10_000 else round(10 + 15 * (np.log10(n) - 4))
    k = float(checks.integer(n_neighbors, "n_neighbors", 1))
    ratios = np.array([1, checks.real(mid_ratio, "MN_ratio", 0, 100), 0.0])
    ratios[2] = checks.real(further_ratio, "FP_ratio", 0, 100)
    k = min(k, n / ratios.sum()) if k * ratios.sum() >= n else k
    near, mid, further = np.round(max(1.0, int(k)) * ratios).astype(int)
    return [min(near, n - 1), min(mid, n - 1), min(further, n - 1)]
