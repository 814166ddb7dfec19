"""Colours of kinds and scales of values, for light and for dark paper alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from lowdim.checks import Array

COLORS = [
    "#1878c4",
    "#dd6a08",
    "#09a275",
    "#c61299",
    "#8787fc",
    "#756c3f",
    "#cf1b00",
    "#ab87b4",
    "#905a63",
    "#f35a6c",
    "#12a22d",
    "#fc4899",
    "#758751",
    "#c600f3",
    "#007e75",
    "#cf1263",
    "#487500",
    "#7563a2",
    "#6390cf",
    "#ea51ea",
    "#0099a2",
    "#bd5a7e",
    "#cf7e7e",
    "#cf1b3f",
    "#757eb4",
    "#bd873f",
    "#ea1bbd",
    "#f31b6c",
    "#1b7e51",
    "#a25a87",
]
"""Colours of kinds, the same on white and on dark paper: ten that are far apart, each further one
the farthest from all before it, as seen (CIEDE2000) with normal vision, deuteranopia
and protanopia (Machado et al. 2009). The contrast with either paper is at least 3, as WCAG 2 asks
of graphics."""

OTHER = "#84888c"
"""Grey for kinds without a colour of their own and for missing labels."""

MAX_KINDS = len(COLORS)
"""More kinds than this cannot be told apart by colour."""

LEAST_PLACE, MOST_PLACE = 0.3, 0.7
"""Places on a scale that a tenth of the values must reach; on others nearly all look alike."""

MISSING_KIND = "(missing)"
"""The kind of objects whose label is not known."""


class Kinds(NamedTuple):
    """Labels as kinds."""

    names: tuple[str, ...]
    """The kinds in natural order (2 before 10)."""

    codes: Array
    """Which kind each object is."""

    places: Array
    """The colour of each kind; -1 is grey: missing labels, and small kinds beyond `MAX_KINDS`."""

    @property
    def n_grey(self) -> int:
        """Number of kinds that are grey because they are too many."""
        return sum(
            name != MISSING_KIND and place < 0
            for name, place in zip(self.names, self.places.tolist(), strict=True)
        )


def days(dates: Array) -> Array:
    """Dates as days since 1970-01-01, NaN where one is missing."""
    moments = dates.astype("datetime64[ms]")
    return np.where(np.isnat(moments), np.nan, moments.astype(np.float64) / 86_400_000)


def scale_kind(known: Array) -> str:
    """The scale on which values differ: "linear", for skewed ones "log" or "ranks"."""
    low, high = float(known.min()), float(known.max())
    ends = np.quantile(known, [0.1, 0.9])
    if high == low or _is_even((ends - low) / (high - low)):
        return "linear"
    return "log" if low > 0 and _is_even(np.log(ends / low) / np.log(high / low)) else "ranks"


def _is_even(ends: Array) -> bool:
    return bool(ends[1] >= LEAST_PLACE and ends[0] <= MOST_PLACE)


def natural_key(name: str) -> tuple[Any, ...]:
    """A key that sorts numbers inside of names by value."""
    parts = re.split(r"(\d+)", name)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts))


def kinds_of(values: Array) -> Kinds | None:
    """Strings, truth values and integers of few values as kinds; None for other numbers.

    Integers of many values are kinds if they look like the clusters of a clustering: all numbers
    from -1, which stands for noise, to the largest one.
    """
    values = to_strings(values)
    if values.dtype.kind not in "biuU":
        return None
    unique, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if values.dtype.kind in "iu":
        clusters = unique[0] == -1 and unique[-1] == len(unique) - 2
        if len(unique) > MAX_KINDS and not clusters:
            return None
        order = np.arange(len(unique))  # by value
    else:
        order = np.array(
            sorted(range(len(unique)), key=lambda place: natural_key(str(unique[place])))
        )
    names = [str(name) for name in unique[order]]
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return Kinds(tuple(names), ranks[codes], _places(names, counts[order]))


def check_column(labels: Any, name: str, n: int) -> tuple[Kinds | None, Array, bool]:
    """Labels of n objects as kinds, or else (None) as numbers; whether they are dates, as days."""
    values = np.asarray(labels)
    if values.shape != (n,):
        raise ValueError(f"{name} has shape {values.shape}, but there are {n} objects.")
    dates = values.dtype.kind == "M"
    values = days(values) if dates else values
    kinds = kinds_of(values)
    if kinds is None and values.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be numbers, strings or dates, got {values.dtype}.")
    return kinds, values.astype(np.float64) if kinds is None else values, dates


def _places(names: Iterable[str], counts: Array) -> Array:
    named = np.array([name != MISSING_KIND for name in names])
    if named.sum() > MAX_KINDS:
        largest = np.argsort(np.where(named, -counts, 0), kind="stable")[:MAX_KINDS]
        chosen = np.zeros(len(named), dtype=bool)
        chosen[largest] = True
        named &= chosen
    return np.where(named, np.cumsum(named) - 1, -1)


def to_strings(labels: Array) -> Array:
    """Labels that are no numbers as strings, with one kind for None, NaN and empty ones."""
    if labels.dtype.kind not in "OUS":
        return labels
    entries = labels.astype("U") if labels.dtype.kind == "S" else labels
    return np.array(
        [
            MISSING_KIND if entry is None or entry == "" or entry != entry else str(entry)
            for entry in entries.tolist()
        ]
    )
