"""Maps of the same objects side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.numerics.procrustes import procrustes
from lowdim.plot.canvas import INK, TEXT, TITLE, new_figure
from lowdim.plot.paint import LEGEND, paint
from lowdim.plot.scatter import scatter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ALIGN_BY = 20_000
"""Objects, evenly spaced, by which larger maps are aligned."""

Quality = str | float | Mapping[str, float]
"""What is written under a title: text, a number, or measures by name."""


def compare(
    embeddings: Mapping[str, Any] | Sequence[Any],
    labels: Any = None,
    *,
    quality: Mapping[str, Quality] | None = None,
    images: Any = None,
    align: bool = True,
    title: str | None = None,
    columns: int | None = None,
    size: float | None = None,
) -> Figure:
    """Draw embeddings of the same objects side by side, in the same colours, with one legend.

    Parameters
    ----------
    embeddings : mapping of str to array or fitted estimator, or sequence of fitted estimators
        The title of each panel and its coordinates, as `scatter` takes them.
    labels : array of shape (n,), default=None
        As in `scatter`.
    quality : mapping of str to str, float or mapping of str to float, default=None
        What is written under the title of a panel: text, a number, or measures by name.
    images : array, default=None
        As in `scatter`.
    align : bool, default=True
        Rotate and reflect each map onto the first one of its dimension (Procrustes), so that an
        object is found at about the same place: the orientation of a map has no meaning.
    title : str, default=None
        Written above all panels.
    columns : int, default=None
        Panels in a row; by default about as many as there are rows.
    size : float, default=None
        Area of a marker in square points.

    Returns
    -------
    matplotlib figure

    Examples
    --------
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(200, random_state=0)
    >>> maps = {
    ...     "PCA": lowdim.PCA(n_components=2).fit_transform(X),
    ...     "Isomap": lowdim.Isomap(n_neighbors=8).fit_transform(X),
    ... }
    >>> figure = lowdim.plot.compare(maps, t)
    >>> [panel.get_title() for panel in figure.axes[:2]]
    ['PCA', 'Isomap']

    Fitted estimators have a title already.

    >>> figure = lowdim.plot.compare([lowdim.PCA(2).fit(X), lowdim.Isomap().fit(X)], t)
    """
    maps = {
        name: checks.as_columns(getattr(Y, "embedding_", Y), np.float64)
        for name, Y in maps_by_name(embeddings)
    }
    if not maps:
        raise ValueError("embeddings is empty: give at least one, as {title: coordinates}.")
    if len({len(Y) for Y in maps.values()}) > 1:
        sizes = ", ".join(f"{len(Y)} in {name!r}" for name, Y in maps.items())
        raise ValueError(f"embeddings must place the same objects, got {sizes}.")
    quality = quality or {}
    unknown = set(quality) - set(maps)
    if unknown:
        raise ValueError(f"quality names {sorted(unknown)[0]!r}, which is not in embeddings.")
    if align:
        maps = align_maps(maps)
    count = len(maps)
    if columns is None:
        columns = count if count <= 3 else int(np.ceil(np.sqrt(count)))
    columns = checks.integer(columns, "columns", 1)
    rows = -(-count // columns)
    figure = new_figure(2.4 * columns, (2.5 + 0.2 * bool(quality)) * rows + 0.3)
    n = len(next(iter(maps.values())))
    painted = paint(n, labels)
    area = size or 90 / np.sqrt(max(n, 100))
    panels = []
    for place, (name, Y) in enumerate(maps.items(), start=1):
        three = Y.shape[1] == 3
        ax = figure.add_subplot(rows, columns, place, projection="3d" if three else None)
        panels.append(ax)
        shown = None if Y.shape[1] != 2 else images
        scatter(Y, color=painted.colors, images=shown, ax=ax, size=area)
        if Y.shape[1] == 1:
            ax.set_box_aspect(0.3)
        ax.set_title(name, fontsize=TITLE, color=INK, pad=16 if quality else None)
        if name in quality:
            _subtitle(ax, quality[name])
    if painted.handles():
        figure.legend(
            handles=painted.handles(),
            loc="outside lower center",
            ncols=min(len(painted.handles()), 4 * columns),
            **LEGEND,
            **painted.legend_title(),
        )
    painted.color_bar(figure, panels, location="bottom", aspect=60, shrink=0.5)
    if title is not None:
        figure.suptitle(title, fontsize=TITLE + 1, color=INK)
    return figure


def align_maps(maps: Mapping[str, Array]) -> dict[str, Array]:
    """Each map turned and mirrored, not scaled, onto the first one with as many columns."""
    first: dict[int, Array] = {}
    turned = {}
    for name, Y in maps.items():
        target = first.setdefault(Y.shape[1], Y)
        turned[name] = Y if target is Y else turn_onto(target, Y)
    return turned


def turn_onto(target: Array, Y: Array) -> Array:
    """Y turned and mirrored onto the target by the objects that both place; NaN stays NaN."""
    both = np.isfinite(target).all(axis=1) & np.isfinite(Y).all(axis=1)
    if not both.any():
        return Y
    rows = np.flatnonzero(both)
    rows = rows[:: -(-len(rows) // _ALIGN_BY)]
    motion = procrustes(target[rows], Y[rows], scaling=False)
    return np.asarray(Y @ motion.rotation + motion.shift, dtype=np.float64)


def _subtitle(ax: Any, quality: Quality) -> None:
    if isinstance(quality, Mapping):
        quality = "  ".join(f"{measure} {value:.3g}" for measure, value in quality.items())
    text = quality if isinstance(quality, str) else f"{quality:.3g}"
    place: dict[str, Any] = {"xy": (0.5, 1), "xycoords": "axes fraction", "ha": "center"}
    offset: dict[str, Any] = {"xytext": (0, 5), "textcoords": "offset points"}
    ax.annotate(text, **place, **offset, fontsize=TEXT - 1, color="0.35", annotation_clip=False)


def maps_by_name(maps: Any) -> list[tuple[str, Any]]:
    """The maps with their names; those of estimators are the names of their classes, numbered."""
    if isinstance(maps, Mapping):
        return [(str(name), one) for name, one in maps.items()]
    if hasattr(maps, "embedding_") or hasattr(maps, "fit") or hasattr(maps, "shape"):
        maps = [maps]
    named: dict[str, Any] = {}
    for one in () if maps is None else maps:
        is_array = not (hasattr(one, "embedding_") or hasattr(one, "fit"))
        name = stem = "map" if is_array else type(one).__name__
        count = 2
        while name in named:
            name, count = f"{stem} {count}", count + 1
        named[name] = one
    return list(named.items())
