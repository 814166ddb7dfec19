"""Excel workbooks (`.xlsx`), through openpyxl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lowdim.tables.errors import DataError, damaged, listed, require
from lowdim.tables.formats.values import frame_of, rows_of
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options
from lowdim.tables.result import Result


def read(path: Path, options: Options) -> Frame:
    """The first sheet of a workbook, or the one that the key names; row 1 names the columns."""
    openpyxl = require("openpyxl", "excel", "Excel files")
    try:
        with open(path, "rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            name = options.key or book.sheetnames[0]
            if name not in book.sheetnames:
                raise DataError(f"{path} has no sheet {name!r}; it has {listed(book.sheetnames)}.")
            rows = [list(row) for row in book[name].iter_rows(values_only=True)]
            sheets = book.sheetnames
            book.close()
    except (DataError, MemoryError):
        raise
    except Exception as error:  # zipfile's, XML's and openpyxl's own, of many kinds
        raise damaged(path, "Excel", error) from error
    frame = _frame(path, [row for row in rows if any(v is not None for v in row)], options)
    if len(sheets) > 1:
        frame.notes.append(f"the data is sheet {name!r}, of {listed(map(repr, sheets))}")
    return frame


def _frame(path: Path, rows: list[list[Any]], options: Options) -> Frame:
    if not rows:
        raise DataError(f"{path} is empty.")
    header = options.dialect.header
    if header is None:
        header = all(v is None or isinstance(v, str) for v in rows[0])
    body = rows[1:] if header else rows
    names = [str(v) if header and v is not None else f"x{place}" for place, v in enumerate(rows[0])]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path} has two columns called {twice!r}; rename one of them.")
    columns = {name: [row[place] for row in body] for place, name in enumerate(names)}
    used = {
        name: values
        for place, (name, values) in enumerate(columns.items())
        if rows[0][place] is not None or any(v is not None for v in values)
    }
    frame = frame_of(used, str(path), options.dialect.missing)
    frame.first_line = 1 + header
    return frame


def write(path: Path, result: Result) -> None:
    """One sheet: a row of names, then a row an object."""
    openpyxl = require("openpyxl", "excel", "Excel files")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("map")
    columns = result.columns()
    sheet.append(list(columns))
    for row in rows_of(columns):
        sheet.append(row)
    with open(path, "wb") as file:
        book.save(file)
