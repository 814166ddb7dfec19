"""Answers of `lowdim.regions` and `lowdim.explain` on a map."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.plot.canvas import INK, TEXT
from lowdim.plot.names import BACKING, move_free
from lowdim.plot.variables import VectorFit, vectors

_LINE = 22  # letters in a line of a name


def region_names(regions: Any, ax: Any, *, k: int | None = None) -> None:
    """Write the names of regions on a map, the most important first.

    A name is written at the centre of its region, or a little above or below it. It is left out if
    it would overlap a name that is written already.

    Parameters
    ----------
    regions : Regions
        What `lowdim.regions` returned for the map.
    ax : matplotlib axes
        The axes of the map, at its final size.
    k : int, optional
        Number of regions; by default all leaves.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(300, random_state=0)
    >>> Y = lowdim.PCA(2).fit_transform(X)
    >>> ax = lowdim.plot.scatter(Y, y, legend="none")
    >>> lowdim.plot.region_names(lowdim.regions(Y, labels=y), ax, k=2)
    >>> len(ax.texts)
    2
    """
    level = regions.at(regions.n_leaves if k is None else k)
    if len(regions.tree[0].center) != 2 or ax.name == "3d":
        raise ValueError("regions: names can be written on a map of two dimensions only.")
    ax.figure.draw_without_rendering()  # the layout determines the size of the axes
    taken: list[Any] = []
    for region in sorted(level.regions, key=lambda one: (one.level, -one.size)):
        text = ax.annotate(
            fill(region.name, _LINE, break_long_words=False),
            region.center,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=TEXT,
            color=INK,
            bbox=BACKING,
        )
        text.set_in_layout(False)
        if not move_free(ax, text, taken, 1):
            text.remove()


def feature_arrows(explanation: Any, ax: Any, *, count: int = 5, color: Any = None) -> None:
    """Draw the features that a map follows most as arrows, in the directions in which they grow.

    Parameters
    ----------
    explanation : Explanation
        What `lowdim.explain` returned for the map.
    ax : matplotlib axes
        The axes of the map.
    count : int, default=5
        Number of features, those of the largest `r2` that is positive.
    color : colour, optional
        Of the arrows.

    Notes
    -----
    Directions are those of the slopes over the whole map, and lengths the square roots of
    `linear_r2`: a feature that the map follows along a curve, or differently in different places,
    has a short arrow.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(300, random_state=0)
    >>> model = lowdim.PCA(2).fit(X)
    >>> ax = lowdim.plot.scatter(model.embedding_, y)
    >>> lowdim.plot.feature_arrows(lowdim.explain(model, X), ax, count=2)
    >>> len([text for text in ax.texts if text.get_text()])
    2
    """
    order = np.argsort(-explanation.r2, kind="stable")[: checks.integer(count, "count", 1)]
    chosen = order[explanation.r2[order] > 0]
    slopes = explanation.directions[chosen]
    lengths = np.linalg.norm(slopes, axis=1, keepdims=True)
    fit = VectorFit(
        tuple(explanation.features[i] for i in chosen),
        np.divide(slopes, lengths, out=np.zeros_like(slopes), where=lengths > 0),
        explanation.linear_r2[chosen].clip(0),
        np.zeros(len(chosen)),
        np.array([np.mean(ax.get_xlim()), np.mean(ax.get_ylim())]),  # also after the layout
        0,
    )
    vectors(fit, ax, color=INK if color is None else color)
