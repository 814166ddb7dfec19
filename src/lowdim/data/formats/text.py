"""CSV, TSV and their relatives, read in chunks."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from lowdim.checks import Array
from lowdim.data.errors import DataError, shortened
from lowdim.data.frame import Frame, Mixed
from lowdim.data.options import Dialect, Options
from lowdim.data.result import Result

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DELIMITERS = (",", "\t", ";", "|", " ")
_SAMPLE = 50  # records from which delimiter, header and decimal sign are told
_CHUNK = 1 << 18  # values that are strings at the same time
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})*|\d*),\d+([eE][+-]?\d+)?")
_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "|", " ": "space"}


class _NotNumbers(Exception):
    """A column taken for numbers holds something else."""

    def __init__(self, columns: Iterable[int]) -> None:
        self.columns = set(columns)


def read(path: Path, options: Options) -> Frame:
    """The columns of a delimited text file."""
    dialect = options.dialect
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
    try:
        return _read(path, replace(dialect, encoding=dialect.encoding or _encoding(path)))
    except UnicodeDecodeError as error:
        raise DataError(_not_text(path, error)) from error
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path}: {error}.") from error


def _read(path: Path, dialect: Dialect) -> Frame:
    with _open(path, dialect) as file:
        lines = list(itertools.islice(file, 4 * _SAMPLE))
    if not any(line.strip() for line in lines):
        raise DataError(f"{path} is empty: it holds nothing but blank lines.")
    dialect = _tell_dialect(path, lines, dialect)
    with _open(path, dialect) as file:
        rows = _records(path, file, dialect)
        sample = [row for _, row in itertools.islice(rows, _SAMPLE)]
    layout = _Layout.of(path, sample, dialect)
    numbers = _all_numbers(path, dialect, layout, sample)
    if numbers is not None:
        return layout.frame(numbers, {}, 1 + layout.header, dialect)
    textual: set[int] = set()
    while True:
        try:
            numbers, texts, first = _columns(path, dialect, layout, textual)
            break
        except _NotNumbers as found:
            textual |= found.columns
    return layout.frame(numbers, texts, first, dialect)


def _open(path: Path, dialect: Dialect) -> TextIO:
    return open(path, encoding=dialect.encoding, newline="")


def _encoding(path: Path) -> str:
    with open(path, "rb") as file:
        head = file.read(1 << 16)
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise DataError(
            f"{path} holds zero bytes, so it is not plain text; if it is UTF-16 without its mark, "
            "say --encoding utf-16-le, else give the file the ending of its true format."
        )
    return "utf-8"


def _not_text(path: Path, error: UnicodeDecodeError) -> str:
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
            f"{path} is not UTF-8: line {number} has the byte 0x{byte:02x}. Say how it is encoded, "
            "--encoding latin-1 for instance."
        )
    return f"{path} is not {error.encoding}: {error.reason}. Choose another --encoding."


def _records(path: Path, file: Iterable[str], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the number of its last line."""
    if dialect.delimiter == " ":
        file = (line.strip() + "\n" for line in file)
    reader = csv.reader(
        file, delimiter=dialect.delimiter or ",", strict=True, skipinitialspace=True
    )
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:
        if "end of data" in str(error) or "field limit" in str(error):
            reason = "a quote that is opened is never closed"
        else:
            reason = str(error)
        raise DataError(f"{path}, line {reader.line_num}: {reason}.") from error


# --- telling how the file is written -------------------------------------------------------


def _tell_dialect(path: Path, lines: Sequence[str], dialect: Dialect) -> Dialect:
    if dialect.delimiter is None:
        dialect = replace(dialect, delimiter=_delimiter(path, lines))
    elif len(dialect.delimiter) != 1:
        raise DataError(f"The delimiter must be one character, got {dialect.delimiter!r}.")
    else:
        _check_delimiter(path, lines, dialect.delimiter)
    if dialect.decimal is None:
        decimal = "." if dialect.delimiter == "," else _decimal(path, lines, dialect)
        dialect = replace(dialect, decimal=decimal)
    return dialect


def _sampled(path: Path, lines: Sequence[str], dialect: Dialect) -> list[list[str]]:
    """The first records, as far as they are in order."""
    rows: list[list[str]] = []
    try:
        for _, row in _records(path, lines, dialect):
            rows.append(row)
    except DataError:
        pass
    return rows[:_SAMPLE]


def _check_delimiter(path: Path, lines: Sequence[str], given: str) -> None:
    if any(len(row) > 1 for row in _sampled(path, lines, Dialect(given))):
        return
    better = _delimiter(path, lines)
    if all(len(row) > 1 for row in _sampled(path, lines, Dialect(better))):
        raise DataError(
            f"{path}: --delimiter {given!r} stands nowhere in the first lines, which look "
            f"separated by {_NAMES[better]} ({better!r})."
        )


