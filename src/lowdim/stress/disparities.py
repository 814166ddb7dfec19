"""Disparities: the admissible transformation of the dissimilarities that best fits the distances.

The admissible disparities form a convex cone. The best fit of a given norm is the projection of the
distances on the cone, scaled to that norm (Borg and Groenen 2005, chapter 9).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.dense import cholesky_in_place, product, solve_triangle
from lowdim.checks import Array
from lowdim.objects.pairs import Pairs
from lowdim.runtime.scheduling import blocks

DISPARITIES = ("ratio", "interval", "ordinal", "spline")
TIES = ("primary", "secondary")
DEGREE, KNOTS = 2, 3  # of the monotone spline: quadratic, with interior knots at the quartiles
VALUES_AT_ONCE = 2**16  # for which spline functions are evaluated
CURVE_POINTS = 4096  # by which a fitted transformation is stored for new dissimilarities

Fit = Callable[[Array], Array]
"""From distances, in the order of the pairs, to the best fitting disparities."""


def order_pairs(pairs: Pairs, kind: str) -> Pairs:
    """The pairs in the order that `disparities` expects: ascending values for kind "ordinal"."""
    if kind != "ordinal":
        return pairs
    return pairs.take(np.argsort(pairs.values, kind="stable"))


def disparities(pairs: Pairs, kind: str, ties: str) -> Fit:
    """The function that fits the disparities of some pairs to distances.

    The pairs are in the order of `order_pairs`. `kind` is "ratio", the dissimilarities themselves;
    "interval", a + b delta; "ordinal", any monotone function; or "spline", a monotone quadratic
    spline. With `ties` "primary" tied dissimilarities may get different disparities, if ordinal.
    Disparities have the weighted mean square 1, except for "ratio".
    """
    checks.choice(kind, "disparities", DISPARITIES)
    checks.choice(ties, "ties", TIES)
    if kind == "ratio":
        return lambda distances: pairs.values
    mass = pairs.mass()
    project = _isotonic(pairs, ties) if kind == "ordinal" else _spline(pairs, kind)

    def fit(distances: Array) -> Array:
        disparities = project(distances)
        size = pairs.sum_of_squares(disparities)
        if not size > 0:  # all distances are 0: all disparities fit equally well
            disparities = np.ones_like(distances)
            size = mass
        return np.asarray(disparities * distances.dtype.type(np.sqrt(mass / size)))

    return fit


def _isotonic(pairs: Pairs, ties: str) -> Fit:
    """Kruskal's (1964) monotone regression on the order of the dissimilarities."""
    differ, tied = pairs.values[1:] != pairs.values[:-1], None
    if not differ.all():
        new = np.flatnonzero(differ) + 1
        tied = np.concatenate([[0], new, [len(pairs.values)]]).astype(np.int64)
    return lambda d: backend().isotonic(d, pairs.weights, tied, ties == "primary")


def _spline(pairs: Pairs, kind: str) -> Fit:
    """Regression on a constant and I-splines with coefficients >= 0 (Ramsay 1988).

    The result is monotone and not negative. Degree 1 without knots is the interval transformation.
    """
    basis = _i_splines(pairs.values, *((1, 0) if kind == "interval" else (DEGREE, KNOTS)))
    weighted = basis if pairs.weights is None else basis * pairs.weights.astype(np.float64)
    gram = product(weighted, basis)
    gram.flat[:: len(gram) + 1] += 1e-12 * np.trace(gram)

    def project(distances: Array) -> Array:
        moments = product(weighted, distances.astype(np.float64)[None, :])[:, 0]
        coefficients = nonnegative_minimum(gram, moments)
        return np.asarray(product(coefficients[None, :], basis.T)[0], dtype=distances.dtype)

    return project


def _i_splines(values: Array, degree: int, n_knots: int) -> Array:
    """A constant and the I-splines at the values, one basis function per row."""
    x = values.astype(np.float64, copy=False)
    low, high = x.min(), x.max()
    if not high > low:
        return np.ones((1, len(x)))
    inner = np.unique(np.quantile(x, np.arange(1, n_knots + 1) / (n_knots + 1)))
    inner = inner[(inner > low) & (inner < high)]
    knots = np.concatenate([[low] * (degree + 1), inner, [high] * (degree + 1)])
    basis = np.empty((len(knots) - degree - 1, len(x)))
    for part in blocks(len(x), VALUES_AT_ONCE):
        pieces = _b_splines(x[part], knots, degree)
        basis[:, part] = np.cumsum(pieces[::-1], axis=0)[::-1]
    return basis


def _b_splines(x: Array, knots: Array, degree: int) -> Array:
    """The B-splines at x, one per row, by de Boor's recursion in NumPy.

    SciPy's may be compiled with fused products, and then have other bits on another processor.
    """
    interval = np.searchsorted(knots[degree + 1 : -degree - 1], x, side="right") + degree
    pieces = (np.arange(len(knots) - 1)[:, None] == interval).astype(np.float64)
    for d in range(1, degree + 1):
        width = (knots[d:] - knots[:-d])[:, None]
        rise = (x - knots[:-d, None]) / np.where(width > 0, width, 1) * (width > 0)
        pieces = rise[:-1] * pieces[:-1] + (1 - rise[1:]) * (width[1:] > 0) * pieces[1:]
    return np.asarray(pieces)


def curve(values: Array, fitted: Array) -> Array:
    """A fitted transformation as a piecewise linear function: ascending points, from (0, 0)."""
    order = np.argsort(values, kind="stable")
    if len(order) > CURVE_POINTS:
        order = order[np.linspace(0, len(order) - 1, CURVE_POINTS).round().astype(np.int64)]
    x, first, sizes = np.unique(values[order], return_index=True, return_counts=True)
    y = np.maximum.accumulate(np.add.reduceat(fitted[order], first) / sizes)
    if x[0] > 0:
        x, y = np.concatenate([[0], x]), np.concatenate([[0], y])
    return np.stack([x, y])


def apply_curve(points: Array, values: Array) -> Array:
    """Disparities of new dissimilarities; proportional to these above the largest training one."""
    x, y = points
    inside = np.interp(values, x, y)
    beyond = np.maximum(values / x[-1], 1) if x[-1] > 0 else 1
    return np.asarray(inside * beyond, dtype=values.dtype)


def nonnegative_minimum(A: Array, t: Array) -> Array:
    """The w >= 0 that minimises w'Aw - 2 w't, for a small positive definite A.

    Lawson and Hanson's (1974) method of active sets, on the normal equations.
    """
    n = len(t)
    w, free = np.zeros(n), np.zeros(n, dtype=bool)
    for _ in range(10 * n):
        gain = np.where(free, -np.inf, t - (A * w).sum(axis=1))
        if not gain.max() > 1e-12 * np.abs(t).max():
            break
        free[gain.argmax()] = True
        while True:
            inside = np.flatnonzero(free)
            L = np.ascontiguousarray(A[np.ix_(inside, inside)])
            cholesky_in_place(L)
            half = solve_triangle(L, t[inside][:, None])
            goal = np.zeros(n)
            goal[inside] = solve_triangle(L, half, transposed=True)[:, 0]
            leaving = free & (goal <= 0)
            if not leaving.any():
                break
            share = (w[leaving] / (w[leaving] - goal[leaving])).min()
            w += share * (goal - w)
            free &= w > 1e-15 * np.abs(w).max()
            w[~free] = 0
        w = goal
    return w
