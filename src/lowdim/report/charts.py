"""Charts as SVG: they need no script, follow the page's colours, and print as lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.plot.density import counts
from lowdim.quality import Curve, ShepardDiagram
from lowdim.report.markup import tag, text

N_SHADES = 7
"""Colours of curves (classes s0 to s6 of the style sheet); further curves are dashed."""

_DASHES = (None, "6 3", "2 3")
_BINS = 64
_LEVELS = 6
_MOST_KNOTS = 160


def line_style(place: int) -> dict[str, Any]:
    """The colour and dashes of the place-th run's line, as attributes."""
    dashes = _DASHES[place // N_SHADES % len(_DASHES)]
    return {"class_": f"curve s{place % N_SHADES}", "stroke_dasharray": dashes}


def _points(x: Array, y: Array) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def rnx_chart(curves: Mapping[str, Curve], places: Mapping[str, int]) -> str:
    """R_NX(K) of several maps over log K."""
    width, height, left, bottom, top = 480, 300, 40, 42, 10
    checked = {name: _knots(curve.K, curve.values) for name, curve in curves.items()}
    most = max(float(K.max()) for K, _ in checked.values())
    least = min(float(K.min()) for K, _ in checked.values())
    least_kept = min(float(R.min()) for _, R in checked.values())
    floor = min(0.0, float(np.floor(5 * least_kept + 0.1)) / 5)  # a hair below chance is chance
    decades = np.log10(most / least) or 1.0

    def x(K: Any) -> Array:
        return np.asarray(left + (width - left - 10) * np.log10(np.asarray(K) / least) / decades)

    def y(R: Any) -> Array:
        share = (np.asarray(R) - floor) / (1 - floor)
        return np.asarray(top + (height - bottom - top) * (1 - share))

    parts = []
    for level in np.arange(round(5 * floor), 6) / 5:
        at = f"{y(level):.1f}"
        parts.append(tag("line", x1=left, x2=width - 10, y1=at, y2=at, class_="grid"))
        parts.append(tag("text", f"{level:.1f}", x=left - 6, y=f"{y(level) + 4:.1f}", class_="end"))
    for power in range(int(np.ceil(np.log10(least))), int(np.floor(np.log10(most))) + 1):
        at = f"{x(10.0**power):.1f}"
        parts.append(tag("line", x1=at, x2=at, y1=top, y2=height - bottom, class_="grid"))
        parts.append(tag("text", f"{10**power:,}", x=at, y=height - bottom + 16, class_="middle"))
    middle = (left + width - 10) / 2
    parts.append(tag("text", "neighbourhood size K", x=middle, y=height - 6, class_="middle"))
    for name, (K, R) in checked.items():
        title = tag("title", text(name))
        parts.append(tag("polyline", title, points=_points(x(K), y(R)), **line_style(places[name])))
    summary = "; ".join(f"{name}: {R[0]:.2f} at K = {K[0]:g}" for name, (K, R) in checked.items())
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=f"R_NX curves over neighbourhood size. {summary}.",
    )


def _knots(K: Array, R: Array) -> tuple[Array, Array]:
    """At most 160 knots, evenly spread over log K."""
    K, R = K[np.isfinite(R)].astype(np.float64), R[np.isfinite(R)]
    if len(K) > _MOST_KNOTS:
        wanted = np.geomspace(K[0], K[-1], _MOST_KNOTS)
        chosen = np.unique(np.searchsorted(K, wanted).clip(0, len(K) - 1))
        K, R = K[chosen], R[chosen]
    return K, R


def shepard_chart(name: str, diagram: ShepardDiagram) -> str:
    """Histogram of pairs: distances on the map over dissimilarities; disparities as a line."""
    dissimilarities, distances, disparities = diagram
    points = np.column_stack([dissimilarities, distances])
    points = points[np.isfinite(points).all(axis=1)]
    right, top = np.maximum(points.max(axis=0, initial=0), 1e-300).tolist()
    (count,) = counts(points, (0.0, right, 0.0, top), (_BINS, _BINS))
    level = np.ceil(_LEVELS * np.log1p(count) / np.log1p(max(count.max(), 1))).astype(int)
    side, left, bottom = 4, 30, 34
    low = side * _BINS + 6
    parts = [tag("path", d=f"M{left} 6V{low}H{left + side * _BINS}", class_="axis")]
    for step in range(1, _LEVELS + 1):
        path = _cells(level == step, side, left, low)
        if path:
            parts.append(tag("path", d=path, class_="pairs", fill_opacity=f"{step / _LEVELS:.2f}"))
    some = np.linspace(0, len(points) - 1, min(len(points), _MOST_KNOTS)).astype(int)
    x = left + side * _BINS * dissimilarities[some] / right
    y = low - side * _BINS * disparities[some] / top
    far, middle, turned = (
        left + side * _BINS,
        left + side * _BINS / 2,
        f"rotate(-90 14 {low / 2:.0f})",
    )
    widest, tallest = (f"{v:.3g}" if v < 1000 else f"{v:,.0f}" for v in (right, top))
    parts += [
        tag("polyline", points=_points(x, y), class_="curve s1"),
        tag("text", "0", x=left - 4, y=low + 4, class_="end"),
        tag("text", widest, x=far, y=low + 15, class_="end"),
        tag("text", tallest, x=left + 4, y=14),
        tag("text", "dissimilarity", x=middle, y=low + 28, class_="middle"),
        tag("text", "distance on the map", x=14, y=low // 2, transform=turned, class_="middle"),
    ]
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {far + 6} {low + bottom}",
        role="img",
        aria_label=f"Shepard diagram of {name}: {len(points):,} pairs, distance on the map over "
        "dissimilarity.",
    )


def _cells(filled: Array, side: int, left: int, low: int) -> str:
    """The filled cells of a grid as one path, those side by side as one rectangle."""
    parts = []
    for row, cells in enumerate(filled):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], cells, [False]]).astype(int)))
        for start, stop in edges.reshape(-1, 2).tolist():
            x, y, wide = left + side * start, low - side * (row + 1), side * (stop - start)
            parts.append(f"M{x} {y}h{wide}v{side}h-{wide}z")
    return "".join(parts)
