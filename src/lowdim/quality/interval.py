"""Numbers with the confidence interval that a sample leaves."""

from __future__ import annotations

from typing import Self

import numpy as np

from lowdim.checks import Array

NORMAL = 1.959963984540054  # the normal distribution holds 95 % within this many deviations


class IntervalEstimate(float):
    """A float with its 95 % confidence interval.

    Parameters
    ----------
    value : float
        The estimate.
    margin : float, default=0.0
        Half of the interval: 0 if all objects were compared. For a sample of the objects it comes
        from the variation between them, with the correction for a finite population.

    Attributes
    ----------
    margin, low, high : float
        Half of the interval and its ends.

    Examples
    --------
    >>> from lowdim.quality import IntervalEstimate
    >>> value = IntervalEstimate(0.5, 0.1)
    >>> print(value, value.low, value.high)
    0.500 ± 0.100 0.4 0.6
    """

    margin: float

    def __new__(cls, value: float, margin: float = 0.0) -> Self:
        interval = super().__new__(cls, value)
        interval.margin = float(margin)
        return interval

    @property
    def low(self) -> float:
        return float(self) - self.margin

    @property
    def high(self) -> float:
        return float(self) + self.margin

    def to_dict(self) -> dict[str, float]:
        """Return the estimate and its margin."""
        return {"value": float(self), "margin": self.margin}

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self), self.margin

    def __str__(self) -> str:
        return f"{float(self):.3f}" + (f" ± {self.margin:.3f}" if self.margin else "")


def mean_of(values: Array, n: int) -> IntervalEstimate:
    """The mean over all n objects, from the values of a random sample of them."""
    return IntervalEstimate(float(values.mean(dtype=np.float64)), float(margins(values, n)))


def margins(values: Array, n: int) -> Array:
    """Half the confidence interval of the mean of each column."""
    count = len(values)
    if count == n or count < 2:
        return np.zeros(values.shape[1:])
    spread = values.std(axis=0, ddof=1, dtype=np.float64)
    return np.asarray(NORMAL * spread * np.sqrt((1 - count / n) / count))
