"""Formulas of metrics that SciPy lacks, or that it leaves undefined for zero and constant rows.

Each function takes two arrays of rows and returns the matrix of their distances. The conventions
for rows without a direction or without entries are those of PyNNDescent, where it has one:

============================================================  ==================  ===============
metric                                                        two such rows       one such row
============================================================  ==================  ===============
cosine, correlation, spearmanr (zero; constant)               0                   1
true_angular (zero)                                           0                   1/2
hellinger (zero)                                              0                   1
jensenshannon (zero)                                          0                   its largest value
braycurtis, dice, jaccard, sokalsneath, kulsinski (zero)      0                   by the formula
wasserstein_1d (zero)                                         0                   by the formula
============================================================  ==================  ===============

A row with all entries NaN, or with a negative entry where a metric compares distributions, has no
distance to others: the block holds NaN, which is reported as an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.checks import Array

Formula = Callable[..., Array]

UNIT_LENGTH_UP_TO = 1e-3  # deviation of the squared length of a row that metric="dot" accepts


def scipy_formula(name: str) -> Formula:
    """The formula of a metric of SciPy's cdist."""
    from scipy.spatial import distance

    cdist: Any = distance.cdist

    def block(A: Array, B: Array, **params: Any) -> Array:
        return np.asarray(cdist(A, B, name, **params))

    return block


def cosine(A: Array, B: Array, **params: Any) -> Array:
    return fill_undefined_rows(scipy_formula("cosine")(A, B, **params), is_zero(A), is_zero(B), 1)


def correlation(A: Array, B: Array, **params: Any) -> Array:
    distances = scipy_formula("correlation")(A, B, **params)
    return fill_undefined_rows(distances, _is_constant(A), _is_constant(B), 1)


def spearmanr(A: Array, B: Array) -> Array:
    """1 - Spearman's coefficient: the correlation distance of ranks."""
    from scipy.stats import rankdata

    return correlation(rankdata(A, axis=1), rankdata(B, axis=1))


def true_angular(A: Array, B: Array) -> Array:
    """The angle, as a share of 180 degrees."""
    # From the chord: the arccosine of the inner product loses half of the digits of small angles.
    chord = scipy_formula("euclidean")(_divide_rows(A, _lengths(A)), _divide_rows(B, _lengths(B)))
    angles = 2 / np.pi * np.arcsin(np.minimum(chord / 2, 1))
    return fill_undefined_rows(angles, is_zero(A), is_zero(B), 0.5)


def hellinger(A: Array, B: Array) -> Array:
    """Hellinger's distance of rows as distributions: |sqrt(p) - sqrt(q)| / sqrt(2)."""
    known = [np.where(rows < 0, np.nan, rows) for rows in (A, B)]
    roots = [np.sqrt(_divide_rows(rows, rows.sum(axis=1, dtype=np.float64))) for rows in known]
    distances = scipy_formula("euclidean")(*roots) / np.sqrt(2)
    return fill_undefined_rows(distances, is_zero(A), is_zero(B), 1)


def jensenshannon(A: Array, B: Array, **params: Any) -> Array:
    with np.errstate(invalid="ignore"):
        distances = scipy_formula("jensenshannon")(A, B, **params)
    largest = np.sqrt(np.log(2) / np.log(params.get("base") or np.e))
    return fill_undefined_rows(distances, is_zero(A), is_zero(B), largest)


def wasserstein_1d(A: Array, B: Array, p: float = 1) -> Array:
    """Wasserstein's distance of rows as distributions over equally spaced columns, 1 apart."""
    sums = [
        np.cumsum(_divide_rows(rows, rows.sum(axis=1, dtype=np.float64)), axis=1) for rows in (A, B)
    ]
    return scipy_formula("minkowski")(*sums, p=p)


def braycurtis(A: Array, B: Array, **params: Any) -> Array:
    with np.errstate(invalid="ignore"):
        distances = scipy_formula("braycurtis")(A, B, **params)
    distances[np.ix_(is_zero(A), is_zero(B))] = 0
    return distances


