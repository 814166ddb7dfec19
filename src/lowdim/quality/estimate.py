"""A number with the margin that a sample leaves."""

from __future__ import annotations

from typing import Self

import numpy as np

from lowdim.checks import Array

CONFIDENCE = 0.95
NORMAL = 1.959963984540054  # the normal distribution holds 95 % within this many deviations


class Estimate(float):
    """A float that knows its 95 % confidence interval: `low`, `high` and half of it, `margin`.

    The margin is 0 where all objects were compared. Elsewhere it comes from the variation over
    the sampled objects, smaller by the share of all that they are.
    """

    margin: float

    def __new__(cls, value: float, margin: float = 0.0) -> Self:
        made = super().__new__(cls, value)
        made.margin = float(margin)
        return made

    @property
    def low(self) -> float:
        return float(self) - self.margin

    @property
    def high(self) -> float:
        return float(self) + self.margin

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.margin

    def __str__(self) -> str:
        return f"{float(self):.3f}" + (f" ± {self.margin:.3f}" if self.margin else "")


def mean_of(values: Array, n: int) -> Estimate:
    """The mean over all n objects, from the values of a random sample of them."""
    return Estimate(float(values.mean(dtype=np.float64)), float(margins(values, n)))


def margins(values: Array, n: int) -> Array:
    """Half the confidence interval of the mean of each column."""
    count = len(values)
    if count == n or count < 2:
        return np.zeros(values.shape[1:])
    spread = values.std(axis=0, ddof=1, dtype=np.float64)
    return np.asarray(NORMAL * spread * np.sqrt((1 - count / n) / count))
