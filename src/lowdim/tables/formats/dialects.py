"""How a text file is written: its encoding, delimiter and decimal sign."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np

from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.tables.errors import DataError
from lowdim.tables.options import Dialect

SAMPLE = 50  # records from which delimiter, header and decimal sign are guessed
_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "|", " ": "space"}
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})*|\d*),\d+([eE][+-]?\d+)?")


def delimiter_name(dialect: Dialect) -> str:
    """The delimiter in a word."""
    delimiter = dialect.delimiter or ","
    return _NAMES.get(delimiter, repr(delimiter))


def opened(path: Path, dialect: Dialect) -> TextIO:
    """Open the file in its encoding, line ends left to the CSV reader."""
    return open(path, encoding=dialect.encoding, newline="")


def encoding_of(path: Path) -> str:
    """The encoding that a byte order mark names, else UTF-8."""
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise DataError(
            f"{path} holds zero bytes, so it is not plain text; if it is UTF-16 without a byte "
            'order mark, set encoding="utf-16-le"; otherwise correct the ending of its name.'
        )
    return "utf-8"


@contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn errors of the encoding of a text file into one that says where and what to do."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(_wrong_encoding(path, error)) from error
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path}: {error}.") from error


def _wrong_encoding(path: Path, error: UnicodeDecodeError) -> str:
    """The message for a file that is not in the encoding it was read with."""
    number, byte = 1, error.object[error.start]
    if error.encoding.replace("-", "").startswith("utf8"):
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):  # noqa: B007
                try:
                    line.decode()
                except UnicodeDecodeError as here:
                    byte = line[here.start]
                    break
        return (
            f"{path} is not UTF-8: line {number} has the byte 0x{byte:02x}. Set its encoding, "
            f"{argument('encoding', 'latin-1')} for instance."
        )
    another = argument("encoding", ...)
    return f"{path} is not {error.encoding}: {error.reason}. Set another {another}."


def content(lines: Iterable[str], dialect: Dialect) -> Iterator[str]:
    """The lines with comments left empty, so that lines keep their numbers.

    A comment right above the data with as many fields as they have is their header.
    """
    if not dialect.comments:
        yield from lines
        return
    header, begun = "", False
    for line in lines:
        if not begun and line.startswith("#"):
            yield "\n" if not header else ""
            header = line.lstrip("#").lstrip()
            continue
        if not begun and line.strip():
            begun = True
            width = _fields(line, dialect)
            if header and width > 1 and _fields(header, dialect) == width:
                yield header
        yield "\n" if line.startswith("#") else line


def _fields(line: str, dialect: Dialect) -> int:
    if dialect.delimiter == " ":
        return len(line.split())
    return len(next(csv.reader([line], delimiter=dialect.delimiter or ","), []))


def _has_comments(lines: Sequence[str]) -> bool:
    """Whether the file begins with comments; if all lines begin with #, they are data."""
    known = [line for line in lines if line.strip()]
    return known[0].startswith("#") and not all(line.startswith("#") for line in known)


def records(path: Path, file: Iterable[str], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of its last line."""
    file = content(file, dialect)
    if dialect.delimiter == " ":
        file = (line if '"' in line else " ".join(line.split()) + "\n" for line in file)
    reader = csv.reader(
        file, delimiter=dialect.delimiter or ",", strict=True, skipinitialspace=True
    )
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:
        if "end of data" in str(error) or "field limit" in str(error):
            reason = "a quote is opened and never closed"
        else:
            reason = str(error)
        raise DataError(f"{path}, line {reader.line_num}: {reason}.") from error


def complete_dialect(path: Path, lines: Sequence[str], dialect: Dialect) -> Dialect:
    """Guess from the first lines what the dialect leaves open."""
    dialect = replace(dialect, comments=_has_comments(lines))
    if dialect.comments:
        lines = [line for line in lines if not line.startswith("#")]
    if dialect.delimiter is None:
        dialect = replace(dialect, delimiter=_delimiter(path, lines))
    elif len(dialect.delimiter) != 1:
        raise DataError(f"delimiter must be one character, got {dialect.delimiter!r}.")
    else:
        _check_delimiter(path, lines, dialect.delimiter)
    if dialect.decimal is None:
        decimal = "." if dialect.delimiter == "," else _decimal(path, lines, dialect)
        dialect = replace(dialect, decimal=decimal)
    return dialect


def _sample(path: Path, lines: Sequence[str], dialect: Dialect) -> list[list[str]]:
    """The first records, up to the first that cannot be parsed."""
    rows: list[list[str]] = []
    try:
        for _, row in records(path, lines, replace(dialect, comments=False)):
            rows.append(row)
    except DataError:
        pass
    return rows[:SAMPLE]


def _check_delimiter(path: Path, lines: Sequence[str], given: str) -> None:
    if any(len(row) > 1 for row in _sample(path, lines, Dialect(given))):
        return
    better = _delimiter(path, lines)
    if all(len(row) > 1 for row in _sample(path, lines, Dialect(better))):
        raise DataError(
            f"{path}: {argument('delimiter', given)} does not occur in the first lines, which look "
            f"separated by {_NAMES[better]} ({better!r})."
        )


def _delimiter(path: Path, lines: Sequence[str]) -> str:
    """The delimiter that gives most records the same number of fields, and the most of them."""
    best, chosen = (0.0, 0), ","
    for delimiter in _NAMES:
        widths = Counter(len(row) for row in _sample(path, lines, Dialect(delimiter)))
        widths.pop(1, None)
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        share = count / max(sum(1 for line in lines[:SAMPLE] if line.strip()), 1)
        if delimiter == " " and best[0] > 0:
            share /= 2  # spaces also occur inside fields
        if (round(share, 1), width) > best:
            best, chosen = (round(share, 1), width), delimiter
    return chosen


def _decimal(path: Path, lines: Sequence[str], dialect: Dialect) -> str:
    values = [v.strip() for row in _sample(path, lines, dialect) for v in row]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(v)) for v in values)
    points = sum("." in v and number(v) is not None for v in values)
    return "," if commas > points else "."


def number(value: str) -> float | None:
    """The value as a number with a decimal point, or None."""
    try:
        return float(value)
    except ValueError:
        return None


def converted(values: Sequence[str], dialect: Dialect) -> Array | None:
    """Numbers with NaN where a value is missing; None if something is not a number."""
    if dialect.decimal == ",":
        values = [v.replace(".", "").replace(",", ".") for v in values]
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        pass
    missing = set(dialect.missing)
    try:
        return np.array(
            [np.nan if v.strip() in missing else float(v) for v in values], dtype=np.float64
        )
    except ValueError:
        return None
