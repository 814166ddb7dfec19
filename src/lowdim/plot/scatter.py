"""Maps: each object a point, coloured by what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.plot.canvas import (
    FAINT,
    INK,
    OKABE_ITO,
    TEXT,
    TITLE,
    Layout,
    axes_for,
    bare,
    layout,
    new_figure,
    palette,
    require_matplotlib,
)
from lowdim.plot.names import write_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_KINDS = 12
"""More kinds than this cannot be told apart by colour."""

_IMAGE_SHARE = 1 / 16
"""Side of an image, as a share of the map's longer side."""

_IMAGE_STEP = 3.0
"""Least distance of two images, in half sides: at 2 they touch, beyond it points show between."""

_RASTER_FROM = 5000
"""From this many points on, vector files hold the points as pixels and stay small."""


class Paint(NamedTuple):
    """The colour of every point, and what the colours mean when they mean kinds."""

    colors: Any
    legend: dict[str, Any]


def paint(color: Any, n: int) -> Paint:
    """One colour a point: by kind for at most twelve integers or strings, else along viridis."""
    require_matplotlib()
    import matplotlib
    from matplotlib.colors import to_rgba, to_rgba_array

    if color is None or isinstance(color, str):
        return Paint(np.tile(to_rgba(color or OKABE_ITO[0]), (n, 1)), {})
    values = np.asarray(color)
    if len(values) != n:
        raise ValueError(f"color has {len(values)} entries, but there are {n} objects.")
    if values.ndim == 2:
        return Paint(to_rgba_array(values), {})
    if values.dtype.kind in "OUS":
        values = values.astype(str)
    if values.dtype.kind in "biuU":
        kinds, values = np.unique(values, return_inverse=True)
        if len(kinds) <= MOST_KINDS:
            shades = to_rgba_array(palette(len(kinds)))
            return Paint(shades[values], dict(zip(map(str, kinds), shades, strict=True)))
    known = values[np.isfinite(values)].astype(np.float64)
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    unit = (values - low) / ((high - low) or 1.0)
    shades = matplotlib.colormaps["viridis"](unit)
    shades[~np.isfinite(values)] = to_rgba(FAINT)
    return Paint(shades, {})


def scatter(
    Y: Any,
    color: Any = None,
    *,
    labels: Sequence[str] | None = None,
    images: Any = None,
    title: str | None = None,
    ax: Any = None,
    size: float | None = None,
) -> Axes:
    """Draw an embedding of one, two or three dimensions.

    Parameters
    ----------
    Y : array of shape (n,) or (n, 1 to 3)
        Coordinates. Rows with NaN are left out.
    color : array of shape (n,), or a colour
        Integers or strings of at most twelve kinds get a colour each, told apart with any colour
        vision, and a legend; other values are coloured along viridis.
    labels : sequence of n strings
        Names to write beside the points.
    images : array of shape (n, height, width) or (n, height, width, 3 or 4)
        Pictures of the objects, drawn on their points wherever they do not overlap.
    title : str
    ax : matplotlib axes
        Drawn on if given, otherwise on a new figure (`.figure` of the answer).
    size : float
        Area of a marker in square points; by default it shrinks with the number of objects.

    Returns
    -------
    matplotlib axes
    """
    place = layout(Y)
    colors, legend = paint(color, len(place.points))
    axes: Axes = axes_for(place, ax)
    size = size or 300 / np.sqrt(max(place.drawn.sum(), 100))
    _points(axes, place, colors, size)
    if images is not None:
        _images(axes, place, np.asarray(images), colors)
    if labels is not None:
        write_names(axes, place, labels, 2 + np.sqrt(size) / 2)
    if title is not None:
        axes.set_title(title, fontsize=TITLE, color=INK)
    if legend:
        corner: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(handles=_handles(legend), **corner, **_LEGEND)
    return axes


