"""Dissimilarities in files: a square table, or a list of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.tables.errors import DataError, listed
from lowdim.tables.frame import Frame
from lowdim.tables.roles import Choices, Columns, assign

_TOLERANCE = 1e-6  # of symmetry, in units of the largest entry: files are rounded


def looks_like_distances(X: Any) -> bool:
    """Whether a matrix is square and symmetric, with a zero diagonal and no negative entry."""
    if hasattr(X, "tocsr") or X.ndim != 2 or X.shape[0] != X.shape[1] or len(X) < 3:
        return False
    if X.dtype.kind not in "iuf" or np.any(np.diagonal(X) != 0):
        return False
    X = np.asarray(X, dtype=np.float64)
    return bool(np.nanmin(X) >= 0 and np.nanmax(X) > 0 and _asymmetry(X) is None)


def _asymmetry(X: Array) -> tuple[int, int] | None:
    """The place of the largest difference to the transpose, if it is more than rounding."""
    gap = np.abs(X - X.T)
    gap[np.isnan(gap)] = 0.0
    if gap.max() <= _TOLERANCE * np.nanmax(np.abs(X)):
        return None
    row, column = np.unravel_index(int(gap.argmax()), gap.shape)
    return int(row), int(column)


def square(X: Any, source: str) -> Array:
    """A checked matrix of dissimilarities; asymmetry from rounding is averaged out."""
    if hasattr(X, "tocsr"):
        X = X.toarray()
    n, m = X.shape
    if n != m:
        raise DataError(
            f"{source}: a table of distances must be square, but it has {n} rows and {m} columns "
            'of numbers. Check header= and id=, or read it with kind="vectors" or kind="edges".'
        )
    X = np.asarray(X, dtype=np.float64)
    if np.nanmin(X) < 0:
        row, column = np.argwhere(X < 0)[0]
        raise DataError(f"{source}: the distance [{row}, {column}] is {X[row, column]:g}, below 0.")
    if np.any(np.diagonal(X) != 0):
        row = int(np.flatnonzero(np.diagonal(X) != 0)[0])
        raise DataError(
            f"{source}: the distance [{row}, {row}] of an object to itself is {X[row, row]:g}, "
            "not 0. If these are similarities, turn them into distances first."
        )
    place = _asymmetry(X)
    if place is not None:
        i, j = place
        raise DataError(
            f"{source}: distances must be symmetric, but [{i}, {j}] is {X[i, j]:g} and [{j}, {i}] "
            f"is {X[j, i]:g}."
        )
    return np.asarray((X + X.T) / 2)


def from_pairs(frame: Frame, choices: Choices, source: str) -> tuple[Any, Array]:
    """A list of pairs (one, other, distance) as a matrix, and the names of the objects.

    The matrix is dense if every pair is there, and else sparse, its entries the known pairs.
    """
    columns = Columns(frame, source)
    dropped = set(columns.matching(choices.drop, "drop"))
    names = [name for name in columns.names if name not in dropped]
    names = columns.matching(choices.features, "features") or names
    if len(names) != 3 or names[2] not in columns.places:
        raise DataError(
            f"{source}: a list of pairs needs three columns (one object, another, their distance "
            f"as a number), but it has {listed(map(repr, names))}. Choose them with features=."
        )
    one, other = (columns.values(name) for name in names[:2])
    lengths = np.asarray(columns.values(names[2]), dtype=np.float64)
    _check_lengths(frame, lengths, names[2], source)
    ends = np.concatenate([_key(one), _key(other)])
    objects, codes = np.unique(ends, return_inverse=True)
    if objects.dtype.kind in "iu":
        ids = objects.astype(str).astype(object)
    else:
        ids = objects.astype(object)
    i, j = codes[: len(one)], codes[len(one) :]
    i, j, lengths = _once(frame, i, j, lengths, ids, source)
    n = len(ids)
    if len(lengths) == n * (n - 1) // 2:
        D = np.zeros((n, n))
        D[i, j] = D[j, i] = lengths
        return D, ids
    from scipy.sparse import csr_array

    both = np.concatenate([i, j]), np.concatenate([j, i])
    return csr_array((np.concatenate([lengths, lengths]), both), shape=(n, n)), ids


def _key(values: Array) -> Array:
    return values.astype(str) if values.dtype == object else values


def _check_lengths(frame: Frame, lengths: Array, name: str, source: str) -> None:
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths >= 0)))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{source}: {frame.place(row)}, column {name!r} is {lengths[row]:g}; a distance must "
            "be a number of at least 0."
        )


def _once(
    frame: Frame, i: Array, j: Array, lengths: Array, ids: Array, source: str
) -> tuple[Array, Array, Array]:
    """Each pair once. Given twice, its distances must be equal; an object is at 0 from itself."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((high, low))
    low, high, lengths = low[order], high[order], lengths[order]
    same = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    clash = np.flatnonzero(same & (lengths[1:] != lengths[:-1]))
    if len(clash):
        at = int(clash[0])
        raise DataError(
            f"{source}: the pair {ids[low[at]]}, {ids[high[at]]} has two distances, "
            f"{lengths[at]:g} and {lengths[at + 1]:g} ({frame.place(int(order[at]))} and "
            f"{frame.place(int(order[at + 1]))})."
        )
    own = np.flatnonzero((low == high) & (lengths != 0))
    if len(own):
        at = int(own[0])
        raise DataError(
            f"{source}: {frame.place(int(order[at]))}: {ids[low[at]]} has the distance "
            f"{lengths[at]:g} to itself."
        )
    first = np.concatenate([[True], ~same]) & (low != high)
    return low[first], high[first], lengths[first]


def names_of(frame: Frame, choices: Choices, source: str) -> tuple[Array | None, list[str]]:
    """Names of the objects of a square table: its ids, or its column names."""
    roles = assign(frame, choices, source)
    names = frame.names or []
    if roles.ids is None and any(name != f"x{i}" for i, name in enumerate(names)):
        return np.array(names, dtype=object), roles.notes
    return roles.ids, roles.notes
