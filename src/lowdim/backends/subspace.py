"""The smallest eigenvalues of a large matrix, by Chebyshev-filtered subspace iteration.

A polynomial of the matrix that is large at the smallest eigenvalues and small on the rest of the
spectrum is applied to a few columns, then the matrix is diagonalised on their span. The boundary
between the two parts of the spectrum follows the eigenvalues found (Zhou, Saad, Tiago and
Chelikowsky 2006). All of the work is products with several columns at once, which use all cores.

The algorithm is written once, for NumPy arrays and for tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends.native.dense import symmetric_eigen
from lowdim.checks import Array

FIRST_CUT = 0.025  # share of the spectrum that the first polynomial amplifies
DEGREE, ROUNDS = 20, 8  # of the polynomials of `smooth_modes`, and their largest number
INVERSE_ROUNDS = 60  # largest number of products of `inverse_modes` with the inverse
INVERSE_CHANGE = 1e-13  # relative change of the eigenvalues below which it ends
CHANGE = 0.2  # relative change of the eigenvalues below which `smooth_modes` ends
MAX_AMPLIFICATION = 16.0  # natural logarithm; more would make the columns parallel to rounding
MAX_DEGREE = 200  # of the polynomials of `smallest_eigenpairs`
FORECAST_FROM = 4  # rounds after which the rate of convergence is known well enough
LEAST_SQUARE = 1e-13  # eigenvalue of a Gram matrix, as a share of the largest, that is accurate
SLACK = 4.0  # natural logarithm: the residual is to be this much below the tolerance

Step = Callable[[Any, Any, Any, Any], Any]
"""From V of shape (n, width), a, b, and W of the same shape or None to a A V + b V - W, which may
be written to W."""


@dataclass(frozen=True)
class Problem:
    """A symmetric matrix A with spectrum in [0, upper], defined by its products.

    A may be block diagonal. `smooth_modes` then solves the problems of all blocks together: small
    matrices, and the numbers a and b of a step unless all are equal, are stacked along a first
    axis, one for each block.
    """

    step: Step
    upper: float
    null: Any
    gram: Callable[[Any, Any], Array]
    times: Callable[[Any, Array], Any]
    qr: Callable[[Any], Any]

    def basis(self, V: Any) -> Any:
        """An orthonormal basis of the columns, orthogonal to `null`.

        By the eigenvectors of the Gram matrix, twice, to correct the rounding of the first time
        (Stathopoulos and Wu 2002).
        """
        for _ in range(2):
            V = self._without_null(V)
            values, turn = symmetric_eigen(self.gram(V, V))
            if (values[..., 0] <= LEAST_SQUARE * values[..., -1]).any():
                V = self.qr(V)
            else:
                V = self.times(V, turn / np.sqrt(values)[..., None, :])
        return V

    def _without_null(self, V: Any) -> Any:
        """V less its part in the span of `null`."""
        if self.null is None:
            return V
        rest = self.times(self.null, -self.gram(self.null, V))
        rest += V
        return rest

    def filter(self, V: Any, degree: int, cut: Any) -> Any:
        """A Chebyshev polynomial of A times V: at most 1 in absolute value on [cut, upper].

        V is overwritten if `step` writes to its W.
        """
        half, middle = (self.upper - cut) / 2, (self.upper + cut) / 2
        before, now = V, self.step(V, 1 / half, -middle / half, None)
        for _ in range(degree - 1):
            before, now = now, self.step(now, 2 / half, -2 * middle / half, before)
        return now

    def growth(self, value: float, cut: float) -> float:
        """The logarithm of the factor by which a degree more amplifies an eigenvector."""
        half, middle = (self.upper - cut) / 2, (self.upper + cut) / 2
        return float(np.arccosh(max((middle - value) / half, 1.0)))

    def ritz(self, V: Any) -> tuple[Array, Array, Any]:
        """Approximate eigenvalues from an orthonormal basis V, the matrix that turns V into
        eigenvectors, and A V."""
        AV = self.step(V, 1.0, 0.0, None)
        inner = self.gram(V, AV)
        return *symmetric_eigen((inner + inner.swapaxes(-1, -2)) / 2), AV


def smooth_modes(problem: Problem, start: Any, k: int) -> Any:
    """Eigenvectors of the k smallest eigenvalues to a few digits, from random columns.

    Iterations end when the eigenvalues change little, after eight rounds at the latest. At most
    four arrays of the shape of the start are held at once.
    """
    upper = problem.upper
    V, cut, before = problem.basis(start), np.array(FIRST_CUT * upper), np.array(np.inf)
    del start
    for _ in range(ROUNDS):
        V = problem.filter(V, DEGREE, cut)
        V = problem.basis(V)
        values, turn = problem.ritz(V)[:2]
        V = problem.times(V, turn)
        bounded = np.maximum(values, 5e-8 * upper)  # rounding in float32
        if (np.abs(bounded[..., :k] - before) <= CHANGE * bounded[..., :k]).all():
            break
        cut, before = np.clip(bounded[..., -1], 5e-5 * upper, upper / 4), bounded[..., :k]
    return V[:, :k]


def inverse_modes(problem: Problem, solve: Callable[[Any], Any], start: Any, k: int) -> Any:
    """The same to about seven digits, by products with the inverse of A, which `solve` gives."""
    V, before = problem.basis(start), np.array(np.inf)
    for _ in range(INVERSE_ROUNDS):
        V = problem.basis(solve(V))
        values, turn, _ = problem.ritz(V)
        V = problem.times(V, turn)
        if (np.abs(values[:k] - before) <= INVERSE_CHANGE * np.abs(values[:k])).all():
            break
        before = values[:k]
    return V[:, :k]


def width(k: int) -> int:
    """Number of columns of the start of `smooth_modes`; sparse products take eight at once."""
    return -(-(k + 4) // 8) * 8


def smallest_eigenpairs(
    problem: Problem, start: Any, k: int, tol: float, most: int
) -> tuple[Array, Any] | None:
    """The k smallest eigenvalues, ascending, with an estimate of the next one, and the
    eigenvectors of the k, from random columns, a few more than k.

    `tol` is the norm of the residuals to reach, as a share of `problem.upper`. None if more than
    `most` products with all columns would be needed, which is found out early.
    """
    upper, used, degree = problem.upper, 0, DEGREE
    V, cut = problem.basis(start), FIRST_CUT * upper
    for rounds in range(1, most):
        V = problem.basis(problem.filter(V, degree, cut))
        values, turn, AV = problem.ritz(V)
        V, AV = problem.times(V, turn), problem.times(AV, turn)
        used += degree + 1
        errors = AV[:, :k] - V[:, :k] * values[:k].astype(V.dtype)
        worst = float(np.sqrt(problem.gram(errors, errors).diagonal().max()))
        if worst <= tol * upper:
            return values[: k + 1], V[:, :k]
        cut = float(np.clip(values[-1], 1e-6 * upper, 0.9 * upper))
        slow, fast = (problem.growth(float(values[i]), cut) for i in (k - 1, 0))
        needed = (np.log(worst / (tol * upper)) + SLACK) / max(slow, 1e-9)
        doubt = 2.0 ** max(FORECAST_FROM - rounds, 0)  # the first forecasts are rough
        if used >= most or used + needed > doubt * most:
            return None
        degree = int(min(needed, MAX_AMPLIFICATION / max(fast, 1e-9), MAX_DEGREE))
        degree = max(DEGREE // 2, min(degree, most - used))
    return None
