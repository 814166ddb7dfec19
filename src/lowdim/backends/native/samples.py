"""Weighted samples of the other objects of each object."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current


def nearest_in_groups(Y: Array, groups: Array, k: int) -> tuple[Array, Array, Array]:
    """Each point's nearest others in its group, their distances, and the points by place."""
    members = np.argsort(groups, kind="stable").astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.int64)
    ids, distances = np.empty((len(Y), k), np.int32), np.empty((len(Y), k))
    _native.nearest_in_groups(Y, members, starts, ids, distances, current().threads)
    return ids, distances, members


def drop_listed(listed: Array, ids: Array) -> None:
    """Set entries of rows of `ids` to -1 that the same rows of `listed` have."""
    _native.drop_listed(listed, ids, current().threads)


def join_samples(
    near: tuple[Array, Array],
    more: tuple[Array, Array],
    radii: Array,
    map_radii: Array,
    Y: Array,
    labels: Array,
    ratio: int,
    largest: float,
    weights: Array,
) -> tuple[Array, Array, Array, Array]:
    """Lists of candidates from the data and from the map, with a weight for each entry."""
    all_of_them = near[0].size + more[0].size
    indptr = np.empty(len(Y) + 1, np.int64)
    indices = np.empty(all_of_them, np.int32)
    squared, repeats = np.empty(all_of_them, np.float32), np.empty(all_of_them, np.float32)
    setting = (radii, map_radii, Y, labels, ratio, largest, weights)
    out = (indptr, indices, squared, repeats, current().threads)
    _native.join_samples(*near, *more, *setting, *out)
    size = indptr[-1]
    return indptr, indices[:size], squared[:size], repeats[:size]
