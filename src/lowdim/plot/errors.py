"""Where a map tears neighbours apart, and where it shows false ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.checks import Array
from lowdim.plot import density
from lowdim.plot.canvas import INK, TEXT, TITLE, axes_for, plot_points
from lowdim.plot.paint import unit_values
from lowdim.plot.scatter import draw_points, frame, marker_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array(
    [
        [(0.85, 0.85, 0.85), (0.902, 0.624, 0.0)],  # neither; false: Okabe and Ito's orange
        [(0.0, 0.447, 0.698), (0.1, 0.1, 0.1)],  # torn: their blue; both
    ]
)
"""Colours of [torn, false] at 0 and 1: they differ in lightness and along blue to yellow, which
every common kind of colour vision sees."""


def errors(
    embedding: Any,
    torn: Any,
    false: Any,
    ax: Any = None,
    *,
    title: str | None = None,
    size: float | None = None,
) -> Axes:
    """Draw a map coloured by its errors: torn neighbours in blue, false ones in orange.

    Points without errors are light grey, those with both dark. The worst are drawn on top. The
    square beside the map is the key; it ends above the 99th percentile of both errors.

    Parameters
    ----------
    embedding : array of shape (n,) or (n, 1 to 3)
        Coordinates.
    torn : array of shape (n,)
        How far each object's neighbours were torn away from it, in [0, 1], as
        `lowdim.quality.point_errors` computes it. Objects with NaN are left out.
    false : array of shape (n,)
        How far each object's neighbours on the map are from it in the data, in [0, 1].
    ax, title, size
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import lowdim
    >>> picture = lowdim.plot.errors([[0, 0], [1, 0], [0, 1]], [0.0, 0.2, 0.1], [0.1, 0.0, 0.3])
    >>> len(picture.collections[0].get_offsets())
    3
    """
    place = plot_points(embedding)
    n = len(place.points)
    torn, false = unit_values(torn, "torn", n), unit_values(false, "false", n)
    place = place._replace(drawn=place.drawn & np.isfinite(torn) & np.isfinite(false))
    known = np.concatenate([torn[place.drawn], false[place.drawn]])
    percentile = float(np.percentile(known, 99)) if len(known) else 0.0
    top = min(max(np.ceil(100 * percentile) / 100, 0.01), 1.0)
    colors = two_way(torn / top, false / top)
    axes: Axes = axes_for(place, ax)
    if place.points.shape[1] == 2 and place.drawn.sum() >= density.FROM:
        shown = place.points[place.drawn], colors[place.drawn]
        density.draw(axes, *shown, "equalize", square=not place.strip)
    else:
        order = np.argsort(torn + false, kind="stable")
        area = size or marker_size(place.drawn)
        draw_points(axes, place, colors, area, order[place.drawn[order]])
    frame(axes, place)
    if title is not None:
        axes.set_title(title, fontsize=TITLE, color=INK)
    _key(axes, top)
    return axes


def two_way(torn: Array, false: Array) -> Array:
    """Colours between the four corners, (n, 3), for errors from 0 to 1."""
    a, b = np.clip(torn, 0, 1)[..., None], np.clip(false, 0, 1)[..., None]
    low = (1 - b) * CORNERS[0, 0] + b * CORNERS[0, 1]
    high = (1 - b) * CORNERS[1, 0] + b * CORNERS[1, 1]
    return np.asarray((1 - a) * low + a * high)


def _key(ax: Any, top: float) -> None:
    """The square of colours, and in words what its sides mean."""
    steps = np.linspace(0, 1, 32)
    torn, false = np.meshgrid(steps, steps)
    key = ax.inset_axes((1.16, 0.62, 0.26, 0.26))
    key.imshow(two_way(torn, false), origin="lower", extent=(0, top, 0, top), aspect="auto")
    key.set_box_aspect(1)
    key.set_xticks([0, top], ["0", f"{top:.2g}"])
    key.set_yticks([0, top], ["0", f"{top:.2g}"])
    key.get_xticklabels()[1].set_horizontalalignment("right")
    key.get_yticklabels()[1].set_verticalalignment("top")
    key.tick_params(labelsize=TEXT - 2, colors=INK, length=2, width=0.6, pad=1)
    style: dict[str, Any] = {"fontsize": TEXT - 1, "color": INK, "labelpad": 1}
    key.set_xlabel("torn: neighbours\nplaced far away", loc="right", **style)
    key.set_ylabel("false: neighbours\nonly on the map", loc="top", **style)
    for spine in key.spines.values():
        spine.set_visible(False)
