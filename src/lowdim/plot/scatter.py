"""Maps: each object a point, coloured by what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.plot import density as pixels
from lowdim.plot.canvas import INK, TITLE, PlotPoints, axes_for, plot_points, remove_ticks
from lowdim.plot.names import Names, write_names
from lowdim.plot.overlays import region_names
from lowdim.plot.paint import LEGEND, Paint, fade, paint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_IMAGE_SHARE = 1 / 16
"""Side of an image, as a share of the map's longer side."""

_IMAGE_STEP = 3.0
"""Least distance of two images, in half sides: at 2 they touch, beyond it points show between."""

_RASTER_FROM = 5000
"""From this many points on, vector files hold the points as pixels and stay small."""

_MOST_LINES = 15
"""Entries in one column of a legend."""

_COLUMN = 1.2
"""Width of a further column of a legend, in inches."""

_SAMPLE = 1000
"""If none of so many points share a place, most of all points do not."""

_DISC = 0.42
"""Radius of the largest disc, as a share of the distance of places: discs do not touch."""

_GOLDEN_ANGLE = np.pi * (3 - 5**0.5)  # points at its multiples fill a disc evenly (Vogel 1979)


def scatter(
    Y: Any,
    labels: Any = None,
    *,
    names: Names | None = None,
    images: Any = None,
    color: Any = None,
    reliability: Any = None,
    regions: Any = None,
    density: bool | str | None = None,
    legend: str | None = None,
    title: str | None = None,
    ax: Any = None,
    size: float | None = None,
) -> Axes:
    """Draw an embedding of one, two or three dimensions.

    Parameters
    ----------
    Y : array of shape (n,) or (n, 1 to 3)
        Coordinates. Rows with NaN are left out. If most rows of two columns share their places, as
        on a self-organizing map, they are drawn around them: the larger a disc, the more rows.
    labels : array of shape (n,), Series or mapping of a name to an array, default=None
        Strings, and integers of at most thirty values, are kinds with a colour each and a legend.
        Of more than thirty kinds, the largest thirty have colours and the others are grey. Other
        numbers are coloured along viridis, with a colour bar; skewed ones on a logarithmic scale or
        by rank, as the bar says. The name of a Series or in a mapping is the title of the legend.
    names : sequence of n strings, or mapping of row to string, default=None
        Written beside the points: all of them, or those that are mapped.
    images : array of shape (n, height, width) or (n, height, width, 3 or 4), default=None
        Pictures of the objects, drawn on their points wherever they do not overlap.
    color : colour, or array of n colours, default=None
        Instead of `labels`.
    reliability : Reliability or array of shape (n,), default=None
        What `lowdim.quality.reliability` returns, or numbers in [0, 1]: points of low reliability
        fade to light grey.
    regions : Regions, default=None
        What `lowdim.regions` returned: the names of the regions are written on a map of two
        dimensions, as `region_names` does.
    density : bool, "equalize" or "log", default=None
        Draw how many points fall on each pixel, with the colours mixed, instead of the points; by
        default from 100,000 points on. The shade is equalised (True) or logarithmic.
    legend : {"beside", "inside", "map", "none"}, default=None
        Where the kinds are named: beside the map, inside where it covers the fewest points, or on
        the map, each at the middle of its points. By default beside.
    title : str, default=None
        Written above the map.
    ax : matplotlib axes, default=None
        Axes to draw on; by default those of a new figure.
    size : float, default=None
        Area of a marker in square points; by default it shrinks with the number of objects.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(200, random_state=0)
    >>> Y = lowdim.PCA(n_components=2).fit_transform(X)
    >>> picture = lowdim.plot.scatter(Y, t, title="PCA")
    >>> picture.get_title()
    'PCA'
    """
    place = plot_points(Y)
    painted = paint(len(place.points), labels, color)
    if reliability is not None:
        painted = painted._replace(colors=fade(painted.colors, reliability))
    how = _density(density, place)
    checks.choice(legend, "legend", (None, "beside", "inside", "map", "none"))
    if not how:
        place = spread(place)
    axes: Axes = axes_for(place, ax)
    size = size or marker_size(place.drawn)
    if how:
        shown = place.points[place.drawn], painted.colors[place.drawn]
        pixels.draw(axes, *shown, how, square=not place.strip)
    else:
        draw_points(axes, place, painted.colors, size, drawing_order(place.drawn))
    frame(axes, place)
    if images is not None:
        _images(axes, place, np.asarray(images), painted.colors)
    if names is not None:
        write_names(axes, place, names, 2 + np.sqrt(size) / 2)
    if title is not None:
        axes.set_title(title, fontsize=TITLE, color=INK)
    columns = _legend(axes, place, painted, legend)
    if ax is None and columns > 1:
        figure: Any = axes.figure
        figure.set_figwidth(figure.get_figwidth() + _COLUMN * (columns - 1))
    if regions is not None:
        region_names(regions, axes)
    return axes


def feature_changes(explanation: Any, Y: Any, *, count: int = 8, **options: Any) -> Axes:
    """Draw which feature changes most at each place of a map, and how much.

    Parameters
    ----------
    explanation : Explanation
        What `lowdim.explain` returned for the map.
    Y : array of shape (n, 2)
        Coordinates on the map.
    count : int, default=8
        Number of features that have colours, those that change most near the most objects.
    **options
        Of `scatter`.

    Returns
    -------
    matplotlib axes

    Notes
    -----
    The colour of a point is that of the feature with the steepest slope there. It is the fainter,
    the less steep the slope is relative to that which 5 % of the points exceed.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(300, random_state=0)
    >>> Y = lowdim.PCA(2).fit_transform(X)
    >>> ax = lowdim.plot.feature_changes(lowdim.explain(Y, X), Y)
    """
    most = np.where(explanation.r2 > 0, explanation.strengths, 0.0).max(axis=1)
    steep = np.nanquantile(most, 0.95)
    share = np.nan_to_num(most / (steep if steep > 0 else 1.0)).clip(0, 1)
    labels = {"changes most": explanation.changing(count)}
    return scatter(Y, labels, reliability=share, **options)


