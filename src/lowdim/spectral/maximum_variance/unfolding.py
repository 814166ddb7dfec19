"""The semidefinite programme of maximum variance unfolding, by each of its solvers.

Solutions are coordinates Y of the points with K = Y Y', in units of `Lengths.unit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lowdim.checks import Array
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.runtime.callbacks import Monitor
from lowdim.spectral.maximum_variance.edge_lengths import Lengths, compliance
from lowdim.spectral.maximum_variance.factorized import low_rank, solve_in_span
from lowdim.spectral.maximum_variance.semidefinite import interior_point

LOOSE = 0.1  # slack of the small programme, whose few functions cannot keep every distance
LEAST = 1e-8  # slack below which the factorised programme is treated as exact

View = Callable[[Array], Array]
"""From coordinates of the points to the coordinates that a callback sees."""


class Programme(NamedTuple):
    """What is maximised, and how accurately.

    Attributes
    ----------
    lengths : Lengths
        The distances to be kept.
    inequality : bool
        Whether distances may shrink.
    slack : float
        Mean relative error of the squared distances that is permitted.
    tol : float
        Relative accuracy of the trace.
    """

    lengths: Lengths
    inequality: bool
    slack: float
    tol: float


class Unfolding(NamedTuple):
    """A solution: coordinates of the points, and how it was reached.

    Attributes
    ----------
    Y : array of shape (n, rank)
    history : array
        Duality gap or objective after each iteration.
    gram : array of shape (n, n) or None
        K, where all of it was computed.
    gap : float or None
        The relative duality gap of K.
    """

    Y: Array
    history: Array
    gram: Array | None = None
    gap: float | None = None


def unfold_pair(lengths: Lengths) -> Unfolding:
    """One or two points, for which there is nothing to optimise."""
    Y = np.zeros((lengths.n, 1))
    if lengths.n == 2:
        Y[1] = np.sqrt(lengths.squares[0])
    return Unfolding(np.asarray(Y - lengths.mass @ Y / lengths.mass.sum()), np.zeros(0))


def unfold_exactly(programme: Programme, monitor: Monitor, view: View | None) -> Unfolding:
    """All of K by an interior-point method; Y has as many dimensions as there are points."""
    solution = interior_point(
        programme.lengths,
        inequality=programme.inequality,
        compliance=compliance(programme.lengths, programme.slack),
        tol=programme.tol,
        max_iter=monitor.max_iter,
        monitor=monitor,
        view=None if view is None else lambda gram: view(_root(gram)),
    )
    return Unfolding(_root(solution.gram), solution.history, solution.gram, solution.gap)


def refined_coordinates(k: int) -> int:
    """Coordinates in which the map is refined: with more of them there are fewer local minima."""
    return max(k + 1, 3)


def unfold_in_span(
    programme: Programme, Q: Array, k: int, monitor: Monitor, view: View | None
) -> Unfolding:
    """K = Q L Q' for an orthonormal Q, then refined in at least k + 1 coordinates."""
    lengths, inequality = programme.lengths, programme.inequality
    loose = compliance(lengths, max(LOOSE, programme.slack))
    L = solve_in_span(lengths, Q, inequality=inequality, compliance=loose)
    values, vectors = np.linalg.eigh(L)
    rank = min(refined_coordinates(k), len(values))
    top = fix_signs(vectors[:, ::-1][:, :rank]) * np.sqrt(values[::-1][:rank])
    Y, history = low_rank(
        lengths,
        Q @ top / np.sqrt(lengths.mass)[:, None],
        monitor,
        inequality=inequality,
        compliance=compliance(lengths, max(programme.slack, LEAST)),
        first_compliance=loose,
        tol=programme.tol,
        view=view,
    )
    return Unfolding(Y, history)


def principal_coordinates(Y: Array, k: int) -> tuple[Array, Array]:
    """Eigenvalues of Y Y' and k coordinates along its principal axes (zero where it has fewer)."""
    U, lengths, _ = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)
    coordinates = np.zeros((len(Y), k))
    shown = min(k, len(lengths))
    coordinates[:, :shown] = fix_signs(U[:, :shown]) * lengths[:shown]
    return lengths**2, coordinates


def length_error(programme: Programme, Y: Array) -> float:
    """The largest relative error of a distance that is to be kept."""
    lengths = programme.lengths
    gaps = Y[lengths.heads] - Y[lengths.tails]
    ratio = np.sqrt(np.einsum("mp,mp->m", gaps, gaps) / lengths.squares)
    error = ratio - 1 if programme.inequality else np.abs(ratio - 1)
    return float(np.maximum(error, 0).max(initial=0.0))


def _root(gram: Array) -> Array:
    """Y with Y Y' = gram, the largest axes first."""
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0)))
