"""JSON lines: one object, or one list of numbers, a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lowdim.tables.errors import DataError
from lowdim.tables.formats.dialects import decoding
from lowdim.tables.formats.values import frame_of, rows_of
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options
from lowdim.tables.result import Result


def read(path: Path, options: Options) -> Frame:
    """The keys of the objects are columns; a key that a line lacks is a missing value."""
    records: list[dict[str, Any]] = []
    with decoding(path), open(path, encoding=options.dialect.encoding or "utf-8") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                records.append(_record(path, number, line))
    if not records:
        raise DataError(f"{path} is empty.")
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = {name: [record.get(name) for record in records] for name in names}
    return frame_of(columns, str(path), options.dialect.missing)


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise DataError(f"{path}, line {number} is not JSON: {error}.") from error
    if isinstance(found, list):
        return {f"x{place}": value for place, value in enumerate(found)}
    if not isinstance(found, dict):
        raise DataError(f"{path}, line {number} is neither a JSON object nor a list.")
    return found


def write(path: Path, result: Result) -> None:
    """One object a line, its keys the columns."""
    columns = result.columns()
    with open(path, "w", encoding="utf-8") as file:
        for row in rows_of(columns):
            record = dict(zip(columns, row, strict=True))
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
