"""What all pictures share: figures, plain axes, the size of texts."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.checks import Array, as_columns
from lowdim.runtime.atomic import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 200
TITLE, TEXT = 10, 8
INK, FAINT = "0.15", "0.8"

OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442"]
"""Okabe and Ito, "Color universal design", 2008; the faintest on white last."""


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError('Pictures need matplotlib: pip install "lowdim[plot]"')


def new_figure(width: float, height: float, *, shown: bool = True) -> Figure:
    """A figure of a size in inches; in a session of pyplot one that pyplot shows, else of Agg.

    One that is not to be shown is independent of pyplot: it need not be closed, opens no window.
    """
    require_matplotlib()
    if shown and _in_pyplot_session():
        from matplotlib import pyplot

        return pyplot.figure(
            FigureClass=_notebook_figure_class(), figsize=(width, height), layout="constrained"
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


@cache
def _notebook_figure_class() -> type[Figure]:
    """A class of figures of pyplot that notebooks show once, also as the value of a cell."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    class PyplotFigure(Figure):
        def _ipython_display_(self) -> None:
            """Leave an open figure that is the value of a cell to pyplot, which shows it too.

            NotImplementedError makes IPython show the figure in its usual way: if pyplot asks for
            it, at the end of the cell, and if pyplot has closed it since.
            """
            if not pyplot.fignum_exists(getattr(self, "number", -1)) or _is_asked_by_pyplot():
                raise NotImplementedError

    return PyplotFigure


def _is_asked_by_pyplot() -> bool:
    """Whether the backend of notebooks is showing its open figures."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").startswith("matplotlib_inline"):
            return True
        frame = frame.f_back
    return False


def _in_pyplot_session() -> bool:
    """Whether pyplot is imported, or the code runs in a notebook, which shows its figures."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return "matplotlib.pyplot" in sys.modules or hasattr(shell, "kernel")


_REAL_TEXT: Any = {"svg.fonttype": "none", "pdf.fonttype": 42, "ps.fonttype": 42}


def save(picture: Axes | Figure, path: str | PathLike[str], *, force: bool = True) -> None:
    """Write a picture to a file, completely or not at all.

    Text in vector files stays text, which other programs can search and edit.

    Parameters
    ----------
    picture : matplotlib axes or figure
        What a function of `lowdim.plot` returns.
    path : str or path-like
        The file; its ending (.png, .pdf, .svg, ...) determines the format.
    force : bool, default=True
        Whether an existing file is replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> path = os.path.join(tempfile.mkdtemp(), "map.png")
    >>> lowdim.plot.save(lowdim.plot.scatter([[0, 0], [1, 2], [2, 1]]), path)
    >>> os.path.exists(path)
    True
    """
    figure: Any = getattr(picture, "figure", None) or picture
    from matplotlib import rc_context

    with replace_file(path, force=force) as temporary, rc_context(_REAL_TEXT):
        figure.savefig(temporary)


def remove_ticks(ax: Any) -> None:
    """No ticks, and a faint frame: coordinates of an embedding carry no units."""
    ax.set_xticks([])
    ax.set_yticks([])
    if ax.name == "3d":
        ax.set_zticks([])
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
            axis.line.set_color(FAINT)
        return
    for spine in ax.spines.values():
        spine.set(color=FAINT, linewidth=0.6)


def style_chart(ax: Any, across: str, up: str, title: str | None = None) -> None:
    """A chart's labels and ticks, small and dark, and no frame above and to the right."""
    ax.set_xlabel(across, fontsize=TEXT, color=INK)
    ax.set_ylabel(up, fontsize=TEXT, color=INK)
    ax.tick_params(labelsize=TEXT - 1, colors=INK, width=0.6)
    ax.yaxis.get_offset_text().set_fontsize(TEXT - 1)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if title is not None:
        ax.set_title(title, fontsize=TITLE, color=INK)


class PlotPoints(NamedTuple):
    """Where to draw the objects of a map.

    A one-dimensional map becomes a strip in which the second coordinate only keeps neighbours apart
    (a low-discrepancy sequence, so the same every time).
    """

    points: Array  # coordinates, of shape (n, 2) or (n, 3)
    drawn: Array  # which objects can be drawn (no NaN)
    strip: bool  # whether the map has one dimension


def plot_points(Y: Any) -> PlotPoints:
    """Check coordinates of one, two or three dimensions for drawing."""
    Y = as_columns(Y, np.float64)
    if Y.ndim != 2 or not 1 <= Y.shape[1] <= 3:
        raise ValueError(
            f"Y must have one, two or three columns to be drawn, got shape {Y.shape}. "
            "Choose some of them, Y[:, :2] for instance."
        )
    drawn = np.isfinite(Y).all(axis=1)
    strip = Y.shape[1] == 1
    if strip:
        Y = np.column_stack([Y, np.arange(len(Y)) * 0.6180339887498949 % 1.0])
    return PlotPoints(Y, drawn, strip)


def axes_for(place: PlotPoints, ax: Any) -> Any:
    """The given axes if they suit the points, or new ones."""
    three = place.points.shape[1] == 3
    if ax is None:
        figure = new_figure(4.5, 1.6 if place.strip else 4.5)
        return figure.add_subplot(projection="3d" if three else None)
    if three != (ax.name == "3d"):
        need = 'axes made with projection="3d"' if three else "flat axes"
        raise ValueError(f"ax: this embedding needs {need}, got {ax.name} axes.")
    return ax
