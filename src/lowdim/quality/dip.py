"""Hartigan's dip test: does one column of numbers have more than one mode?"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from lowdim.checks import Array

# Upper tail of sqrt(n) * dip of uniform samples, fitted to 300,000 samples each of 20 to 20,000
# values: an upper bound of the p-value for all of them, within a factor of 2 from n = 500 on.
TAIL_FACTOR = 8.0
TAIL_RATE = 16.6


def dip(values: Array) -> float:
    """Compute the dip statistic of a sample.

    The dip is the largest difference between the empirical distribution function and the unimodal
    distribution function that is closest to it.

    Parameters
    ----------
    values : array of shape (n,)
        The sample, in any order.

    Returns
    -------
    float
        The dip, between 1 / (2 n) and 1 / 4.

    Notes
    -----
    Algorithm AS 217: the greatest convex minorant and the least concave majorant of the empirical
    distribution function are compared on a modal interval that shrinks until the dip outside of
    it is at least the gap inside.

    References
    ----------
    Hartigan and Hartigan, "The dip test of unimodality", Annals of Statistics 13, 1985.

    Hartigan, "Algorithm AS 217: Computation of the dip statistic to test for unimodality",
    Applied Statistics 34, 1985.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.quality.dip import dip
    >>> round(dip(np.arange(100.0)), 4)
    0.005
    >>> round(dip(np.array([0.0] * 50 + [1.0] * 50)), 4)
    0.25
    """
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = len(x)
    if n < 2 or x[0] == x[-1]:
        return 0.5 / n
    last = n - 1
    before = _minorant(x.tolist())
    after = [last - at for at in _minorant((-x[::-1]).tolist())][::-1]  # of the majorant
    low, high, width = 0, n - 1, 1.0  # `width` counts objects: the dip is width / (2 n)
    while True:
        convex = _chain(high, low, before)[::-1]
        concave = _chain(low, high, after)
        gap, start, end = _largest_gap(x, convex, concave)
        if gap < width:
            break
        left = _deviation(x, convex[: convex.index(start) + 1], 1.0)
        right = _deviation(x, concave[concave.index(end) :], -1.0)
        width = max(width, left, right)
        if (low, high) == (start, end):
            break
        low, high = start, end
    return width / (2 * n)


def dip_p_value(statistic: float, n: int) -> float:
    """Bound the probability of so large a dip in n values of a unimodal distribution.

    The uniform distribution has the largest dips of all unimodal ones, so this is the p-value for
    it and an upper bound for others.
    """
    return float(min(1.0, TAIL_FACTOR * np.exp(-TAIL_RATE * n * statistic**2)))


def _minorant(x: list[float]) -> list[int]:
    """The vertex before each value on the greatest convex minorant of the values up to it.

    That of the values with the other sign, in the other direction, is the least concave majorant.
    """
    before = [0] * len(x)
    for j in range(1, len(x)):
        at = j - 1
        while at != 0:
            further = before[at]
            if (x[j] - x[at]) * (at - further) < (x[at] - x[further]) * (j - at):
                break
            at = further
        before[j] = at
    return before


def _chain(start: int, end: int, step: list[int]) -> list[int]:
    nodes = [start]
    while nodes[-1] != end:
        nodes.append(step[nodes[-1]])
    return nodes


def _largest_gap(x: Array, convex: list[int], concave: list[int]) -> tuple[float, int, int]:
    """The largest gap between majorant and minorant, and the interval around it.

    Both are piecewise linear, so the gap is largest at a vertex. The minorant passes below the
    steps of the distribution function and the majorant above them, one object apart.
    """
    if len(convex) == 2 and len(concave) == 2:
        return 1.0, convex[0], convex[-1]
    lower, upper = np.asarray(convex), np.asarray(concave)
    at_upper = upper - np.interp(x[upper], x[lower], lower) + 1
    at_lower = np.interp(x[lower], x[upper], upper) - lower + 1
    best_upper, best_lower = int(at_upper.argmax()), int(at_lower.argmax())
    if at_upper[best_upper] >= at_lower[best_lower]:
        end = int(upper[best_upper])
        start = int(lower[max(int(np.searchsorted(lower, end, "right")) - 1, 0)])
        return float(at_upper[best_upper]), start, end
    start = int(lower[best_lower])
    end = int(upper[min(int(np.searchsorted(upper, start)), len(upper) - 1)])
    return float(at_lower[best_lower]), start, end


def _deviation(x: Array, vertices: list[int], sign: float) -> float:
    """The largest difference between the steps and the chords between vertices, in objects."""
    largest = 1.0
    for first, last in pairwise(vertices):
        if last - first > 1 and x[last] != x[first]:
            inside = np.arange(first, last + 1)
            chord = (x[inside] - x[first]) * ((last - first) / (x[last] - x[first]))
            largest = max(largest, float((sign * (inside - first - chord)).max()) + 1)
    return largest
