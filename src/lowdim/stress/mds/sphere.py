"""Stress of points on a sphere around the origin, whose radius is fitted too.

Rows of X are r z_i / |z_i|. For given z the best radius r is known in closed form, and the stress
at it is minimised over z by a quasi-Newton method. The rows z need no constraint: the stress does
not depend on their lengths.
"""

from __future__ import annotations

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.dense import dot
from lowdim.checks import Array
from lowdim.numerics.quasi_newton import lbfgs
from lowdim.objects.pairs import Pairs
from lowdim.runtime.callbacks import Monitor
from lowdim.stress.disparities import Fit
from lowdim.stress.majorization import Majorized


def smacof_on_sphere(
    pairs: Pairs, fit: Fit | None, start: Array, monitor: Monitor, *, eps: float = 1e-6
) -> Majorized:
    """As `majorization.smacof_pairs`, for points on a sphere (de Leeuw and Mair 2009, primal)."""
    problem = _Sphere(pairs, fit)
    minimum = lbfgs(
        problem, directions(start), monitor, tol=eps, floor=problem.total, show=problem.points
    )
    return Majorized(problem.points(minimum.x), minimum.value, minimum.history)


def directions(X: Array) -> Array:
    """Unit vectors from the origin to points, in float64; that of the origin is an axis."""
    X = np.array(X, dtype=np.float64)
    X[~X.any(axis=-1), 0] = 1.0
    return np.asarray(X / _lengths(X))


def _lengths(X: Array) -> Array:
    return np.asarray(np.sqrt(np.square(X).sum(axis=-1, keepdims=True)))


class _Sphere:
    """The stress as a function of vectors z from the origin towards the points."""

    def __init__(self, pairs: Pairs, fit: Fit | None) -> None:
        self.pairs, self.fit, self.dtype = pairs, fit, pairs.values.dtype
        # disparities that are fitted have mean square 1
        self.total = pairs.mass() if fit else pairs.sum_of_squares(pairs.values)

    def __call__(self, Z: Array, /) -> tuple[float, Array]:
        X, d, targets = self._fit_radius(Z)
        first, second, weights = self.pairs.first, self.pairs.second, self.pairs.weights
        stress, half = backend().pair_gradient(first, second, d, targets, weights, X)
        unit, slope = directions(Z), 2.0 * half.astype(np.float64)
        along = (unit * slope).sum(axis=1, keepdims=True)
        radius = _lengths(X.astype(np.float64))
        return stress, (slope - along * unit) * radius / _lengths(Z)

    def points(self, Z: Array) -> Array:
        """The points, on the sphere of the best radius."""
        return self._fit_radius(Z)[0]

    def _fit_radius(self, Z: Array) -> tuple[Array, Array, Array]:
        X = directions(Z).astype(self.dtype)
        d = backend().pair_distances(self.pairs.first, self.pairs.second, X)
        targets = self.pairs.values if self.fit is None else self.fit(d)
        weighted = d if self.pairs.weights is None else d * self.pairs.weights
        size = dot(weighted, d)
        radius = self.dtype.type(dot(weighted, targets) / size if size else 1.0)
        return X * radius, d * radius, targets
