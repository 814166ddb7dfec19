"""First prototypes of a self-organizing map: principal components, random objects, or given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.native.dense import product
from lowdim.checks import Array
from lowdim.distances.metrics import Metric
from lowdim.learned.self_organizing_map.prototypes import RelationalPrototypes, VectorPrototypes
from lowdim.messages import argument
from lowdim.numerics.svd import scores, start_axes
from lowdim.numerics.unit_grid import UnitGrid
from lowdim.spectral.starts import classical_start

COMPONENTS = 4  # a toroidal grid is rolled up in two planes
EVEN = 1e-6  # relative third moment below which scores count as symmetric

MakeGrid = Callable[[Array], UnitGrid]
"""From principal coordinates of the objects to the grid of units."""


def vector_start(
    rows: Any, metric: Metric, make_grid: MakeGrid, init: Any, random: np.random.RandomState
) -> tuple[UnitGrid, VectorPrototypes]:
    """The grid and the first prototypes of vectors.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        NaN marks missing values.
    metric : Metric
    make_grid : callable
    init : {"pca", "random"} or array of shape (n_units, d)
    random : RandomState
    """
    full = fill_missing(rows) if metric.name == "nan_euclidean" else rows
    center, axes = start_axes(full, min(COMPONENTS, *full.shape))
    Y = scores(full, center, axes).astype(np.float64)
    grid = make_grid(Y)
    if not isinstance(init, str):
        codebook = _check_init(init, (grid.n, rows.shape[1]))
    elif init == "random":
        codebook = checks.dense(full[_some(rows.shape[0], grid.n, random)])
    else:
        places = start_positions(grid, Y.shape[1]) * Y.std(axis=0) * invariant_signs(Y)
        codebook = center + product(places, axes.astype(np.float64).T)
    return grid, VectorPrototypes(rows, metric, codebook)


def relational_start(
    D: Array, make_grid: MakeGrid, init: str, random: np.random.RandomState, *, median: bool
) -> tuple[UnitGrid, RelationalPrototypes]:
    """The grid and the first prototypes of objects that are known by dissimilarities.

    For Euclidean distances these are the prototypes of `vector_start`.
    """
    n = len(D)
    Y = classical_start(D, min(COMPONENTS, n - 1)).astype(np.float64)
    grid = make_grid(Y)
    if init == "random":
        coefficients = np.zeros((grid.n, n))
        coefficients[np.arange(grid.n), _some(n, grid.n, random)] = 1
    else:
        variance = Y.var(axis=0)
        spread = np.where(variance > 0, np.sqrt(variance), 1)
        places = start_positions(grid, Y.shape[1]) * invariant_signs(Y)
        coefficients = 1 / n + product(places, Y / spread / n)
    return grid, RelationalPrototypes(D, coefficients, median)


def start_positions(grid: UnitGrid, k: int) -> Array:
    """Where the prototypes start: k principal coordinates, in standard deviations of the data.

    A planar grid is laid on the plane of the first two components, with the spread of the data. A
    toroidal one is rolled up: each of its axes is a circle in a plane of two components.
    """
    half = np.maximum(grid.periods / 2, 0.5)
    if not grid.toroidal:
        positions = grid.coordinates / half * np.sqrt(3)  # a uniform distribution of variance 1
    else:
        columns = (grid.coordinates / half * np.pi).T[:, :, None]
        circles = [turn(column) for column in columns for turn in (np.cos, np.sin)]
        positions = np.hstack(circles) * np.sqrt(2)
    return np.pad(positions, ((0, 0), (0, max(0, k - positions.shape[1]))))[:, :k]


def invariant_signs(scores: Array) -> Array:
    """Signs that make the third moment of each column positive.

    They do not depend on the coordinate system of the data, as those of singular vectors do.
    """
    sizes = np.abs(scores).max(axis=0, initial=0)
    unit = scores / np.where(sizes > 0, sizes, 1)
    skew, scale = (unit**3).sum(axis=0), (np.abs(unit) ** 3).sum(axis=0)
    return np.where(skew < -EVEN * scale, -1.0, 1.0)


def fill_missing(rows: Array) -> Array:
    """Rows with missing values replaced by the means of their columns."""
    missing = np.isnan(rows)
    blank = np.flatnonzero(missing.all(axis=1))
    if len(blank):
        raise ValueError(
            f"{argument('metric', 'nan_euclidean')} gives NaN for objects {blank[0]} and "
            f"{int(blank[0] == 0)}. Remove such objects, or choose a metric that is defined for "
            "them."
        )
    known = (~missing).sum(axis=0)
    means = np.where(missing, 0, rows).sum(axis=0) / np.maximum(known, 1)
    return np.where(missing, means.astype(rows.dtype), rows)


def _check_init(init: Any, shape: tuple[int, int]) -> Array:
    actual = np.shape(init) if hasattr(init, "__len__") else repr(init)
    if actual != shape:
        raise ValueError(
            f"{argument('init')} must "
            f"be 'pca', 'random' or an array of shape {shape}, one prototype per unit; "
            f"got {actual}."
        )
    return np.asarray(checks.vectors(init, name="init"))


def _some(n: int, m: int, random: np.random.RandomState) -> Array:
    """m of n objects, all different if there are enough."""
    order = [random.permutation(n) for _ in range(-(-m // n))]
    return np.concatenate(order)[:m]
