"""CSV, TSV and other delimited text."""

from __future__ import annotations

import csv
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

from lowdim.checks import Array
from lowdim.tables.errors import DataError
from lowdim.tables.formats.dialects import (
    SAMPLE,
    complete_dialect,
    decoding,
    encoding_of,
    opened,
    records,
)
from lowdim.tables.formats.text_columns import TextColumns
from lowdim.tables.formats.text_values import CHUNK, NotNumbers, all_columns, all_numbers
from lowdim.tables.formats.triangles import is_triangle, read_triangle
from lowdim.tables.frame import Frame
from lowdim.tables.options import Dialect, Options
from lowdim.tables.result import Result


def read(path: Path, options: Options) -> Frame:
    """Read the columns of a delimited text file."""
    dialect = options.dialect
    if options.ending in (".tsv", ".tab") and dialect.delimiter is None and _has_tabs(path):
        dialect = replace(dialect, delimiter="\t")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
    with decoding(path):
        return _read(path, replace(dialect, encoding=dialect.encoding or encoding_of(path)))


def _has_tabs(path: Path) -> bool:
    with open(path, "rb") as file:
        return b"\t" in file.read(1 << 16)


def _read(path: Path, dialect: Dialect) -> Frame:
    with opened(path, dialect) as file:
        lines = list(itertools.islice(file, 4 * SAMPLE))
    if not any(line.strip() for line in lines):
        raise DataError(f"{path} is empty: it holds nothing but blank lines.")
    dialect = complete_dialect(path, lines, dialect)
    with opened(path, dialect) as file:
        rows = records(path, file, dialect)
        sample = [row for _, row in itertools.islice(rows, SAMPLE)]
    if is_triangle(sample):
        with opened(path, dialect) as file:
            every = [row for _, row in records(path, file, dialect)]
        return read_triangle(str(path), every, dialect)
    columns = TextColumns.of(sample, dialect)
    numbers = all_numbers(path, dialect, columns, sample)
    if numbers is not None:
        return _frame(path, dialect, columns, numbers, {}, 1 + columns.header)
    textual: set[int] = set()
    while True:
        try:
            numbers, texts, first = all_columns(path, dialect, columns, textual)
            break
        except NotNumbers as found:
            textual |= found.columns
    return _frame(path, dialect, columns, numbers, texts, first)


def _frame(
    path: Path,
    dialect: Dialect,
    columns: TextColumns,
    numbers: Array,
    texts: dict[int, Array],
    first: int,
) -> Frame:
    places = {name: place for place, name in enumerate(columns.names)}
    frame = columns.frame(numbers, texts, first, dialect)

    def as_stored(name: str) -> Array:
        place = places[name]
        return all_columns(path, dialect, columns, {place}, only=place)[1][place]

    frame.as_stored = as_stored
    return frame


def write(path: Path, result: Result) -> None:
    """Write named columns; numbers have as many digits as it takes to read them back exactly."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        columns = result.columns()
        writer.writerow(columns)
        for part in range(0, result.n_rows, CHUNK):
            cut = [_plain(values[part : part + CHUNK]) for values in columns.values()]
            writer.writerows(zip(*cut, strict=True))


def _plain(values: Array) -> list[Any]:
    if values.dtype.kind == "f":
        return ["" if v == "nan" else v for v in values.astype(str).tolist()]
    return ["" if v is None else v for v in values.tolist()]