def drawing_order(drawn: Array) -> Array:
    """The rows to draw, shuffled in a fixed way, so that no kind lies on top of all others."""
    return np.random.default_rng(0).permutation(np.flatnonzero(drawn))


def marker_size(drawn: Array) -> float:
    """Area of a marker in square points: the more there are, the smaller."""
    return float(300 / np.sqrt(max(drawn.sum(), 100)))


def spread(place: PlotPoints) -> PlotPoints:
    """Points in discs around their places if most share them, as on a self-organizing map.

    The areas of the discs are in proportion to the numbers of points. Other maps, and those of one
    or three dimensions, stay as they are.
    """
    from scipy.spatial import KDTree

    points = place.points[place.drawn]
    some = points[:_SAMPLE]
    if place.strip or points.shape[1] == 3 or len(np.unique(some, axis=0)) == len(some):
        return place
    places, of, counts = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    if len(places) < 2 or 2 * len(places) > len(of):
        return place
    number = np.empty(len(of))  # of each point among those of its place, from 0
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    number[np.argsort(of, kind="stable")] = np.arange(len(of)) - starts
    nearest, _ = KDTree(places).query(places, [2])  # the first one is the place itself
    away = _DISC * float(np.median(nearest)) * np.sqrt(number / counts.max())
    angle = _GOLDEN_ANGLE * number
    points = place.points.copy()
    points[place.drawn] += away[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return place._replace(points=points)


def _density(density: bool | str | None, place: PlotPoints) -> str:
    """How to shade the density, or an empty string where points are to be drawn."""
    checks.choice(density, "density", (None, False, True, "equalize", "log"))
    flat = place.points.shape[1] == 2
    if density is None:
        density = flat and int(place.drawn.sum()) >= pixels.FROM
    if not density or not place.drawn.any():
        return ""
    if not flat:
        raise ValueError(
            "density: it can be drawn on a map of two dimensions only; choose two columns."
        )
    return "log" if density == "log" else "equalize"


def draw_points(ax: Any, place: PlotPoints, colors: Array, size: float, order: Array) -> None:
    """Draw the rows named in `order`, the last ones on top."""
    ax.scatter(
        *place.points[order].T,
        c=colors[order],
        s=size,
        linewidths=0,
        alpha=0.85,
        rasterized=len(order) >= _RASTER_FROM,
    )


def frame(ax: Any, place: PlotPoints) -> None:
    """One scale for all axes of a map, and no ticks."""
    if ax.name == "3d":
        sides = np.ptp([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()], axis=1)
        ax.set_box_aspect(sides, zoom=1.15)
    elif not place.strip:
        ax.set_aspect("equal", adjustable="datalim")
    remove_ticks(ax)


def _legend(ax: Any, place: PlotPoints, painted: Paint, where: str | None) -> int:
    """Say what the colours mean: a legend, names on the map, or a colour bar.

    Returns the number of columns that the legend has beside the map.
    """
    if where == "none":
        return 0
    if painted.norm is not None:
        painted.color_bar(ax.figure, ax)
    elif where == "map":
        _name_kinds(ax, place, painted)
    elif painted.kinds:
        handles = painted.handles()
        if where == "inside":
            ax.legend(handles=handles, loc="best", **LEGEND, **painted.legend_title())
            return 0
        columns = -(-len(handles) // _MOST_LINES)
        spot: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": columns}
        if place.strip:  # too low for a column
            columns = min(len(handles), _MOST_LINES // 2)
            spot = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": columns}
        ax.legend(handles=handles, **spot, **LEGEND, **painted.legend_title())
        return 0 if place.strip else columns
    return 0


def _name_kinds(ax: Any, place: PlotPoints, painted: Paint) -> None:
    """Each kind's name at the one of its points that is nearest to their median."""
    rows: dict[int, str] = {}
    for code, kind in enumerate(painted.kinds):
        members = np.flatnonzero(place.drawn & (painted.codes == code))
        if len(members):
            gaps = place.points[members] - np.median(place.points[members], axis=0)
            rows[int(members[np.argmin((gaps**2).sum(axis=1))])] = kind
    chosen = list(rows)
    spots = place._replace(points=place.points[chosen], drawn=place.drawn[chosen])
    write_names(ax, spots, list(rows.values()), 1)


def _images(ax: Any, place: PlotPoints, images: Array, colors: Array) -> None:
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
    for i in select_apart(points, place.drawn, _IMAGE_STEP * half):
        (left, bottom), (right, top) = points[i] - half, points[i] + half
        picture = AxesImage(ax, cmap="gray_r", extent=(left, right, bottom, top), zorder=3)
        picture.set_data(images[i])
        ax.add_image(picture)
        edge = Rectangle((left, bottom), right - left, top - bottom, fill=False, zorder=3.1)
        edge.set(edgecolor=colors[i], linewidth=0.8)
        ax.add_patch(edge)
    ax.margins(0.06)


def select_apart(points: Array, drawn: Array, step: Array) -> list[int]:
    """Rows, the first ones first, no two of which are within `step` on both axes."""
    chosen: list[int] = []
    free = np.array(drawn)
    for i in np.flatnonzero(drawn).tolist():
        if free[i]:
            chosen.append(i)
            free &= (np.abs(points - points[i]) >= step).any(axis=1)
    return chosen
