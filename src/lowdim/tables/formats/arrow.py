"""Parquet, Arrow (IPC) and Feather, through pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lowdim.runtime import memory
from lowdim.tables.errors import DataError, damaged, require
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options
from lowdim.tables.result import Result

_INDEX = "__index_level_0__"


def read(path: Path, options: Options) -> Frame:
    """The columns of an Arrow table; a pandas index is the objects' ids."""
    arrow = require("pyarrow", "io", "Parquet and Arrow files")
    try:
        return _frame(path, _table(path, _is_parquet(options.ending)))
    except DataError:
        raise
    except Exception as error:  # Arrow's own, and what a damaged schema leads to
        if isinstance(error, MemoryError) and not isinstance(error, arrow.ArrowMemoryError):
            raise
        kind = "Parquet" if _is_parquet(options.ending) else "Arrow"
        raise damaged(path, kind, error) from error


def _frame(path: Path, table: Any) -> Frame:
    table.validate(full=True)  # Arrow trusts its files: a wrong offset would crash it later
    if table.num_rows == 0 or table.num_columns == 0:
        raise DataError(f"{path} is empty: {table.num_rows} rows, {table.num_columns} columns.")
    names: list[str] = []
    numbers: list[Any] = []
    frame = Frame(
        np.empty((table.num_rows, 0)), order=[n for n in table.column_names if n != _INDEX]
    )
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = _values(column, f"{path}, column {name!r}")
        if name == _INDEX:
            frame.ids = np.array([str(v) for v in values.tolist()], dtype=object)
        elif values.dtype == object:
            frame.texts[name] = values
        else:
            names.append(name)
            numbers.append(values)
    frame.names = names
    frame.as_stored = lambda name: _as_stored(table.column(name))
    if numbers:
        memory.claim(
            8 * len(numbers) * table.num_rows, f"Reading {path}", "Choose some of its columns."
        )
        frame.numbers = np.column_stack(numbers)
    return frame


def _is_parquet(ending: str) -> bool:
    return ending.lower() in (".parquet", ".pq")


def _table(path: Path, is_parquet: bool) -> Any:
    if is_parquet:
        from pyarrow import parquet

        file = parquet.ParquetFile(path)
        groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
        memory.claim(
            sum(group.total_byte_size for group in groups),
            f"Unpacking {path}",
            "Choose some of its columns.",
        )
        return file.read()
    from pyarrow import feather

    return feather.read_table(path, memory_map=True)


def _values(column: Any, what: str) -> Any:
    """Numbers as they are, with NaN for null; times as seconds; all else as text."""
    import pyarrow as arrow
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_decimal(kind):
        column = column.cast(arrow.float64())
        kind = column.type
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        if column.null_count:
            column = column.cast(arrow.float64(), safe=False)  # `_as_stored` has all digits
        return column.to_numpy()
    if types.is_nested(kind):
        raise DataError(f"{what} holds {kind}, not one value an object. Leave it out of the file.")
    texts = column.to_pylist()
    return np.array([None if v is None else str(v) for v in texts], dtype=object)


def _as_stored(column: Any) -> Any:
    """A column of numbers without rounding: integers with gaps become strings and None."""
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_integer(kind) and column.null_count:
        return np.array([None if v is None else str(v) for v in column.to_pylist()], dtype=object)
    return _values(column, "")


def write(path: Path, result: Result) -> None:
    """Columns of ids, labels and coordinates."""
    arrow = require("pyarrow", "io", "Parquet and Arrow files")
    table = arrow.table({name: arrow.array(v) for name, v in result.columns().items()})
    if _is_parquet(path.suffix):
        from pyarrow import parquet

        parquet.write_table(table, path)
    else:
        from pyarrow import feather

        feather.write_feather(table, path)
