"""The protocols of functions that solvers minimise."""

from __future__ import annotations

from typing import Protocol

from lowdim.checks import Array


class Objective(Protocol):
    """A function of the coordinates, with its gradient."""

    def __call__(self, Y: Array, /) -> tuple[float, Array]:
        """The value and the gradient at Y.

        Solvers that scale their steps by the curvature, such as majorization, accept a gradient up
        to a constant factor; the objective documents it.
        """


class ForceField(Protocol):
    """An objective whose gradient is an attraction minus a repulsion.

    The attraction is multiplied by `exaggeration`. Computing the value is optional, because a
    descent needs it only in some iterations.
    """

    exaggeration: float

    def __call__(self, Y: Array, /, *, value: bool = True) -> tuple[float, Array]:
        """The value (NaN unless `value`) and the gradient at Y, the attraction exaggerated."""

    def renumber(self, order: Array) -> None:
        """Reorder the points: point i is from now on the former point order[i]."""
