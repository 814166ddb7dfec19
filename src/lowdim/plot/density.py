"""Points by the million: how many fall on each pixel, and of which colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array

FROM = 100_000
"""From this many points on, single ones cannot be seen and a map shows their density."""

_PER_INCH = 100
"""Bins along an inch."""

_FAINTEST = 0.2
"""Opacity of the emptiest bin that is not empty."""


def counts(
    points: Array, extent: tuple[float, float, float, float], shape: tuple[int, int], *parts: Array
) -> list[Array]:
    """How many points fall into each bin of a grid, and the sums of other numbers they have.

    `extent` is (left, right, bottom, top), `shape` the number of bins (up, across); row 0 is the
    bottom one. Points on an edge belong to the bin above it, those on the last edge to the last.
    """
    left, right, bottom, top = extent
    rows, columns = shape
    x = _bin(points[:, 0], left, right, columns)
    y = _bin(points[:, 1], bottom, top, rows)
    inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
    cells = (y * columns + x)[inside]
    sums = [np.bincount(cells, minlength=rows * columns)]
    sums += [np.bincount(cells, part[inside], rows * columns) for part in parts]
    return [total.reshape(shape) for total in sums]


def _bin(values: Array, low: float, high: float, n_bins: int) -> Array:
    place = np.floor((values - low) * (n_bins / (high - low))).astype(np.int64)
    return np.where((place == n_bins) & (values <= high), n_bins - 1, place)


def opacity(count: Array, how: str) -> Array:
    """From counts to [0, 1]: by their logarithm, or equalised, each level as common as others."""
    filled = count > 0
    alpha = np.zeros(count.shape)
    if not filled.any():
        return alpha
    if how == "log":
        level = np.log1p(count[filled]) / np.log1p(count.max())
    else:
        _, place, repeats = np.unique(count[filled], return_inverse=True, return_counts=True)
        level = np.cumsum(repeats)[place] / filled.sum()
    alpha[filled] = _FAINTEST + (1 - _FAINTEST) * level
    return alpha


def draw(ax: Any, points: Array, colors: Array, how: str, *, square: bool) -> None:
    """Draw points as a picture of their density; where colours meet in a bin, they mix."""
    from matplotlib.image import AxesImage

    width, height = (side * _PER_INCH / ax.figure.dpi for side in ax.bbox.size)
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    middle = (low + high) / 2
    if square:
        step = max(span[0] / width, span[1] / height)
        columns, rows = np.maximum(np.ceil(span / step), 1).astype(int).tolist()
        half = step * np.array([columns, rows]) / 2
    else:
        columns, rows = max(int(width), 1), max(int(height), 1)
        half = span / 2
    (left, bottom), (right, top) = middle - half, middle + half
    extent = (float(left), float(right), float(bottom), float(top))
    count, *sums = counts(points, extent, (rows, columns), *colors[:, :3].T)
    image = np.empty((rows, columns, 4))
    image[..., :3] = np.stack(sums, axis=-1) / np.maximum(count, 1)[..., None]
    image[..., 3] = opacity(count, how)
    picture = AxesImage(ax, extent=extent, origin="lower", interpolation="nearest")
    picture.set_data(image)
    picture.sticky_edges.x[:] = picture.sticky_edges.y[:] = []  # a margin around it, as for points
    ax.add_image(picture)
    ax.update_datalim([(left, bottom), (right, top)])
    ax.autoscale_view()
