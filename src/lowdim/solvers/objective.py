"""What a solver minimises."""

from __future__ import annotations

from typing import Protocol

from lowdim.checks import Array


class Objective(Protocol):
    """A function of the coordinates with its gradient."""

    def __call__(self, Y: Array, /) -> tuple[float, Array]:
        """The value and the gradient at Y.

        Where a solver scales its steps by the curvature itself, as majorization does, the gradient
        may be given up to a constant factor; the objective says so.
        """


class ForceField(Protocol):
    """An objective whose gradient is an attraction less a repulsion, for descent on many points.

    Computing the value costs time that a descent needs only now and then, so it is optional; and
    the attraction can be exaggerated.
    """

    exaggeration: float

    def __call__(self, Y: Array, /, *, value: bool = True) -> tuple[float, Array]:
        """The value (NaN unless wanted) and the gradient at Y, the attraction exaggerated."""

    def renumber(self, order: Array) -> None:
        """Call point order[i] by the number i."""
