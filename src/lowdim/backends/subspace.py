"""Leading eigenvectors of the random walk on a graph, by Chebyshev-filtered subspace iteration.

The algorithm is written once, for NumPy arrays and for tensors: `xp` is the module of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim.backends.generic import host, like

DEGREE, ROUNDS = 20, 8  # of the Chebyshev filter: degree, and largest number of applications
CHANGE = 0.2  # relative change of the eigenvalues below which iterations end


def smooth_modes(
    step: Callable[[Any, float, float, Any], Any],
    orthonormal: Callable[[Any], Any],
    constant: Any,
    start: Any,
    k: int,
    xp: Any,
) -> Any:
    """The k leading eigenvectors of a symmetric matrix with spectrum in [-1, 1], to a few digits.

    A polynomial of the matrix that is small below the top of the spectrum is applied to a few
    columns. The lower end of the top follows the eigenvalues found (Zhou, Saad, Tiago and
    Chelikowsky 2006). Iterations end when the eigenvalues change little, after eight rounds at the
    latest.

    Parameters
    ----------
    step : callable
        From V of shape (n, width), a, b, and W of the same shape or None to a A V + b V - W, where
        A is the matrix.
    orthonormal : callable
        From columns to an orthonormal basis of their span.
    constant : array of shape (n, 1)
        An eigenvector of norm 1 that is left out.
    start : array of shape (n, width)
        Random columns, more than k.
    k : int
    xp : module
        `numpy` or `torch`.

    Returns
    -------
    array of shape (n, k)
    """

    def basis(V: Any) -> Any:
        return orthonormal(V - constant @ (constant.T @ V))

    V, cut, before = start, 0.05, np.full(k, np.inf)
    for _ in range(ROUNDS):
        V = basis(_filtered(step, basis(V), cut, xp))
        AV = step(V, 1.0, 0.0, None)
        values, S = np.linalg.eigh(host((V.T @ AV + AV.T @ V) / 2))  # small: for the CPU
        V = V @ like(np.ascontiguousarray(S[:, ::-1]), V)
        found = np.maximum(1 - values[::-1].astype(np.float64), 1e-7)
        if (np.abs(found[:k] - before) <= CHANGE * found[:k]).all():
            break
        cut, before = float(np.clip(found[-1], 1e-4, 0.5)), found[:k]
    return V[:, :k]


def _filtered(step: Callable[[Any, float, float, Any], Any], V: Any, cut: float, xp: Any) -> Any:
    """A Chebyshev polynomial of the matrix, applied to V.

    It is at most 1 in absolute value on [-1, 1 - cut] and grows fast above. Columns are scaled to
    largest entry 1.
    """
    half, middle = 1 - cut / 2, -cut / 2
    before, now = V, step(V, 1 / half, -middle / half, None)
    for _ in range(DEGREE - 1):
        before, now = now, step(now, 2 / half, -2 * middle / half, before)
    return now / xp.clip(xp.amax(abs(now), axis=0), 1e-30, None)
