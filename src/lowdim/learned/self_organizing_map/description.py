"""What the prototypes of a trained self-organizing map say: hits, errors and the U-matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.checks import Array
from lowdim.learned.self_organizing_map.prototypes import Prototypes, VectorPrototypes
from lowdim.numerics.unit_grid import UnitGrid


class MapDescription(NamedTuple):
    """A trained map and the objects that it was trained with.

    Attributes
    ----------
    units : array of shape (n,)
        The best unit of each object.
    hits : array of shape (n_units,)
        Number of objects of each unit.
    quantization_error : float
        Mean distance of the objects to the prototypes of their units.
    topographic_error : float
        Share of objects whose best and second best unit are not adjacent.
    u_matrix : array of the shape of the grid
        Mean distance of each prototype to those of the adjacent units.
    squared_gaps : array of shape (n_edges,)
        Squared distances of the prototypes of adjacent units, in the order of `grid.edges`.
    """

    units: Array
    hits: Array
    quantization_error: float
    topographic_error: float
    u_matrix: Array
    squared_gaps: Array


def describe(prototypes: Prototypes, grid: UnitGrid) -> MapDescription:
    """Describe a trained map; distances are in the unit of the prototypes."""
    nearest, distances = prototypes.nearest(2)
    units = nearest[:, 0].astype(np.int64)
    first, second = grid.edges
    gaps = prototypes.between(first, second)
    total = np.bincount(first, gaps, minlength=grid.n)
    count = np.maximum(np.bincount(first, minlength=grid.n), 1)
    cosine = isinstance(prototypes, VectorPrototypes) and prototypes.metric.name == "cosine"
    return MapDescription(
        units,
        np.bincount(units, minlength=grid.n),
        float(distances[:, 0].mean(dtype=np.float64)),
        float((~grid.are_adjacent(nearest[:, 0], nearest[:, 1])).mean()),
        (total / count).reshape(grid.shape),
        # The cosine distance is half the squared distance of vectors of length 1.
        2 * gaps if cosine else gaps * gaps,
    )