def compare(
    embeddings: Mapping[str, Any],
    color: Any = None,
    *,
    images: Any = None,
    title: str | None = None,
    columns: int | None = None,
    size: float | None = None,
) -> Figure:
    """Draw embeddings of the same objects side by side, coloured alike, with one legend.

    `embeddings` maps the title of each panel to coordinates, as `scatter` takes them; `columns`
    is the number of panels in a row (by default about as many as there are rows).
    """
    if not embeddings:
        raise ValueError("embeddings is empty: give at least one, as {title: coordinates}.")
    count = len(embeddings)
    if columns is None:
        columns = count if count <= 3 else int(np.ceil(np.sqrt(count)))
    columns = checks.integer(columns, "columns", 1)
    rows = -(-count // columns)
    figure = new_figure(2.4 * columns, 2.5 * rows + 0.3)
    shared: dict[str, Any] = {}
    for place, (name, Y) in enumerate(embeddings.items(), start=1):
        Y = np.asarray(Y)
        three = Y.ndim == 2 and Y.shape[1] == 3
        ax = figure.add_subplot(rows, columns, place, projection="3d" if three else None)
        colors, shared = paint(color, len(Y))
        area = size or 90 / np.sqrt(max(len(Y), 100))
        scatter(Y, colors, images=None if three else images, title=name, ax=ax, size=area)
    if shared:
        figure.legend(
            handles=_handles(shared),
            loc="outside lower center",
            ncols=min(len(shared), 4 * columns),
            **_LEGEND,
        )
    if title is not None:
        figure.suptitle(title, fontsize=TITLE + 1, color=INK)
    return figure


_LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": TEXT,
    "handletextpad": 0.2,
    "columnspacing": 1.0,
    "labelcolor": INK,
}


def _handles(legend: dict[str, Any]) -> list[Any]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="", marker="o", markersize=5, color=shade, label=kind)
        for kind, shade in legend.items()
    ]


def _points(ax: Any, place: Layout, colors: Array, size: float) -> None:
    """The points in a fixed shuffled order, so that no kind lies on top of all others."""
    order = np.random.default_rng(0).permutation(np.flatnonzero(place.drawn))
    ax.scatter(
        *place.points[order].T,
        c=colors[order],
        s=size,
        linewidths=0,
        alpha=0.85,
        rasterized=len(order) >= _RASTER_FROM,
    )
    if ax.name == "3d":
        sides = np.ptp([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()], axis=1)
        ax.set_box_aspect(sides, zoom=1.15)
    elif not place.strip:
        ax.set_aspect("equal", adjustable="datalim")
    bare(ax)


def _images(ax: Any, place: Layout, images: Array, colors: Array) -> None:
    """Pictures on their points, each framed in its colour; one too close to another is left out."""
    from matplotlib.image import AxesImage
    from matplotlib.patches import Rectangle

    if place.strip or ax.name == "3d":
        raise ValueError("images can be drawn on a map of two dimensions only.")
    if len(images) != len(place.points) or images.ndim not in (3, 4):
        raise ValueError(
            f"images must have shape ({len(place.points)}, height, width[, 3 or 4]), "
            f"got {images.shape}."
        )
    points = place.points
    side = _IMAGE_SHARE * max(np.ptp(points[place.drawn], axis=0), default=0.0) or 1.0
    height, width = images.shape[1:3]
    half = side / 2 * np.array([width, height]) / max(width, height)
    taken: list[Array] = []
    for i in np.flatnonzero(place.drawn).tolist():
        if taken and np.any(np.all(abs(np.array(taken) - points[i]) < _IMAGE_STEP * half, axis=1)):
            continue
        taken.append(points[i])
        (left, bottom), (right, top) = points[i] - half, points[i] + half
        picture = AxesImage(ax, cmap="gray_r", extent=(left, right, bottom, top), zorder=3)
        picture.set_data(images[i])
        ax.add_image(picture)
        frame = Rectangle((left, bottom), right - left, top - bottom, fill=False, zorder=3.1)
        frame.set(edgecolor=colors[i], linewidth=0.8)
        ax.add_patch(frame)
    ax.margins(0.06)
