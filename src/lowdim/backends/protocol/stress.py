"""Stress of distances in an embedding."""

from __future__ import annotations

from typing import Protocol

from lowdim.checks import Array


class PairStress(Protocol):
    """The stress of pairs with fixed targets as a function of the coordinates."""

    def __call__(self, X: Array, /) -> tuple[float, Array]:
        """The stress at X and V X - B(X) X, half of its gradient."""


class Stress(Protocol):
    """Stress functions with their gradients, disparities, and stochastic steps."""

    def stress_gradient(self, dissimilarities: Array, X: Array) -> tuple[float, Array]:
        """The raw stress at X, and V X - B(X) X, half of its gradient."""

    def sammon_gradient(
        self, dissimilarities: Array, X: Array, mass: Array, *, floor: float, epsilon: float
    ) -> tuple[float, Array]:
        """sum_{i<j} w_ij (delta_ij - d_ij)^2, w_ij = mass_i mass_j / max(delta_ij, epsilon), and
        half of its gradient; pairs with delta_ij <= floor are left out unless epsilon > 0."""

    def pair_distances(self, first: Array, second: Array, X: Array) -> Array:
        """|x_i - x_j| for i = first[k], j = second[k]."""

    def pair_gradient(
        self,
        first: Array,
        second: Array,
        distances: Array,
        targets: Array,
        weights: Array | None,
        X: Array,
    ) -> tuple[float, Array]:
        """The weighted raw stress of listed pairs, whose distances at X are given, and
        V X - B(X) X, half of its gradient."""

    def pair_stress(
        self, n: int, first: Array, second: Array, targets: Array, weights: Array | None
    ) -> PairStress:
        """The weighted raw stress of listed pairs of n objects, first[k] < second[k]."""

    def stress_sgd_round(
        self, order: Array, targets: Array, weights: Array | None, rate: float, X: Array
    ) -> float:
        """One round of stochastic stress descent (see `lowdim.stress.mds.sampled`).

        Tile t consists of the 2 s objects order[2 s t : 2 s (t + 1)]; each of the first s objects
        is paired with each of the last s, with the dissimilarities targets[t] of shape (s, s). Both
        points of a pair move by min(1, weight * rate) / 2 of the error of their distance. X is
        updated in place. Returns the stress of these pairs before they moved.
        """

    def isotonic(
        self, values: Array, weights: Array | None, ties: Array | None, primary: bool
    ) -> Array:
        """Weighted isotonic regression.

        Parameters
        ----------
        values : array
        weights : array or None
            None: all equal.
        ties : array of int or None
            Starts of the runs of tied items, with the number of items as the last entry.
        primary : bool
            Whether tied items may get different values, in the order of `values`; otherwise they
            get equal ones.
        """

    def curvilinear_sweep(
        self,
        distances: Array,
        rows: Array,
        pins: Array,
        Y: Array,
        *,
        unit: float,
        alpha: float,
        reach: float,
        step: bool,
    ) -> float:
        """One sweep of curvilinear component analysis (see `lowdim.stress.curvilinear.rule`).

        The points `pins` are fixed one after the other, and each moves all other points.

        Parameters
        ----------
        distances : array of shape (m, n)
        rows : array of int
            Row of `distances`, in units of 1 / `unit`, that belongs to each pin.
        pins : array of int
        Y : array of shape (dim, n)
            Coordinates, updated in place.
        unit, alpha, reach : float
            Factor of the distances, learning rate, and lambda of the weighting F.
        step : bool
            Whether F is a step function; otherwise it is exponential.

        Returns
        -------
        float
            The sum of F (X - Y)^2 over all pins and points, before they moved.
        """
