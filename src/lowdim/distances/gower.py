"""Gower's distance (1971) between rows with numeric and categorical columns and missing values."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from lowdim.checks import Array

Block = Callable[[Array, Array], Array]
Prepare = Callable[..., Array]

Kinds = list[list[Any] | None]
"""The categories of each categorical column, in the order of their codes; None: numeric."""


def gower(X: Any, kinds: Kinds | None = None) -> tuple[Block, Prepare, Array, Kinds]:
    """Gower's distance with the ranges and categories of a training table.

    The distance of two rows is the mean over the columns that are present in both: |a - b| / range
    in a numeric column, 0 or 1 in a categorical one. Returns the functions from two arrays of coded
    rows to their distances, and from a table to coded rows (numbers, with codes of categories, and
    NaN for missing values), the coded rows of X, and the kinds of the columns. If `kinds` is given,
    X is such coded rows.
    """
    coded_already = kinds is not None
    kinds = kinds_of(X) if kinds is None else kinds
    prepare = partial(coded_rows, kinds)
    rows = np.asarray(X, dtype=np.float64) if coded_already else prepare(X)
    if rows.shape[0] == 0:
        raise ValueError("X holds no objects: 0 sample(s) while a minimum of 1 is required.")
    with np.errstate(invalid="ignore"):
        low = np.where(np.isnan(rows), np.inf, rows).min(axis=0)
        high = np.where(np.isnan(rows), -np.inf, rows).max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    nominal = np.array([values is not None for values in kinds])

    def block(A: Array, B: Array) -> Array:
        total = np.zeros((len(A), len(B)))
        count = np.zeros((len(A), len(B)))
        for c in range(A.shape[1]):
            difference = np.abs(A[:, c, None] - B[None, :, c])
            present = ~np.isnan(difference)
            part = difference > 0 if nominal[c] else np.minimum(difference / span[c], 1.0)
            total += np.where(present, part, 0.0)
            count += present
        with np.errstate(invalid="ignore"):  # 0 / 0, if no column is present in both
            return np.asarray(total / count)

    return block, prepare, rows, kinds


def kinds_of(X: Any, named: Collection[int] = ()) -> Kinds:
    """The categories of each column of a table, None if it is numeric; `named` ones never are."""
    dtypes = enumerate(getattr(X, "dtypes", []))
    nominal = {*named, *(c for c, kind in dtypes if type(kind).__name__ == "CategoricalDtype")}
    kinds: Kinds = []
    for c, values in enumerate(_columns(X)):
        numeric = c not in nominal and _as_numbers(values) is not None
        present = dict.fromkeys(v for v in values if not _is_missing(v))
        kinds.append(None if numeric else list(present))
    return kinds


def coded_rows(kinds: Kinds, data: Any, name: str = "X", copy: bool = False) -> Array:
    """A table as numbers: codes of categories, -1 for one not in `kinds`, NaN if missing."""
    columns = _columns(data)
    if len(columns) != len(kinds):
        raise ValueError(f"{name} has {len(columns)} features, but {len(kinds)} were seen in fit.")
    coded = np.full((len(columns[0]) if columns else 0, len(columns)), np.nan)
    for c, (values, categories) in enumerate(zip(columns, kinds, strict=True)):
        if categories is None:
            numbers = _as_numbers(values)
            if numbers is None:
                raise ValueError(f"{name}, column {c} was numeric in fit, but is not now.")
            coded[:, c] = numbers
        else:
            codes = {v: code for code, v in enumerate(categories)}
            coded[:, c] = [np.nan if _is_missing(v) else codes.get(v, -1) for v in values]
    if np.isinf(coded).any():
        row, column = np.argwhere(np.isinf(coded))[0]
        raise ValueError(f"{name} contains infinity at [{row}, {column}].")
    return coded


def _columns(X: Any) -> list[Array]:
    """The columns of a table of mixed types, as arrays of objects."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return [_items(X.iloc[:, c]) for c in range(X.shape[1])]
    if isinstance(X, np.ma.MaskedArray):
        masked, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[masked] = None
    elif not (isinstance(X, np.ndarray) and X.dtype.kind in "mM"):
        X = np.asarray(X, dtype=object)
    if X.ndim != 2:
        raise ValueError(f"X must be a table of rows and columns, got {X.ndim} dimension(s).")
    return [_items(X[:, c]) for c in range(X.shape[1])]


def _items(column: Any) -> Array:
    """A column as an array of objects; dates and time spans as numbers of nanoseconds."""
    kind = getattr(column.dtype, "kind", "O")
    if kind not in "mM":
        return np.asarray(column, dtype=object)
    moments = np.asarray(column, dtype=f"{kind}8[ns]")
    numbers = moments.astype(np.int64).astype(np.float64)
    return np.where(np.isnat(moments), np.nan, numbers).astype(object)


def _as_numbers(values: Array) -> Array | None:
    """A column as floats, or None if it is not numeric."""
    if any(isinstance(v, str) for v in values):
        return None
    try:
        return np.array([np.nan if _is_missing(v) else float(v) for v in values])
    except (TypeError, ValueError):
        return None


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ == "NAType"