def poincare(A: Array, B: Array) -> Array:
    """The distance of the Poincare ball of hyperbolic space; rows have a length below 1."""
    inside = [1 - np.einsum("ij,ij->i", rows, rows, dtype=np.float64) for rows in (A, B)]
    squares = scipy_formula("sqeuclidean")(A, B)
    return np.asarray(np.arccosh(1 + 2 * squares / (inside[0][:, None] * inside[1])))


def boolean_formula(name: str) -> Formula:
    """The formula of a metric of boolean rows: an entry is true if it is not zero."""

    def block(A: Array, B: Array) -> Array:
        a, b = ((rows != 0).astype(np.float64) for rows in (A, B))
        return boolean(name, a @ b.T, a.sum(axis=1)[:, None], b.sum(axis=1), A.shape[1])

    return block


def bit_formula(name: str) -> Formula:
    """The formula of a metric of rows of bytes, each of which holds eight boolean columns."""

    def block(A: Array, B: Array) -> Array:
        bits = (np.unpackbits(rows.astype(np.uint8), axis=1) for rows in (A, B))
        return boolean_formula(name)(*bits)

    return block


def boolean(name: str, both: Array, first: Array, second: Array, d: int) -> Array:
    """A distance of boolean rows from counts.

    Parameters
    ----------
    name : str
    both : array of shape (m, n)
        Number of columns in which both rows are true.
    first, second : arrays of shape (m, 1) and (n,)
        Number of columns in which each row is true.
    d : int
        Number of columns.
    """
    one = first + second - 2 * both
    if name == "dice":
        return _ratio(one, 2 * both + one)
    if name == "jaccard":
        return _ratio(one, both + one)
    if name == "sokalsneath":
        return _ratio(2 * one, both + 2 * one)
    if name in ("rogerstanimoto", "sokalmichener"):
        return np.asarray(2 * one / (d + one))
    if name == "russellrao":
        return np.asarray((d - both) / d)
    if name == "kulsinski":
        return np.where(one == 0, 0, (one - both + d) / (one + d))
    if name == "yule":
        half = (first - both) * (second - both)
        return _ratio(2 * half, both * (d - first - second + both) + half)
    if name == "matching":
        return np.asarray(one / d)
    assert name == "hamming"  # of bits, which is a count, as in PyNNDescent
    return np.asarray(one)


BOOLEAN = (
    "dice",
    "jaccard",
    "sokalsneath",
    "rogerstanimoto",
    "sokalmichener",
    "russellrao",
    "kulsinski",
    "yule",
    "matching",
)

FORMULAS: dict[str, Formula] = {
    "cosine": cosine,
    "correlation": correlation,
    "spearmanr": spearmanr,
    "true_angular": true_angular,
    "hellinger": hellinger,
    "jensenshannon": jensenshannon,
    "wasserstein_1d": wasserstein_1d,
    "braycurtis": braycurtis,
    "poincare": poincare,
    "bit_hamming": bit_formula("hamming"),
    "bit_jaccard": bit_formula("jaccard"),
    **{name: boolean_formula(name) for name in BOOLEAN},
}
"""The formulas by the name of the metric; all others are SciPy's."""


def fill_undefined_rows(distances: Array, first: Array, second: Array, one: float) -> Array:
    """Distances in which undefined rows are at 0 from each other and at `one` from other rows.

    `first` and `second` say which rows are undefined.
    """
    if first.any():
        distances[first] = one
    if second.any():
        distances[:, second] = one
        distances[np.ix_(first, second)] = 0
    return distances


def is_zero(rows: Array) -> Array:
    return np.asarray(~rows.any(axis=1))


def _is_constant(rows: Array) -> Array:
    return np.asarray((rows == rows[:, :1]).all(axis=1))


def _lengths(rows: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))


def _divide_rows(rows: Array, sizes: Array) -> Array:
    """Rows divided by their sizes; those of size zero stay as they are."""
    return np.asarray(rows / np.where(sizes == 0, 1, sizes)[:, None])


def _ratio(part: Array, whole: Array) -> Array:
    """part / whole, and 0 where part is 0."""
    return np.asarray(part / np.where(part == 0, 1, whole))
