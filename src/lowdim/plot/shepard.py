"""The Shepard diagram: how distances on the map follow the dissimilarities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.plot.canvas import INK, OKABE_ITO, TEXT, TITLE, new_figure, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 20_000
"""Pairs drawn; of more than that, evenly spaced ones by rank of dissimilarity."""


def shepard(model: Any, ax: Any = None, *, title: str | None = None) -> Axes:
    """Draw distances on the map (points) and disparities (line) over the dissimilarities.

    `model` is a fitted estimator with a method `shepard()`, or the three arrays it returns,
    sorted by dissimilarity. Points far from the line are pairs that the map does not show well.
    (Shepard, "The analysis of proximities", Psychometrika 27, 1962.)
    """
    require_matplotlib()
    given, distances, disparities = model.shepard() if hasattr(model, "shepard") else model
    if not len(given) == len(distances) == len(disparities) > 0:
        raise ValueError(
            "shepard needs dissimilarities, distances and disparities of the same pairs, got "
            f"{len(given)}, {len(distances)} and {len(disparities)} entries."
        )
    shown = np.linspace(0, len(given) - 1, min(len(given), _MOST)).round().astype(np.int64)
    axes: Axes = new_figure(4.5, 4.0).add_subplot() if ax is None else ax
    style: dict[str, Any] = {"s": 4, "linewidths": 0, "alpha": 0.35, "rasterized": True}
    axes.scatter(given[shown], distances[shown], color=OKABE_ITO[0], label="distances", **style)
    axes.plot(given[shown], disparities[shown], color=OKABE_ITO[3], linewidth=1.4)
    axes.set_xlabel("dissimilarity", fontsize=TEXT, color=INK)
    axes.set_ylabel("distance (points) and disparity (line)", fontsize=TEXT, color=INK)
    axes.tick_params(labelsize=TEXT - 1, colors=INK, width=0.6)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if title is not None:
        axes.set_title(title, fontsize=TITLE, color=INK)
    return axes
