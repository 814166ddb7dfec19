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

CANCELLED = 1e-3  # squares below this share of the sizes that they are a difference of are inexact
PAIRS_AT_ONCE = 1 << 14  # pairs of rows whose differences are in memory at once
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


def softmax_hellinger(A: Array, B: Array) -> Array:
    """Hellinger's distance of the softmax of the rows."""
    return hellinger(softmax(A), softmax(B))


def softmax(rows: Array) -> Array:
    """The exponentials of each row, divided by their sum."""
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def symmetric_kl(A: Array, B: Array, z: float = 1e-11) -> Array:
    """The mean of both Kullback-Leibler divergences of rows as distributions, plus z each."""
    known = (np.where(rows < 0, np.nan, rows).astype(np.float64) + z for rows in (A, B))
    p, q = (_divide_rows(rows, rows.sum(axis=1)) for rows in known)
    return _sum_over_columns(
        lambda x, y: 0.5 * (x[0] - y[0]) * (x[1] - y[1]), (p, np.log(p)), (q, np.log(q))
    )


def ll_dirichlet(A: Array, B: Array) -> Array:
    """The distance of rows of counts by the likelihood of each under the counts of the other.

    The likelihood is that of a Dirichlet-multinomial distribution, relative to that under the
    counts themselves, per count; the distance is the square root of the sum of both logarithms.
    umap-learn computes the same with approximate beta functions.
    """
    from scipy.special import betaln

    def log_beta(x: tuple[Array, ...], y: tuple[Array, ...]) -> Array:
        both = (x[0] > 0) & (y[0] > 0)
        return np.where(both, betaln(np.where(both, x[0], 1), np.where(both, y[0], 1)), 0)

    a, b = (np.where(rows < 0, np.nan, rows).astype(np.float64) for rows in (A, B))
    own = [
        sum((log_beta((c,), (c,)) for c in rows.T), start=np.zeros(len(rows))) for rows in (a, b)
    ]
    sizes = a.sum(axis=1)[:, None], b.sum(axis=1)[None, :]
    with np.errstate(invalid="ignore", divide="ignore"):  # rows of zeros have no distance
        ratio = _sum_over_columns(log_beta, (a,), (b,)) - betaln(*sizes)
        first = (ratio - (own[0][:, None] - betaln(sizes[0], sizes[0]))) / sizes[0]
        second = (ratio - (own[1][None, :] - betaln(sizes[1], sizes[1]))) / sizes[1]
        return np.asarray(np.sqrt(np.maximum(first + second, 0)))


def _sum_over_columns(
    term: Callable[..., Array], first: tuple[Array, ...], second: tuple[Array, ...]
) -> Array:
    """Sums over columns of a term of the entries of two rows, for all pairs of rows.

    `first` and `second` hold arrays of rows; the term gets a column of each, as a column vector
    and as a row vector.
    """
    total = np.zeros((len(first[0]), len(second[0])))
    for c in range(first[0].shape[1]):
        total += term([rows[:, c, None] for rows in first], [rows[None, :, c] for rows in second])
    return total


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


def nan_euclidean(A: Array, B: Array) -> Array:
    """The Euclidean distance over the columns present in both rows, times sqrt(d / their number).

    Squares are differences of inner products, which lose digits if the rows are near each other.
    Those of such pairs are computed again from the rows.
    """
    known = [~np.isnan(rows) for rows in (A, B)]
    center = np.where(known[1], B, 0).sum(axis=0) / np.maximum(known[1].sum(axis=0), 1)
    a, b = (np.where(mask, rows - center, 0) for mask, rows in zip(known, (A, B), strict=True))
    sizes = (a * a) @ known[1].T + known[0] @ (b * b).T
    squares = sizes - 2 * a @ b.T
    i, j = np.nonzero(squares < CANCELLED * sizes)
    for begin in range(0, len(i), PAIRS_AT_ONCE):
        part = slice(begin, begin + PAIRS_AT_ONCE)
        differences = A[i[part]].astype(np.float64) - B[j[part]]
        squares[i[part], j[part]] = np.nansum(differences**2, axis=1)
    with np.errstate(invalid="ignore"):  # 0 / 0, if no column is present in both
        return np.asarray(np.sqrt(squares * A.shape[1] / (known[0] @ known[1].T.astype(float))))


def boolean_formula(of_counts: OfCounts) -> Formula:
    """The formula of a metric of boolean rows: an entry is true if it is not zero."""

    def block(A: Array, B: Array) -> Array:
        a, b = ((rows != 0).astype(np.float64) for rows in (A, B))
        return of_counts(*divide_counts(a @ b.T, a.sum(axis=1)[:, None], b.sum(axis=1)), A.shape[1])

    return block


def bit_formula(of_counts: OfCounts) -> Formula:
    """The formula of a metric of rows of bytes, each of which holds eight boolean columns."""

    def block(A: Array, B: Array) -> Array:
        bits = (np.unpackbits(rows.astype(np.uint8), axis=1) for rows in (A, B))
        return boolean_formula(of_counts)(*bits)

    return block


def divide_counts(both: Array, first: Array, second: Array) -> tuple[Array, Array, Array]:
    """Numbers of columns in which both rows are true, and in which the first or the second alone
    is, from those in which each of them is."""
    return both, first - both, second - both


def _ratio(part: Array, whole: Array) -> Array:
    """part / whole, and 0 where part is 0."""
    return np.asarray(part / np.where(part == 0, 1, whole))


OfCounts = Callable[[Array, Array, Array, int], Array]
"""A distance of boolean rows of d columns from the counts of `divide_counts`, and d."""

BOOLEAN: dict[str, OfCounts] = {
    "dice": lambda both, a, b, d: _ratio(a + b, 2 * both + a + b),
    "jaccard": lambda both, a, b, d: _ratio(a + b, both + a + b),
    "sokalsneath": lambda both, a, b, d: _ratio(2 * (a + b), both + 2 * (a + b)),
    "rogerstanimoto": lambda both, a, b, d: 2 * (a + b) / (d + a + b),
    "sokalmichener": lambda both, a, b, d: 2 * (a + b) / (d + a + b),
    "russellrao": lambda both, a, b, d: (d - both) / d,
    "kulsinski": lambda both, a, b, d: np.where(a + b == 0, 0, (a + b - both + d) / (a + b + d)),
    "yule": lambda both, a, b, d: _ratio(2 * a * b, both * (d - a - b - both) + a * b),
    "matching": lambda both, a, b, d: (a + b) / d,
}

FORMULAS: dict[str, Formula] = {
    "cosine": cosine,
    "correlation": correlation,
    "spearmanr": spearmanr,
    "true_angular": true_angular,
    "hellinger": hellinger,
    "softmax_hellinger": softmax_hellinger,
    "symmetric_kl": symmetric_kl,
    "ll_dirichlet": ll_dirichlet,
    "jensenshannon": jensenshannon,
    "wasserstein_1d": wasserstein_1d,
    "braycurtis": braycurtis,
    "poincare": poincare,
    "nan_euclidean": nan_euclidean,
    "bit_hamming": bit_formula(lambda both, a, b, d: a + b),  # a count, as in PyNNDescent
    "bit_jaccard": bit_formula(BOOLEAN["jaccard"]),
    **{name: boolean_formula(of_counts) for name, of_counts in BOOLEAN.items()},
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
