"""How similar two points of a map are, as a function of their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowdim.checks import Array


@dataclass(frozen=True)
class Similarity:
    """The similarity w of two points at squared distance s.

    "gaussian" is exp(-s), "student" is (1 + s / dof)^(-(dof + 1) / 2). The force between the points
    is -w' / w = u / `width`, with u = 1 for the Gaussian and 1 / (1 + s / dof) for Student's.
    """

    name: str = "student"
    dof: float = 1.0

    @property
    def width(self) -> float:
        """The scale of the force; see the class."""
        return 1.0 if self.name == "gaussian" else 2 * self.dof / (self.dof + 1)

    def __call__(self, s: Array) -> Array:
        if self.name == "gaussian":
            return np.exp(-s)
        return np.asarray((1 + s / self.dof) ** (-(self.dof + 1) / 2))
