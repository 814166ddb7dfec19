"""Dissimilarities in files: a square table, or a list of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.tables.columns import Choices, Frame
from lowdim.tables.errors import DataError, join_names

_TOLERANCE = 1e-6  # of symmetry, in units of the largest entry: files are rounded
_NEARLY = 0.9  # share of pairs that are symmetric in a table that was meant to be symmetric


def distances_reason(X: Any) -> str | None:
    """Why a matrix is taken for distances: it is symmetric or a triangle, at least 0, with a zero
    or empty diagonal. None if it is not."""
    if not _is_square(X):
        return None
    X = np.asarray(X, dtype=np.float64)
    full = _complete_triangle(X)
    if np.isnan(full).all() or not np.nanmax(full) > 0 or _defect(full) is not None:
        return None
    if full is not X:
        return "the table is one triangle of a square: taken as distances"
    return "the table is square and symmetric with a zero diagonal: taken as distances"


def warn_if_almost(frame: Frame, X: Any) -> None:
    """Warn if a table that is read as vectors was perhaps meant as distances."""
    vectors = argument("kind", "vectors")
    almost = _why_almost(X)
    if almost is not None:
        checks.warn(
            f"{frame.source} is read as vectors. It is square and {almost}. If it holds distances, "
            f"correct it and set {argument('kind', 'distances')}; if it holds vectors, set "
            f"{vectors}."
        )
    elif _looks_like_pairs(frame):
        checks.warn(
            f"{frame.source} is read as vectors, but looks like a list of pairs with a distance "
            f"each. If it is one, set {argument('kind', 'edges')}; if it holds vectors, set "
            f"{vectors}."
        )


def _why_almost(X: Any) -> str | None:
    """What keeps a square table from being read as distances, if it was perhaps meant so."""
    if not _is_square(X) or not np.isfinite(X := np.asarray(X, dtype=np.float64)).all():
        return None
    n_pairs = len(X) * (len(X) - 1)
    equal = np.isclose(X, X.T, rtol=_TOLERANCE, atol=0) & ~np.eye(len(X), dtype=bool)
    share = equal.sum() / n_pairs
    if share < max(_NEARLY, 1 - 2 / len(X)) and share < 1 - 2 / n_pairs:
        return None
    return f"nearly symmetric, but {_defect(X)}"


def _defect(X: Array) -> str | None:
    """What keeps a square matrix from being distances; None if nothing does."""
    gap = np.abs(X - X.T)
    gap[np.isnan(gap)] = 0.0
    if gap.max() > _TOLERANCE * np.nanmax(np.abs(X)):
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        return f"[{i}, {j}] is {X[i, j]:g} and [{j}, {i}] is {X[j, i]:g}"
    if np.any(np.diagonal(X) != 0):
        row = int(np.flatnonzero(np.diagonal(X) != 0)[0])
        return (
            f"its diagonal is not 0 ([{row}, {row}] is {X[row, row]:g}), as in a table of "
            "similarities or correlations"
        )
    if np.nanmin(X) < 0:
        row, column = np.argwhere(X < 0)[0]
        return f"[{row}, {column}] is {X[row, column]:g}, below 0"
    return None


def _is_square(X: Any) -> bool:
    if X is None or is_sparse(X) or X.ndim != 2 or X.shape[0] != X.shape[1] or len(X) < 3:
        return False
    return X.dtype.kind in "iuf" and bool((X != 0).any())


def _complete_triangle(X: Array) -> Array:
    """A triangle as the full matrix, an empty diagonal as zeros; other matrices as they are."""
    diagonal = np.diagonal(X)
    if np.isnan(diagonal).any() and not np.any(diagonal[~np.isnan(diagonal)]):
        X = X.copy()
        np.fill_diagonal(X, 0.0)
    lower, upper = np.tril_indices(len(X), -1), np.triu_indices(len(X), 1)
    for held, vacant in ((lower, upper), (upper, lower)):
        rest = X[vacant]
        if (np.isnan(rest).all() or not rest.any()) and np.nansum(np.abs(X[held])) > 0:
            full = np.diag(np.diagonal(X))
            full[held] = X[held]
            full.T[held] = X[held]
            return full
    return X


def check_square(X: Any, source: str) -> Array:
    """A checked matrix of dissimilarities; asymmetry from rounding is averaged out."""
    if is_sparse(X):
        X = X.toarray()
    n, m = X.shape
    if n != m:
        raise DataError(
            f"{source}: a table of distances must be square, but it has {n} rows and {m} columns "
            f"of numbers. Check {argument('header', ...)} and {argument('id', ...)}, or read it "
            f"with {argument('kind', 'vectors')} or {argument('kind', 'edges')}."
        )
    X = _complete_triangle(np.asarray(X, dtype=np.float64))
    if (defect := _defect(X)) is not None:
        raise DataError(
            f"{source}: distances must be symmetric, at least 0, and 0 on the diagonal, but "
            f"{defect}."
        )
    return np.asarray((X + X.T) / 2)


def from_pairs(frame: Frame, choices: Choices) -> tuple[Any, Array]:
    """A list of pairs (one, other, distance) as a matrix, and the names of the objects.

    The matrix is dense if every pair is there, and else sparse, its entries the known pairs.
    """
    dropped = set(frame.match_names(choices.drop, "drop"))
    names = [name for name in frame.data_names if name not in dropped]
    names = frame.match_names(choices.features, "features") or names
    if len(names) != 3 or names[2] not in frame.places:
        raise DataError(
            f"{frame.source}: a list of pairs needs three columns (one object, another, their "
            f"distance as a number), but it has {join_names(map(repr, names))}. Choose them with "
            f"{argument('features', ...)}."
        )
    lengths = np.asarray(frame.column(names[2]), dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths >= 0)))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{frame.source}: {frame.where(row)}, column {names[2]!r} is {lengths[row]:g}; a "
            "distance must be a number of at least 0."
        )
    ends = [frame.values(name) for name in names[:2]]
    ends = [values.astype(str) if values.dtype.kind in "OM" else values for values in ends]
    objects, codes = np.unique(np.concatenate(ends), return_inverse=True)
    ids = (objects.astype(str) if objects.dtype.kind in "iu" else objects).astype(object)
    i, j = codes.reshape(2, -1)
    i, j, lengths = _unique_pairs(frame, i, j, lengths, ids)
    n = len(ids)
    if len(lengths) == n * (n - 1) // 2:
        D = np.zeros((n, n))
        D[i, j] = D[j, i] = lengths
        return D, ids
    from scipy.sparse import csr_array

    pairs = n * (n - 1) // 2
    frame.notes.append(f"{len(lengths):,} of {pairs:,} pairs are known")
    both = np.concatenate([i, j]), np.concatenate([j, i])
    return csr_array((np.concatenate([lengths, lengths]), both), shape=(n, n)), ids


def _looks_like_pairs(frame: Frame) -> bool:
    """Whether a table may be a list of pairs: two columns name the same things, a third has
    numbers of at least 0, and no pair occurs twice."""
    names = frame.data_names
    if len(names) != 3 or names[2] not in frame.places or frame.n_rows < 3:
        return False
    one, other = (frame.values(name) for name in names[:2])
    if one.dtype.kind not in "iuO" or other.dtype.kind != one.dtype.kind:
        return False
    lengths = np.asarray(frame.column(names[2]), dtype=np.float64)
    first, second = one.tolist(), other.tolist()
    shared = set(first) & set(second) - {None}
    if 2 * len(shared) < min(len(set(first)), len(set(second))) or not (lengths >= 0).all():
        return False
    pairs = {frozenset(pair) for pair in zip(first, second, strict=True)}
    own = any(a == b and d != 0 for a, b, d in zip(first, second, lengths.tolist(), strict=True))
    return len(pairs) == frame.n_rows and not own


def _unique_pairs(
    frame: Frame, i: Array, j: Array, lengths: Array, ids: Array
) -> tuple[Array, Array, Array]:
    """Each pair once. Given twice, its distances must be equal; an object is at 0 from itself."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    own = np.flatnonzero((low == high) & (lengths != 0))
    if len(own):
        at = int(own[0])
        raise DataError(
            f"{frame.source}: {frame.where(at)}: {ids[low[at]]} has the distance {lengths[at]:g} "
            "to itself."
        )
    _, first, pair = np.unique(low * len(ids) + high, return_index=True, return_inverse=True)
    clash = np.flatnonzero(lengths != lengths[first[pair]])
    if len(clash):
        other = int(clash[0])
        at = int(first[pair[other]])
        raise DataError(
            f"{frame.source}: the pair {ids[low[at]]}, {ids[high[at]]} has two distances, "
            f"{lengths[at]:g} and {lengths[other]:g} ({frame.where(at)} and {frame.where(other)})."
        )
    first = first[low[first] != high[first]]
    return low[first], high[first], lengths[first]