def _delimiter(path: Path, lines: Sequence[str]) -> str:
    """The delimiter that gives most records the same number of fields, and the most of them."""
    if path.suffix.lower() in (".tsv", ".tab") and any("\t" in line for line in lines):
        return "\t"
    best, chosen = (0.0, 0), ","
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in _sampled(path, lines, Dialect(delimiter)))
        widths.pop(1, None)
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        share = count / max(sum(1 for line in lines[:_SAMPLE] if line.strip()), 1)
        if delimiter == " " and best[0] > 0:
            share /= 2  # spaces also stand inside of fields
        if (round(share, 1), width) > best:
            best, chosen = (round(share, 1), width), delimiter
    return chosen


def _decimal(path: Path, lines: Sequence[str], dialect: Dialect) -> str:
    values = [v.strip() for row in _sampled(path, lines, dialect) for v in row]
    commas = sum(bool(_COMMA.fullmatch(v)) for v in values)
    points = sum("." in v and _number(v) is not None for v in values)
    return "," if commas > points else "."


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


# --- names and columns -----------------------------------------------------------------------


@dataclass
class _Layout:
    """Where the columns are and what they are called."""

    names: list[str]
    width: int
    header: bool
    row_names: bool  # the header has no field for the first column, as R writes it
    notes: list[str]

    @classmethod
    def of(cls, path: Path, sample: list[list[str]], dialect: Dialect) -> _Layout:
        notes = []
        if dialect.delimiter != ",":
            notes.append(f"fields are separated by {_NAMES.get(dialect.delimiter or '', 'it')}")
        if dialect.decimal == ",":
            notes.append("numbers are written with a decimal comma")
        first = [v.strip() for v in sample[0]]
        below = sample[1:]
        row_names = bool(below) and all(len(row) == len(first) + 1 for row in below)
        header = dialect.header
        if header is None:
            header = row_names or _is_header(first, below, dialect)
        row_names = row_names and header
        width = len(first) + row_names
        if not header:
            notes.append("no line of column names was found: columns are named x0, x1, ...")
            return cls([f"x{i}" for i in range(width)], width, header, row_names, notes)
        names = ["", *first] if row_names else first
        return cls(_distinct(names, notes), width, header, row_names, notes)

    def frame(self, numbers: Array, texts: dict[int, Array], first: int, dialect: Dialect) -> Frame:
        numeric = [i for i in range(self.width) if i not in texts]
        names = [self.names[i] for i in numeric]
        empty = [
            place
            for place, name in enumerate(names)
            if not name.strip() or name.startswith("column ")
            if np.isnan(numbers[:, place]).all()
        ]
        for place in reversed(empty):  # what a delimiter at the end of every line makes
            self.names.remove(names.pop(place))
            numbers = np.delete(numbers, place, axis=1)
        columns = {self.names[i]: values for i, values in texts.items()}
        return Frame(
            numbers,
            names,
            columns,
            mixed=_mixed(columns, dialect),
            notes=self.notes,
            order=self.names,
            first_line=first,
        )


def _is_header(first: list[str], below: list[list[str]], dialect: Dialect) -> bool:
    def numeric(value: str) -> bool:
        return _converted([value], dialect) is not None

    if not below:
        return not all(numeric(v) for v in first)
    for place, name in enumerate(first):
        values = [row[place].strip() for row in below if place < len(row)]
        if not numeric(name) and values and all(numeric(v) for v in values):
            return True
    counted = [v for v in first if numeric(v)]
    if len(counted) > 2 and len(counted) < len(first):
        # A table that starts "name, 0, 1, 2, ..." has numbers for names.
        return counted in (
            [str(i) for i in range(len(counted))],
            [str(i + 1) for i in range(len(counted))],
        )
    if counted:
        return False
    seen = {(place, v.strip()) for row in below for place, v in enumerate(row)}
    return len(set(first)) == len(first) and not any(item in seen for item in enumerate(first))


def _distinct(names: list[str], notes: list[str]) -> list[str]:
    """Names that differ: a repeated name gets a number."""
    taken: set[str] = set()
    distinct: list[str] = []
    for place, name in enumerate(names):
        free = name = name or ("" if place == 0 else f"column {place + 1}")
        count = 2
        while free in taken:
            free, count = f"{name}.{count}", count + 1
        if free != name:
            notes.append(f"a second column called {shortened(name)!r} was renamed {free!r}")
        taken.add(free)
        distinct.append(free)
    return distinct


