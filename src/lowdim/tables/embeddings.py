"""Coordinates from a file, in the order of the objects they are to be compared with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.tables.errors import DataError, listed, shortened
from lowdim.tables.reading import loaded_frame
from lowdim.tables.roles import Choices, Columns, assign
from lowdim.tables.table import Table

_NUMBERED = re.compile(r"(.*?)[_ .-]?(\d+)")


def read_embedding(
    path: str | PathLike[str], table: Table, coordinates: Sequence[str] = ()
) -> tuple[Array, list[str]]:
    """Read a map of the objects of a table.

    Parameters
    ----------
    path : str or path-like
        The file of the coordinates.
    table : Table
        The objects. Rows are matched by ids where both files have them, otherwise by order.
    coordinates : sequence of str, default=()
        The columns of the coordinates. By default those that are numbered from 0 or 1 under one
        name, as `write` names them, or else all columns of numbers.

    Returns
    -------
    Y : array of shape (n_rows, n_coordinates)
        The coordinates, in the order of the table.
    names : list of str
        The names of their columns.

    Raises
    ------
    DataError
        If the file lacks objects of the table, or columns.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> folder = tempfile.mkdtemp()
    >>> data, found = os.path.join(folder, "data.csv"), os.path.join(folder, "map.csv")
    >>> _ = lowdim.tables.write(data, [[1, 2, 3], [4, 5, 7]], ids=["a", "b"])
    >>> _ = lowdim.tables.write(found, [[0.0, 1.0], [2.0, 3.0]], ids=["b", "a"])
    >>> Y, names = lowdim.tables.read_embedding(found, lowdim.tables.read(data))
    >>> Y.tolist(), names
    ([[2.0, 3.0], [0.0, 1.0]], ['y0', 'y1'])
    """
    with loaded_frame(path) as (frame, source):
        columns = Columns(frame, source)
        chosen = columns.matching(coordinates, "coordinates")
        numbered = [] if chosen else _numbered(columns.numbers)
        roles = assign(frame, Choices(features=tuple(chosen or numbered)), source)
        Y = np.asarray(frame.numbers[:, [columns.places[name] for name in roles.numeric]])
        if Y.dtype.kind == "f" and np.isinf(Y).any():
            raise DataError(f"{source}: the coordinates hold infinite values.")
        return _aligned(Y, roles.ids, table, source), roles.numeric


def _numbered(names: Sequence[str]) -> list[str]:
    """The columns called name0, name1, ... (or from 1 on); none if two names are so numbered."""
    families: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match:
            families.setdefault(match[1], []).append((int(match[2]), name))
    found = []
    for members in families.values():
        members.sort()
        count = [number for number, _ in members]
        if count[0] in (0, 1) and count == list(range(count[0], count[0] + len(count))):
            found.append([name for _, name in members])
    return found[0] if len(found) == 1 else []


def _aligned(Y: Array, ids: Array | None, table: Table, source: str) -> Any:
    if ids is None or table.ids is None:
        if len(Y) != table.n_rows:
            raise DataError(
                f"{source} has {len(Y)} rows, but {table.source} has {table.n_rows}. Give both the "
                f"same objects, or a column of ids in both ({argument('id', ...)})."
            )
        return Y
    places = {name: row for row, name in enumerate(ids.tolist())}
    lacking = [name for name in table.ids.tolist() if name not in places]
    if len(lacking) == table.n_rows == len(Y):
        return Y  # the ids are of different kinds; the rows may still be the same
    if lacking:
        raise DataError(
            f"{source} lacks {len(lacking)} of the {table.n_rows} objects of {table.source}: "
            f"{listed(map(shortened, lacking), 3)}."
        )
    return Y[[places[name] for name in table.ids.tolist()]]
