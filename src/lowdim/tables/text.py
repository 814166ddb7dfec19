"""CSV, TSV and other delimited text, by pyarrow where it is installed and reads the file alike.

How the file is written is guessed from its first records. Python's `csv` reads what pyarrow does
not (any white space as delimiter, comments, spaces before quotes), and finds the line of an error.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.messages import argument, plural
from lowdim.runtime.context import current
from lowdim.tables.columns import Frame, dates_of, may_describe_objects
from lowdim.tables.distances import from_triangle, triangle_shape
from lowdim.tables.errors import DataError, shorten
from lowdim.tables.formats import Options

_SAMPLE = 50  # records from which delimiter, header and decimal sign are guessed
_CHUNK = 1 << 16  # values that are held as strings at the same time
_NAMES = {",": "comma", "\t": "tab", ";": "semicolon", "|": "|", " ": "space"}
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})*|\d*),\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?")
_TRUTH = {"true": 1.0, "false": 0.0}


def read_text(path: Path, options: Options) -> Frame:
    """Read the columns of a delimited text file."""
    with open(path, "rb") as file:
        head = file.read(100).lstrip().lower()
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
    if head.startswith((b"<!doctype html", b"<html")):
        raise DataError(f"{path} is a web page, not a table; perhaps a download went wrong.")
    with encoding_errors(path):
        return _TextFile(path, options).frame()


def _encoding(path: Path, head: bytes) -> str:
    """The encoding that a byte order mark names, else UTF-8."""
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise DataError(
            f"{path} holds zero bytes, so it is not plain text; if it is UTF-16 without a byte "
            f"order mark, set {argument('encoding', 'utf-16-le')}; otherwise correct the ending "
            "of its name."
        )
    return "utf-8"


@contextmanager
def encoding_errors(path: Path) -> Iterator[None]:
    """Turn errors of the encoding of a text file into one that says where and what to do."""
    try:
        yield
    except (LookupError, UnicodeError) as error:
        if isinstance(error, UnicodeDecodeError) and error.encoding.startswith("utf-8"):
            for number, line in enumerate(path.read_bytes().splitlines(), start=1):
                try:
                    line.decode()
                except UnicodeDecodeError as wrong:
                    raise DataError(
                        f"{path} is not UTF-8: line {number} has the byte "
                        f"0x{line[wrong.start]:02x}. Set its encoding, "
                        f"{argument('encoding', 'latin-1')} for instance."
                    ) from error
        raise DataError(f"{path}: {error}. Set another {argument('encoding', ...)}.") from error


class _TextFile:
    """A text file, with what is known or guessed of how it is written."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path, self.options, self.missing = path, options, frozenset(options.missing)
        self.decimal, self.notes = options.decimal or ".", list[str]()
        with open(path, "rb") as file:
            head = file.read(1 << 16)
        self.encoding = options.encoding or _encoding(path, head)
        with self._open() as file:
            lines = list(islice(file, 4 * _SAMPLE))
        known = [line for line in lines if line.strip()]
        if not known:
            raise DataError(f"{path} is empty: all its lines are blank.")
        hashed = [line.startswith("#") for line in known]
        self.comments = hashed[0] and not all(hashed)  # if all lines begin with #, they are data
        body = [line for line in lines if not (self.comments and line.startswith("#"))]
        tabs = options.ending in (".tsv", ".tab") and b"\t" in head
        self.delimiter = self._delimiter(body, options.delimiter or ("\t" if tabs else None))
        if self.delimiter != ",":
            self.decimal = options.decimal or self._decimal(body)
            self.notes.append(f"fields are separated by {self._delimiter_name}")
        if self.decimal == ",":
            self.notes.append("numbers are written with a decimal comma")

    @property
    def _delimiter_name(self) -> str:
        return _NAMES.get(self.delimiter, repr(self.delimiter))

    def _open(self) -> Any:
        return open(self.path, encoding=self.encoding, newline="")

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The rows that are not blank, each with the number of its last line."""
        with self._open() as file:
            lines = _without_comments(file, self.delimiter) if self.comments else file
            yield from _records(self.path, lines, self.delimiter)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The records below the header; the first of another length is an error."""
        for place, (line, row) in enumerate(self.records()):
            width = self.width - (self.row_names and place == 0)
            if len(row) != width:
                raise DataError(
                    f"{self.path}, line {line} has {plural(len(row), 'field')}, but the "
                    f"first line has {width:,}. Correct that line, or set "
                    f"{argument('delimiter', ...)} if the fields are not separated by "
                    f"{self._delimiter_name}."
                )
            if place or not self.header:
                yield line, row

    # --- the dialect

    def _sample(self, lines: Sequence[str], delimiter: str) -> list[list[str]]:
        """The first records, up to the first that cannot be parsed."""
        rows: list[list[str]] = []
        with suppress(DataError):
            rows.extend(row for _, row in islice(_records(self.path, lines, delimiter), _SAMPLE))
        return rows

    def _delimiter(self, lines: Sequence[str], chosen: str | None) -> str:
        """The delimiter that is set, or else the one that gives most records the same number of
        fields, and the most fields."""
        if chosen is not None and len(chosen) != 1:
            raise DataError(f"{argument('delimiter')} must be one character, got {chosen!r}.")
        if chosen is not None and (
            self.options.prose or any(len(row) > 1 for row in self._sample(lines, chosen))
        ):
            return chosen
        best, guess = (0.0, 0), ","
        for delimiter in [one for one in _NAMES if one != " " or not self.options.prose]:
            widths = Counter(len(row) for row in self._sample(lines, delimiter))
            widths.pop(1, None)
            if not widths:
                continue
            width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
            share = count / max(sum(1 for line in lines[:_SAMPLE] if line.strip()), 1)
            if delimiter == " " and best[0] > 0:
                share /= 2  # spaces also occur inside fields
            if (round(share, 1), width) > best:
                best, guess = (round(share, 1), width), delimiter
        if chosen is not None and all(len(row) > 1 for row in self._sample(lines, guess)):
            raise DataError(
                f"{self.path}: {argument('delimiter', chosen)} does not occur in the first "
                f"lines, which look separated by {_NAMES[guess]} ({guess!r})."
            )
        return chosen or guess

    def _decimal(self, lines: Sequence[str]) -> str:
        rows = self._sample(lines, self.delimiter)
        values = [value.strip() for row in rows for value in row]
        commas = sum(_DECIMAL_COMMA.fullmatch(value) is not None for value in values)
        points = sum("." in value and self._is_number(value) for value in values)
        return "," if commas > points else "."

    def _number(self, value: str) -> float:
        """The number in a field, NaN if it is missing; ValueError if it is something else."""
        value = value.strip()
        if value in self.missing:
            return np.nan
        if self.decimal == ",":
            if "." in value and not _THOUSANDS.fullmatch(value):
                raise ValueError
            value = value.replace(".", "").replace(",", ".")
        return float(value)

    def _is_number(self, value: str) -> bool:
        with suppress(ValueError):
            self._number(value)
            return True
        return False

    def _name_columns(self, sample: list[list[str]]) -> None:
        first, below = [value.strip() for value in sample[0]], sample[1:]
        longer = bool(below) and all(len(row) == len(first) + 1 for row in below)
        self.header = self.options.header
        if self.header is None:
            self.header = longer or self._is_header(first, below)
        self.row_names = longer and self.header  # as R writes them: no field for the first column
        self.width = len(first) + self.row_names
        if self.header:
            self.names = distinct_names(["", *first] if self.row_names else first, self.notes)
        else:
            self.names = [f"x{i}" for i in range(self.width)]
            self.notes.append("the file has no header: columns are named x0, x1, ...")

    def _is_header(self, first: list[str], below: list[list[str]]) -> bool:
        if not below:
            return not all(map(self._is_number, first))
        for place, name in enumerate(first):
            values = [row[place] for row in below if place < len(row)]
            if not self._is_number(name) and values and all(map(self._is_number, values)):
                return True
        numbers = [value for value in first if self._is_number(value)]
        if 2 < len(numbers) < len(first):  # a table that starts "name, 0, 1, 2, ..."
            return any(numbers == [str(i + k) for i in range(len(numbers))] for k in (0, 1))
        if numbers:
            return False
        seen = {(place, value.strip()) for row in below for place, value in enumerate(row)}
        return len(set(first)) == len(first) and not any(item in seen for item in enumerate(first))

    # --- values

    def frame(self) -> Frame:
        """All columns: of numbers, of dates, or of text."""
        sample = [row for _, row in islice(self.records(), _SAMPLE)]
        if triangle_shape(sample) is not None:
            rows = [[value.strip() for value in row] for _, row in self.records()]
            return from_triangle(rows, self._number, str(self.path))
        self._name_columns(sample)
        body = sample[bool(self.header) :]
        numeric = {
            place
            for place in range(self.width)
            if not may_describe_objects(self.names[place], place == 0)
            and all(place < len(row) and self._is_number(row[place]) for row in body)
        }
        columns = {}
        self.read = dict(zip(self.names, self._read(range(self.width), numeric), strict=True))
        for name, values in self.read.items():
            column = self._convert(values) if isinstance(values, list) else values
            unnamed = not name.strip() or name.startswith("column ")
            if unnamed and column.dtype == np.float64 and np.isnan(column).all():
                continue  # from a delimiter at the end of every line
            columns[name] = column
        if len(values) == 0:
            raise DataError(f"{self.path} holds column names but no rows.")
        return Frame(
            columns,
            notes=self.notes,
            line=lambda row: next(line for line, _ in islice(self.rows(), row, None)),
            strings=self._strings,
            is_number=self._is_number,
        )

    def _strings(self, name: str) -> Array:
        values = self.read[name]
        if not isinstance(values, list):
            (values,) = self._read([self.names.index(name)], frozenset())
        return np.array(values, dtype=object)

    def _or_none(self, values: Iterable[str]) -> list[str | None]:
        return [None if value in self.missing else value for value in values]

    def _convert(self, known: list[str | None]) -> Array:
        """Strings as numbers if all are numbers, or all True or False; else as dates or text."""
        distinct = {value for value in known if value is not None}
        if all(value.lower() in _TRUTH for value in distinct):
            codes = {value: _TRUTH[value.lower()] for value in distinct}
            return np.array([np.nan if v is None else codes[v] for v in known])
        with suppress(ValueError):
            if self.decimal == "." and None not in known:
                return np.array(known, dtype=np.float64)
            numbers = {value: self._number(value) for value in distinct}
            return np.array([np.nan if v is None else numbers[v] for v in known])
        return dates_of(np.array(known, dtype=object))

    def _read(self, places: Sequence[int], numeric: AbstractSet[int]) -> list[Any]:
        """Some columns: floats where they are numeric, else strings, or None where one is missing;
        all are strings if a column is not numeric after all."""
        for read in [self._by_arrow] * self._suits_arrow + [self._by_rows]:
            for numbers in (numeric, frozenset[int]()):
                try:
                    return read(places, numbers)
                except DataError:
                    raise
                except ValueError:  # a value that is no number; of pyarrow, also a ragged row
                    continue
        raise AssertionError("strings can always be read")

    @cached_property
    def _suits_arrow(self) -> bool:
        """Whether pyarrow is there and would read the file as `csv` does: no comments, no quote
        that stays open or follows a space."""
        try:
            import pyarrow.csv  # noqa: F401
        except ImportError:
            return False
        if self.width < 2 or self.comments or self.delimiter == " ":
            return False
        if self.encoding.lower().startswith(("utf-16", "utf-32")):  # whose quotes are not searched
            return False
        self.quotes, end = 0, b"\n"
        delimiter = re.escape(self.delimiter.encode())
        spaced = re.compile(b"[\n\r\xbf" + delimiter + b'] +"')  # also after a byte order mark
        with open(self.path, "rb") as file:
            while block := file.read(1 << 20):
                n_quotes = block.count(b'"')
                if n_quotes and spaced.search(end + block):
                    return False
                self.quotes += n_quotes
                end = block[-8:]
        return self.quotes % 2 == 0

    def _by_arrow(self, places: Sequence[int], numeric: AbstractSet[int]) -> list[Any]:
        import pyarrow as arrow
        from pyarrow import compute
        from pyarrow import csv as arrow_csv

        table = arrow_csv.read_csv(
            self.path,
            arrow_csv.ReadOptions(
                column_names=[str(place) for place in range(self.width)],
                skip_rows=next(self.records())[0] if self.header else 0,
                encoding=self.encoding.replace("utf-8-sig", "utf-8"),
                block_size=max(1 << 22, 256 * self.width),  # of some rows at least
                use_threads=current().threads > 1,
            ),
            arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=self.quotes > 0),
            arrow_csv.ConvertOptions(
                include_columns=[str(place) for place in places],
                column_types={
                    str(p): arrow.float64() if p in numeric else arrow.string() for p in places
                },
                null_values=list(self.missing),
                decimal_point=self.decimal,
            ),
        )
        return [  # not by `to_numpy`, which would import pandas, which takes most of a second
            np.concatenate(
                [np.from_dlpack(part.fill_null(np.nan)) for part in column.chunks if len(part)]
            )
            if place in numeric
            else self._or_none(compute.utf8_trim_whitespace(column).to_pylist())
            for place, column in zip(places, table.columns, strict=True)
        ]

    def _by_rows(self, places: Sequence[int], numeric: AbstractSet[int]) -> list[Any]:
        columns: list[Any] = [array("d") if place in numeric else [] for place in places]
        rows = (row for _, row in self.rows())
        while chunk := list(islice(rows, max(1, _CHUNK // self.width))):
            parts = list(zip(*chunk, strict=True))
            for place, column in zip(places, columns, strict=True):
                values = parts[place]
                column.extend(
                    map(self._number, values)
                    if place in numeric
                    else self._or_none(value.strip() for value in values)
                )
        return [np.asarray(c) if isinstance(c, array) else c for c in columns]


def _records(path: Path, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    if delimiter == " ":
        lines = (line if '"' in line else " ".join(line.split()) + "\n" for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:
        reason = str(error)
        if "end of data" in reason or "field limit" in reason:
            reason = "a quote is opened and never closed"
        raise DataError(f"{path}, line {reader.line_num}: {reason}.") from error


def _without_comments(lines: Iterable[str], delimiter: str) -> Iterator[str]:
    """The lines with comments left empty, so that lines keep their numbers.

    A comment right above the data with as many fields as they have is their header.
    """

    def n_fields(line: str) -> int:
        if delimiter == " ":
            return len(line.split())
        return len(next(csv.reader([line], delimiter=delimiter), []))

    header, begun = "", False
    for line in lines:
        if not begun and line.startswith("#"):
            yield "\n" if not header else ""
            header = line.lstrip("#").lstrip()
            continue
        if not begun and line.strip():
            begun = True
            if header and n_fields(header) == n_fields(line) > 1:
                yield header
        yield "\n" if line.startswith("#") else line


def distinct_names(names: list[str], notes: list[str]) -> list[str]:
    """Names that differ: a repeated name gets a number."""
    distinct: dict[str, None] = {}
    for place, name in enumerate(names):
        free = name = name or ("" if place == 0 else f"column {place + 1}")
        count = 2
        while free in distinct:
            free, count = f"{name}.{count}", count + 1
        if free != name:
            notes.append(f"a second column called {shorten(name)!r} was renamed {free!r}")
        distinct[free] = None
    return list(distinct)
