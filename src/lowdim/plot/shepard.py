"""The Shepard diagram: how distances on the map follow the dissimilarities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.plot import density
from lowdim.plot.canvas import OKABE_ITO, new_figure, require_matplotlib, style_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 20_000
"""From more pairs than this, their density is drawn."""


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
    require_matplotlib()
    arrays = pairs.shepard() if hasattr(pairs, "shepard") else pairs
    dissimilarities, distances, *fitted = (np.asarray(array, dtype=np.float64) for array in arrays)
    lengths = [len(array) for array in (dissimilarities, distances, *fitted)]
    if len(fitted) > 1 or len(set(lengths)) > 1 or not len(dissimilarities):
        raise ValueError(
            "pairs must hold dissimilarities, distances and perhaps disparities of the same pairs, "
            f"got {', '.join(map(str, lengths))} entries."
        )
    axes: Axes = new_figure(4.5, 4.0).add_subplot() if ax is None else ax
    if len(dissimilarities) > _MOST:
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
