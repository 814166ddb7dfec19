"""Prototypes of a self-organizing map: means of vectors, or of objects known by dissimilarities.

Both kinds answer the same questions: the nearest prototypes of each object, new prototypes from the
objects assigned to the units (batch training), and a step towards one object (online training).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.backends.native.dense import dot, product
from lowdim.checks import Array, dense, is_sparse
from lowdim.distances.metrics import Metric
from lowdim.neighbor_graphs.exact import query
from lowdim.runtime.scheduling import blocks, run

DENSE_ROWS = 4096  # rows of a sparse matrix that are made dense at once
Kernel = Callable[[slice], Array]
"""From some units to the weights that the objects of all units have for them."""


class Prototypes(Protocol):
    """One prototype per unit."""

    def nearest(self, k: int) -> tuple[Array, Array]:
        """The k nearest units of each object, and the distances to their prototypes."""

    def squared_distances(self, objects: slice) -> Array:
        """Squared distances of some objects to all prototypes."""

    def between(self, A: Array, B: Array) -> Array:
        """The distances between the prototypes of units A and of units B."""

    def update(self, units: Array, kernel: Kernel) -> None:
        """Batch step: the weighted mean of all objects, for each unit."""

    def step(self, i: int, weights: Callable[[int], Array]) -> float:
        """Online step towards object i; `weights` maps its best unit to a step size for each unit.

        Returns the distance of the object to its best prototype.
        """

    def state(self) -> dict[str, Array]:
        """The arrays that training changes."""

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from a state of the same map."""


def metric_squares(metric: Metric, A: Any, B: Any) -> Array:
    """Squared distances; the cosine distance is half the squared distance of unit vectors."""
    D = np.asarray(metric.block(A, B), dtype=np.float64)
    return 2 * D if metric.name == "cosine" else D * D


def best_units(codebook: Array, rows: Any, k: int, metric: Metric) -> tuple[Array, Array]:
    """The k nearest prototypes of each row and their distances."""
    if not is_sparse(rows):
        return query(codebook, rows, k, metric)
    parts = [
        query(codebook, dense(rows[part]), k, metric) for part in blocks(rows.shape[0], DENSE_ROWS)
    ]
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


class VectorPrototypes:
    """Prototypes of vectors under the Euclidean, nan_euclidean or cosine distance.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        NaN marks a missing value; it takes no part in means and distances. Rows have unit length
        under the cosine distance.
    metric : Metric
    codebook : array of shape (n_units, d)
        The prototypes at the start.
    """

    def __init__(self, rows: Any, metric: Metric, codebook: Array) -> None:
        self.rows, self.metric = rows, metric
        self.codebook = np.array(codebook, dtype=rows.dtype)
        missing = None if is_sparse(rows) else np.isnan(rows)
        self._known = None if missing is None or not missing.any() else ~missing
        self._gap = np.empty_like(self.codebook)  # of the steps of online training

    def nearest(self, k: int) -> tuple[Array, Array]:
        return best_units(self.codebook, self.rows, k, self.metric)

    def squared_distances(self, objects: slice) -> Array:
        return metric_squares(self.metric, self.rows[objects], self.codebook)

    def between(self, A: Array, B: Array) -> Array:
        a, b = self.codebook[A].astype(np.float64), self.codebook[B].astype(np.float64)
        if self.metric.name == "cosine":
            return np.asarray(((a - b) ** 2).sum(axis=1) / 2)
        return np.asarray(np.sqrt(((a - b) ** 2).sum(axis=1)))

    def sums(self, units: Array) -> tuple[Array, Array]:
        """The sum of the objects of each unit, and their number for each entry of the sum."""
        members = membership(units, len(self.codebook), self.rows.dtype)
        counts = np.bincount(units, minlength=len(self.codebook))[:, None]
        if is_sparse(self.rows):
            return (members @ self.rows).toarray(), counts.astype(self.rows.dtype)
        if self._known is None:
            return backend().spmm(members, self.rows), counts.astype(self.rows.dtype)
        filled = np.where(self._known, self.rows, 0)
        return backend().spmm(members, filled), backend().spmm(members, self._known)

    def update(self, units: Array, kernel: Kernel) -> None:
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
        gap = np.subtract(dense(self.rows[i : i + 1]), self.codebook, out=self._gap)
        if self._known is not None:
            np.nan_to_num(gap, copy=False)
        squares = (gap * gap).sum(axis=1)
        best = int(squares.argmin())
        size = weights(best).astype(gap.dtype)
        moved = np.flatnonzero(
            size > np.finfo(gap.dtype).eps / 16
        )  # others round to where they are
        self.codebook[moved] += size[moved, None] * gap[moved]
        self.codebook[moved] = self._on_sphere(self.codebook[moved])
        return float(squares[best] / 2 if self.metric.name == "cosine" else np.sqrt(squares[best]))

    def state(self) -> dict[str, Array]:
        return {"codebook": self.codebook}

    def restore(self, state: dict[str, Array]) -> None:
        self.codebook = state["codebook"]

    def _on_sphere(self, codebook: Array) -> Array:
        """Under the cosine distance only directions matter; zero prototypes stay zero."""
        if self.metric.name != "cosine":
            return codebook
        length = np.sqrt((codebook * codebook).sum(axis=1, keepdims=True))
        return np.asarray(codebook / np.where(length > 0, length, 1))


