"""Semidefinite programmes of local isometry: the largest Gram matrix that keeps some lengths.

Over centred K >= 0, for edges k = (i, j) of squared length d_k^2 and with the relative error
r_k = (K_ii - 2 K_ij + K_jj) / d_k^2 - 1:

    maximise trace(K) - 1/(2 e) sum_k r_k^2              (equality), or
    maximise trace(K) - 1/(2 e) sum_k max(r_k, 0)^2      (inequality).

At the solution r_k = e y_k, where the dual variables y_k >= 0, the tensions of the edges, sum to
trace(K) up to e. So with e = slack * m / trace the relative error of the squared lengths is `slack`
on average, and e = 0 keeps the lengths exactly. e is called the compliance. In the dual programme
the Laplacian weighted by the tensions has no eigenvalue below 1 except that of the constant,

    minimise sum_k y_k + e/2 sum_k y_k^2   subject to   sum_k y_k / d_k^2 a_k a_k' >= J,

with a_k = e_i - e_j, the fastest mixing of Sun, Boyd, Xiao and Diaconis (2006).

Every constraint has rank one, so the Schur complement of an interior-point method is the
entrywise product of two m x m matrices. This makes `interior_point` faster than a general solver.
`factorized` has methods for many points.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigvalsh, solve_triangular

from lowdim.backends.native.dense import cholesky_in_place
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.runtime import memory
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import Resumable
from lowdim.runtime.scheduling import blas_on_one_thread, blocks, run
from lowdim.spectral.maximum_variance.lengths import Lengths

FEASIBILITY = 1e-6  # largest relative error of a constraint at convergence


class Solution(NamedTuple):
    """K in units of `Lengths.unit`^2, the dual variables, and how accurate they are."""

    gram: Array
    tensions: Array
    gap: float  # relative duality gap
    error: float  # largest violation of a constraint, relative to the squared length
    history: Array  # gap of each iteration


def interior_point(
    lengths: Lengths,
    *,
    inequality: bool = False,
    compliance: float = 0.0,
    tol: float = 1e-7,
    monitor: Monitor | None = None,
    view: Callable[[Array], Array] | None = None,
) -> Solution:
    """The Gram matrix K by a primal-dual interior-point method, to a relative gap of `tol`.

    The direction of Helmberg, Rendl, Vanderbei and Wolkowicz (1996) with Mehrotra's predictor and
    corrector. The start is on the central path: uniform tensions are feasible for the dual. The
    Schur complement is the entrywise product of B X B' and B Z^-1 B'. An iteration takes m^3 / 3
    operations for m edges, and memory for three m x m matrices. `view` is a function from K to the
    coordinates that the callback gets.
    """
    m = len(lengths.squares)
    memory.claim(
        3 * 8 * m * m,
        f"The semidefinite programme of {m} edges",
        f"Set {argument('solver', 'factorized')}, or fewer neighbours.",
    )
    path = _Path(lengths, inequality, compliance)
    history: list[float] = []
    best, merit = path.solution(), np.inf

    def iterate(monitor: Monitor) -> None:
        nonlocal best, merit, history
        stuck, ended = 0, False

        def state() -> dict[str, Any]:
            progress = {"merit": merit, "stuck": stuck, "ended": ended}
            return {**path.state(), "best": best, "history": np.array(history), **progress}

        if (saved := monitor.load_state(path.state())) is not None:
            path.restore(saved)
            best, merit, stuck = saved["best"], saved["merit"], saved["stuck"]
            history, ended = saved["history"].tolist(), saved["ended"]
        while len(history) < monitor.max_iter and not ended:
            gap, error = path.gap(), path.error()
            now = max(gap / tol, error / FEASIBILITY)
            history.append(gap)
            if now < merit:
                stuck = stuck if now > 0.9 * merit else 0
                best, merit = path.solution(), now
            else:
                stuck += 1
            shown = view(path.gram()) if view is not None else np.empty((0, 0))
            # Near the solution only rounding stops progress.
            patience = 3 if compliance and merit < 1000 else 15
            if monitor(len(history), gap, shown):
                return
            ended = merit <= 1 or stuck > patience or not path.step()
            monitor.keep(state)

    with blas_on_one_thread(), monitor or Monitor(100) as monitoring:
        iterate(monitoring)
    return Solution(*best, np.array(history))


class _Path(Resumable):
    """The iterates: X = K + mu u u' > 0, the slacks s, the tensions y and Z(y) > 0.

    u is the unit vector along sqrt(mass), with K u = 0. The component along u only keeps the
    matrices invertible; no constraint depends on it.
    """

    changing = ("X", "s", "y")  # Z follows from the tensions

    def __init__(self, lengths: Lengths, inequality: bool, compliance: float) -> None:
        self.B, self.compliance, self.inequality = lengths.incidence(), compliance, inequality
        n, m = lengths.n, len(lengths.squares)
        self.heads, self.tails = lengths.heads, lengths.tails
        self.left, self.right = self.B.data[0::2], self.B.data[1::2]
        self.root = 1 / np.sqrt(lengths.mass)
        u = np.sqrt(lengths.mass)
        u /= np.linalg.norm(u)
        self.outer = np.outer(u, u)
        self.u = u
        uniform = self._laplacian(np.ones(m))
        slowest = float(eigvalsh(uniform + m * self.outer, subset_by_index=(0, 0))[0])
        self.y = np.full(m, 2 / slowest)
        self.Z = self._dual_matrix(self.y)
        inverse = np.linalg.inv(self.Z)
        mu = (m + compliance * self.y.sum()) / max(float(self._squares(inverse).sum()), 1e-300)
        self.X = mu * (inverse + inverse.T) / 2
        self.s = mu / self.y if inequality else np.zeros(m)
        self.count = n - 1 + (m if inequality else 0)

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.Z = self._dual_matrix(self.y)

    def solution(self) -> tuple[Array, Array, float, float]:
        """K, tensions, gap and error of the current iterate."""
        return self.gram(), self.y.copy(), self.gap(), self.error()

    def gram(self) -> Array:
        """K, without the scaling by masses."""
        return np.asarray(self._inside(self.X) * self.root[:, None] * self.root)

    def complementarity(self) -> float:
        """<X, Z> orthogonal to u, plus s'y."""
        inside = float(
            (self.X * self.Z).sum() - self.u @ self.X @ self.u * (self.u @ self.Z @ self.u)
        )
        return inside + float(self.s @ self.y)

    def gap(self) -> float:
        """The relative duality gap."""
        return self.complementarity() / float(self.y.sum() + self.compliance / 2 * self.y @ self.y)

    def error(self) -> float:
        """The largest relative error of a constraint."""
        return float(np.abs(self._squares(self.X) + self.s - self.compliance * self.y - 1).max())

    def step(self) -> bool:
        """One predictor-corrector step; returns False if rounding prevents progress."""
        m, mu = len(self.y), self.complementarity() / self.count
        try:
            lower_x, lower_z = np.linalg.cholesky(self.X), np.linalg.cholesky(self.Z)
            inverse = np.linalg.inv(self.Z)
            inverse = (inverse + inverse.T) / 2
            solve = self._schur(inverse)
        except np.linalg.LinAlgError:
            return False
        weight = self._squares(inverse)

        def direction(mu: float, second: tuple[Array, ...] | None = None) -> tuple[Array, ...]:
            rhs = mu * weight - 1 - self.compliance * self.y
            curved, bent = np.zeros(()), np.zeros(m)
            if second is not None:
                dX, dZ, ds, dy = second
                curved = symmetric(dX @ dZ @ inverse)
                rhs = rhs - self._squares(curved)
                bent = ds * dy / self.y
            if self.inequality:
                rhs = rhs + mu / self.y - bent
            dy = solve(rhs)
            dZ = self._laplacian(dy)
            dX = mu * inverse - self.X - symmetric(self.X @ dZ @ inverse) - curved
            ds = (mu - self.s * dy) / self.y - self.s - bent if self.inequality else np.zeros(m)
            return dX, dZ, ds, dy

        def reach(move: tuple[Array, ...], share: float) -> tuple[float, float]:
            dX, dZ, ds, dy = move
            primal, dual = _farthest(lower_x, dX), _farthest(lower_z, dZ)
            if self.inequality:
                primal, dual = min(primal, _ratio(self.s, ds)), min(dual, _ratio(self.y, dy))
            return min(1.0, share * primal), min(1.0, share * dual)

        guess = direction(0.0)
        primal, dual = reach(guess, 1.0)
        X, Z = self._inside(self.X + primal * guess[0]), self.Z + dual * guess[1]
        ahead = float((X * Z).sum() + (self.s + primal * guess[2]) @ (self.y + dual * guess[3]))
        centering = float(np.clip(ahead / self.count / mu, 1e-2, 1)) ** 3
        if min(primal, dual) < 0.1:
            centering = max(centering, 0.3)
        move = direction(max(centering, 1e-4) * mu, guess)
        primal, dual = reach(move, 0.95)
        if not np.isfinite(primal + dual) or max(primal, dual) < 1e-8:
            return False
        self.X = self._inside(symmetric(self.X + primal * move[0])) + mu * self.outer
        self.s = self.s + primal * move[2]
        self.y = self.y + dual * move[3]
        self.Z = self._dual_matrix(self.y)
        return True

    def _schur(self, inverse: Array) -> Callable[[Array], Array]:
        """A function that solves with the Schur complement, by a Cholesky factor."""
        m = len(self.y)
        left, right = self._differences(self.X), self._differences(inverse)
        M = np.empty((m, m))
        diagonal = np.full(m, self.compliance)
        if self.inequality:
            diagonal += self.s / self.y
        diagonal += self._squares(self.X) * self._squares(inverse)
        if not diagonal.min() > 0:
            raise np.linalg.LinAlgError
        scale = 1 / np.sqrt(diagonal)

        def fill(rows: slice) -> None:
            M[rows] = self._columns(left[rows])
            M[rows] *= self._columns(right[rows])
            M[rows] *= scale[rows, None]
            M[rows] *= scale

        run(fill, blocks(m))
        M.flat[:: m + 1] = 1 + 1e-14
        cholesky_in_place(M)

        def solve(b: Array) -> Array:
            half = solve_triangular(M, scale * b, lower=True, check_finite=False)
            full = solve_triangular(M, half, lower=True, trans="T", check_finite=False)
            return np.asarray(scale * full)

        return solve

    def _differences(self, X: Array) -> Array:
        """B X for a dense X."""
        return np.asarray(self.left[:, None] * X[self.heads] + self.right[:, None] * X[self.tails])

    def _columns(self, rows: Array) -> Array:
        """rows B' for some rows."""
        return np.asarray(rows[:, self.heads] * self.left + rows[:, self.tails] * self.right)

    def _squares(self, X: Array) -> Array:
        """The squared lengths b_k' X b_k."""
        i, j, a, b = self.heads, self.tails, self.left, self.right
        return np.asarray(a * a * X[i, i] + 2 * a * b * X[i, j] + b * b * X[j, j])

    def _laplacian(self, y: Array) -> Array:
        """sum_k y_k b_k b_k'."""
        weighted = self.B.copy()
        weighted.data = self.B.data * np.repeat(y, 2)
        return np.asarray((self.B.T @ weighted).toarray())

    def _dual_matrix(self, y: Array) -> Array:
        """Z(y), with eigenvalue 1 along u."""
        Z = self._laplacian(y) + 2 * self.outer
        Z.flat[:: len(Z) + 1] -= 1
        return np.asarray(Z)

    def _inside(self, X: Array) -> Array:
        """X without its component along u."""
        X = X - np.outer(X @ self.u, self.u)
        return np.asarray(X - np.outer(self.u, self.u @ X))


def symmetric(A: Array) -> Array:
    """(A + A') / 2."""
    return np.asarray((A + A.T) / 2)


def _farthest(lower: Array, D: Array) -> float:
    """The largest t for which L L' + t D is positive semidefinite."""
    half = solve_triangular(lower, D, lower=True, check_finite=False)
    both = solve_triangular(lower, half.T, lower=True, check_finite=False)
    if not np.isfinite(both).all():
        return 0.0
    least = float(eigvalsh(symmetric(both), subset_by_index=(0, 0), check_finite=False)[0])
    return np.inf if least >= 0 else -1 / least


def _ratio(x: Array, dx: Array) -> float:
    """The largest t for which x + t dx is not negative."""
    falling = dx < 0
    return float((-x[falling] / dx[falling]).min(initial=np.inf))
