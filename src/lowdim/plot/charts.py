"""Charts: spectra, R_NX curves, Shepard diagrams, weights of subjects, graphs over a map."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.plot import density
from lowdim.plot.canvas import (
    FAINT,
    INK,
    OKABE_ITO,
    TEXT,
    PlotPoints,
    axes_for,
    new_figure,
    plot_points,
    style_chart,
)
from lowdim.plot.names import Names, write_names
from lowdim.plot.paint import paint
from lowdim.plot.scatter import scatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lowdim.neighbor_graphs.graph import NeighborGraph

_BLUE, _VERMILLION = OKABE_ITO[0], OKABE_ITO[3]
_CURVES = OKABE_ITO[:7]  # without yellow, too faint for a line
_DASHES = ("-", "--", ":")
_RASTER_FROM = 20_000  # edges; vector files hold so many as pixels and stay small
_MOST_PAIRS = 20_000  # of a Shepard diagram; of more the density is drawn


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
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"scree needs a vector of values, got shape {values.shape}.")
    axes: Axes = new_figure(4.5, 3.2).add_subplot() if ax is None else ax
    from matplotlib.ticker import MaxNLocator

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


def shepard(pairs: Any, ax: Any = None, *, title: str | None = None) -> Axes:
    """Draw distances on the map (points) and disparities (line) over the dissimilarities.

    Points far from the line, or from a curve that rises throughout, are pairs that the map does not
    show well. More than 20,000 pairs are drawn as a density, darker where there are more of them.

    Parameters
    ----------
    pairs : fitted estimator with a method `shepard`, or sequence of two or three arrays
        Dissimilarities and distances on the map of the same pairs, and perhaps disparities.
    ax, title
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    References
    ----------
    Shepard, "The analysis of proximities: multidimensional scaling with an unknown distance
    function", Psychometrika 27, 1962.

    Examples
    --------
    >>> import lowdim
    >>> D, names = lowdim.data.cities()
    >>> picture = lowdim.plot.shepard(lowdim.MDS(metric="precomputed").fit(D))
    >>> picture.get_xlabel()
    'dissimilarity'
    """
    arrays = pairs.shepard() if hasattr(pairs, "shepard") else pairs
    dissimilarities, distances, *fitted = (np.asarray(array, dtype=np.float64) for array in arrays)
    lengths = [len(array) for array in (dissimilarities, distances, *fitted)]
    if len(fitted) > 1 or len(set(lengths)) > 1 or not len(dissimilarities):
        raise ValueError(
            "pairs must hold dissimilarities, distances and perhaps disparities of the same pairs, "
            f"got {', '.join(map(str, lengths))} entries."
        )
    axes: Axes = new_figure(4.5, 4.0).add_subplot() if ax is None else ax
    if len(dissimilarities) > _MOST_PAIRS:
        points = np.column_stack([dissimilarities, distances])
        blue = np.tile([0.0, 0.447, 0.698], (len(points), 1))  # Okabe and Ito's
        density.draw(axes, points, blue, "log", square=False)
    else:
        style: dict[str, Any] = {"s": 4, "linewidths": 0, "alpha": 0.35, "rasterized": True}
        axes.scatter(dissimilarities, distances, color=OKABE_ITO[0], **style)
    if fitted:
        order = np.argsort(dissimilarities, kind="stable")
        axes.plot(dissimilarities[order], fitted[0][order], color=OKABE_ITO[3], linewidth=1.4)
    up = "distance (points) and disparity (line)" if fitted else "distance on the map"
    style_chart(axes, "dissimilarity", up, title)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    return axes


def subject_weights(
    weights: Any,
    labels: Any = None,
    *,
    names: Names | None = None,
    dimensions: tuple[int, int] = (0, 1),
    title: str | None = None,
    ax: Any = None,
) -> Axes:
    """Draw the subjects of INDSCAL as vectors: the weights that each gives to two dimensions.

    The direction of a vector is a subject's balance between the dimensions, its length how well
    they describe the subject: on the quarter circle they account for all of its variance, if the
    dimensions are uncorrelated (Carroll and Chang, figure 3).

    Parameters
    ----------
    weights : array of shape (n_subjects, n_components)
        `weights_` of a fitted INDSCAL.
    labels : array of shape (n_subjects,), default=None
        To colour by, as in `scatter`.
    names : sequence of str, or mapping of row to str, default=None
        Names of the subjects, written at the ends of the vectors.
    dimensions : tuple of two int, default=(0, 1)
        The columns to draw.
    title, ax
        As in `scatter`.

    Returns
    -------
    matplotlib axes

    References
    ----------
    Carroll and Chang, "Analysis of individual differences in multidimensional scaling via an N-way
    generalization of Eckart-Young decomposition", Psychometrika 35, 1970.

    Examples
    --------
    >>> import lowdim
    >>> picture = lowdim.plot.subject_weights([[0.9, 0.1], [0.4, 0.8]], names=["Ann", "Bob"])
    >>> [text.get_text() for text in picture.texts]
    ['Ann', 'Bob']
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2 or not len(values):
        raise ValueError(
            "weights must have one row per subject and at least two columns, got shape "
            f"{values.shape}."
        )
    if not all(0 <= d < values.shape[1] for d in dimensions) or len(dimensions) != 2:
        raise ValueError(
            f"dimensions must be two column numbers below {values.shape[1]}, got {dimensions!r}."
        )
    ends = values[:, list(dimensions)]
    drawn = np.asarray(np.isfinite(ends).all(axis=1))
    colors = paint(len(ends), labels).colors
    axes: Axes = new_figure(4.0, 4.0).add_subplot() if ax is None else ax
    angles = np.linspace(0, np.pi / 2, 100)
    axes.plot(np.cos(angles), np.sin(angles), color=FAINT, linewidth=0.8, zorder=0.5)
    for end, shade in zip(ends[drawn], colors[drawn], strict=True):
        axes.plot([0, end[0]], [0, end[1]], color=shade, linewidth=0.8, alpha=0.6, zorder=1)
    axes.scatter(ends[drawn, 0], ends[drawn, 1], c=colors[drawn], s=16, linewidths=0, zorder=2)
    most = max(1.0, float(ends[drawn].max(initial=0.0)))
    axes.set(xlim=(0, 1.05 * most), ylim=(0, 1.05 * most))
    axes.set_aspect("equal")
    across, up = (f"weight of dimension {d + 1}" for d in dimensions)
    style_chart(axes, across, up, title)
    if names is not None:
        write_names(axes, PlotPoints(ends, drawn, False), names, 4)
        axes.set(xlim=(0, 1.05 * most), ylim=(0, 1.05 * most))
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
        art3d = import_module("mpl_toolkits.mplot3d.art3d")  # which has no types
        ax.add_collection3d(art3d.Line3DCollection(list(segments), **style))
    else:
        ax.add_collection(LineCollection(list(segments), **style))
