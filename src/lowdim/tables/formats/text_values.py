"""The values of a text file, read in chunks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.tables.errors import DataError
from lowdim.tables.formats.dialects import (
    content,
    converted,
    delimiter_name,
    number,
    opened,
    records,
)
from lowdim.tables.formats.text_columns import TextColumns
from lowdim.tables.options import Dialect

CHUNK = 1 << 18  # values that are held as strings at the same time


class NotNumbers(Exception):
    """Columns that were taken for numbers hold something else."""

    def __init__(self, columns: Iterable[int]) -> None:
        self.columns = set(columns)


def all_numbers(
    path: Path, dialect: Dialect, columns: TextColumns, sample: list[list[str]]
) -> Array | None:
    """The values of a file that holds only numbers, by NumPy's reader; None for other files."""
    rows = sample[columns.header :]
    if not rows or dialect.decimal == "," or columns.row_names:
        return None
    if any(len(row) != columns.width or not all(map(_is_number, row)) for row in rows):
        return None
    delimiter = None if dialect.delimiter == " " else dialect.delimiter
    with opened(path, dialect) as file:
        lines = (line for line in content(file, dialect) if line.strip())
        try:
            return np.loadtxt(
                itertools.islice(lines, int(columns.header), None),
                delimiter=delimiter,
                comments=None,
                quotechar='"',
                ndmin=2,
            )
        except ValueError as error:
            if isinstance(error, UnicodeError):
                raise
            return None  # the slower reader finds out where and why


def _is_number(value: str) -> bool:
    return number(value) is not None


def all_columns(
    path: Path,
    dialect: Dialect,
    columns: TextColumns,
    textual: set[int],
    only: int | None = None,
) -> tuple[Array, dict[int, Array], int]:
    """All rows: the columns of numbers as one array, each column of text as objects.

    With `only`, no other column is converted.
    """
    numeric = [i for i in range(columns.width) if i not in textual and only is None]
    blocks: list[Array] = []
    texts: dict[int, list[str | None]] = {i: [] for i in sorted(textual)}
    missing = set(dialect.missing)
    first_line = 0
    with opened(path, dialect) as file:
        rows = _same_length(path, records(path, file, dialect), columns, dialect)
        if columns.header:
            next(rows)
        while chunk := list(itertools.islice(rows, max(1, CHUNK // columns.width))):
            first_line = first_line or chunk[0][0]
            chunk_rows = [row for _, row in chunk]
            blocks.append(_numbers(chunk_rows, numeric, dialect))
            for i, values in texts.items():
                stripped = (row[i].strip() for row in chunk_rows)
                values.extend(None if v in missing else v for v in stripped)
    if not blocks:
        raise DataError(f"{path} holds column names but no rows.")
    objects = {i: np.array(values, dtype=object) for i, values in texts.items()}
    numbers = np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
    return numbers, objects, first_line


def _same_length(
    path: Path, rows: Iterator[tuple[int, list[str]]], columns: TextColumns, dialect: Dialect
) -> Iterator[tuple[int, list[str]]]:
    """The rows; the first one of another length is an error."""
    for place, (line, row) in enumerate(rows):
        width = columns.width - (columns.row_names and place == 0)
        if len(row) != width:
            raise DataError(
                f"{path}, line {line} has {len(row)} field{'s'[: len(row) != 1]}, but the first "
                f"line has {width}. Correct that line, or set {argument('delimiter', ...)} if the "
                f"fields are not separated by {delimiter_name(dialect)}."
            )
        yield line, row


def _numbers(records: list[list[str]], numeric: list[int], dialect: Dialect) -> Array:
    if numeric and dialect.decimal != ",":
        every = len(numeric) == len(records[0])
        rows = records if every else [[row[i] for i in numeric] for row in records]
        try:
            return np.array(rows, dtype=np.float64)  # fast; fails where a value is missing
        except ValueError:
            pass
    columns = list(zip(*records, strict=True))
    block = np.empty((len(records), len(numeric)))
    wrong: list[int] = []
    for place, i in enumerate(numeric):
        values = converted(columns[i], dialect)
        if values is None:
            wrong.append(i)
        else:
            block[:, place] = values
    if wrong:
        raise NotNumbers(wrong)
    return block
