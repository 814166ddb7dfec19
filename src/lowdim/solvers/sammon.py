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

from lowdim.backends import backend
from lowdim.callbacks import Monitor
from lowdim.checks import Array
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks, run
from lowdim.solvers.linear import cholesky_in_place
from lowdim.solvers.objective import Objective
from lowdim.solvers.quasi_newton import SPAN, Minimum

ROWS = 64


class SammonStress:
    """E(X) = 1/c sum_{i<j} w_ij (delta_ij - |x_i - x_j|)^2, c = sum_{i<j} delta_ij, as a function
    of Z = L'X.

    An object i stands for mass_i identical ones. w_ij = 1/delta_ij; dissimilarities up to `floor`
    count as zero and are left out, unless epsilon > 0, when w_ij = 1/max(delta_ij, epsilon).
    """

    def __init__(self, D: Array, mass: Array, floor: float, epsilon: float) -> None:
        self.D, self.mass = D, mass.astype(np.float64)
        self.floor, self.epsilon = floor, epsilon
        parts = run(self._moment, blocks(len(D), ROWS))
        self.total = max(float(sum(parts)) / 2, np.finfo(np.float64).tiny)
        self.upper = self._factor()

    def __call__(self, Z: Array) -> tuple[float, Array]:
        value, gradient = self.at(self.decode(Z))
        return value, self._solve(gradient, transposed=True)

    def at(self, X: Array) -> tuple[float, Array]:
        """The stress and its gradient with respect to X, without n x n temporaries."""
        value, gradient = backend().sammon_gradient(
            self.D, X, self.mass, floor=self.floor, epsilon=self.epsilon
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

        run(fill, blocks(n, ROWS))
        diagonal = np.diagonal(V).copy()
        lift = float(diagonal.mean()) or 1.0
        V += lift / n
        V.flat[:: n + 1] += 1e-12 * (diagonal + lift)
        cholesky_in_place(V)
        return V.T

    def _solve(self, B: Array, *, transposed: bool) -> Array:
        from scipy.linalg import solve_triangular

        solve: Any = solve_triangular
        return np.asarray(solve(self.upper, B, trans=int(transposed), check_finite=False))


def majorize(
    stress: Objective,
    start: Array,
    monitor: Monitor,
    *,
    tol: float,
    show: Callable[[Array], Array],
) -> Minimum:
    """Guttman transforms from a start, in the coordinates of the stress. It never increases."""
    Z, history = start, []
    best, value = start, np.inf
    with monitor:
        for iteration in range(monitor.max_iter + 1):
            value, gradient = stress(Z)
            history.append(value)
            best = Z
            before = history[-1 - SPAN] if len(history) > SPAN else np.inf
            seen = show(Z) if monitor.wants_embedding else Z
            if iteration and monitor(iteration, value, seen):
                break
            if before - value <= tol * value:
                break
            Z = Z - gradient
    return Minimum(best, value, np.array(history))
