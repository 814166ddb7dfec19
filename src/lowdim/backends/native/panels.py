"""Points stored cell by cell, for searches among the points of a few cells."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current

PANEL = int(_native.PANEL_POINTS)  # points side by side in a panel


def fill_panels(
    points: Array, norms: Array, order: Array, starts: Array
) -> tuple[Array, Array, Array, Array]:
    """Points stored cell by cell in panels, for `search_cells`; float32.

    The point at place i is row order[i]; cell c holds the places [starts[c], starts[c + 1]).
    """
    first = np.concatenate([[0], np.cumsum(-(-np.diff(starts) // PANEL))]).astype(np.int64)
    panels = np.empty((first[-1], points.shape[1], PANEL), dtype=np.float32)
    sums = np.empty((first[-1], PANEL), dtype=np.float32)
    _native.fill_panels(points, norms, order, starts, first, panels, sums, current().threads)
    return starts, first, panels, sums


def search_cells(
    cells: tuple[Array, Array, Array, Array],
    queries: Array,
    selves: Array,
    probes: Array,
    m: int,
    *,
    ordered: bool = False,
) -> tuple[Array, Array]:
    """Places and scores |y|^2 - 2 x.y of the m best points in the cells that each query asks for.

    The nearest cell comes first in a row of `probes`, which -1 fills up, as it does the places.
    selves[q] is the place of query q itself, or -1. A query's answer depends on it alone.
    """
    values = np.empty((len(queries), m), dtype=np.float32)
    places = np.empty((len(queries), m), dtype=np.int32)
    _native.search_cells(
        *cells, queries, selves, probes, ordered, values, places, current().threads
    )
    return places, values


def project(X: Array, center: Array, scale: float, axes: Array, width: int) -> tuple[Array, Array]:
    """scale (X - center) axes' in float32, and the squared norms of scale (X - center).

    The axes come in panels (see `axis_panels`); each row is computed on its own.
    """
    out = np.empty((len(X), width), dtype=np.float32)
    squares = np.empty(len(X), dtype=np.float32)
    _native.project_rows(X, center, scale, axes, out, squares, current().threads)
    return out, squares


def axis_panels(axes: Array) -> Array:
    """Axes, one a row, in the panels that `project` takes."""
    count, d = axes.shape
    padded = np.zeros((-(-count // PANEL) * PANEL, d), dtype=np.float32)
    padded[:count] = axes
    return np.ascontiguousarray(padded.reshape(-1, PANEL, d).transpose(0, 2, 1))
