"""Blocks and matrices of distances, and the checks of given matrices of dissimilarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.dense import product
from lowdim.backends.numpy_blocks import fill_symmetric
from lowdim.checks import Array, is_sparse
from lowdim.distances.metrics import Metric, to_euclidean
from lowdim.messages import argument
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run

TILE_OBJECTS = 512  # rows and columns of a block of distances: 2 MB in float64


def distance_block(rows: Any, metric: Metric, left: slice, right: slice) -> Array:
    """The distances between two slices of the rows; ValueError if one of them is not finite.

    The distance of an object to itself is set to zero, also if the metric returns NaN for it.
    """
    block = np.array(metric.block(rows[left], rows[right]))
    both = np.arange(max(left.start, right.start), min(left.stop, right.stop))
    block[both - left.start, both - right.start] = 0
    first, second = (np.arange(part.start, part.stop) for part in (left, right))
    check_defined(block, metric, first, second)
    return block


def check_defined(
    block: Array, metric: Metric, first: Array, second: Array, *, new: bool = False
) -> None:
    """Raise ValueError if a block of distances contains NaN or infinity.

    `first` and `second` are the numbers of the objects of its rows and columns; `new` says that
    those of the rows are new objects, numbered by their rows in the user's X.
    """
    bad = ~np.isfinite(block)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        one = f"row {first[i]} of X and training object" if new else f"objects {first[i]} and"
        value = "NaN" if np.isnan(block[i, j]) else "infinity"
        raise ValueError(
            f"{argument('metric', metric.name)} gives {value} for {one} {second[j]}. Remove such "
            "objects, or choose a metric that is defined for them."
        )


def distance_matrix(rows: Any, metric: Metric) -> Array:
    """The n x n matrix of all distances; each pair is measured once."""
    n = rows.shape[0]
    dtype = checks.float_kind(rows)
    memory.claim(
        n * n * dtype.itemsize,
        f"The matrix of distances between {n} objects",
        "Take a sample of the objects, or use a method that works on a neighbour graph.",
    )
    if metric.name == "euclidean" and not is_sparse(rows):
        D = backend().distance_matrix(rows)
        if np.isfinite(backend().extremes(D)[1]):  # else the next lines report which one is not
            return D
    vectors, straight = to_euclidean(rows, metric)

    def tile(left: slice, right: slice) -> Array:
        return distance_block(vectors, straight, left, right)

    D = fill_symmetric(np.empty((n, n), dtype=dtype), tile, TILE_OBJECTS)
    np.fill_diagonal(D, 0)
    if metric.name == "callable":  # the built-in metrics are known to be symmetric
        np.maximum(D, D.T, out=D)
        check_dissimilarities(D, "the matrix of metric(a, b)")
    return D


def cross_distances(A: Any, B: Any, metric: Metric) -> Array:
    """Distances between the rows of A and the rows of B."""
    D = np.empty((A.shape[0], B.shape[0]), dtype=checks.float_kind(B))

    def fill(rows: slice) -> None:
        D[rows] = metric.block(A[rows], B)

    run(fill, blocks(A.shape[0], TILE_OBJECTS))
    return D


def distances_from(rows: Any, metric: Metric) -> Callable[[Array], Array]:
    """A function from row numbers to the distances of these rows to all rows."""
    rows, metric = to_euclidean(rows, metric)
    if metric.euclidean and isinstance(rows, np.ndarray):
        return _euclidean_from(rows)

    def measure(chosen: Array) -> Array:
        return np.ascontiguousarray(cross_distances(rows, rows[chosen], metric).T)

    return measure


def _euclidean_from(rows: Array) -> Callable[[Array], Array]:
    """Euclidean distances as matrix products, of centred vectors in float64.

    |a - b|^2 is the inner product of (-2 a, |a|^2, 1) and (b, 1, |b|^2).
    """
    n, d = rows.shape
    right = np.empty((d + 2, n))
    right[:d] = rows.T
    right[:d] -= right[:d].mean(axis=1, keepdims=True)
    right[d] = 1
    right[d + 1] = np.square(right[:d]).sum(axis=0)

    def measure(chosen: Array) -> Array:
        left = np.empty((len(chosen), d + 2))
        left[:, :d] = -2 * right[:d, chosen].T
        left[:, d], left[:, d + 1] = right[d + 1, chosen], 1
        out = np.empty((len(chosen), n))

        def fill(part: slice) -> None:
            squares = product(left, right[:, part].T)
            np.sqrt(np.maximum(squares, 0, out=squares), out=out[:, part])

        run(fill, blocks(n, TILE_OBJECTS))
        out[np.arange(len(chosen)), chosen] = 0
        return out

    return measure


def check_square(D: Any, name: str = "X") -> Array:
    """Check a square array of finite numbers."""
    shape = np.shape(D)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"{name}: array must be 2-dimensional and square, got shape {shape}. With "
            f"{argument('metric', 'precomputed')} each row holds one object's dissimilarities to "
            "all objects."
        )
    return np.asarray(checks.vectors(D, name=name))


def check_dissimilarities(D: Any, name: str = "X") -> Array:
    """Check a matrix of dissimilarities: square, finite, symmetric, zero diagonal, not negative."""
    D = check_square(D, name)
    low, high = backend().extremes(D)
    slack = (1e-5 if D.dtype == np.float32 else 1e-9) * max(high, -low, 1e-300)
    if backend().asymmetry(D) > slack:
        i, j = _first_gap(D, slack)
        raise ValueError(
            f"{name}: Array must be symmetric, but [{i}, {j}] is {D[i, j]:g} and [{j}, {i}] "
            f"is {D[j, i]:g}. Average the two, (D + D.T) / 2; if the difference is not noise, "
            "plot.drift_vectors draws it on the map of the average."
        )
    check_diagonal(D, name, slack)
    if low < -slack:
        i, j = np.argwhere(-slack > D)[0]
        raise ValueError(
            f"{name}: dissimilarities must not be negative, [{i}, {j}] is {D[i, j]:g}."
        )
    return np.asarray(D)


def check_diagonal(D: Any, name: str = "X", slack: float = 0.0) -> None:
    """Raise ValueError if the diagonal of an array or sparse matrix is not zero."""
    diagonal = np.asarray(D.diagonal())
    wrong = ~(np.abs(diagonal) <= slack)
    if wrong.any():
        i = int(wrong.argmax())
        raise ValueError(
            f"{name}: the diagonal must be zero (an object's dissimilarity to itself), but "
            f"[{i}, {i}] is {'NaN' if np.isnan(diagonal[i]) else f'{diagonal[i]:g}'}. If these are "
            "similarities, convert them first."
        )


def _first_gap(D: Array, slack: float) -> tuple[int, int]:
    """The first entry of a matrix that differs from that of the transposed matrix."""
    for part in blocks(len(D)):
        apart = np.abs(D[part] - D[:, part].T) > slack
        if apart.any():
            i, j = np.argwhere(apart)[0]
            return int(i) + part.start, int(j)
    raise AssertionError("the matrix is symmetric")


def finite_rows(D: Array, first_row: int = 0) -> Array:
    """Check that all distances of new objects are finite; `first_row` numbers the first one."""
    if not np.isfinite(D).all():
        i = int(np.argwhere(~np.isfinite(D))[0, 0]) + first_row
        raise ValueError(f"X: the distances of row {i} are not finite numbers.")
    return D
