"""Pictures with lines: spectra, R_NX curves, and neighbour graphs over a map."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.plot.canvas import (
    FAINT,
    INK,
    OKABE_ITO,
    TEXT,
    axes_for,
    new_figure,
    plot_points,
    require_matplotlib,
    style_chart,
)
from lowdim.plot.names import Names
from lowdim.plot.scatter import scatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.neighbor_graphs.graph import NeighborGraph

_BLUE, _VERMILLION = OKABE_ITO[0], OKABE_ITO[3]
_CURVES = OKABE_ITO[:7]  # without yellow, too faint for a line
_DASHES = ("-", "--", ":")
_RASTER_FROM = 20000
"""From this many edges on, vector files hold them as pixels and stay small."""


def scree(
    values: Any, ax: Any = None, *, label: str = "eigenvalue", title: str | None = None
) -> Axes:
    """Draw eigenvalues, or any other number that each dimension has, in order.

    The number of dimensions is where the curve has its elbow. Negative values, which occur for
    dissimilarities that are not Euclidean, are drawn in another colour below the zero line.

    Parameters
    ----------
    values : array of shape (n_dimensions,)
        The values, the first dimension first.
    ax : matplotlib axes, default=None
        Axes to draw on; by default those of a new figure.
    label : str, default="eigenvalue"
        Name of the values.
    title : str, default=None
        Written above the chart.

    Returns
    -------
    matplotlib axes

    References
    ----------
    Cattell, "The scree test for the number of factors", Multivariate Behavioral Research 1, 1966.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(200, random_state=0)
    >>> picture = lowdim.plot.scree(lowdim.PCA(n_components=3).fit(X).explained_variance_)
    >>> picture.get_ylabel()
    'eigenvalue'
    """
    require_matplotlib()
    from matplotlib.ticker import MaxNLocator

    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"scree needs a vector of values, got shape {values.shape}.")
    axes: Axes = new_figure(4.5, 3.2).add_subplot() if ax is None else ax
    dimension = np.arange(1, len(values) + 1)
    colors = np.where(values < 0, _VERMILLION, _BLUE).tolist()
    axes.plot(dimension, values, color=_BLUE, linewidth=1, zorder=1)
    axes.scatter(dimension, values, c=colors, s=18, zorder=2, linewidths=0)
    if np.nanmin(values) < 0:
        axes.axhline(0, color=INK, linewidth=0.6)
    else:
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    style_chart(axes, "dimension", label, title)
    return axes


def rnx(curves: Mapping[str, tuple[Any, Any]], ax: Any = None, *, title: str | None = None) -> Axes:
    """Draw R_NX(K) of one or more maps: how much of the neighbourhoods of every size K is kept.

    A perfect map has 1 at every K, a random one 0. K has a logarithmic scale: the left shows
    close neighbours, the right the arrangement as a whole.

    Parameters
    ----------
    curves : mapping of str to (K, R)
        For each map its sizes K and its values R_NX(K).
    ax, title
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    References
    ----------
    Lee, Renard, Bernard, Dupont and Verleysen, "Type 1 and 2 mixtures of Kullback-Leibler
    divergences as cost functions in dimensionality reduction based on similarity preservation",
    Neurocomputing 112, 2013.

    Examples
    --------
    >>> import lowdim
    >>> picture = lowdim.plot.rnx({"PCA": ([1, 2, 4, 8], [0.2, 0.3, 0.4, 0.3])})
    >>> picture.get_xlabel()
    'neighbourhood size K'
    """
    require_matplotlib()
    if not curves:
        raise ValueError("curves is empty: give at least one, as {name: (K, R)}.")
    axes: Axes = new_figure(4.5, 3.2).add_subplot() if ax is None else ax
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0.5)
    for place, (name, curve) in enumerate(curves.items()):
        K, R = (np.asarray(part, dtype=np.float64) for part in curve)
        if K.ndim != 1 or K.shape != R.shape or not len(K) or np.min(K) <= 0:
            raise ValueError(
                f"curves[{name!r}] must be two vectors of one length, K positive, got shapes "
                f"{K.shape} and {R.shape}."
            )
        color = _CURVES[place % len(_CURVES)]
        dashes = _DASHES[place // len(_CURVES) % len(_DASHES)]
        axes.plot(K, R, color=color, linestyle=dashes, linewidth=1.4, label=name)
    axes.set_xscale("log")
    axes.set_ylim(top=1)
    style_chart(axes, "neighbourhood size K", "$R_{NX}(K)$", title)
    axes.legend(frameon=False, fontsize=TEXT, labelcolor=INK)
    return axes


def graph(
    Y: Any,
    graph: NeighborGraph,
    labels: Any = None,
    *,
    names: Names | None = None,
    title: str | None = None,
    ax: Any = None,
    size: float | None = None,
) -> Axes:
    """Draw the edges of a neighbour graph over a map of its objects.

    Long edges show where the map was torn or folded. Bridges between components are vermillion.

    Parameters
    ----------
    Y : array of shape (n,) or (n, 1 to 3)
        Coordinates.
    graph : NeighborGraph
        A graph of the same objects.
    labels, names, title, ax, size
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(200, random_state=0)
    >>> picture = lowdim.plot.graph(X[:, [0, 2]], lowdim.neighbors(X, k=5), t)
    >>> len(picture.collections)  # the edges and the points
    2
    """
    place = plot_points(Y)
    if graph.n_objects != len(place.points):
        raise ValueError(
            f"graph joins {graph.n_objects} objects, but Y places {len(place.points)}."
        )
    axes = axes_for(place, ax)
    edges = graph.adjacency().tocoo()
    pairs = np.stack(edges.coords, axis=1)
    _edges(axes, place.points, pairs[pairs[:, 0] < pairs[:, 1]], "0.6", 0.4)
    if graph.bridges is not None:
        _edges(axes, place.points, graph.bridges, _VERMILLION, 1.2)
    return scatter(Y, labels, names=names, title=title, ax=axes, size=size, density=False)


def _edges(ax: Any, points: Any, pairs: Any, color: str, width: float) -> None:
    from matplotlib.collections import LineCollection

    segments = points[pairs]
    segments = segments[np.isfinite(segments).all(axis=(1, 2))]
    if not len(segments):
        return
    style: dict[str, Any] = {"colors": color, "linewidths": width, "zorder": 0.5}
    style["rasterized"] = len(segments) >= _RASTER_FROM
    if ax.name == "3d":
        ax.add_collection3d(_line_collection_3d()(list(segments), **style))
    else:
        ax.add_collection(LineCollection(list(segments), **style))


def _line_collection_3d() -> Any:
    """matplotlib's Line3DCollection, whose module has no types."""
    return import_module("mpl_toolkits.mplot3d.art3d").Line3DCollection
