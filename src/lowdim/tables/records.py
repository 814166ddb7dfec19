"""Tables of typed values: JSON lines, Excel workbooks, Parquet, Arrow (IPC) and Feather."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.runtime import memory
from lowdim.tables.columns import Frame, frame_of
from lowdim.tables.errors import DataError, damage_error, join_names, require
from lowdim.tables.formats import PARQUET, Options
from lowdim.tables.text import distinct_names, encoding_errors

_INDEX = "__index_level_0__"  # of a pandas table in an Arrow file


def read_json_lines(path: Path, options: Options) -> Frame:
    """An object, or a list of values, a line; a key that a line lacks is a missing value."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    with encoding_errors(path), open(path, encoding=options.encoding or "utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            for name, value in _record(path, number, line).items():
                column = columns.setdefault(name, [])
                column.extend([None] * (n_rows - len(column)))
                column.append(value)
            n_rows += 1
    if not columns:
        raise DataError(f"{path} is empty.")
    for column in columns.values():
        column.extend([None] * (n_rows - len(column)))
    return _frame(path, columns, options.missing)


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise DataError(f"{path}, line {number} is not JSON: {error}.") from error
    if isinstance(record, list):
        return {f"x{place}": value for place, value in enumerate(record)}
    if not isinstance(record, dict):
        raise DataError(f"{path}, line {number} is neither a JSON object nor a list.")
    return record


def read_excel(path: Path, options: Options) -> Frame:
    """The first sheet of a workbook, or the one that the key names; row 1 names the columns."""
    openpyxl = require("openpyxl", "excel", "Excel files")
    try:
        with open(path, "rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheets = book.sheetnames
            name = options.key or sheets[0]
            if name not in sheets:
                raise DataError(f"{path} has no sheet {name!r}; it has {join_names(sheets)}.")
            cells = enumerate(book[name].iter_rows(values_only=True), start=1)
            rows = {number: row for number, row in cells if any(v is not None for v in row)}
            book.close()
    except (DataError, MemoryError):
        raise
    except Exception as error:  # zipfile's, XML's and openpyxl's own, of many kinds
        raise damage_error(path, "Excel", error) from error
    if not rows:
        raise DataError(f"{path} is empty.")
    numbers, (first, *body) = list(rows), rows.values()
    header = options.header
    if header is None:
        header = all(v is None or isinstance(v, str) for v in first)
    names = [str(v) if header and v is not None else f"x{i}" for i, v in enumerate(first)]
    notes: list[str] = []
    names = distinct_names(names, notes)
    columns = zip_longest(*(body if header else rows.values()))
    used = {
        name: list(values)
        for name, title, values in zip(names, first, columns, strict=False)
        if title is not None or any(v is not None for v in values)
    }
    frame = _frame(path, used, options.missing)
    frame.notes, frame.line = notes, lambda row: numbers[row + header]
    if len(sheets) > 1:
        frame.notes.append(f"the data is sheet {name!r}, of {join_names(map(repr, sheets))}")
    return frame


def _frame(path: Path, columns: Mapping[str, Sequence[Any]], missing: Sequence[str]) -> Frame:
    """Columns of numbers, True, False and None are numbers, all others text."""
    absent = set(missing)
    known = {
        name: [None if isinstance(v, str) and v.strip() in absent else v for v in values]
        for name, values in columns.items()
    }
    typed: dict[str, Array] = {}
    for name, values in known.items():
        wrong = next((v for v in values if isinstance(v, list | dict)), None)
        if wrong is not None:
            raise DataError(
                f"{path}: column {name!r} holds {type(wrong).__name__}s instead of one value "
                "per object. Leave it out of the file."
            )
        if all(v is None or isinstance(v, int | float) for v in values):
            typed[name] = np.array([np.nan if v is None else float(v) for v in values])
        else:
            typed[name] = _strings(values)
    return frame_of(typed, stored=lambda name: _strings(known[name]))


def _strings(values: Sequence[Any]) -> Array:
    return np.array([None if v is None else str(v) for v in values], dtype=object)


# --- Arrow ----------------------------------------------------------------------------------------


def read_arrow(path: Path, options: Options) -> Frame:
    """The columns of a Parquet, Arrow or Feather file; a pandas index is the objects' ids."""
    arrow = require("pyarrow", "io", "Parquet and Arrow files")
    is_parquet = options.ending in PARQUET
    try:
        return _arrow_frame(path, _arrow_table(path, is_parquet))
    except DataError:
        raise
    except Exception as error:  # Arrow's own, and what a damaged schema leads to
        if isinstance(error, MemoryError) and not isinstance(error, arrow.ArrowMemoryError):
            raise
        raise damage_error(path, "Parquet" if is_parquet else "Arrow", error) from error


def _arrow_table(path: Path, is_parquet: bool) -> Any:
    if is_parquet:
        from pyarrow import parquet

        file = parquet.ParquetFile(path)
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        size = sum(group.total_byte_size for group in groups)
        memory.claim(size, f"Unpacking {path}", "Choose some of its columns.")
        return file.read()
    from pyarrow import feather

    return feather.read_table(path, memory_map=True)


def _arrow_frame(path: Path, table: Any) -> Frame:
    table.validate(full=True)  # Arrow trusts its files: a wrong offset would crash it later
    if table.num_rows == 0 or table.num_columns == 0:
        raise DataError(f"{path} is empty: {table.num_rows} rows, {table.num_columns} columns.")
    notes: list[str] = []
    table = table.rename_columns(distinct_names(table.column_names, notes))
    memory.claim(
        8 * table.num_columns * table.num_rows, f"Reading {path}", "Choose some of its columns."
    )
    columns = {
        name: _arrow_values(column, f"{path}, column {name!r}")
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    index = columns.pop(_INDEX, None)
    return frame_of(
        columns,
        ids=None if index is None else _strings(index.tolist()),
        notes=notes,
        stored=lambda name: _arrow_values(table.column(name), "", exact=True),
    )


def _arrow_values(column: Any, what: str, exact: bool = False) -> Array:
    """Numbers as they are, with NaN for null (as strings, if integers are to be exact); True and
    False as 1 and 0; all else as text."""
    import pyarrow as arrow
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_nested(kind):
        raise DataError(
            f"{what} holds {kind} instead of one value per object. Leave it out of the file."
        )
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    if types.is_boolean(kind):
        column = column.cast(arrow.uint8())
    elif types.is_decimal(kind):
        column = column.cast(arrow.float64())
    elif not (types.is_integer(kind) or types.is_floating(kind)) or (exact and column.null_count):
        return _strings(column.to_pylist())
    if column.null_count:
        column = column.cast(arrow.float64(), safe=False)
    return np.asarray(column.to_numpy())
