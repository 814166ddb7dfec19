"""Text files that hold one triangle of a matrix of distances, each line longer than the last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowdim.tables.errors import DataError
from lowdim.tables.formats.dialects import converted
from lowdim.tables.frame import Frame
from lowdim.tables.options import Dialect

_LEAST_LINES = 3  # of a triangle; with fewer, lines of different length are a mistake


def is_triangle(rows: Sequence[Sequence[str]]) -> bool:
    """Whether each record has one field more than the one before, or each one field fewer."""
    return _steps(rows) is not None


def _steps(rows: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """The first record of the triangle (0, or 1 after a header) and the step of its lengths."""
    for first in (0, 1):
        widths = np.array([len(row) for row in rows[first:]])
        steps = np.diff(widths)
        if len(widths) >= _LEAST_LINES and abs(steps[0]) == 1 and (steps == steps[0]).all():
            return first, int(steps[0])
    return None


def read_triangle(source: str, rows: Sequence[Sequence[str]], dialect: Dialect) -> Frame:
    """The full matrix of a triangle with or without diagonal, header and names of the objects."""
    found = _steps(rows)
    if found is None:
        raise DataError(
            f"{source} begins as a triangle of distances, but not all lines are longer (or "
            "shorter) by one field than the line before."
        )
    first, step = found
    body = [[v.strip() for v in row] for row in rows[first:]]
    header = [v.strip() for v in rows[0]] if first else []
    if step < 0:  # from the last object to the first, it is a lower triangle
        body = [[*row[:1], *row[:0:-1]] if _named(body, dialect) else row[::-1] for row in body]
        body.reverse()
    names = [row[0] for row in body] if _named(body, dialect) else None
    fields = [row[1:] for row in body] if names is not None else body
    if not fields[0]:  # the first object, named, with no distance yet
        fields = fields[1:]
    values = [converted(row, dialect) for row in fields]
    wrong = next((place for place, row in enumerate(values) if row is None), None)
    if wrong is not None:
        raise DataError(f"{source}: line {wrong + 1} of the triangle holds something else.")
    diagonal = all(row is not None and row[-1] == 0 for row in values)
    n = len(values) + (not diagonal)
    D = np.zeros((n, n))
    for place, row in enumerate(values):
        end = place + (not diagonal)
        D[end, : place + 1] = D[: place + 1, end] = row
    titles = header[-n:] if len(header) >= n else None
    if step < 0:
        D = D[::-1, ::-1].copy()
        names = None if names is None else names[::-1]
    if names is not None and len(names) != n:
        names = _all_names(names, header, n)
    note = (
        f"{'lower' if step > 0 else 'upper'} triangle {'with' if diagonal else 'without'} diagonal"
    )
    frame = Frame(D, notes=[f"{note}: completed to distances between {n} objects"])
    known = names or titles
    frame.ids = None if known is None else np.array(known, dtype=object)
    return frame


def _named(body: Sequence[Sequence[str]], dialect: Dialect) -> bool:
    """Whether the first field of the records is a name."""
    return any(converted([row[0]], dialect) is None for row in body)


def _all_names(names: list[str], header: list[str], n: int) -> list[str] | None:
    """Names of all n objects where one of them has no line of its own but a column."""
    others = [name for name in header if name and name not in names]
    if len(names) == n - 1 and len(others) == 1:
        return [others[0], *names] if header.index(others[0]) <= 1 else [*names, others[0]]
    return None
