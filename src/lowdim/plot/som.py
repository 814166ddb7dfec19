"""Pictures of a self-organizing map: its cells coloured by gaps, features, objects or labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.numerics.unit_grid import UnitGrid
from lowdim.plot.canvas import FAINT, INK, OKABE_ITO, TEXT, TITLE, new_figure
from lowdim.plot.colors import MAX_KINDS
from lowdim.plot.paint import LEGEND, Paint, paint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE = 4.5  # inches of the longer side of a map
EMPTY = "0.95"  # the colour of cells without a value


def u_matrix(som: Any, *, title: str | None = None, ax: Any = None) -> Axes:
    """Draw the mean distance of each prototype to those of the adjacent units.

    Bright ridges are gaps in the data, dark areas are clusters.

    Parameters
    ----------
    som : fitted SelfOrganizingMap
    title, ax
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    References
    ----------
    Ultsch and Siemon, "Kohonen's self organizing feature maps for exploratory data analysis",
    International Neural Network Conference, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> som = lowdim.SelfOrganizingMap(shape=(4, 5)).fit(np.eye(6))
    >>> len(lowdim.plot.u_matrix(som).collections[0].get_paths())
    20
    """
    grid, axes = _start(som, ax)
    _values(axes, grid, np.asarray(som.u_matrix_).ravel())
    _finish(axes, grid, title)
    return axes


def component_planes(
    som: Any,
    features: Sequence[int] | None = None,
    *,
    names: Sequence[str] | None = None,
    columns: int = 4,
) -> Figure:
    """Draw the prototypes' values of one feature after the other, one map for each.

    Similar maps belong to features that vary together.

    Parameters
    ----------
    som : fitted SelfOrganizingMap
    features : sequence of int, default=None
        Numbers of the features to draw; by default the first 16.
    names : sequence of str, default=None
        Names of all features; by default those of the DataFrame that the map was fitted to.
    columns : int, default=4
        Maps side by side.

    Returns
    -------
    matplotlib figure

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> som = lowdim.SelfOrganizingMap(shape=(4, 5)).fit(np.eye(6))
    >>> figure = lowdim.plot.component_planes(som, names=list("abcdef"))
    >>> [ax.get_title() for ax in figure.axes if ax.get_title()]
    ['a', 'b', 'c', 'd', 'e', 'f']
    """
    grid = _grid_of(som)
    if not hasattr(som, "codebook_"):
        raise ValueError(
            "som has no codebook_: it was fitted on dissimilarities or arbitrary objects, which "
            "have no features."
        )
    codebook = np.asarray(som.codebook_)
    n_features = codebook.shape[1]
    wanted = list(range(min(16, n_features))) if features is None else list(features)
    for feature in wanted:
        checks.integer(feature, "features", 0, n_features - 1, " (the last feature)")
    if names is None:
        names = getattr(som, "feature_names_in_", [str(i) for i in range(n_features)])
    if len(names) != n_features:
        raise ValueError(f"names has {len(names)} entries, but there are {n_features} features.")
    columns = min(checks.integer(columns, "columns", 1), max(len(wanted), 1))
    rows = -(-len(wanted) // columns)
    width, height = _size(grid)
    figure = new_figure(columns * width / 2, rows * (height / 2 + 0.25))
    for place, feature in enumerate(wanted):
        axes = figure.add_subplot(rows, columns, place + 1)
        _values(axes, grid, codebook[:, feature])
        _finish(axes, grid, str(names[feature]))
    return figure


def hits(som: Any, *, title: str | None = None, ax: Any = None) -> Axes:
    """Draw how many training objects each unit has, as the area of a cell.

    Parameters
    ----------
    som : fitted SelfOrganizingMap
    title, ax
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.s_curve(40, random_state=0)
    >>> som = lowdim.SelfOrganizingMap(shape=(4, 5)).fit(X)
    >>> lowdim.plot.hits(som).get_title()
    'at most 5 objects per unit'
    """
    grid, axes = _start(som, ax)
    counts = np.asarray(som.hits_)
    most = counts.max(initial=1)
    _cells(axes, grid, np.ones(grid.n), EMPTY, edges=True)
    _cells(axes, grid, np.sqrt(counts / most), OKABE_ITO[0])
    default = f"at most {most:g} object{'s' * bool(most > 1)} per unit"
    _finish(axes, grid, default if title is None else title)
    return axes


def unit_labels(
    som: Any,
    labels: Any = None,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Axes:
    """Draw which labels the training objects of each unit have.

    A cell has the colour of its most frequent label, and its area is the share of that label; units
    without objects are grey. Labels that are numbers of many values are averaged.

    Parameters
    ----------
    som : fitted SelfOrganizingMap
    labels : array of shape (n_samples,), default=None
        One for each object of `fit`.
    names : sequence of str of length n_samples, default=None
        Names of the objects, written in their cells.
    title, ax
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> import lowdim
    >>> som = lowdim.SelfOrganizingMap(shape=(4, 5)).fit(np.eye(3))
    >>> picture = lowdim.plot.unit_labels(som, names=["ant", "bee", "cat"])
    >>> sorted(text.get_text() for text in picture.texts)
    ['ant', 'bee', 'cat']
    """
    grid, axes = _start(som, ax)
    units = np.asarray(som.units_)
    _cells(axes, grid, np.ones(grid.n), EMPTY, edges=True)
    if labels is not None:
        painted = paint(len(units), labels)
        if painted.codes is None:
            values = np.asarray(labels, dtype=np.float64)
            known = np.isfinite(values)
            counts = np.bincount(units[known], minlength=grid.n)
            sums = np.bincount(units[known], values[known], minlength=grid.n)
            means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
            _values(axes, grid, means, (counts > 0).astype(float))
        else:
            _majorities(axes, grid, units, painted)
    if names is not None:
        if len(names) != len(units):
            raise ValueError(f"names has {len(names)} entries, but there are {len(units)} objects.")
        for unit in np.unique(units):
            text = "\n".join(str(names[i]) for i in np.flatnonzero(units == unit).tolist())
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": TEXT - 1}
            x, y = _places(grid)[unit]
            axes.text(x, y, text, color=INK, **style)
    _finish(axes, grid, title)
    return axes


def _places(grid: UnitGrid) -> Array:
    """Centres of the cells in the plane."""
    return np.pad(grid.coordinates, ((0, 0), (0, 2 - grid.coordinates.shape[1])))


def _grid_of(som: Any) -> UnitGrid:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(som)
    return UnitGrid(tuple(som.shape_), som.topology, bool(som.toroidal))


def _start(som: Any, ax: Any) -> tuple[UnitGrid, Axes]:
    """The grid of a fitted map, and axes for it."""
    grid = _grid_of(som)
    return grid, new_figure(*_size(grid)).add_subplot() if ax is None else ax


def _size(grid: UnitGrid) -> tuple[float, float]:
    """Width and height of a picture in inches."""
    sides = np.ptp(_places(grid), axis=0) + 1
    width, height = SIDE * sides / sides.max()
    return max(width, 1.2), max(height, 1.2)


def _finish(axes: Axes, grid: UnitGrid, title: str | None) -> None:
    places = _places(grid)
    low, high = places.min(axis=0) - 0.65, places.max(axis=0) + 0.65
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_aspect("equal")
    axes.set_axis_off()
    if title is not None:
        axes.set_title(title, fontsize=TITLE, color=INK)


def _cells(axes: Any, grid: UnitGrid, scale: Array, colors: Any, *, edges: bool = False) -> None:
    """Draw the cells, each shrunk by a factor, with white edges or none."""
    from matplotlib.collections import PolyCollection

    corners = _places(grid)[:, None, :] + scale[:, None, None] * grid.corners()[None]
    border: dict[str, Any] = {"edgecolors": "white" if edges else "none", "linewidths": 0.5}
    axes.add_collection(PolyCollection(list(corners), facecolors=colors, **border))


def _values(axes: Any, grid: UnitGrid, values: Array, scale: Array | None = None) -> None:
    """Colour the cells along viridis, with a scale beside them."""
    painted = paint(grid.n, np.asarray(values, dtype=np.float64))
    size = np.full(grid.n, 1.02) if scale is None else scale  # by default no gaps between cells
    _cells(axes, grid, size, painted.colors)
    painted.color_bar(axes.figure, axes)


def _majorities(axes: Any, grid: UnitGrid, units: Array, painted: Paint) -> None:
    assert painted.codes is not None
    assert painted.shades is not None
    table = np.zeros((grid.n, len(painted.kinds)))
    np.add.at(table, (units, painted.codes), 1)
    total = table.sum(axis=1)
    share = table.max(axis=1) / np.maximum(total, 1)
    _cells(axes, grid, (total > 0).astype(float), FAINT)
    _cells(axes, grid, np.sqrt(share), painted.shades[table.argmax(axis=1)])
    if len(painted.kinds) <= MAX_KINDS:
        spot: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(handles=painted.handles(), **spot, **LEGEND)
