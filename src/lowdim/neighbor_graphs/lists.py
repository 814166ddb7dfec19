"""Lists of neighbours of different lengths: flat as in CSR, or padded with infinite distances."""

from __future__ import annotations

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array


def nearest_within(distances: Array, radius: float) -> tuple[Array, Array]:
    """Indices and distances of each row's entries up to the radius, at least one; padded."""
    most = max(1, int((distances <= radius).sum(axis=1).max(initial=1)))
    nearest, lengths = backend().smallest(distances, most)
    lengths[:, 1:][lengths[:, 1:] > radius] = np.inf
    return nearest, lengths


def ascending_entries(D: Array, chosen: Array) -> tuple[Array, Array, Array]:
    """The number of chosen entries in each row of D, and their columns and values, ascending."""
    rows, columns = np.nonzero(chosen)
    values = D[rows, columns]
    order = np.lexsort((columns, values, rows))
    return chosen.sum(axis=1), columns[order], values[order]


def row_of_entries(indptr: Array) -> Array:
    """The row number of each stored entry of a CSR matrix."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def merge_lists(
    nearest: Array, distances: Array, more: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """Padded lists of neighbours, united with more pairs of (row, neighbour, distance)."""
    known = np.isfinite(distances)
    rows = np.concatenate([np.nonzero(known)[0], more[0]])
    columns = np.concatenate([nearest[known], more[1]]).astype(nearest.dtype)
    lengths = np.concatenate([distances[known], more[2]]).astype(distances.dtype)
    first = np.unique(np.stack([rows, columns]), axis=1, return_index=True)[1]
    rows, columns, lengths = rows[first], columns[first], lengths[first]
    order = np.lexsort((columns, lengths, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(nearest)))])
    return pad_lists(indptr, columns[order], lengths[order])


def pad_lists(indptr: Array, indices: Array, distances: Array) -> tuple[Array, Array]:
    """Flat lists as rows of equal length, padded with index 0 and infinite distances."""
    counts = np.diff(indptr)
    if counts.min(initial=1) == 0:
        raise ValueError(
            f"X: row {int(counts.argmin())} stores no distance to any training object."
        )
    place = np.arange(len(indices)) - np.repeat(indptr[:-1], counts)
    owner = row_of_entries(indptr)
    nearest = np.zeros((len(counts), counts.max(initial=1)), dtype=indices.dtype)
    lengths = np.full(nearest.shape, np.inf, dtype=distances.dtype)
    nearest[owner, place], lengths[owner, place] = indices, distances
    return nearest, lengths
