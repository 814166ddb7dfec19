"""Names beside points, each on the side where it has room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.plot.canvas import INK, TEXT, PlotPoints

Names = Sequence[str] | Mapping[int, str]
"""A name for every object, or, as a mapping, for some rows only."""

_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_ALIGN_X = {-1: "right", 0: "center", 1: "left"}
_ALIGN_Y = {-1: "top", 0: "center", 1: "bottom"}
BACKING: Any = {"facecolor": "white", "edgecolor": "none", "alpha": 0.65, "pad": 0.6}
"""Behind letters over points; an edge of letters would turn them into shapes in vector files."""

_WIDE = 0.6
"""Width of a letter as a share of the font size."""


def write_names(ax: Any, place: PlotPoints, names: Names, gap: float) -> None:
    """Write each name `gap` points away from its point, where it covers the fewest others."""
    n = len(place.points)
    if not isinstance(names, Mapping):
        if len(names) != n:
            raise ValueError(f"names has {len(names)} entries for {n} objects.")
        names = dict(enumerate(names))
    unknown = [row for row in names if not 0 <= row < n]
    if unknown:
        raise ValueError(f"names has an entry for row {unknown[0]!r}, but there are {n} objects.")
    font = TEXT - 1
    rows = [row for row in names if place.drawn[row]]
    if ax.name == "3d":
        for i in rows:
            ax.text(*place.points[i], f"  {names[i]}", fontsize=font, color=INK)
        return
    ax.margins(0.1)
    ax.apply_aspect()
    to_points = 72 / ax.figure.dpi
    frame = np.array(ax.bbox.extents) * to_points
    dots = ax.transData.transform(place.points[rows]) * to_points
    taken = np.concatenate([dots - gap, dots + gap], axis=1)
    for i, dot in zip(rows, dots, strict=True):
        half = np.array([_WIDE * font * len(names[i]), 1.2 * font]) / 2
        steps = [gap * np.array(side) / np.hypot(*side) for side in _SIDES]
        centers = [dot + side * half + step for side, step in zip(_SIDES, steps, strict=True)]
        boxes = [np.concatenate([center - half, center + half]) for center in centers]
        best = int(np.argmin([_conflict(box, taken, frame) for box in boxes]))
        taken = np.concatenate([taken, boxes[best][None]])
        side = _SIDES[best]
        ax.annotate(
            names[i],
            place.points[i],
            xytext=steps[best],
            textcoords="offset points",
            ha=_ALIGN_X[side[0]],
            va=_ALIGN_Y[side[1]],
            fontsize=font,
            color=INK,
            bbox=BACKING,
        )


def move_free(ax: Any, text: Any, taken: list[Any], most: float) -> bool:
    """Move an annotation into the axes and up or down, by at most `most` heights, off others.

    Returns whether it is free of the boxes in `taken`, to which its own is added then. The figure
    must have its layout.
    """
    frame, to_points = ax.get_window_extent(), 72 / ax.figure.dpi
    x, y = text.get_position()
    box = text.get_window_extent().padded(2 * BACKING["pad"] / to_points)
    right = max(frame.x0 - box.x0, 0.0) + min(frame.x1 - box.x1, 0.0)
    steps = np.arange(0, most + 0.25, 0.5)
    for shift in np.stack([steps, -steps], axis=1).ravel():
        up = shift * box.height + max(frame.y0 - box.y0, 0.0) + min(frame.y1 - box.y1, 0.0)
        moved = box.translated(right, up)
        if frame.y0 <= moved.y0 and moved.y1 <= frame.y1 and not moved.count_overlaps(taken):
            text.set_position((x + right * to_points, y + up * to_points))
            taken.append(moved)
            return True
    return False


def _conflict(box: Array, taken: Array, frame: Array) -> float:
    """Area of a box (left, bottom, right, top) that is taken or outside of the frame."""
    shared = np.minimum(box[2:], taken[:, 2:]) - np.maximum(box[:2], taken[:, :2])
    inside = np.minimum(box[2:], frame[2:]) - np.maximum(box[:2], frame[:2])
    outside = np.prod(box[2:] - box[:2]) - np.prod(inside.clip(0))
    return float(np.prod(shared.clip(0), axis=1).sum() + outside)
