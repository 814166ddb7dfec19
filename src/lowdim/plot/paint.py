"""The colour of every point, and what the colours mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lowdim.checks import Array
from lowdim.plot.canvas import FAINT, INK, TEXT, require_matplotlib
from lowdim.plot.colors import COLORS, MISSING_KIND, OTHER, check_column, scale_kind

LEGEND: dict[str, Any] = {
    "frameon": False,
    "fontsize": TEXT,
    "handletextpad": 0.2,
    "columnspacing": 1.0,
    "labelcolor": INK,
}

_FADED = 0.92  # grey of an object that is not reliable at all


class Paint(NamedTuple):
    """Colours of n points, and what they mean."""

    colors: Array  # of shape (n, 4)
    kinds: tuple[str, ...] = ()  # their names, if the colours tell kinds apart
    codes: Array | None = None  # the kind of each point
    shades: Array | None = None  # the colour of each kind
    n_grey: int = 0  # how many of the kinds are grey because they are too many
    norm: Any = None  # the scale of the values, if the colours run along viridis
    scale: str = "linear"  # a key of `SCALES`
    title: str | None = None  # the name of the column that they show, if it is known

    def handles(self) -> list[Any]:
        """What a legend shows: a dot for each kind that has a colour, one for all others."""
        from matplotlib.colors import to_rgba
        from matplotlib.lines import Line2D

        if self.shades is None:
            return []
        grey = to_rgba(OTHER)
        shown = {
            kind: shade
            for kind, shade in zip(self.kinds, self.shades.tolist(), strict=True)
            if tuple(shade) != grey or kind == MISSING_KIND
        }
        if self.n_grey:
            shown[f"{self.n_grey} smaller kinds"] = list(grey)
        return [
            Line2D([], [], linestyle="", marker="o", markersize=5, color=shade, label=kind)
            for kind, shade in shown.items()
        ]

    def color_bar(self, figure: Any, axes: Any, **place: Any) -> None:
        """Draw the scale of values beside the axes, if there is one."""
        from matplotlib.cm import ScalarMappable

        if self.norm is None or self.norm.vmin == self.norm.vmax:
            return
        place = {"fraction": 0.04, "pad": 0.02, "aspect": 30, **place}
        bar = figure.colorbar(ScalarMappable(self.norm, "viridis"), ax=axes, **place)
        bar.ax.tick_params(labelsize=TEXT - 1, colors=INK, width=0.6)
        bar.outline.set_visible(False)
        if self.scale == "ranks":
            bar.set_ticks(self.norm.inverse(np.linspace(0, 1, 5)))
            bar.ax.minorticks_off()
        if self.scale == "dates":
            import matplotlib.dates

            dates: Any = matplotlib.dates
            bar.locator = dates.AutoDateLocator(maxticks=6)
            bar.formatter = dates.AutoDateFormatter(bar.locator)
        parts = [*filter(None, [self.title, SCALES[self.scale]])]
        if parts:
            bar.set_label(", ".join(parts), fontsize=TEXT, color=INK)

    def legend_title(self) -> dict[str, Any]:
        """Options of a legend that give it the title, if there is one."""
        if not self.title:
            return {}
        return {"title": self.title, "title_fontsize": TEXT, "alignment": "left"}


def paint(n: int, labels: Any = None, color: Any = None) -> Paint:
    """One colour a point: by kind for strings and for few integers, else along viridis."""
    require_matplotlib()
    from matplotlib.colors import to_rgba_array

    if labels is None:
        return Paint(_check_colors(n, COLORS[0] if color is None else color))
    if color is not None:
        raise ValueError("labels and color both say how to colour the points: give one of them.")
    title, labels = name_and_values(labels)
    kinds, numbers, dates = check_column(labels, "labels", n)
    if kinds is not None:
        shades = to_rgba_array([*COLORS, OTHER])[kinds.places]
        return Paint(
            shades[kinds.codes], kinds.names, kinds.codes, shades, kinds.n_grey, title=title
        )
    known = numbers[np.isfinite(numbers)]
    scale = "dates" if dates else scale_kind(known) if len(known) else "linear"
    norm = _norm(known, scale)
    unit = np.where(np.isfinite(numbers), np.ma.filled(norm(numbers), np.nan), np.nan)
    return Paint(viridis(unit), norm=norm, scale=scale, title=title)


SCALES = {"linear": "", "dates": "", "log": "logarithmic scale", "ranks": "scale of ranks"}
_EDGES = 257  # quantiles of a scale of ranks


def _norm(known: Array, scale: str) -> Any:
    """The place of a value on its scale, as Matplotlib asks for it."""
    from matplotlib.colors import FuncNorm, LogNorm, Normalize

    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    if scale in ("linear", "dates"):
        return Normalize(low, high)
    if scale == "log":
        return LogNorm(low, high)
    places = np.linspace(0, 1, _EDGES)
    values, first, counts = np.unique(
        np.quantile(known, places), return_index=True, return_counts=True
    )
    middle = places[first] + (counts - 1) / (2 * (_EDGES - 1))
    middle = (middle - middle[0]) / (middle[-1] - middle[0])
    return FuncNorm(
        (lambda v: np.interp(v, values, middle), lambda p: np.interp(p, middle, values)), low, high
    )


def name_and_values(labels: Any) -> tuple[str | None, Any]:
    """The name of a column and its values: of a mapping with one entry, or a Series."""
    if isinstance(labels, Mapping):
        if len(labels) != 1:
            raise ValueError(
                f"labels must be one column, got a mapping of {len(labels)}: choose one of them."
            )
        return next(iter(labels.items()))
    name = getattr(labels, "name", None)
    return (name if isinstance(name, str) else None), labels


def viridis(unit: Array) -> Array:
    """Colours along viridis for numbers in [0, 1], grey for those that are not finite."""
    import matplotlib
    from matplotlib.colors import to_rgba

    shades = np.array(matplotlib.colormaps["viridis"](unit))
    shades[~np.isfinite(unit)] = to_rgba(FAINT)
    return shades


def _check_colors(n: int, color: Any) -> Array:
    from matplotlib.colors import is_color_like, to_rgba, to_rgba_array

    if is_color_like(color):
        return np.tile(to_rgba(color), (n, 1))
    try:
        colors = to_rgba_array(color)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"color must be one colour or {n} colours ({error}). To colour by class or by value, "
            "give labels."
        ) from None
    if len(colors) != n:
        raise ValueError(f"color has {len(colors)} entries, but there are {n} objects.")
    return np.asarray(colors)


def unit_values(values: Any, name: str, n: int) -> Array:
    """The checked numbers of n objects in [0, 1]; NaN is one that is not known."""
    shares = np.asarray(values, dtype=np.float64)
    if shares.shape != (n,):
        raise ValueError(f"{name} has shape {shares.shape}, but there are {n} objects.")
    with np.errstate(invalid="ignore"):
        wrong = (shares < 0) | (shares > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"{name} must hold numbers in [0, 1], found {shares[row]:g} at [{row}].")
    return shares


def fade(colors: Array, reliability: Any) -> Array:
    """Colours that turn to light grey as the reliability of the objects falls to 0."""
    share = unit_values(getattr(reliability, "score", reliability), "reliability", len(colors))
    share = np.nan_to_num(share)[:, None]
    faded = np.array(colors, dtype=np.float64)
    faded[:, :3] = share * faded[:, :3] + (1 - share) * _FADED
    return faded
