"""CSV, TSV and other delimited text, by pyarrow where it is installed and reads the file alike.

How the file is written is guessed from its first records. Python's `csv` reads what pyarrow does
not (any white space as delimiter, comments, spaces before quotes), and finds the line of an error.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.runtime.context import current
from lowdim.tables.columns import Frame, Mixed, frame_of, may_describe_objects
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
_NUMBER_STARTS = frozenset("0123456789+-.,iInN")  # also of inf and nan
_TRUTH = {"true": 1.0, "false": 0.0}


def read_text(path: Path, options: Options) -> Frame:
    """Read the columns of a delimited text file."""
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty.")
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
    except UnicodeDecodeError as error:
        if not error.encoding.replace("-", "").startswith("utf8"):
            another = argument("encoding", ...)
            raise DataError(
                f"{path} is not {error.encoding}: {error.reason}. Set another {another}."
            ) from error
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):  # noqa: B007
                wrong = re.search(r"[\udc80-\udcff]", line.decode(errors="surrogateescape"))
                if wrong:
                    break
        byte = ord(wrong[0]) - 0xDC00 if wrong else error.object[error.start]
        raise DataError(
            f"{path} is not UTF-8: line {number} has the byte 0x{byte:02x}. Set its encoding, "
            f"{argument('encoding', 'latin-1')} for instance."
        ) from error
    except (LookupError, UnicodeError) as error:
        raise DataError(f"{path}: {error}.") from error


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

    # --- records

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
                    f"{self.path}, line {line} has {len(row)} field{'s'[: len(row) != 1]}, but the "
                    f"first line has {width}. Correct that line, or set "
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
        """The delimiter that is set, or else the best one."""
        if chosen is None:
            return self._best_delimiter(lines)
        if len(chosen) != 1:
            raise DataError(f"{argument('delimiter')} must be one character, got {chosen!r}.")
        alone = all(len(row) == 1 for row in self._sample(lines, chosen))
        if alone and not self.options.prose:
            better = self._best_delimiter(lines)
            if all(len(row) > 1 for row in self._sample(lines, better)):
                raise DataError(
                    f"{self.path}: {argument('delimiter', chosen)} does not occur in the first "
                    f"lines, which look separated by {_NAMES[better]} ({better!r})."
                )
        return chosen

    def _best_delimiter(self, lines: Sequence[str]) -> str:
        """The delimiter that gives most records the same number of fields, and the most fields."""
        best, chosen = (0.0, 0), ","
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
                best, chosen = (round(share, 1), width), delimiter
        return chosen

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
        try:
            self._number(value)
        except ValueError:
            return False
        return True

    # --- names of the columns

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
            self.notes.append("no line of column names was found: columns are named x0, x1, ...")

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
        """All columns; those that may be ids or labels are kept as strings, too."""
        sample = [row for _, row in islice(self.records(), _SAMPLE)]
        if _triangle_shape(sample) is not None:
            return self._triangle()
        self._name_columns(sample)
        exact = {
            name
            for place, name in enumerate(self.names)
            if self.width == 3  # perhaps pairs of objects
            or self.options.exact(name)
            or may_describe_objects(name, place == 0)
        }
        named: dict[str, Array] = {}
        mixed: dict[str, Mixed] = {}
        strings: dict[str, Array] = {}
        columns = self._columns(sample[bool(self.header) :], exact)
        if len(columns[0]) == 0:
            raise DataError(f"{self.path} holds column names but no rows.")
        for name, values in zip(self.names, columns, strict=True):
            column, mixture = values, None
            if isinstance(values, list):
                known = [None if (v := value.strip()) in self.missing else v for value in values]
                column, mixture = self._convert(known)
                strings |= {name: np.array(known, dtype=object)} if name in exact else {}
            unnamed = not name.strip() or name.startswith("column ")
            if unnamed and column.dtype != object and np.isnan(column).all():
                continue  # from a delimiter at the end of every line
            named[name] = column
            mixed |= {} if mixture is None else {name: mixture}
        return frame_of(
            named,
            mixed=mixed,
            notes=self.notes,
            line=lambda row: next(line for line, _ in islice(self.rows(), row, None)),
            stored=strings.get,
        )

    def _columns(self, sample: list[list[str]], exact: set[str]) -> list[Any]:
        """The values of all columns: floats where the sample holds numbers, else strings."""
        numeric = {
            place
            for place, name in enumerate(self.names)
            if name not in exact
            and all(place < len(row) and self._is_number(row[place]) for row in sample)
        }
        readers: list[Callable[[set[int]], list[Any]]] = [self._by_rows]
        if self._suits_arrow:
            readers.insert(0, self._by_arrow)
        for read in readers:
            for columns in (numeric, set[int]()):
                try:
                    return read(columns)
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
        quotes, end = 0, b"\n"
        delimiter = re.escape(self.delimiter.encode())
        spaced = re.compile(b"[\n\r\xbf" + delimiter + b'] +"')  # also after a byte order mark
        with open(self.path, "rb") as file:
            while block := file.read(1 << 20):
                n_quotes = block.count(b'"')
                if n_quotes and spaced.search(end + block):
                    return False
                quotes += n_quotes
                end = block[-8:]
        return quotes % 2 == 0

    def _by_arrow(self, numeric: set[int]) -> list[Any]:
        import pyarrow as arrow
        from pyarrow import csv as arrow_csv

        names = [str(place) for place in range(self.width)]
        table = arrow_csv.read_csv(
            self.path,
            arrow_csv.ReadOptions(
                column_names=names,
                skip_rows=next(self.records())[0] if self.header else 0,
                encoding=self.encoding.replace("utf-8-sig", "utf-8"),
                block_size=max(1 << 20, 256 * self.width),  # of some rows at least
                use_threads=current().threads > 1,
            ),
            arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types={
                    name: arrow.float64() if place in numeric else arrow.string()
                    for place, name in enumerate(names)
                },
                null_values=list(self.missing),
                decimal_point=self.decimal,
            ),
        )
        return [
            np.concatenate([_floats(chunk) for chunk in column.chunks if len(chunk)])
            if place in numeric
            else column.to_pylist()
            for place, column in enumerate(table.columns)
        ]

    def _by_rows(self, numeric: set[int]) -> list[Any]:
        columns: list[Any] = [array("d") if p in numeric else [] for p in range(self.width)]
        rows = (row for _, row in self.rows())
        while chunk := list(islice(rows, max(1, _CHUNK // self.width))):
            for place, (column, values) in enumerate(
                zip(columns, zip(*chunk, strict=True), strict=True)
            ):
                column.extend(map(self._number, values) if place in numeric else values)
        return [np.frombuffer(c) if isinstance(c, array) and c else c for c in columns]

    def _convert(self, known: list[str | None]) -> tuple[Array, Mixed | None]:
        """Strings as numbers if all are numbers, or all True or False; else as they are, with the
        first that is no number if most are numbers."""
        distinct = {value for value in known if value is not None}
        if all(value.lower() in _TRUTH for value in distinct):
            codes = {value: _TRUTH[value.lower()] for value in distinct}
            return np.array([np.nan if v is None else codes[v] for v in known]), None
        with suppress(ValueError):
            numbers = {value: self._number(value) for value in distinct}
            return np.array([np.nan if v is None else numbers[v] for v in known]), None
        others = {
            value
            for value in distinct
            if value[0] not in _NUMBER_STARTS or not self._is_number(value)
        }
        column = np.array(known, dtype=object)
        if len(others) == len(distinct):
            return column, None
        wrong = [row for row, value in enumerate(known) if value in others]
        n_numbers = sum(value is not None for value in known) - len(wrong)
        if n_numbers <= len(wrong):
            return column, None
        return column, Mixed(wrong[0], column[wrong[0]], n_numbers)

    # --- one triangle of a matrix of distances, each line longer than the last

    def _triangle(self) -> Frame:
        """The full matrix of a triangle with or without diagonal, header and names."""
        rows = [[value.strip() for value in row] for _, row in self.records()]
        shape = _triangle_shape(rows)
        if shape is None:
            raise DataError(
                f"{self.path} begins as a triangle of distances, but not all lines are longer (or "
                "shorter) by one field than the line before."
            )
        first, step = shape
        header, body = rows[0] if first else [], rows[first:]
        named = not all(self._is_number(row[0]) for row in body)
        names = [row[0] for row in body] if named else None
        fields = [row[named:][::step] for row in body][::step]  # from below, it is a lower triangle
        fields = fields[not fields[0] :]  # the first object may be named, with no distance yet
        wrong = next(
            (p for p, row in enumerate(fields) if not all(map(self._is_number, row))), None
        )
        if wrong is not None:
            raise DataError(f"{self.path}: line {wrong + 1} of the triangle holds something else.")
        values = [[self._number(value) for value in row] for row in fields]
        diagonal = all(row[-1] == 0 for row in values)
        n = len(values) + (not diagonal)
        D = np.zeros((n, n))
        for end, row in enumerate(values, start=not diagonal):
            D[end, : len(row)] = D[: len(row), end] = row
        D = D[::step, ::step].copy()
        if names is not None and len(names) != n:
            names = _all_names(names, header, n)
        names = names or (header[-n:] if len(header) >= n else None)
        part = "lower" if step > 0 else "upper"
        note = f"{part} triangle {'with' if diagonal else 'without'} diagonal"
        return Frame(
            D,
            notes=[f"{note}: completed to distances between {n} objects"],
            ids=None if names is None else np.array(names, dtype=object),
        )


def _floats(chunk: Any) -> Array:
    """An Arrow array of floats; `to_numpy` would import pandas, which takes most of a second."""
    return np.from_dlpack(chunk.fill_null(np.nan))


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


def _triangle_shape(rows: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """The first record of a triangle (0, or 1 after a header) and the step of its lengths; None
    with fewer than three lines, or if they do not all grow or all shrink by one field."""
    for first in (0, 1):
        steps = np.diff([len(row) for row in rows[first:]])
        if len(steps) >= 2 and abs(steps[0]) == 1 and (steps == steps[0]).all():
            return first, int(steps[0])
    return None


def _all_names(names: list[str], header: list[str], n: int) -> list[str] | None:
    """Names of all n objects where one of them has no line of its own but a column."""
    others = [name for name in header if name and name not in names]
    if len(names) == n - 1 and len(others) == 1:
        return [others[0], *names] if header.index(others[0]) <= 1 else [*names, others[0]]
    return None
