"""Sammon's stress (1969): its value and gradient in preconditioned coordinates, and majorization.

The weights w_ij = 1/delta_ij differ by orders of magnitude if some objects are very similar, and
plain gradient descent is then slow. All steps are therefore taken in the coordinates Z = L'X, with
V = L L' the Hessian of the quadratic part of the stress. In these, a full gradient step is the
Guttman transform of majorization (de Leeuw and Heiser 1980), and the identity is a good first
approximation of the Hessian for quasi-Newton methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.dense import cholesky_in_place, product, solve_triangle
from lowdim.checks import Array
from lowdim.numerics.objective import Objective
from lowdim.numerics.quasi_newton import SPAN, Minimum
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks, run

BLOCK_ROWS = 64  # rows of an n x n matrix that are handled at once


class SammonStress:
    """E(X) = 1/c sum_{i<j} w_ij (delta_ij - |x_i - x_j|)^2, c = sum_{i<j} delta_ij, as a function
    of Z = L'X.

    `mass` is the number of identical objects that each object represents. If `epsilon` is 0,
    w_ij = 1/delta_ij and pairs with delta_ij <= `floor` are left out; else w_ij = 1/max(delta_ij,
    epsilon) for all pairs.
    """

    def __init__(self, D: Array, mass: Array, floor: float, epsilon: float) -> None:
        self.D, self.mass = D, mass.astype(np.float64)
        self.floor, self.epsilon = floor, epsilon
        parts = run(self._moment, blocks(len(D), BLOCK_ROWS))
        self.total = max(float(sum(parts)) / 2, np.finfo(np.float64).tiny)
        self.lower = self._factor()

    def __call__(self, Z: Array) -> tuple[float, Array]:
        value, gradient = self.at(self.decode(Z))
        return value, solve_triangle(self.lower, gradient)

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
        """Z = L'X."""
        return product(np.tril(self.lower).T, np.asarray(X, dtype=np.float64).T)

    def decode(self, Z: Array) -> Array:
        """X from Z = L'X."""
        return solve_triangle(self.lower, Z, transposed=True)

    def _moment(self, part: slice) -> float:
        """The sum of some rows of D, by mass."""
        delta = self.D[part].astype(np.float64, copy=False)
        return float((((self.mass[part, None] * delta).sum(axis=0)) * self.mass).sum())

    def _factor(self) -> Array:
        """The Cholesky factor L of V, in a lower triangle.

        A multiple of 11' and a small diagonal are added, because V is singular: its null space
        contains the constant, and objects without weights.
        """
        n = len(self.D)
        V = np.empty((n, n))

        def fill(part: slice) -> None:
            W = self.weights(part) * (2 / self.total)
            V[part] = -W
            V[np.arange(part.start, part.stop), np.arange(part.start, part.stop)] = W.sum(axis=1)

        run(fill, blocks(n, BLOCK_ROWS))
        diagonal = np.diagonal(V).copy()
        lift = float(diagonal.mean()) or 1.0
        V += lift / n
        V.flat[:: n + 1] += 1e-12 * (diagonal + lift)
        cholesky_in_place(V)
        return V


def majorize(
    stress: Objective, start: Array, monitor: Monitor, *, tol: float, show: Callable[[Array], Array]
) -> Minimum:
    """Minimise Sammon's stress by Guttman transforms, in the coordinates Z; see `lbfgs`."""
    Z, best, value, ended = start, start, np.nan, False
    history: list[float] = []

    def state() -> dict[str, Any]:
        return {"Z": Z, "best": best, "history": np.array(history), "ended": ended}

    with monitor:
        if (saved := monitor.load_state({"Z": Z, "best": best})) is not None:
            Z, best, ended = saved["Z"], saved["best"], saved["ended"]
            history = saved["history"].tolist()
            value = history[-1]
        while len(history) <= monitor.max_iter and not ended:
            value, gradient = stress(Z)
            history.append(value)
            best = Z
            before = history[-1 - SPAN] if len(history) > SPAN else np.inf
            seen = show(Z) if monitor.wants_embedding else Z
            if len(history) > 1 and monitor(len(history) - 1, value, seen):
                break
            ended = before - value <= tol * value
            Z = Z - gradient
            monitor.keep(state)
    return Minimum(best, value, np.array(history or [value]))
