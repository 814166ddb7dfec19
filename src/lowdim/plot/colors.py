"""Colours of kinds, for light and for dark paper."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from lowdim.checks import Array

LIGHT = [
    "#0072b2",
    "#d55e00",
    "#00855f",
    "#b5578a",
    "#2f8fc4",
    "#00009b",
    "#59002c",
    "#c17d00",
    "#d359f4",
    "#9b2100",
    "#90007a",
    "#005900",
    "#004e64",
    "#6f16c8",
    "#3764ff",
    "#00a637",
    "#372164",
    "#16370b",
    "#ff4e6f",
    "#d30b43",
    "#bc2cbc",
    "#d36fbc",
    "#004ea6",
    "#7a6400",
    "#7a2143",
    "#7a85ff",
    "#854e64",
    "#006f7a",
    "#9b6f59",
    "#9b43e9",
]
"""Colours on white: the first five after Okabe and Ito, each further one the farthest from all
before it, as seen with normal vision, deuteranopia and protanopia (Machado et al. 2009). The
contrast with the paper is at least 3, as WCAG 2 asks of graphics."""

DARK = [
    "#4aa8e0",
    "#ff8a3d",
    "#23c493",
    "#e39bc2",
    "#8fd3ff",
    "#d3ff9b",
    "#9b37de",
    "#e69f00",
    "#e90021",
    "#009b00",
    "#e92c9b",
    "#de64ff",
    "#16e959",
    "#b1ffff",
    "#007abc",
    "#f4c8b1",
    "#906400",
    "#d37a7a",
    "#2164ff",
    "#43e9bc",
    "#ffc800",
    "#4ebc00",
    "#649b90",
    "#a67abc",
    "#c87a00",
    "#b1ff0b",
    "#c82c64",
    "#6f85f4",
    "#ff85ff",
    "#167a43",
]
"""The same on the dark paper of the report."""

OTHER = {"light": "#8c8c8c", "dark": "#80868c"}
"""Grey for kinds without a colour of their own and for missing labels."""

MAX_KINDS = len(LIGHT)
"""More kinds than this cannot be told apart by colour."""

MISSING_KIND = "(missing)"
"""The kind of objects whose label is not known."""


class Kinds(NamedTuple):
    """Labels as kinds.

    Attributes
    ----------
    names : tuple of str
        The kinds in natural order (2 before 10).
    codes : int array of shape (n,)
        Which kind each object is.
    places : int array of shape (n_kinds,)
        Which colour each kind has, -1 for grey: labels that are missing, and beyond `MAX_KINDS`
        all but the largest kinds.
    """

    names: tuple[str, ...]
    codes: Array
    places: Array

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
        [MISSING_KIND if _is_absent(entry) else str(entry) for entry in entries.tolist()]
    )


def _is_absent(entry: Any) -> bool:
    return entry is None or entry == "" or (isinstance(entry, float) and np.isnan(entry))
