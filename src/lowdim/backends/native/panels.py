"""Points stored cell by cell in panels, for vectorized searches in a few cells."""

from __future__ import annotations

import numpy as np

from lowdim import _native
from lowdim.checks import Array
from lowdim.runtime.context import current

PANEL = int(_native.PANEL_POINTS)  # number of points whose coordinates a panel interleaves


def order_by_cell(owner: Array, n_cells: int) -> tuple[Array, Array]:
    """The points in the order of their cells, and the first place of each cell in that order.

    Point i is in cell owner[i]; the points of a cell are in ascending order.
    """
    owner = np.ascontiguousarray(owner, dtype=np.int32)
    order, starts = _native.order_by_cell(owner, n_cells, current().threads)
    return np.asarray(order), np.asarray(starts)


def cell_means(points: Array, order: Array, starts: Array, means: Array) -> None:
    """Write the mean of each cell's points to `means`, float32; empty cells are left as they are.

    Cell c holds the rows order[starts[c]], ..., order[starts[c + 1] - 1].
    """
    _native.cell_means(points, order, starts, means, current().threads)


def fill_panels(
    points: Array, norms: Array, order: Array, starts: Array
) -> tuple[Array, Array, Array, Array]:
    """Store points cell by cell in panels, in float32, for `search_cells`.

    The point at place i is row order[i]; cell c holds the places starts[c] <= i < starts[c + 1].
    Returns starts, the first panel of each cell, the panels, and the squared norms in panels.
    """
    first = np.concatenate([[0], np.cumsum(-(-np.diff(starts) // PANEL))]).astype(np.int64)
    panels = np.empty((first[-1], points.shape[1], PANEL), dtype=np.float32)
    sums = np.empty((first[-1], PANEL), dtype=np.float32)
    _native.fill_panels(points, norms, order, starts, first, panels, sums, current().threads)
    return starts, first, panels, sums


def search_cells(
    cells: tuple[Array, Array, Array, Array],
    queries: Array,
    self_places: Array,
    probes: Array,
    m: int,
    *,
    ordered: bool = False,
) -> tuple[Array, Array]:
    """The m points of least score |y|^2 - 2 x.y for each query x, from some cells.

    Parameters
    ----------
    cells : tuple
        From `fill_panels`.
    queries : array of shape (n, dim)
    self_places : array of shape (n,)
        Place of each query, which is left out; -1 if it has none.
    probes : array of shape (n, p)
        Cells to search for each query, nearest first; padded with -1.
    m : int
    ordered : bool
        Whether to sort the points by their score.

    Returns
    -------
    places, scores : arrays of shape (n, m)
        Padded with place -1. They do not depend on the other queries.
    """
    values = np.empty((len(queries), m), dtype=np.float32)
    places = np.empty((len(queries), m), dtype=np.int32)
    _native.search_cells(
        *cells, queries, self_places, probes, ordered, values, places, current().threads
    )
    return places, values


def project(
    X: Array, center: Array, scale: float, axes: Array, width: int, share: float
) -> tuple[Array, Array]:
    """scale (X - center) axes' in float32 with one more column, and squared norms.

    The last column is sqrt(share) times the length of what the axes leave out. The norms are those
    of scale (X - center). `axes` are panels (see `axis_panels`). Each row is computed
    independently.
    """
    out = np.empty((len(X), width + 1), dtype=np.float32)
    squares = np.empty(len(X), dtype=np.float32)
    _native.project_rows(X, center, scale, axes, share, out, squares, current().threads)
    return out, squares


def axis_panels(axes: Array) -> Array:
    """Axes (rows) in the panels that `project` takes."""
    count, d = axes.shape
    padded = np.zeros((-(-count // PANEL) * PANEL, d), dtype=np.float32)
    padded[:count] = axes
    return np.ascontiguousarray(padded.reshape(-1, PANEL, d).transpose(0, 2, 1))
