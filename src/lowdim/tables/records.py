"""Tables of typed values: JSON lines, Excel workbooks, Parquet, Arrow (IPC) and Feather."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

import numpy as np

from lowdim.checks import Array
from lowdim.runtime import memory
from lowdim.tables.columns import Frame, column_of
from lowdim.tables.errors import DataError, damage_error, damage_errors, join_names, require
from lowdim.tables.formats import PARQUET, Options
from lowdim.tables.text import distinct_names, encoding_errors

_INDEX = "__index_level_0__"  # of a pandas table in an Arrow file


def read_json_lines(path: Path, options: Options) -> Frame:
    """An object, or a list of values, a line, or all of them in one list; a key that an object
    lacks is a missing value."""
    with encoding_errors(path), open(path, encoding=options.encoding or "utf-8") as file:
        values = _json_values(path, file)
    records = [
        one if isinstance(one, dict) else {f"x{place}": value for place, value in enumerate(one)}
        for one in values
    ]
    names = dict.fromkeys(name for record in records for name in record)
    if not names:
        raise DataError(f"{path} is empty.")
    columns = {name: [record.get(name) for record in records] for name in names}
    return Frame({name: _column(path, name, v, options) for name, v in columns.items()})


def _json_values(path: Path, file: IO[str]) -> list[Any]:
    """The objects, or lists, of a file that is one list of them, or has one in each line."""
    if file.read(100).lstrip().startswith("["):
        file.seek(0)
        with suppress(ValueError):
            values: list[Any] = json.load(file)
            if values and all(isinstance(one, dict | list) for one in values):
                return values
    file.seek(0)
    values = []
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise DataError(f"{path}, line {number} is not JSON: {error}.") from error
        if not isinstance(values[-1], dict | list):
            raise DataError(f"{path}, line {number} is neither a JSON object nor a list.")
    return values


def read_excel(path: Path, options: Options) -> Frame:
    """The first sheet of a workbook, or the one that the key names; row 1 names the columns."""
    openpyxl = require("openpyxl", "excel", "Excel files")
    with damage_errors(path, "Excel"), open(path, "rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = book.sheetnames
        name = options.key or sheets[0]
        if name not in sheets:
            raise DataError(f"{path} has no sheet {name!r}; it has {join_names(sheets)}.")
        cells = enumerate(book[name].iter_rows(values_only=True), start=1)
        rows = {number: row for number, row in cells if any(v is not None for v in row)}
        book.close()
    if not rows:
        raise DataError(f"{path} is empty.")
    numbers, first = list(rows), next(iter(rows.values()))
    header = options.header
    if header is None:
        header = all(v is None or isinstance(v, str) for v in first)
    notes: list[str] = []
    names = [str(v) if header and v is not None else f"x{i}" for i, v in enumerate(first)]
    names = distinct_names(names, notes)
    if len(sheets) > 1:
        notes.append(f"the data is sheet {name!r}, of {join_names(map(repr, sheets))}")
    columns = {
        name: _column(path, name, values, options)
        for name, title, values in zip(
            names, first, zip_longest(*list(rows.values())[header:]), strict=False
        )
        if title is not None or any(v is not None for v in values)
    }
    return Frame(columns, notes=notes, line=lambda row: numbers[row + header])


def _column(path: Path, name: str, values: Any, options: Options) -> Array:
    """The values of a column, those that mean a missing value left out."""
    wrong = next((v for v in values if isinstance(v, list | dict)), None)
    if wrong is not None:
        raise DataError(
            f"{path}: column {name!r} holds {type(wrong).__name__}s instead of one value per "
            "object. Leave it out of the file."
        )
    absent = set(options.missing)
    return column_of([None if isinstance(v, str) and v.strip() in absent else v for v in values])


def read_arrow(path: Path, options: Options) -> Frame:
    """The columns of a Parquet, Arrow or Feather file; a pandas index is the objects' ids."""
    arrow = require("pyarrow", "io", "Parquet and Arrow files")
    is_parquet = options.ending in PARQUET
    try:
        return _arrow_frame(path, is_parquet)
    except DataError:
        raise
    except Exception as error:  # Arrow's own, and what a damaged schema leads to
        if isinstance(error, MemoryError) and not isinstance(error, arrow.ArrowMemoryError):
            raise
        raise damage_error(path, "Parquet" if is_parquet else "Arrow", error) from error


def _arrow_frame(path: Path, is_parquet: bool) -> Frame:
    from pyarrow import feather, parquet

    advice = "Choose some of its columns."
    if is_parquet:
        file = parquet.ParquetFile(path)
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        memory.claim(sum(group.total_byte_size for group in groups), f"Unpacking {path}", advice)
        table = file.read()
    else:
        table = feather.read_table(path, memory_map=True)
    table.validate(full=True)  # Arrow trusts its files: a wrong offset would crash it later
    if table.num_rows == 0 or table.num_columns == 0:
        raise DataError(f"{path} is empty: {table.num_rows} rows, {table.num_columns} columns.")
    memory.claim(8 * table.num_columns * table.num_rows, f"Reading {path}", advice)
    notes: list[str] = []
    names = distinct_names(table.column_names, notes)
    columns = {
        name: _arrow_values(column, f"{path}, column {name!r}")
        for name, column in zip(names, table.columns, strict=True)
    }
    index = columns.pop(_INDEX, None)
    ids = None if index is None else np.array(list(map(str, index.tolist())), dtype=object)
    return Frame(columns, ids=ids, notes=notes)


def _arrow_values(column: Any, what: str) -> Array:
    """Numbers as they are, with NaN for null; all else by `column_of`."""
    import pyarrow as arrow
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_nested(kind):
        raise DataError(
            f"{what} holds {kind} instead of one value per object. Leave it out of the file."
        )
    column = column.cast(arrow.float64() if types.is_decimal(kind) else kind)
    plain = types.is_floating(column.type) or (types.is_integer(kind) and not column.null_count)
    return np.asarray(column.to_numpy()) if plain else column_of(column.to_pylist())
