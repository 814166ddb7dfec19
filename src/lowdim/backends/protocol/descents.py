"""Forces between the points of an embedding, and steps along gradients."""

from __future__ import annotations

from typing import Any, Protocol

from lowdim.backends.similarity import Similarity
from lowdim.checks import Array


class Attraction(Protocol):
    """The attraction of points along the weighted edges of a graph."""

    def __call__(self, Y: Array, *, loss: bool) -> tuple[float, Array]:
        """sum_ij p_ij log w_ij (0 unless `loss`) and the forces sum_j p_ij u_ij (y_i - y_j).

        w and u are those of `Similarity`.
        """

    def renumber(self, order: Array) -> None:
        """Reorder the vertices: vertex i is from now on the former vertex order[i]."""


class Repulsion(Protocol):
    """The repulsion between all points of an embedding."""

    def __call__(self, Y: Array, mass: Array | None = None) -> tuple[Array, Array]:
        """sum_j m_j w_ij u_ij (y_i - y_j) and sum_j m_j w_ij over all j != i; m = 1 by default."""


class FrozenField(Protocol):
    """The repulsion of the fixed points of an embedding on new points."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """sum_j w u (y - x_j) and sum_j w over all fixed points x_j, for each new point y."""


class Descents(Protocol):
    """Forces, and steps of descents."""

    def attraction(self, P: Any, similarity: Similarity) -> Attraction:
        """The attraction along the edges of a CSR matrix."""

    def repulsion(
        self, method: str, similarity: Similarity, n: int, dim: int, angle: float
    ) -> Repulsion:
        """Repulsion among n points by "exact", "barnes_hut", "fft", or "auto"."""

    def frozen_field(self, embedding: Array, similarity: Similarity, margin: float) -> FrozenField:
        """Repulsion of a fixed embedding, for points up to `margin` outside its bounding box."""

    def momentum_step(
        self,
        gradient: Array,
        Y: Array,
        velocity: Array,
        gains: Array,
        *,
        rate: float,
        momentum: float,
        min_gain: float,
        max_step: float,
    ) -> float:
        """One step of gradient descent with momentum and gains (Jacobs 1988).

        Updates Y, velocity and gains in place. A point moves at most by `max_step`. Returns the
        norm of the gradient.
        """

    def quasi_newton_direction(self, gradient: Array, steps: Array, changes: Array) -> Array:
        """The direction of descent of the limited-memory BFGS method.

        Parameters
        ----------
        gradient : float64 array of shape (n,)
        steps, changes : float64 arrays of shape (m, n)
            Steps, the oldest one first, and the changes of the gradient over them. The product of a
            step and its change is positive.
        """

    def descend(
        self,
        field: Any,
        Y: Array,
        velocity: Array,
        gains: Array,
        *,
        steps: int,
        value: bool,
        rate: float,
        momentum: float,
        min_gain: float,
        max_step: float,
    ) -> tuple[float, float]:
        """Some iterations of gradient descent with momentum and gains.

        `field` is a function of Y and of the keyword `value` that returns the loss (NaN unless
        `value`) and the gradient (see `numerics.objective.ForceField`). A backend may call it
        with arrays of its own, for which the attraction and the repulsion of the same backend are
        made. Each iteration is a `momentum_step`, whose other parameters it takes.

        Parameters
        ----------
        steps : int
            Number of iterations.
        value : bool
            Whether to compute the loss in the last iteration.

        Returns
        -------
        loss : float
            At Y before the last iteration; NaN unless `value`.
        norm : float
            Of the gradient in the last iteration.
        """

    def curve_order(self, Y: Array) -> Array:
        """The indices of the points in the order of a space-filling curve."""
