"""Prototypes of a self-organizing map: means of vectors, or of objects known by dissimilarities.

Both kinds answer the same questions. They start on principal components, at random objects, or
where the user says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.backends.native.dense import dot, product
from lowdim.checks import Array, dense, is_sparse
from lowdim.distances.metrics import Metric
from lowdim.messages import argument
from lowdim.neighbor_graphs.exact import query
from lowdim.numerics.starts import check_start
from lowdim.numerics.svd import scores, start_axes
from lowdim.numerics.unit_grid import UnitGrid
from lowdim.runtime.checkpoint import Resumable
from lowdim.runtime.elementary import cosine_of_turns
from lowdim.runtime.scheduling import blocks, run
from lowdim.spectral.starts import classical_start

INITS = ("pca", "random")
COMPONENTS = 4  # a toroidal grid is rolled up in two planes
EVEN = 1e-6  # relative third moment below which scores count as symmetric
DENSE_ROWS = 4096  # rows of a sparse matrix that are made dense at once
Kernel = Callable[[slice], Array]
"""From some units to the weights that the objects of all units have for them."""

MakeGrid = Callable[[Array], UnitGrid]
"""From principal coordinates of the objects to the grid of units."""


class Weighted(Resumable):
    """What both kinds of prototypes share: weights of the objects."""

    weights: Array | None = None  # of the objects; None is 1 for each

    def mean(self, values: Array) -> float:
        """The weighted mean of a number of each object."""
        if self.weights is None:
            return float(values.mean(dtype=np.float64))
        return float(np.average(values, weights=self.weights))

    def order(self, n: int, random: np.random.RandomState) -> Array:
        """The order of an epoch of online training; weighted objects are drawn by their weights."""
        if self.weights is None:
            return random.permutation(n)
        return random.choice(n, n, p=self.weights / self.weights.sum())

    def membership(self, units: Array, n_units: int, dtype: Any) -> tuple[Any, Array]:
        """The CSR matrix (n_units, n) of the objects of each unit, by weight, and its row sums."""
        order = np.argsort(units, kind="stable").astype(np.int32)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(units, minlength=n_units))])
        data = np.ones(len(units)) if self.weights is None else self.weights[order]
        shape = (n_units, len(units))
        members = csr_array((data.astype(dtype), order, indptr.astype(np.int32)), shape=shape)
        return members, np.bincount(units, self.weights, minlength=n_units).astype(dtype)


class VectorPrototypes(Weighted):
    """Prototypes of vectors under the Euclidean, nan_euclidean or cosine distance.

    NaN marks a missing value; it takes no part in means and distances. Rows have unit length under
    the cosine distance.
    """

    changing = ("codebook",)

    def __init__(self, rows: Any, metric: Metric, codebook: Array) -> None:
        self.rows, self.metric = rows, metric
        self.codebook = np.array(codebook, dtype=rows.dtype)
        missing = None if is_sparse(rows) else np.isnan(rows)
        self._known = None if missing is None or not missing.any() else ~missing
        self._gap = np.empty_like(self.codebook)  # of the steps of online training

    def nearest(self, k: int) -> tuple[Array, Array]:
        """The k nearest units of each object, and the distances to their prototypes."""
        if not is_sparse(self.rows):
            return query(self.codebook, self.rows, k, self.metric)
        parts = [
            query(self.codebook, dense(self.rows[part]), k, self.metric)
            for part in blocks(self.rows.shape[0], DENSE_ROWS)
        ]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def squared_distances(self, objects: slice) -> Array:
        """Squared distances of some objects to all prototypes."""
        D = np.asarray(self.metric.block(self.rows[objects], self.codebook), dtype=np.float64)
        # The cosine distance is half the squared distance of vectors of length 1.
        return 2 * D if self.metric.name == "cosine" else D * D

    def between(self, A: Array, B: Array) -> Array:
        """The distances between the prototypes of units A and of units B."""
        a, b = self.codebook[A].astype(np.float64), self.codebook[B].astype(np.float64)
        if self.metric.name == "cosine":
            return np.asarray(((a - b) ** 2).sum(axis=1) / 2)
        return np.asarray(np.sqrt(((a - b) ** 2).sum(axis=1)))

    def sums(self, units: Array) -> tuple[Array, Array]:
        """The sum of the objects of each unit, and their number for each entry of the sum."""
        members, counts = self.membership(units, len(self.codebook), self.rows.dtype)
        if is_sparse(self.rows):
            return (members @ self.rows).toarray(), counts[:, None]
        if self._known is None:
            return backend().spmm(members, self.rows), counts[:, None]
        filled = np.where(self._known, self.rows, 0)
        return backend().spmm(members, filled), backend().spmm(members, self._known)

    def update(self, units: Array, kernel: Kernel) -> None:
        """Batch step: the weighted mean of all objects, for each unit."""
        self.smooth(*self.sums(units), kernel)

    def smooth(self, sums: Array, counts: Array, kernel: Kernel) -> None:
        """Set the prototypes to weighted means; those without any weight stay as they are."""
        codebook = self.codebook.copy()

        def mean(part: slice) -> None:
            weights = kernel(part).astype(sums.dtype)
            total = product(weights, counts.T)
            np.divide(product(weights, sums.T), total, out=codebook[part], where=total > 0)

        run(mean, blocks(len(codebook)))
        self.codebook = self._on_sphere(codebook)

    def step(self, i: int, weights: Callable[[int], Array]) -> float:
        """Online step towards object i; `weights` maps its best unit to a step size for each unit.

        Returns the distance of the object to its best prototype.
        """
        gap = np.subtract(dense(self.rows[i : i + 1]), self.codebook, out=self._gap)
        if self._known is not None:
            np.nan_to_num(gap, copy=False)
        squares = (gap * gap).sum(axis=1)
        best = int(squares.argmin())
        size = weights(best).astype(gap.dtype)
        # smaller steps round to where the prototypes are
        moved = np.flatnonzero(size > np.finfo(gap.dtype).eps / 16)
        self.codebook[moved] += size[moved, None] * gap[moved]
        self.codebook[moved] = self._on_sphere(self.codebook[moved])
        return float(squares[best] / 2 if self.metric.name == "cosine" else np.sqrt(squares[best]))

    def _on_sphere(self, codebook: Array) -> Array:
        """Under the cosine distance only directions matter; zero prototypes stay zero."""
        if self.metric.name != "cosine":
            return codebook
        length = np.sqrt((codebook * codebook).sum(axis=1, keepdims=True))
        return np.asarray(codebook / np.where(length > 0, length, 1))


class RelationalPrototypes(Weighted):
    """Prototypes as combinations of objects, of which only dissimilarities are known.

    The squared distance of object j to the combination a is ``(D2 a)_j - a' D2 a / 2``, where D2
    holds the squared dissimilarities (Hammer and Hasenfuss 2010). For Euclidean distances this is
    exactly the distance to the mean of the vectors.

    The coefficients of each prototype have the sum 1. With `median` each prototype is a single
    object, the one with the least weighted sum of squared dissimilarities to all objects (Kohonen
    and Somervuo 2002).
    """

    changing = ("coefficients", "_products", "halves")

    def __init__(self, D: Array, coefficients: Array, median: bool) -> None:
        self.D2, self.median = D * D, median
        self.coefficients = np.array(coefficients, dtype=D.dtype)
        self._products = backend().matmul(self.D2, self.coefficients.T).T  # (n_units, n)
        if median:
            self._take_medians(self._products)
        self.halves = (self._products * self.coefficients).sum(axis=1) / 2  # a' D2 a / 2

    def nearest(self, k: int) -> tuple[Array, Array]:
        units, squares = backend().smallest(self.squared_distances(slice(None)), k)
        return units, np.sqrt(np.maximum(squares, 0))

    def squared_distances(self, objects: slice) -> Array:
        return np.ascontiguousarray((self._products[:, objects] - self.halves[:, None]).T)

    def between(self, A: Array, B: Array) -> Array:
        cross = np.array(
            [dot(self._products[a], self.coefficients[b]) for a, b in zip(A, B, strict=True)]
        )
        return np.asarray(np.sqrt(np.maximum(cross - self.halves[A] - self.halves[B], 0)))

    def update(self, units: Array, kernel: Kernel) -> None:
        n_units = len(self.coefficients)
        members, counts = self.membership(units, n_units, self.D2.dtype)
        sums = backend().spmm(members, self.D2)
        products, coefficients = self._products.copy(), self.coefficients.copy()
        own = 1 if self.weights is None else self.weights.astype(sums.dtype)

        def mean(part: slice) -> None:
            weights = kernel(part).astype(sums.dtype)
            total = product(weights, counts[None, :])[:, 0]
            some = total > 0
            weights = weights[some] / total[some, None]
            products[part][some] = product(weights, sums.T)
            coefficients[part][some] = weights[:, units] * own

        run(mean, blocks(n_units))
        self.coefficients, self._products = coefficients, products
        if self.median:
            self._take_medians(products)
        self.halves = (self._products * self.coefficients).sum(axis=1) / 2

    def _take_medians(self, products: Array) -> None:
        chosen = products.argmin(axis=1)
        self.coefficients = np.zeros_like(self.coefficients)
        self.coefficients[np.arange(len(chosen)), chosen] = 1
        self._products = np.array(self.D2[chosen])

    def step(self, i: int, weights: Callable[[int], Array]) -> float:
        column = self._products[:, i].copy()
        squares = column - self.halves
        best = int(squares.argmin())
        size = weights(best).astype(self.D2.dtype)
        self.coefficients *= (1 - size)[:, None]
        self.coefficients[:, i] += size
        self._products += size[:, None] * (self.D2[i] - self._products)
        self.halves = (1 - size) ** 2 * self.halves + size * (1 - size) * column
        return float(np.sqrt(max(float(squares[best]), 0.0)))


def relational_squares(D: Array, coefficients: Array, halves: Array) -> Array:
    """Squared distances to combinations of objects, from the dissimilarities to the objects."""
    return product(D * D, coefficients) - halves


Prototypes = VectorPrototypes | RelationalPrototypes


def vector_start(
    rows: Any, metric: Metric, make_grid: MakeGrid, init: Any, random: np.random.RandomState
) -> tuple[UnitGrid, VectorPrototypes]:
    """The grid, made for principal coordinates, and the first prototypes of vectors."""
    full = fill_missing(rows) if metric.name == "nan_euclidean" else rows
    center, axes = start_axes(full, min(COMPONENTS, *full.shape))
    Y = scores(full, center, axes).astype(np.float64)
    grid = make_grid(Y)
    if not isinstance(init, str):
        shape = grid.n, rows.shape[1]
        codebook = check_start(init, shape, INITS, "one prototype for each unit")
    elif init == "random":
        codebook = dense(full[_some(rows.shape[0], grid.n, random)])
    else:
        places = start_positions(grid, Y.shape[1]) * Y.std(axis=0) * invariant_signs(Y)
        codebook = center + product(places, axes.astype(np.float64).T)
    return grid, VectorPrototypes(rows, metric, codebook)


def relational_start(
    D: Array, make_grid: MakeGrid, init: str, random: np.random.RandomState, *, median: bool
) -> tuple[UnitGrid, RelationalPrototypes]:
    """The grid and the first prototypes of objects that are known by dissimilarities.

    For Euclidean distances these are the prototypes of `vector_start`.
    """
    n = len(D)
    Y = classical_start(D, min(COMPONENTS, n - 1)).astype(np.float64)
    grid = make_grid(Y)
    if init == "random":
        coefficients = np.zeros((grid.n, n))
        coefficients[np.arange(grid.n), _some(n, grid.n, random)] = 1
    else:
        variance = Y.var(axis=0)
        spread = np.where(variance > 0, np.sqrt(variance), 1)
        places = start_positions(grid, Y.shape[1]) * invariant_signs(Y)
        coefficients = 1 / n + product(places, Y / spread / n)
    return grid, RelationalPrototypes(D, coefficients, median)


def start_positions(grid: UnitGrid, k: int) -> Array:
    """Where the prototypes start: k principal coordinates, in standard deviations of the data.

    A planar grid is laid on the plane of the first two components, with the spread of the data. A
    toroidal one is rolled up: each of its axes is a circle in a plane of two components.
    """
    half = np.maximum(grid.periods / 2, 0.5)
    if not grid.toroidal:
        positions = grid.coordinates / half * np.sqrt(3)  # a uniform distribution of variance 1
    else:
        turns = np.repeat(grid.coordinates / half / 2, 2, axis=1)
        turns[:, 1::2] -= 0.25  # sines
        positions = cosine_of_turns(turns) * np.sqrt(2)
    return np.pad(positions, ((0, 0), (0, max(0, k - positions.shape[1]))))[:, :k]


def invariant_signs(scores: Array) -> Array:
    """Signs that make the third moment of each column positive.

    They do not depend on the coordinate system of the data, as those of singular vectors do.
    """
    sizes = np.abs(scores).max(axis=0, initial=0)
    unit = scores / np.where(sizes > 0, sizes, 1)
    skew, scale = (unit**3).sum(axis=0), (np.abs(unit) ** 3).sum(axis=0)
    return np.where(skew < -EVEN * scale, -1.0, 1.0)


def fill_missing(rows: Array) -> Array:
    """Rows with missing values replaced by the means of their columns."""
    missing = np.isnan(rows)
    blank = np.flatnonzero(missing.all(axis=1))
    if len(blank):
        raise ValueError(
            f"{argument('metric', 'nan_euclidean')} gives NaN for objects {blank[0]} and "
            f"{int(blank[0] == 0)}. Remove such objects, or choose a metric that is defined for "
            "them."
        )
    known = (~missing).sum(axis=0)
    means = np.where(missing, 0, rows).sum(axis=0) / np.maximum(known, 1)
    return np.where(missing, means.astype(rows.dtype), rows)


def _some(n: int, m: int, random: np.random.RandomState) -> Array:
    """m of n objects, all different if there are enough."""
    order = [random.permutation(n) for _ in range(-(-m // n))]
    return np.concatenate(order)[:m]
