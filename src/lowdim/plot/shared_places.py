"""Points that share their places, drawn so that each is seen."""

from __future__ import annotations

import numpy as np

from lowdim.checks import Array
from lowdim.plot.canvas import PlotPoints

_SAMPLE = 1000
"""If none of so many points share a place, most of all points do not."""

_DISC = 0.42
"""Radius of the largest disc, as a share of the distance of places: discs do not touch."""

_GOLDEN_ANGLE = np.pi * (3 - 5**0.5)  # points at its multiples fill a disc evenly (Vogel 1979)


def spread(place: PlotPoints) -> PlotPoints:
    """Points in discs around their places if most share them, as on a self-organizing map.

    The areas of the discs are in proportion to the numbers of points. Other maps, and those of one
    or three dimensions, stay as they are.
    """
    points = place.points[place.drawn]
    some = points[:_SAMPLE]
    if place.strip or points.shape[1] == 3 or len(np.unique(some, axis=0)) == len(some):
        return place
    places, of, counts = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    if len(places) < 2 or 2 * len(places) > len(of):
        return place
    number = _number_in_group(of, counts)
    away = _DISC * _distance(places) * np.sqrt(number / counts.max())
    angle = _GOLDEN_ANGLE * number
    points = place.points.copy()
    points[place.drawn] += away[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return place._replace(points=points)


def _number_in_group(group: Array, counts: Array) -> Array:
    """The number of each item among those of its group, from 0."""
    number = np.empty(len(group))
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    number[np.argsort(group, kind="stable")] = np.arange(len(group)) - starts
    return number


def _distance(places: Array) -> float:
    """The median distance of places from the nearest other one."""
    from scipy.spatial import KDTree

    nearest, _ = KDTree(places).query(places, [2])  # the first one is the place itself
    return float(np.median(nearest))
