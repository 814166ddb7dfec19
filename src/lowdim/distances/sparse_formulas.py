"""Formulas of metrics of sparse rows, in time proportional to the number of shared entries.

A distance follows from sums over the columns that two rows share, which the backend computes, and
from sums over each row. Sums are taken in the order of the entries, so that the distance of equal
rows is exactly zero. The rows are CSR matrices without duplicates and stored zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.distances.formulas import BOOLEAN, OfCounts, divide_counts, fill_undefined_rows


def _sums(rows: Any, values: Array) -> Array:
    """The sum over each row of `values`, one for each stored entry, added in order."""
    from scipy.sparse import csr_array

    matrix = csr_array((values.astype(np.float64), rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(matrix @ np.ones(rows.shape[1]))


def _counts(rows: Any) -> Array:
    return np.asarray(np.diff(rows.indptr), dtype=np.float64)


def _pair(function: Callable[[Any], Array], A: Any, B: Any) -> tuple[Array, Array]:
    """A function of both sets of rows, as a column and as a row."""
    return function(A)[:, None], function(B)


def _manhattan(A: Any, B: Any) -> Array:
    first, second = _pair(lambda rows: _sums(rows, np.abs(rows.data)), A, B)
    return np.asarray(np.maximum(first + second - backend().sum_shared(A, B, "overlap"), 0))


def _braycurtis(A: Any, B: Any) -> Array:
    first, second = _pair(lambda rows: _sums(rows, np.abs(rows.data)), A, B)
    whole = first + second - backend().sum_shared(A, B, "opposite")
    return np.asarray(_manhattan(A, B) / np.where(first + second == 0, 1, whole))


def _canberra(A: Any, B: Any) -> Array:
    first, second = _pair(_counts, A, B)
    alone = first + second - 2 * backend().sum_shared(A, B, "count")
    return np.asarray(alone + backend().sum_shared(A, B, "ratio"))


def _hamming(A: Any, B: Any) -> Array:
    first, second = _pair(_counts, A, B)
    alike = backend().sum_shared(A, B, "count") + backend().sum_shared(A, B, "equal")
    return np.asarray((first + second - alike) / A.shape[1])


def _hellinger(A: Any, B: Any) -> Array:
    for rows in (A, B):
        if len(rows.data) and rows.data.min() < 0:
            return np.full((A.shape[0], B.shape[0]), np.nan)
    first, second = _pair(lambda rows: _sums(rows, rows.data), A, B)
    sizes = np.sqrt(np.where(first == 0, 1, first) * np.where(second == 0, 1, second))
    distances = np.sqrt(np.maximum(1 - backend().sum_shared(A, B, "root") / sizes, 0))
    return fill_undefined_rows(distances, _counts(A) == 0, _counts(B) == 0, 1)


def _correlation(A: Any, B: Any) -> Array:
    d = A.shape[1]
    first, second = _pair(lambda rows: _sums(rows, rows.data), A, B)
    squares = _pair(lambda rows: _sums(rows, rows.data.astype(np.float64) ** 2), A, B)
    products = backend().sum_shared(A, B, "product") - first * second / d
    spread = (squares[0] - first * first / d) * (squares[1] - second * second / d)
    with np.errstate(invalid="ignore", divide="ignore"):  # constant rows, see below
        distances = np.clip(1 - products / np.sqrt(spread), 0, 2)
    return fill_undefined_rows(distances, _is_constant(A), _is_constant(B), 1)


def _is_constant(rows: Any) -> Array:
    """The rows whose entries are all the same, stored or not."""
    counts = np.diff(rows.indptr)
    constant = np.asarray(counts == 0)
    for i in np.flatnonzero(counts == rows.shape[1]):
        entries = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        constant[i] = (entries == entries[0]).all()
    return constant


def _boolean_formula(of_counts: OfCounts) -> Callable[[Any, Any], Array]:
    def block(A: Any, B: Any) -> Array:
        both = backend().sum_shared(A, B, "count")
        return of_counts(*divide_counts(both, *_pair(_counts, A, B)), A.shape[1])

    return block


SPARSE_FORMULAS: dict[str, Callable[[Any, Any], Array]] = {
    "cityblock": _manhattan,
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "hamming": _hamming,
    "hellinger": _hellinger,
    "correlation": _correlation,
    **{name: _boolean_formula(of_counts) for name, of_counts in BOOLEAN.items()},
}
"""By the name of the metric; the sparse rows of other metrics are made dense, block by block."""


def drop_zeros(rows: Any) -> Any:
    """A CSR matrix without duplicates and stored zeros: `rows` itself if it has none."""
    if rows.has_canonical_format and rows.data.all():
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows
