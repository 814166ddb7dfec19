"""The columns of a text file: how many there are and what they are called."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowdim.checks import Array
from lowdim.tables.errors import shortened
from lowdim.tables.formats.dialects import converted, delimiter_name
from lowdim.tables.frame import Frame, Mixed
from lowdim.tables.options import Dialect


@dataclass
class TextColumns:
    """The columns of a text file and their names."""

    names: list[str]
    width: int
    header: bool
    row_names: bool  # the header lacks a field for the first column, as R writes it
    notes: list[str]

    @classmethod
    def of(cls, sample: list[list[str]], dialect: Dialect) -> TextColumns:
        """The columns as the first records show them."""
        notes = []
        if dialect.delimiter != ",":
            notes.append(f"fields are separated by {delimiter_name(dialect)}")
        if dialect.decimal == ",":
            notes.append("numbers are written with a decimal comma")
        first = [v.strip() for v in sample[0]]
        below = sample[1:]
        row_names = bool(below) and all(len(row) == len(first) + 1 for row in below)
        header = dialect.header
        if header is None:
            header = row_names or _is_header(first, below, dialect)
        row_names = row_names and header
        width = len(first) + row_names
        if not header:
            notes.append("no line of column names was found: columns are named x0, x1, ...")
            return cls([f"x{i}" for i in range(width)], width, header, row_names, notes)
        names = ["", *first] if row_names else first
        return cls(_distinct(names, notes), width, header, row_names, notes)

    def frame(self, numbers: Array, texts: dict[int, Array], first: int, dialect: Dialect) -> Frame:
        """The values with their names; empty columns without a name are left out."""
        numeric = [i for i in range(self.width) if i not in texts]
        names = [self.names[i] for i in numeric]
        empty = [
            place
            for place, name in enumerate(names)
            if not name.strip() or name.startswith("column ")
            if np.isnan(numbers[:, place]).all()
        ]
        for place in reversed(empty):  # from a delimiter at the end of every line
            self.names.remove(names.pop(place))
            numbers = np.delete(numbers, place, axis=1)
        columns = {self.names[i]: values for i, values in texts.items()}
        return Frame(
            numbers,
            names,
            columns,
            mixed=_mixed(columns, dialect),
            notes=self.notes,
            order=self.names,
            first_line=first,
        )


def _is_header(first: list[str], below: list[list[str]], dialect: Dialect) -> bool:
    def numeric(value: str) -> bool:
        return converted([value], dialect) is not None

    if not below:
        return not all(numeric(v) for v in first)
    for place, name in enumerate(first):
        values = [row[place].strip() for row in below if place < len(row)]
        if not numeric(name) and values and all(numeric(v) for v in values):
            return True
    counted = [v for v in first if numeric(v)]
    if len(counted) > 2 and len(counted) < len(first):
        # A table that starts "name, 0, 1, 2, ..." has numbers for names.
        return counted in (
            [str(i) for i in range(len(counted))],
            [str(i + 1) for i in range(len(counted))],
        )
    if counted:
        return False
    seen = {(place, v.strip()) for row in below for place, v in enumerate(row)}
    return len(set(first)) == len(first) and not any(item in seen for item in enumerate(first))


def _distinct(names: list[str], notes: list[str]) -> list[str]:
    """Names that differ: a repeated name gets a number."""
    taken: set[str] = set()
    distinct: list[str] = []
    for place, name in enumerate(names):
        free = name = name or ("" if place == 0 else f"column {place + 1}")
        count = 2
        while free in taken:
            free, count = f"{name}.{count}", count + 1
        if free != name:
            notes.append(f"a second column called {shortened(name)!r} was renamed {free!r}")
        taken.add(free)
        distinct.append(free)
    return distinct


def _mixed(texts: dict[str, Array], dialect: Dialect) -> dict[str, Mixed]:
    """The columns in which most values are numbers, but not all."""
    mixed = {}
    for name, values in texts.items():
        known = [(row, v) for row, v in enumerate(values) if v is not None]
        others = [(row, v) for row, v in known if converted([v], dialect) is None]
        numbers = len(known) - len(others)
        if others and numbers > len(known) / 2:
            mixed[name] = Mixed(*others[0], numbers)
    return mixed
