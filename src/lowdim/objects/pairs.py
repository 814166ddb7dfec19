"""Dissimilarities of some pairs of objects, with weights: lists of pairs for stress solvers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.native.dense import dot
from lowdim.checks import Array, is_sparse
from lowdim.distances.matrices import check_defined, check_diagonal, check_dissimilarities
from lowdim.distances.metrics import Metric
from lowdim.messages import argument
from lowdim.runtime.elementary import power
from lowdim.runtime.scheduling import blocks, run

PAIRS_AT_ONCE = 2**20  # NumPy makes 64-bit copies of index arrays
GROUP_OBJECTS = 16  # random groups whose distances are computed as one block


@dataclass(frozen=True)
class Pairs:
    """Pairs of objects, first[k] < second[k], with dissimilarities and weights.

    Parameters
    ----------
    n : int
        Number of objects.
    first, second : int32 arrays
    values : array
        Dissimilarities.
    weights : array or None
        None: all weights are 1.
    """

    n: int
    first: Array
    second: Array
    values: Array
    weights: Array | None = None

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


def sparse_pairs(S: Any, name: str = "X") -> Pairs:
    """The pairs that a sparse matrix stores; each pair must be stored once or twice equally."""
    S = checks.vectors(S, name=name, sparse=True).tocoo()
    if S.shape[0] != S.shape[1]:
        raise ValueError(f"{name}: array must be 2-dimensional and square, got shape {S.shape}.")
    rows, columns = (side.astype(np.int32) for side in S.coords)
    _not_negative(rows, columns, S.data, name)
    check_diagonal(S, name)
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
            f"{name}: Array must be symmetric, but [{i}, {j}] and [{j}, {i}] differ. Average the "
            "two, or store one of them."
        )
    kept = np.concatenate([[True], ~twice]) if len(key) else np.empty(0, bool)
    chosen = order[kept]
    return Pairs(S.shape[0], first[chosen], second[chosen], values[kept])


def sampled_pairs(
    rows: Any,
    metric: Metric,
    partners: int,
    random: np.random.RandomState,
) -> Pairs:
    """Random pairs of objects and their distances, about `partners` for each object.

    Objects are divided into random groups, arranged on a circle. The distances within each group
    and to the groups at a few random offsets along the circle are computed. One of the offsets is
    1, so that the pairs connect all objects.
    """
    n = rows.shape[0]
    order = random.permutation(n).astype(np.int32)
    groups = [order[part] for part in blocks(n, GROUP_OBJECTS)]
    half = (len(groups) - 1) // 2
    strides = 1 + random.permutation(max(half, 1))[: max(1, round(partners / (2 * GROUP_OBJECTS)))]
    strides = np.unique(np.append(strides, 1))  # a stride of one connects all groups

    def measure(g: int) -> tuple[Array, Array, Array]:
        own, others = groups[g], [groups[(g + s) % len(groups)] for s in strides]
        against = np.concatenate([own, *others] if len(groups) > 1 else [own])
        block = np.asarray(metric.block(rows[own], rows[against]))
        left, right = np.meshgrid(own, against, indexing="ij")
        used = left != right
        check_defined(np.where(used, block, 0), metric, own, against)
        used[:, : len(own)] &= left[:, : len(own)] < right[:, : len(own)]
        low, high = np.minimum(left, right)[used], np.maximum(left, right)[used]
        return low, high, block[used]

    parts = run(measure, range(len(groups)))
    first, second, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    _, once = np.unique(first.astype(np.int64) * n + second, return_index=True)
    return Pairs(n, first[once], second[once], values[once].astype(checks.float_kind(rows)))


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


def require_connected(pairs: Pairs) -> None:
    """Raise ValueError unless the pairs connect all objects; the message names those outside."""
    from scipy.sparse.csgraph import connected_components

    if pairs.complete:
        return
    count, labels = connected_components(pairs.graph(np.ones(len(pairs.first))), directed=False)
    if count == 1:
        return
    sizes = np.bincount(labels)
    outside = np.flatnonzero(labels != sizes.argmax())
    listed = ", ".join(map(str, outside[:10])) + (", ..." if len(outside) > 10 else "")
    raise ValueError(
        f"X: the known pairs (not missing, weight above 0) leave {count} groups of objects with no "
        f"link between them, so objects {listed} ({len(outside)} in all) cannot be placed relative "
        "to the others. Give at least one dissimilarity between each two groups, or embed the "
        "groups separately."
    )


def _not_negative(rows: Array, columns: Array, values: Array, name: str) -> None:
    if len(values) and values.min() < 0:
        at = int(np.argmax(values < 0))
        raise ValueError(
            f"{name}: entries must not be negative, [{rows[at]}, {columns[at]}] is {values[at]:g}."
        )
