"""Sammon's stress: its value and gradient, in coordinates in which descent goes straight.

The weights w_ij = 1/delta_ij differ by orders of magnitude where objects are nearly alike, and
plain gradients then crawl. All steps are therefore taken in Z = L'X, with L L' the Cholesky
factor of V, the Hessian of the quadratic part of the stress: there one full gradient step is the
Guttman transform of majorization (de Leeuw and Heiser 1980), and quasi-Newton steps start well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.backends import memory, native
from lowdim.callbacks import Watch
from lowdim.checks import Array
from lowdim.solvers.linear import cholesky_in_place
from lowdim.solvers.quasi_newton import SPAN, Minimum

ROWS = 64


class SammonStress:
    """E(X) = 1/c sum_{i<j} w_ij (delta_ij - |x_i - x_j|)^2, c = sum_{i<j} delta_ij, as a function
    of Z = L'X.

    An object i stands for mass_i identical ones. w_ij = 1/delta_ij; dissimilarities up to `floor`
    count as zero and are left out, unless epsilon > 0, when w_ij = 1/max(delta_ij, epsilon).
    """

    def __init__(
        self, D: Array, mass: Array, floor: float, epsilon: float, n_jobs: int | None = None
    ) -> None:
        self.D, self.mass, self.n_jobs = D, mass.astype(np.float64), n_jobs
        self.floor, self.epsilon = floor, epsilon
        parts = native.run(self._moment, native.blocks(len(D), ROWS), n_jobs)
        self.total = max(float(sum(parts)) / 2, np.finfo(np.float64).tiny)
        self.upper = self._factor()

    def __call__(self, Z: Array) -> tuple[float, Array]:
        value, gradient = self.at(self.decode(Z))
        return value, self._solve(gradient, transposed=True)

    def at(self, X: Array) -> tuple[float, Array]:
        """The stress and its gradient with respect to X, without n x n temporaries."""
        gradient, value = native.sammon_gradient(
            self.D, X, self.mass, floor=self.floor, epsilon=self.epsilon, n_jobs=self.n_jobs
        )
        gradient *= 2 / self.total
        return value / self.total, gradient

    def weights(self, part: slice) -> Array:
        """Rows of w_ij times the masses; zero on the diagonal."""
        delta = self.D[part].astype(np.float64, copy=False)
        W = np.outer(self.mass[part], self.mass)
        if self.epsilon > 0:
            W /= np.maximum(delta, self.epsilon)
        else:
            near = delta <= self.floor
            W /= np.where(near, 1.0, delta)
            W[near] = 0
        W[np.arange(len(W)), np.arange(part.start, part.stop)] = 0
        return W

    def encode(self, X: Array) -> Array:
        return np.asarray(np.triu(self.upper) @ X)

    def decode(self, Z: Array) -> Array:
        return self._solve(Z, transposed=False)

    def _moment(self, part: slice) -> float:
        delta = self.D[part].astype(np.float64, copy=False)
        return float((self.mass[part] @ delta) @ self.mass)

    def _factor(self) -> Array:
        """The upper factor L' of V, the constant shifts and what no weight holds made definite."""
        n = len(self.D)
        memory.claim(
            n * n * 8,
            f"The factor of Sammon's weights for {n} objects",
            "Take a sample of the objects and place the others with transform.",
        )
        V = np.empty((n, n))

        def fill(part: slice) -> None:
            W = self.weights(part) * (2 / self.total)
            V[part] = -W
            V[np.arange(part.start, part.stop), np.arange(part.start, part.stop)] = W.sum(axis=1)

        native.run(fill, native.blocks(n, ROWS), self.n_jobs)
        diagonal = np.diagonal(V).copy()
        lift = float(diagonal.mean()) or 1.0
        V += lift / n
        V.flat[:: n + 1] += 1e-12 * (diagonal + lift)
        cholesky_in_place(V, self.n_jobs)
        return V.T

    def _solve(self, B: Array, *, transposed: bool) -> Array:
        from scipy.linalg import solve_triangular

        solve: Any = solve_triangular
        return np.asarray(solve(self.upper, B, trans=int(transposed), check_finite=False))


def majorize(
    stress: Callable[[Array], tuple[float, Array]],
    start: Array,
    watch: Watch,
    *,
    tol: float,
    show: Callable[[Array], Array],
) -> Minimum:
    """Guttman transforms from a start, in the coordinates of the stress. It never increases."""
    Z, history = start, []
    best, value = start, np.inf
    with watch:
        for iteration in range(watch.max_iter + 1):
            value, gradient = stress(Z)
            history.append(value)
            best = Z
            before = history[-1 - SPAN] if len(history) > SPAN else np.inf
            seen = Z if watch.callback is None else show(Z)
            if iteration and watch(iteration, value, seen):
                break
            if before - value <= tol * value:
                break
            Z = Z - gradient
    return Minimum(best, value, np.array(history))


def zero_up_to(D: Array) -> float:
    """What counts as zero beside a largest dissimilarity of one."""
    return 1e-6 if D.dtype == np.float32 else 1e-12


def merge_identical(D: Array, floor: float) -> tuple[Array, Array]:
    """Objects that no dissimilarity tells apart: one of each kind, and the kind of each object."""
    n = len(D)
    kinds = np.full(n, -1, dtype=np.int64)
    first: list[int] = []
    for part in native.blocks(n):
        zero = D[part] <= floor
        for i in range(part.start, part.stop):
            if kinds[i] >= 0:
                continue
            alike = np.flatnonzero(zero[i - part.start])
            alike = alike[(alike > i) & (kinds[alike] < 0)]
            if len(alike):
                alike = alike[(np.abs(D[alike] - D[i]) <= floor).all(axis=1)]
            kinds[i] = kinds[alike] = len(first)
            first.append(i)
    return np.array(first), kinds
