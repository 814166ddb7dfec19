"""Dissimilarities of some pairs of objects, with weights: lists of pairs for stress solvers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.native.dense import dot
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_diagonal, check_dissimilarities
from lowdim.messages import argument
from lowdim.runtime.elementary import power
from lowdim.runtime.scheduling import blocks

PAIRS_AT_ONCE = 2**20  # NumPy makes 64-bit copies of index arrays


@dataclass(frozen=True)
class Pairs:
    """Pairs of n objects, first[k] < second[k], with dissimilarities and weights."""

    n: int
    first: Array  # int32
    second: Array
    values: Array
    weights: Array | None = None  # None: all weights are 1

    def take(self, chosen: Array) -> Pairs:
        """Some of the pairs, or all in another order."""
        weights = None if self.weights is None else self.weights[chosen]
        first, second = self.first[chosen], self.second[chosen]
        return Pairs(self.n, first, second, self.values[chosen], weights)

    def with_weights(self, weights: Array | None) -> Pairs:
        """The pairs with these weights; pairs of weight 0 are removed."""
        if weights is None:
            return self
        kept = weights > 0
        pairs = replace(self, weights=weights.astype(self.values.dtype, copy=False))
        pairs = pairs if kept.all() else pairs.take(np.flatnonzero(kept))
        if pairs.weights is not None and (pairs.weights == 1).all():
            return replace(pairs, weights=None)
        return pairs

    @property
    def complete(self) -> bool:
        """Whether all pairs of objects are listed."""
        return len(self.first) == self.n * (self.n - 1) // 2

    def mass(self) -> float:
        """The sum of the weights."""
        total = len(self.first) if self.weights is None else self.weights.sum(dtype=np.float64)
        return float(total)

    @property
    def mean_weight(self) -> float:
        """The mean of the weights."""
        return self.mass() / max(len(self.first), 1)

    def sum_of_squares(self, values: Array) -> float:
        """The weighted sum of squares of `values`, one for each pair."""
        exact = values.astype(np.float64, copy=False)
        if self.weights is None:
            return dot(exact, exact)
        weights = self.weights.astype(np.float64, copy=False)
        return dot(exact * exact, weights)

    def matrix(self, values: Array, *, fill: float = np.nan) -> Array:
        """`values`, one for each pair, as a symmetric n x n matrix with zero diagonal."""
        out = np.full((self.n, self.n), fill, dtype=values.dtype)
        np.fill_diagonal(out, 0)
        for part in blocks(len(values), PAIRS_AT_ONCE):
            first, second = self.first[part], self.second[part]
            out[first, second] = out[second, first] = values[part]
        return out

    def graph(self, values: Array) -> Any:
        """`values`, one for each pair, as a symmetric CSR matrix."""
        from scipy.sparse import csr_array

        ends = np.concatenate([self.first, self.second])
        others = np.concatenate([self.second, self.first])
        return csr_array((np.concatenate([values, values]), (ends, others)), (self.n, self.n))


def dense_pairs(D: Array) -> Pairs:
    """The pairs of a checked matrix of dissimilarities, without those that are NaN."""
    n = len(D)  # by rows: numpy.triu_indices takes as much memory as D
    numbers = np.arange(n, dtype=np.int32)
    first = np.repeat(numbers, numbers[::-1])
    second = np.concatenate([numbers[i + 1 :] for i in range(n)])
    pairs = Pairs(n, first, second, np.concatenate([D[i, i + 1 :] for i in range(n)]))
    known = ~np.isnan(pairs.values)
    return pairs if known.all() else pairs.take(np.flatnonzero(known))


def sparse_pairs(S: Any) -> Pairs:
    """The pairs that a sparse matrix stores; each pair must be stored once or twice equally."""
    S = checks.vectors(S, sparse=True).tocoo()
    if S.shape[0] != S.shape[1]:
        raise ValueError(f"X: array must be 2-dimensional and square, got shape {S.shape}.")
    rows, columns = (side.astype(np.int32) for side in S.coords)
    _not_negative(rows, columns, S.data, "X")
    check_diagonal(S)
    own = rows == columns
    first, second = np.minimum(rows, columns)[~own], np.maximum(rows, columns)[~own]
    values = S.data[~own]
    key = first.astype(np.int64) * S.shape[0] + second
    order = np.argsort(key, kind="stable")
    key, values = key[order], values[order]
    twice = key[1:] == key[:-1]
    slack = (1e-5 if values.dtype == np.float32 else 1e-9) * np.abs(values).max(initial=0)
    apart = twice & (np.abs(values[1:] - values[:-1]) > slack)
    if apart.any():
        at = order[int(apart.argmax())]
        i, j = first[at], second[at]
        raise ValueError(
            f"X: Array must be symmetric, but [{i}, {j}] and [{j}, {i}] differ. Average the "
            "two, or store one of them."
        )
    kept = np.concatenate([[True], ~twice]) if len(key) else np.empty(0, bool)
    chosen = order[kept]
    return Pairs(S.shape[0], first[chosen], second[chosen], values[kept])


def check_known(D: Any, name: str = "X") -> Array:
    """Check a matrix of dissimilarities in which NaN marks unknown pairs."""
    D = checks.vectors(D, name=name, allow_nan=True)
    missing = np.isnan(D)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or not missing.any():
        return check_dissimilarities(D, name)
    check_diagonal(D, name)
    apart = missing != missing.T
    if apart.any():
        i, j = np.argwhere(apart & missing)[0]
        raise ValueError(
            f"{name}: Array must be symmetric, but contains NaN at [{i}, {j}] while [{j}, {i}] is "
            f"{D[j, i]:g}. Mark a missing pair as NaN in both places, or in none."
        )
    check_dissimilarities(np.where(missing, 0, D).astype(D.dtype), name)
    return np.asarray(D)


def pair_weights(W: Any, pairs: Pairs) -> Array:
    """The weights of the pairs from a symmetric matrix; entries that are not stored are 0."""
    n = pairs.n
    if W.shape != (n, n) if is_sparse(W) else np.shape(W) != (n, n):
        raise ValueError(f"weights must be ({n}, {n}), as X is, got shape {np.shape(W)}.")
    if is_sparse(W):
        W = checks.vectors(W, name="weights", sparse=True)
        rows, columns = W.tocoo().coords
        _not_negative(rows, columns, W.tocoo().data, "weights")
        weights = np.asarray(W[pairs.first, pairs.second]).ravel()
        mirror = np.asarray(W[pairs.second, pairs.first]).ravel()
    else:
        W = checks.vectors(W, name="weights")
        weights, mirror = W[pairs.first, pairs.second], W[pairs.second, pairs.first]
        _not_negative(pairs.first, pairs.second, weights, "weights")
    apart = np.abs(weights - mirror) > 1e-9 * np.abs(weights).max(initial=0)
    if apart.any():
        i, j = pairs.first[apart][0], pairs.second[apart][0]
        raise ValueError(
            f"weights must be symmetric, but [{i}, {j}] and [{j}, {i}] differ. Average the two."
        )
    return np.asarray(weights)


def power_of(weights: Any) -> float:
    """The exponent alpha of weights "d^-alpha"; 0 for None."""
    if weights is None:
        return 0.0
    match = re.fullmatch(r"d\^-(\d+(\.\d*)?)", weights) if isinstance(weights, str) else None
    if match is None:
        raise ValueError(
            f"{argument('weights')} must be None or a name such as 'd^-1' or 'd^-2', got "
            f"{weights!r}. A matrix of weights is given to fit: fit(X, weights=W)."
        )
    return float(match[1])


def power_weights(values: Array, alpha: float, smallest: float) -> Array:
    """values^-alpha, with values below `smallest` replaced by it."""
    bounded = np.maximum(values, values.dtype.type(smallest))
    return np.asarray(power(bounded, -alpha))


def _not_negative(rows: Array, columns: Array, values: Array, name: str) -> None:
    if len(values) and values.min() < 0:
        at = int(np.argmax(values < 0))
        raise ValueError(
            f"{name}: entries must not be negative, [{rows[at]}, {columns[at]}] is {values[at]:g}."
        )
