"""The stress of multidimensional scaling, with the solver of each kind of input.

Dissimilarities of all pairs without weights are fitted as a matrix (`FullStress`), known or
weighted pairs as a list (`PairStress`), and vectors that are too many for either by sampling pairs
(`SampledStress`). Each problem gives starts, minimises from them and measures a solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from lowdim.backends import backend
from lowdim.backends.native.dense import dot
from lowdim.checks import Array
from lowdim.numerics.starts import random_start
from lowdim.objects.new_objects import as_new
from lowdim.objects.objects import MeasuredObjects
from lowdim.objects.pairs import Pairs
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks, run
from lowdim.spectral.starts import classical_start, landmark_start
from lowdim.stress.disparities import curve, disparities, order_pairs
from lowdim.stress.majorization import Majorized, smacof, smacof_pairs, sum_of_squares
from lowdim.stress.mds.sampled import FAR, LAST, NEAR, descend_sampled
from lowdim.stress.mds.starts import start_from_pairs

VALUES_AT_ONCE = 2**20  # dissimilarities of which a sum is computed at once
METRIC_STEPS = 5  # of a random start, whose order of distances is no information yet

Random = np.random.RandomState
NewMonitor = Callable[[], Monitor]


class Solution(NamedTuple):
    """The disparities at a configuration and the sums that stress is made of.

    Attributes
    ----------
    disparities : array or CSR matrix of shape (n, n)
    transformation : array of shape (2, m) or None
        Dissimilarities and their disparities, where the two differ; see `disparities.curve`.
    raw, squares, total : float
        Sums over pairs of w (disparity - d)^2, w d^2 and w disparity^2.
    """

    disparities: Any
    transformation: Array | None
    raw: float
    squares: float
    total: float

    def stresses(self) -> dict[str, float]:
        """Stress in its usual units."""
        one = float(np.sqrt(self.raw / self.squares)) if self.squares > 0 else np.inf
        return {"raw": self.raw, "stress-1": one, "normalized": self.raw / self.total}


class StressProblem(Protocol):
    """Dissimilarities to be fitted by distances."""

    @property
    def values(self) -> Array:
        """The dissimilarities; random starts have their size."""

    def classical_start(self, k: int, random: Random) -> Array:
        """Classical scaling, of what is known of the dissimilarities."""

    def random_start(self, k: int, random: Random) -> Array:
        """Random coordinates of the size of the dissimilarities."""

    def minimize(self, starts: list[Array], new_monitor: NewMonitor, eps: float) -> list[Majorized]:
        """A local minimum from each start."""

    def solution(self, minimum: Majorized) -> Solution:
        """Disparities and stress of a minimum."""


class FullStress:
    """sum_{i<j} (D_ij - |x_i - x_j|)^2 of a full matrix."""

    def __init__(self, D: Array) -> None:
        self.values = D

    def classical_start(self, k: int, random: Random) -> Array:
        return classical_start(self.values, k)

    def random_start(self, k: int, random: Random) -> Array:
        return _random_like(self.values, len(self.values), k, random)

    def minimize(self, starts: list[Array], new_monitor: NewMonitor, eps: float) -> list[Majorized]:
        return run(
            lambda one: smacof(self.values, *one, eps=eps), with_monitors(starts, new_monitor)
        )

    def solution(self, minimum: Majorized) -> Solution:
        total = sum_of_squares(self.values)
        squares = _sum_of_squared_distances(minimum.embedding)
        return Solution(self.values, None, minimum.stress, squares, total)


class PairStress:
    """sum_{i<j} w_ij (disparity_ij - |x_i - x_j|)^2 over listed pairs.

    Parameters
    ----------
    pairs : Pairs
    kind, ties : str
        The admissible transformation of the dissimilarities; see `disparities.disparities`.
    sparse : bool
        Whether disparities are returned as a sparse matrix.
    """

    def __init__(self, pairs: Pairs, kind: str, ties: str, *, sparse: bool) -> None:
        self.pairs, self.kind, self.ties = order_pairs(pairs, kind), kind, ties
        self.sparse = sparse
        self.values = self.pairs.values
        self.fit = disparities(self.pairs, kind, ties)

    def classical_start(self, k: int, random: Random) -> Array:
        return start_from_pairs(self.pairs, k, random)

    def random_start(self, k: int, random: Random) -> Array:
        start = _random_like(self.values, self.pairs.n, k, random)
        if self.kind == "ratio":
            return start
        return smacof_pairs(self.pairs, None, start, Monitor(METRIC_STEPS)).embedding

    def minimize(self, starts: list[Array], new_monitor: NewMonitor, eps: float) -> list[Majorized]:
        fit = None if self.kind == "ratio" else self.fit
        return run(
            lambda one: smacof_pairs(self.pairs, fit, *one, eps=eps),
            with_monitors(starts, new_monitor),
        )

    def solution(self, minimum: Majorized) -> Solution:
        d = pair_distances(self.pairs, minimum.embedding)
        fitted = self.fit(d)
        sums = [self.pairs.sum_of_squares(part) for part in (fitted - d, d, fitted)]
        del d  # each array of all pairs counts: n x n numbers are what limits n
        transformation = curve(self.values, fitted)
        matrix = self.pairs.graph(fitted) if self.sparse else self.pairs.matrix(fitted)
        return Solution(matrix, transformation, *sums)


class SampledStress:
    """The stress of all pairs of vectors, minimised and measured on random samples of them.

    Parameters
    ----------
    objects : MeasuredObjects
    pairs : Pairs
        Pairs, weighted, that are not fitted and measure the stress.
    weigh : callable or None
        From dissimilarities to weights.
    random : RandomState
        Draws the pairs that are fitted.
    good_start : bool
        Whether the starts are near a minimum, so that small steps are enough.
    """

    def __init__(
        self,
        objects: MeasuredObjects,
        pairs: Pairs,
        weigh: Callable[[Array], Array] | None,
        random: Random,
        *,
        good_start: bool,
    ) -> None:
        self.objects, self.pairs, self.weigh, self.random = objects, pairs, weigh, random
        self.values = pairs.values
        self.rate = NEAR if good_start else FAR

    def classical_start(self, k: int, random: Random) -> Array:
        def distances_to(chosen: Array) -> Array:
            return as_new(self.objects).subset(chosen).distances()

        return landmark_start(distances_to, self.objects.n, k, random)

    def random_start(self, k: int, random: Random) -> Array:
        return _random_like(self.values, self.pairs.n, k, random)

    def minimize(self, starts: list[Array], new_monitor: NewMonitor, eps: float) -> list[Majorized]:
        rows, metric, mean = self.objects.rows, self.objects.metric, self.pairs.mean_weight
        minima = []
        for start in starts:
            monitor = new_monitor()
            rates = self.rate / mean, LAST / monitor.max_iter / mean
            minima.append(
                descend_sampled(rows, metric, start, rates, self.weigh, self.random, monitor)
            )
        return minima

    def solution(self, minimum: Majorized) -> Solution:
        pairs = self.pairs
        d = pair_distances(pairs, minimum.embedding)
        share = len(d) / (pairs.n * (pairs.n - 1) / 2)
        parts = (pairs.values - d, d, pairs.values)
        sums = (pairs.sum_of_squares(part) / share for part in parts)
        return Solution(pairs.graph(pairs.values), None, *sums)


def with_monitors(starts: list[Array], new_monitor: NewMonitor) -> list[tuple[Array, Monitor]]:
    """A monitor for each start, made in their order: a checkpoint tells them apart by it."""
    return [(start, new_monitor()) for start in starts]


def pair_distances(pairs: Pairs, X: Array) -> Array:
    """The distance of each pair in a configuration."""
    return backend().pair_distances(pairs.first, pairs.second, X)


def _sum_of_squared_distances(X: Array) -> float:
    """Over all pairs: n times the sum of squared distances to the mean."""
    centered = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    return float(len(X) * np.square(centered).sum())


def _random_like(values: Array, n: int, k: int, random: Random) -> Array:
    """Random coordinates whose distances have the root mean square of dissimilarities."""
    flat = values.ravel()
    # in blocks, without a copy of all values in float64
    squares = sum(dot(flat[part], flat[part]) for part in blocks(flat.size, VALUES_AT_ONCE))
    return random_start(n, k, float(np.sqrt(squares / flat.size)), random, values.dtype)