def _all_numbers(
    path: Path, dialect: Dialect, layout: _Layout, sample: list[list[str]]
) -> Array | None:
    """A file of nothing but numbers, by NumPy's own reader; None if it is something else."""
    rows = sample[layout.header :]
    if not rows or dialect.decimal == "," or layout.row_names:
        return None
    if any(len(row) != layout.width or not all(map(_is_number, row)) for row in rows):
        return None
    delimiter = None if dialect.delimiter == " " else dialect.delimiter
    with _open(path, dialect) as file:
        try:
            return np.loadtxt(
                file,
                delimiter=delimiter,
                comments=None,
                quotechar='"',
                skiprows=int(layout.header),
                ndmin=2,
            )
        except ValueError as error:
            if isinstance(error, UnicodeError):
                raise
            return None  # the slow way finds out where and why


def _is_number(value: str) -> bool:
    return _number(value) is not None


def _columns(
    path: Path, dialect: Dialect, layout: _Layout, textual: set[int]
) -> tuple[Array, dict[int, Array], int]:
    """All rows: the columns of numbers as one array, the textual ones each as objects."""
    numeric = [i for i in range(layout.width) if i not in textual]
    blocks: list[Array] = []
    texts: dict[int, list[str | None]] = {i: [] for i in sorted(textual)}
    missing = set(dialect.missing)
    first_line = 0
    with _open(path, dialect) as file:
        rows = _whole(path, _records(path, file, dialect), layout, dialect)
        if layout.header:
            next(rows)
        while chunk := list(itertools.islice(rows, max(1, _CHUNK // layout.width))):
            first_line = first_line or chunk[0][0]
            records = [row for _, row in chunk]
            blocks.append(_numbers(records, numeric, dialect))
            for i, values in texts.items():
                stripped = (row[i].strip() for row in records)
                values.extend(None if v in missing else v for v in stripped)
    if not blocks:
        raise DataError(f"{path} holds column names but no rows.")
    objects = {i: np.array(values, dtype=object) for i, values in texts.items()}
    numbers = np.concatenate(blocks) if len(blocks) > 1 else blocks[0]
    return numbers, objects, first_line


def _whole(
    path: Path, rows: Iterator[tuple[int, list[str]]], layout: _Layout, dialect: Dialect
) -> Iterator[tuple[int, list[str]]]:
    """The rows, or an error that names the first of another length."""
    for place, (number, row) in enumerate(rows):
        width = layout.width - (layout.row_names and place == 0)
        if len(row) != width:
            raise DataError(
                f"{path}, line {number} has {len(row)} field{'s'[: len(row) != 1]}, but the first "
                f"line promises {width}. Mend that line, or say which --delimiter the file has "
                f"({_NAMES.get(dialect.delimiter or '', dialect.delimiter)} was taken)."
            )
        yield number, row


def _numbers(records: list[list[str]], numeric: list[int], dialect: Dialect) -> Array:
    if numeric and dialect.decimal != ",":
        every = len(numeric) == len(records[0])
        rows = records if every else [[row[i] for i in numeric] for row in records]
        try:
            return np.array(rows, dtype=np.float64)  # all in one go where nothing is missing
        except ValueError:
            pass
    columns = list(zip(*records, strict=True))
    block = np.empty((len(records), len(numeric)))
    wrong: list[int] = []
    for place, i in enumerate(numeric):
        values = _converted(columns[i], dialect)
        if values is None:
            wrong.append(i)
        else:
            block[:, place] = values
    if wrong:
        raise _NotNumbers(wrong)
    return block


def _converted(values: Sequence[str], dialect: Dialect) -> Array | None:
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


def _mixed(texts: dict[str, Array], dialect: Dialect) -> dict[str, Mixed]:
    """Columns of which most values are numbers, but not all."""
    mixed = {}
    for name, values in texts.items():
        known = [(row, v) for row, v in enumerate(values) if v is not None]
        others = [(row, v) for row, v in known if _converted([v], dialect) is None]
        numbers = len(known) - len(others)
        if others and numbers > len(known) / 2:
            mixed[name] = Mixed(*others[0], numbers)
    return mixed


# --- writing ----------------------------------------------------------------------------------


def write(path: Path, result: Result) -> None:
    """Named columns as text; numbers with as many digits as tell them apart."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        columns = result.columns()
        writer.writerow(columns)
        for part in range(0, result.n_rows, _CHUNK):
            cut = [_plain(values[part : part + _CHUNK]) for values in columns.values()]
            writer.writerows(zip(*cut, strict=True))


def _plain(values: Array) -> list[Any]:
    if values.dtype.kind == "f":
        return ["" if v == "nan" else v for v in values.astype(str).tolist()]
    return ["" if v is None else v for v in values.tolist()]
