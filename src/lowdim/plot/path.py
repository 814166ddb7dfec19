"""A walk over a map: a path, and what its points decode to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.plot.canvas import INK, TEXT, new_figure, require_matplotlib, style_chart
from lowdim.plot.scatter import scatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_NAMES = 10  # of features, which are legible beside the strip


def path(
    estimator: Any,
    waypoints: Any,
    *,
    n_steps: int = 10,
    image_shape: tuple[int, ...] | None = None,
    labels: Any = None,
    title: str | None = None,
) -> Figure:
    """Draw a path over the map, and below it what its points decode to.

    Parameters
    ----------
    estimator : fitted estimator
        Its `embedding_` has two columns, and its `inverse_transform` decodes the points of the
        path; see `fit_decoder` for decoders.
    waypoints : array of shape (m, 2), or sequence of m integers
        Corners of the path: coordinates, or numbers of training objects.
    n_steps : int, default=10
        Number of points of the path, which are evenly spaced along it.
    image_shape : tuple of int, default=None
        Height and width, or height, width and channels, of images that are rows of the data: the
        strip shows images. Otherwise it shows one column of colours for each point, from the first
        feature at the top to the last (up to ten have their names beside them), or, of
        dissimilarities, the numbers of the nearest objects.
    labels : array of shape (n,), default=None
        Colours of the map, as in `scatter`.
    title : str, default=None
        Written above the map.

    Returns
    -------
    matplotlib figure
        With the map and, below, the strip.

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(200, random_state=0)
    >>> figure = lowdim.plot.path(lowdim.Isomap().fit(X), [0, 5, 9], n_steps=6)
    >>> len(figure.axes)  # the map, the strip and the scale of its colours
    3
    """
    from sklearn.utils.validation import check_is_fitted

    require_matplotlib()
    checks.integer(n_steps, "n_steps", 2)
    if not hasattr(estimator, "inverse_transform"):
        raise TypeError(f"estimator must be a fitted estimator of lowdim, got {estimator!r}.")
    check_is_fitted(estimator, "embedding_")
    Y = estimator.embedding_
    if Y.shape[1] != 2:
        raise ValueError(f"estimator: a map of two dimensions is needed, got {Y.shape[1]}.")
    corners = _corners(waypoints, Y)
    places = points_along(corners, n_steps)
    decoded = estimator.inverse_transform(places)
    figure = new_figure(6.0, 5.6)
    above, below = figure.subplots(2, 1, height_ratios=(4, 1.2))
    scatter(Y, labels, color="0.75" if labels is None else None, ax=above, title=title)
    above.plot(*corners.T, color=INK, linewidth=1.4)  # no colour of a class
    above.plot(*places.T, "o", color=INK, markersize=4, markeredgecolor="white")
    for end, place in (("start", places[0]), ("end", places[-1])):
        above.annotate(
            end, place, xytext=(4, 4), textcoords="offset points", fontsize=TEXT, color=INK
        )
    _strip(below, decoded, image_shape, getattr(estimator, "feature_names_in_", None))
    return figure


def points_along(corners: Array, n_steps: int) -> Array:
    """Points that are evenly spaced along a path with these corners, both ends included."""
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    if ends[-1] == 0:
        raise ValueError("waypoints: the path has no length; give two different places or more.")
    wanted = np.linspace(0, ends[-1], n_steps)
    return np.stack([np.interp(wanted, ends, column) for column in corners.T], axis=1)


def _corners(waypoints: Any, Y: Array) -> Array:
    points = np.asarray(waypoints)
    if points.ndim == 1 and points.dtype.kind in "iu":
        outside = (points < 0) | (points >= len(Y))
        if outside.any():
            raise ValueError(
                f"waypoints: there is no object {points[outside][0]} among {len(Y)} objects."
            )
        return np.asarray(Y[points], dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            "waypoints must be coordinates of shape (m, 2) or m numbers of objects, got an array "
            f"of shape {points.shape} and type {points.dtype}."
        )
    return np.asarray(checks.vectors(points, name="waypoints"), dtype=np.float64)


def _strip(
    axes: Axes, decoded: Any, image_shape: tuple[int, ...] | None, names: Array | None
) -> None:
    """Draw decoded points side by side, in the order of the path."""
    style_chart(axes, "", "", None)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("along the path, from start to end", fontsize=TEXT)
    if isinstance(decoded, tuple):  # nearest objects and their weights
        for step, number in enumerate(decoded[0][:, 0]):
            axes.text(step + 0.5, 0.5, str(number), ha="center", va="center", fontsize=TEXT)
        axes.set(xlim=(0, len(decoded[0])), ylim=(0, 1))
    elif image_shape is None:
        limit = float(np.abs(decoded).max()) or 1.0
        picture = axes.imshow(decoded.T, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit)
        scale = axes.figure.colorbar(picture, ax=axes, pad=0.02)
        scale.outline.set_visible(False)
        scale.ax.tick_params(labelsize=TEXT)
        if decoded.shape[1] <= MOST_NAMES:
            texts = [f"x{i}" for i in range(decoded.shape[1])] if names is None else names
            axes.set_yticks(range(decoded.shape[1]), texts, fontsize=TEXT)
    else:
        height, width, channels = checks.image_shape(image_shape, decoded.shape[1])
        if channels not in (1, 3, 4):
            raise ValueError(
                f"{argument('image_shape')} must have 1, 3 or 4 channels, got {channels}."
            )
        images = decoded.reshape(len(decoded), height, width, channels)
        low, high = float(images.min()), float(images.max())
        strip = np.concatenate(list(images), axis=1)
        axes.imshow((strip - low) / ((high - low) or 1.0), cmap="gray", vmin=0, vmax=1)