class RelationalPrototypes:
    """Prototypes as combinations of objects, of which only dissimilarities are known.

    The squared distance of object j to the combination a is ``(D2 a)_j - a' D2 a / 2``, where D2
    holds the squared dissimilarities (Hammer and Hasenfuss 2010). For Euclidean distances this is
    exactly the distance to the mean of the vectors.

    Parameters
    ----------
    D : array of shape (n, n)
    coefficients : array of shape (n_units, n)
        Of the start; each row has the sum 1.
    median : bool
        Whether each prototype is a single object, the one with the least weighted sum of squared
        dissimilarities to all objects (Kohonen and Somervuo 2002).

    Attributes
    ----------
    halves : array of shape (n_units,)
        ``a' D2 a / 2`` of each prototype a.
    """

    def __init__(self, D: Array, coefficients: Array, median: bool) -> None:
        self.D2, self.median = D * D, median
        self.coefficients = np.array(coefficients, dtype=D.dtype)
        self._products = backend().matmul(self.D2, self.coefficients.T).T  # (n_units, n)
        if median:
            self._take_medians(self._products)
        self.halves = (self._products * self.coefficients).sum(axis=1) / 2

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
        members = membership(units, n_units, self.D2.dtype)
        counts = np.bincount(units, minlength=n_units).astype(self.D2.dtype)
        sums = backend().spmm(members, self.D2)
        products, coefficients = self._products.copy(), self.coefficients.copy()

        def mean(part: slice) -> None:
            weights = kernel(part).astype(sums.dtype)
            total = product(weights, counts[None, :])[:, 0]
            some = total > 0
            weights = weights[some] / total[some, None]
            products[part][some] = product(weights, sums.T)
            coefficients[part][some] = weights[:, units]

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

    def state(self) -> dict[str, Array]:
        return {
            "coefficients": self.coefficients,
            "products": self._products,
            "halves": self.halves,
        }

    def restore(self, state: dict[str, Array]) -> None:
        self.coefficients, self._products = state["coefficients"], state["products"]
        self.halves = state["halves"]


def relational_squares(D: Array, coefficients: Array, halves: Array) -> Array:
    """Squared distances to combinations of objects, from the dissimilarities to the objects."""
    return product(D * D, coefficients) - halves


def membership(units: Array, n_units: int, dtype: Any) -> Any:
    """The CSR matrix of shape (n_units, n) with a 1 for each object in the row of its unit."""
    order = np.argsort(units, kind="stable").astype(np.int32)
    ends = np.cumsum(np.bincount(units, minlength=n_units))
    indptr = np.concatenate([[0], ends]).astype(np.int32)
    return csr_array((np.ones(len(units), dtype), order, indptr), shape=(n_units, len(units)))