# --- one triangle of a matrix of distances, each line longer than the last ------------------------


def triangle_shape(rows: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """The first record of a triangle (0, or 1 after a header) and the step of its lengths; None
    with fewer than three lines, or if they do not all grow or all shrink by one field."""
    for first in (0, 1):
        steps = np.diff([len(row) for row in rows[first:]])
        if len(steps) >= 2 and abs(steps[0]) == 1 and (steps == steps[0]).all():
            return first, int(steps[0])
    return None


def from_triangle(rows: list[list[str]], number: Callable[[str], float], source: str) -> Frame:
    """The full matrix of a triangle with or without diagonal, header and names."""
    shape = triangle_shape(rows)
    if shape is None:
        raise DataError(
            f"{source} begins like a triangle of distances, but not all lines are longer (or "
            "shorter) by one field than the line before."
        )
    first, step = shape
    header, body = rows[0] if first else [], rows[first:]
    names: list[str] | None = None
    try:
        list(map(number, [row[0] for row in body]))
    except ValueError:
        names = [row[0] for row in body]
    fields = [row[names is not None :][::step] for row in body][::step]  # as a lower triangle
    fields = fields[not fields[0] :]  # the first object may be named, with no distance yet
    try:
        values = [[number(value) for value in row] for row in fields]
    except ValueError as error:
        raise DataError(f"{source}: the triangle of distances holds text ({error}).") from error
    diagonal = all(row[-1] == 0 for row in values)
    n = len(values) + (not diagonal)
    D = np.zeros((n, n))
    for end, row in enumerate(values, start=not diagonal):
        D[end, : len(row)] = D[: len(row), end] = row
    if names is not None and len(names) == n - 1:  # one object has a column but no line of its own
        other = [name for name in header if name and name not in names]
        begins = len(other) == 1 and header.index(other[0]) <= 1
        names = [*other * begins, *names, *other * (not begins)] if len(other) == 1 else None
    names = names or (header[-n:] if len(header) >= n else None)
    part = "lower" if step > 0 else "upper"
    note = f"{part} triangle {'with' if diagonal else 'without'} diagonal"
    return Frame(
        X=D[::step, ::step].copy(),
        notes=[f"{note}: completed to distances between {n} objects"],
        ids=None if names is None else np.array(names, dtype=object),
    )
