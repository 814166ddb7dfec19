"""From user input to the rows that a metric takes: arrays, CSR matrices, arrays of any objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import is_sparse
from lowdim.distances.formulas import UNIT_LENGTH_UP_TO
from lowdim.distances.sparse_formulas import SPARSE_FORMULAS, drop_zeros
from lowdim.distances.units import scale_by_power
from lowdim.messages import argument

IF_NAN = "; metric='nan_euclidean' and metric='gower' accept NaN"


def preparation(name: str) -> Callable[..., Any]:
    """From user input to rows, for a metric by name."""
    if name == "nan_euclidean":
        return vectors_with_nan
    checked = {
        "dot": unit_vectors,
        "poincare": vectors_in_ball,
        "bit_hamming": octets,
        "bit_jaccard": octets,
    }
    return checked.get(name, vectors_without_zeros if name in SPARSE_FORMULAS else vectors)


def rescale_rows(
    prepare: Callable[..., Any], exponent: int, X: Any, name: str = "X", copy: bool = False
) -> Any:
    """Rows in units of 2^exponent; ValueError if they are too large for it."""
    rows = scale_by_power(prepare(X, name, copy), -exponent)
    if exponent < 0 and np.isinf(rows.data if is_sparse(rows) else rows).any():
        raise ValueError(
            f"{name} overflows {rows.dtype} in the unit 2^{exponent} of the training data. Are its "
            "numbers in the units of the training data?"
        )
    return rows


def vectors_without_zeros(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = vectors(X, name, copy)
    return drop_zeros(rows) if is_sparse(rows) else rows


def unit_vectors(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = vectors(X, name, copy)
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    squares = np.asarray(squares.sum(axis=1)).ravel()
    wrong = np.abs(squares - 1) > UNIT_LENGTH_UP_TO
    if wrong.any():
        i = int(wrong.argmax())
        raise ValueError(
            f"{name}: {argument('metric', 'dot')} is for rows of length 1, but row {i} has length "
            f"{np.sqrt(squares[i]):g}. Use {argument('metric', 'cosine')}, or normalise the rows."
        )
    return rows


def vectors_in_ball(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = checks.vectors(X, name=name, copy=copy)
    outside = np.einsum("ij,ij->i", rows, rows, dtype=np.float64) >= 1
    if outside.any():
        raise ValueError(
            f"{name}: {argument('metric', 'poincare')} is for rows of length below 1, but row "
            f"{int(outside.argmax())} is longer."
        )
    return rows


def octets(X: Any, name: str = "X", copy: bool = False) -> Any:
    rows = checks.vectors(X, name=name, copy=copy)
    wrong = (rows < 0) | (rows > 255) | (rows != np.floor(rows))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"{name}: a metric of bits is for bytes, integers from 0 to 255 that hold eight "
            f"columns each (numpy.packbits makes them), but [{i}, {j}] is {rows[i, j]:g}."
        )
    return rows


def vectors(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, sparse=True, copy=copy, if_nan=IF_NAN)


def vectors_with_nan(X: Any, name: str = "X", copy: bool = False) -> Any:
    return checks.vectors(X, name=name, allow_nan=True, copy=copy)


def objects(X: Any, name: str = "X", copy: bool = False) -> Any:
    """Vectors if X is a numeric table, else an array of arbitrary objects."""
    if hasattr(X, "shape") and len(X.shape) == 2:
        kind = np.dtype(getattr(X, "dtype", object)).kind
        if kind in "fiub" or is_sparse(X):
            # A copy, because the function of the user may write into the rows that it is given.
            return checks.vectors(X, name=name, copy=True)
    try:
        table = np.asarray(X, dtype=np.float64)
    except (ValueError, TypeError):
        table = None
    if table is not None and table.ndim == 2:
        return checks.vectors(table, name=name)
    items = list(X)
    if not items:
        raise ValueError(f"{name} holds no objects: 0 sample(s) while a minimum of 1 is required.")
    rows = np.empty(len(items), dtype=object)
    rows[:] = items
    return rows
