"""Similarity of two points of an embedding as a function of their distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.elementary import exp, power


@dataclass(frozen=True)
class Similarity:
    """The similarity w of two points at squared distance s.

    "gaussian": w = exp(-s); "student", of `dof` degrees of freedom: w = (1 + s / dof)^(-(dof + 1) /
    2). Gradients contain -w' / w, the derivative being with respect to s. It equals u / `width`
    with u = 1 for the Gaussian and u = 1 / (1 + s / dof) for Student's t.
    """

    name: str = "student"
    dof: float = 1.0

    @property
    def width(self) -> float:
        """The constant by which u is divided in the gradient; see the class."""
        return 1.0 if self.name == "gaussian" else 2 * self.dof / (self.dof + 1)

    def __call__(self, s: Array) -> Array:
        """w at the squared distances s."""
        if self.name == "gaussian":
            return np.asarray(exp(-s))
        if self.dof == 1:
            return np.asarray(1 / (1 + s))
        return np.asarray(power(1 + s / self.dof, -(self.dof + 1) / 2))
