"""Columns of Python values, as JSON and Excel hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.tables.errors import DataError
from lowdim.tables.frame import Frame


def frame_of(columns: Mapping[str, Sequence[Any]], source: str, missing: Sequence[str]) -> Frame:
    """A frame: columns of numbers and None are numbers, all others text."""
    absent = set(missing)
    numbers: dict[str, Sequence[Any]] = {}
    texts: dict[str, Array] = {}
    for name, values in columns.items():
        known = [None if isinstance(v, str) and v.strip() in absent else v for v in values]
        if all(v is None or isinstance(v, int | float) for v in known):
            numbers[name] = known
        else:
            wrong = next((v for v in known if isinstance(v, list | dict)), None)
            if wrong is not None:
                raise DataError(
                    f"{source}: column {name!r} holds {type(wrong).__name__}s, not one value an "
                    "object. Leave it out of the file."
                )
            texts[name] = np.array([None if v is None else str(v) for v in known], dtype=object)
    n_rows = len(next(iter(columns.values()), ()))
    matrix = np.empty((n_rows, len(numbers)))
    for place, held in enumerate(numbers.values()):
        matrix[:, place] = [np.nan if v is None else float(v) for v in held]

    def as_stored(name: str) -> Array:
        return np.array([None if v is None else _written(v) for v in numbers[name]], dtype=object)

    return Frame(matrix, list(numbers), texts, order=list(columns), as_stored=as_stored)


def _written(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def rows_of(columns: Mapping[str, Array]) -> list[list[Any]]:
    """The rows of named columns as Python values; NaN as None."""
    plain = [[None if v != v else v for v in values.tolist()] for values in columns.values()]
    return [list(row) for row in zip(*plain, strict=True)]
