"""The grid of units of a self-organizing map: coordinates, distances, adjacent units, cells."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.runtime.scheduling import blocks

ROW_HEIGHT = np.sqrt(3) / 2  # distance of two rows of a hexagonal grid, in units of its spacing
ADJACENT_WITHIN = {"hexagonal": 1.01, "rectangular": 1.42}  # 6 units around one; 8 with diagonals


class UnitGrid:
    """`n` units on a rectangular or hexagonal grid with spacing 1, numbered row by row.

    The shape has rows and columns, or one entry for a chain of units. Opposite sides of a toroidal
    grid are adjacent; a hexagonal one then needs an even number of rows. `coordinates` are the
    places of the units, centred at 0, the first axis along the rows; `periods` the size of the grid
    along each axis.
    """

    def __init__(self, shape: tuple[int, ...], topology: str, toroidal: bool) -> None:
        self.shape, self.topology, self.toroidal = shape, topology, toroidal
        self.n = int(np.prod(shape))
        self.hexagonal = topology == "hexagonal" and len(shape) == 2
        if len(shape) == 1:
            places = np.arange(self.n, dtype=np.float64)[:, None]
            self.periods = np.array([float(self.n)])
        else:
            row, column = np.divmod(np.arange(self.n), shape[1])
            height = ROW_HEIGHT if self.hexagonal else 1.0
            shift = row % 2 / 2 if self.hexagonal else 0.0
            places = np.column_stack([column + shift, row * height])
            self.periods = np.array([shape[1], shape[0] * height])
        self.coordinates = places - (places.min(axis=0) + places.max(axis=0)) / 2

    def displacements(self, A: Array, B: Array) -> Array:
        """The shortest vectors from points A to points B, which are broadcast."""
        apart = np.asarray(B - A)
        if self.toroidal:
            apart -= self.periods * np.round(apart / self.periods)
        return apart

    def squared_distances(self, units: slice) -> Array:
        """Squared distances from some units to all units."""
        apart = self.displacements(self.coordinates[units, None, :], self.coordinates[None])
        return np.asarray(np.einsum("abk,abk->ab", apart, apart))

    def nearest_unit(self, points: Array) -> Array:
        """The unit nearest to each point."""
        units = np.empty(len(points), dtype=np.int64)
        for rows in blocks(len(points)):
            clipped = np.clip(points[rows], -self.periods, self.periods)  # for finite squares
            apart = self.displacements(clipped[:, None, :], self.coordinates[None])
            units[rows] = np.einsum("abk,abk->ab", apart, apart).argmin(axis=1)
        return units

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """Pairs of adjacent units, in both directions, ordered by the first of them."""
        within = ADJACENT_WITHIN[self.topology] ** 2
        first, second = [], []
        for units in blocks(self.n):
            i, j = np.nonzero(self.squared_distances(units) <= within)
            first.append(i + units.start)
            second.append(j)
        i, j = np.concatenate(first), np.concatenate(second)
        return i[i != j], j[i != j]

    def are_adjacent(self, A: Array, B: Array) -> Array:
        """Whether units A and B are adjacent or the same."""
        apart = self.displacements(self.coordinates[A], self.coordinates[B])
        within = ADJACENT_WITHIN[self.topology] ** 2
        return np.asarray((apart * apart).sum(axis=-1) <= within)

    def corners(self) -> Array:
        """The corners of a cell around the origin, in order: a hexagon or a square."""
        if self.hexagonal:
            angles = np.pi / 6 + np.arange(6) * np.pi / 3
            return np.asarray(np.column_stack([np.cos(angles), np.sin(angles)]) / np.sqrt(3))
        return np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def check_shape(shape: Any, n_components: int, topology: str, toroidal: bool) -> tuple[int, ...]:
    """Check a shape that the user gave."""
    if not isinstance(shape, tuple | list) or len(shape) != n_components:
        raise ValueError(
            f"{argument('shape')} must be 'auto' or a tuple of {n_components} integers "
            f"({argument('n_components', n_components)}), got {shape!r}."
        )
    sides = tuple(checks.integer(side, f"shape[{i}]", 1) for i, side in enumerate(shape))
    if np.prod(sides) < 2:
        raise ValueError(f"{argument('shape')} must have at least 2 units, got {shape!r}.")
    if toroidal and topology == "hexagonal" and len(sides) == 2 and sides[0] % 2:
        raise ValueError(
            f"{argument('shape')} must have an even number of rows if a hexagonal grid is "
            f"toroidal, got {shape!r}."
        )
    return sides


def choose_shape(
    n_units: float, spread: Array, n_components: int, topology: str, toroidal: bool
) -> tuple[int, ...]:
    """A shape of about `n_units` units whose sides are in the ratio of the spread of the data,
    its standard deviations along its principal axes, descending."""
    if n_components == 1:
        return (max(2, round(n_units)),)
    wide, narrow = float(spread[0]), float(spread[1]) if len(spread) > 1 else 0.0
    most = max(n_units / 4, 1.0)  # two rows
    ratio = wide / max(narrow, wide / most) if wide > 0 else 1.0
    height = ROW_HEIGHT if topology == "hexagonal" else 1.0
    rows = max(2, round(np.sqrt(n_units / ratio / height)))
    if toroidal and topology == "hexagonal":
        rows += rows % 2
    return rows, max(2, round(n_units / rows))
