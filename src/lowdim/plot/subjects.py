"""Pictures of how subjects weigh the dimensions they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.plot.canvas import FAINT, PlotPoints, new_figure, style_chart
from lowdim.plot.names import Names, write_names
from lowdim.plot.paint import paint

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            "weights must have a row a subject and at least two columns to be drawn, got shape "
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
