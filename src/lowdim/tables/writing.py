"""Writing a map, with ids and labels of the objects."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array, as_columns
from lowdim.runtime.atomic import replace_file
from lowdim.tables.columns import date_strings
from lowdim.tables.errors import DataError, require
from lowdim.tables.formats import ENDINGS, FORMATS_BY_ENDING, PARQUET

_CHUNK = 1 << 14  # rows that are turned into Python values at a time


def write(
    path: str | PathLike[str],
    embedding: Any,
    *,
    names: Sequence[str] | None = None,
    ids: Any = None,
    id_name: str = "id",
    labels: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Write coordinates, with ids and labels, to a file.

    Parameters
    ----------
    path : str or path-like
        The file. It is written completely or not at all. Its ending determines the
        format: any that `read` takes, except AnnData and images. An NPY file holds the coordinates
        alone.
    embedding : array of shape (n,) or (n, n_columns)
        The coordinates.
    names : sequence of str, default=None
        Names of the columns; by default y0, y1, ...
    ids : array of shape (n,), default=None
        Names of the objects.
    id_name : str, default="id"
        Name of the column of ids.
    labels : mapping of str to array of shape (n,), default=None
        Further columns.
    force : bool, default=False
        Whether an existing file is replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    WouldOverwrite
        If the file exists and `force` is false.
    DataError
        If the ending is unknown.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> path = os.path.join(tempfile.mkdtemp(), "map.csv")
    >>> written = lowdim.tables.write(path, [[0.5, 1.0], [2.0, 3.0]], ids=["a", "b"])
    >>> print(written.read_text())
    id,y0,y1
    a,0.5,1.0
    b,2.0,3.0
    <BLANKLINE>
    """
    path = Path(path)
    writer = writer_for(path)
    Y = as_columns(embedding)
    if Y.ndim != 2:
        raise ValueError(f"embedding must have rows and columns, got shape {Y.shape}.")
    titles = [f"y{i}" for i in range(Y.shape[1])] if names is None else [str(n) for n in names]
    if len(titles) != Y.shape[1]:
        raise ValueError(
            f"names has {len(titles)} entries, but embedding has {Y.shape[1]} columns."
        )
    columns = {str(name): _column(v, str(name), len(Y)) for name, v in (labels or {}).items()}
    while id_name in {*titles, *columns}:
        id_name += "_"
    for name in [name for name in columns if name in titles]:
        columns[f"{name}_label"] = columns.pop(name)
    named = None if ids is None else _column(ids, "ids", len(Y))
    with replace_file(path, force=force) as temporary:
        if writer in _TABLE_WRITERS:
            described = columns if named is None else {id_name: named, **columns}
            writer(temporary, described | dict(zip(titles, Y.T, strict=True)))
        else:
            arrays = {"embedding": Y, "coordinate_names": np.array(titles, object)}
            arrays |= columns if named is None else {"ids": named, **columns}
            writer(temporary, {name: _text(values) for name, values in arrays.items()})
    return path


def writer_for(path: Path) -> Callable[[Path, dict[str, Array]], None]:
    """The function that writes the format of a path; DataError if there is none."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; give the name of a file.")
    if path.suffix.lower() not in ENDINGS:
        endings = [end for end, name in FORMATS_BY_ENDING.items() if name in _WRITERS]
        raise DataError(f"{path}: the name must end in one of {', '.join(endings)}.")
    name = FORMATS_BY_ENDING[path.suffix.lower()]
    if name not in _WRITERS:
        raise DataError(f"{path}: this format can be read, but not written; choose .h5 or .csv.")
    return _WRITERS[name]


def _column(values: Any, name: str, n: int) -> Array:
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of {n} rows, got {values.shape}.")
    if values.dtype.kind == "M":
        return date_strings(values)
    return np.asarray(values, dtype=object) if values.dtype.kind in "US" else values


# --- tables: ids, labels and coordinates as columns -----------------------------------------------


def _rows(
    columns: dict[str, Array], plain: Callable[[Array], list[Any]]
) -> Iterator[tuple[Any, ...]]:
    """The rows of the columns, parts of which `plain` makes lists of Python values."""
    n_rows = len(next(iter(columns.values())))
    for start in range(0, n_rows, _CHUNK):
        parts = [plain(values[start : start + _CHUNK]) for values in columns.values()]
        yield from zip(*parts, strict=True)


def _without_nan(values: Array) -> list[Any]:
    return [None if v != v else v for v in values.tolist()]


def _digits(values: Array) -> list[Any]:
    """As many digits as it takes to read numbers back exactly."""
    if values.dtype.kind == "f":
        return ["" if v == "nan" else v for v in values.astype(str).tolist()]
    return ["" if v is None else v for v in values.tolist()]


def _write_text(path: Path, columns: dict[str, Array]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(_rows(columns, _digits))


def _write_json_lines(path: Path, columns: dict[str, Array]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for row in _rows(columns, _without_nan):
            record = dict(zip(columns, row, strict=True))
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def _write_excel(path: Path, columns: dict[str, Array]) -> None:
    book = require("openpyxl", "excel", "Excel files").Workbook(write_only=True)
    sheet = book.create_sheet("map")
    for row in (columns, *_rows(columns, _without_nan)):
        sheet.append(list(row))
    with open(path, "wb") as file:
        book.save(file)


def _write_arrow(path: Path, columns: dict[str, Array]) -> None:
    arrow = require("pyarrow", "io", "Parquet and Arrow files")
    table = arrow.table({name: arrow.array(v) for name, v in columns.items()})
    if path.suffix.lower() in PARQUET:
        from pyarrow import parquet

        parquet.write_table(table, path)
    else:
        from pyarrow import feather

        feather.write_feather(table, path)


# --- arrays by name: strings are objects, "" where there is none ----------------------------------


def _text(values: Array) -> Array:
    if values.dtype != object:
        return values
    return np.array(["" if v is None else str(v) for v in values.tolist()], dtype=object)


def _write_npy(path: Path, arrays: dict[str, Array]) -> None:
    with open(path, "wb") as file:
        np.save(file, arrays["embedding"], allow_pickle=False)


def _write_npz(path: Path, arrays: dict[str, Array]) -> None:
    plain: dict[str, Any] = {
        n: v.astype(np.str_) if v.dtype == object else v for n, v in arrays.items()
    }
    with open(path, "wb") as file:
        np.savez(file, **plain)


def _write_matlab(path: Path, arrays: dict[str, Array]) -> None:
    from scipy.io import savemat

    def variable(name: str) -> str:
        """A name that Matlab allows for a variable."""
        letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        return letters[:63] if letters[:1].isalpha() else f"v{letters}"[:63]

    variables = {variable(name): values for name, values in arrays.items()}
    savemat(str(path), variables, appendmat=False, do_compression=True, long_field_names=True)


def _write_hdf5(path: Path, arrays: dict[str, Array]) -> None:
    h5py = require("h5py", "hdf5", "HDF5 files")
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            strings = h5py.string_dtype() if values.dtype.kind in "OU" else None
            file.create_dataset(name.replace("/", "_"), data=values, dtype=strings)


_TABLE_WRITERS = (_write_text, _write_json_lines, _write_excel, _write_arrow)
_WRITERS = {
    "text": _write_text,
    "JSON lines": _write_json_lines,
    "Excel": _write_excel,
    "Arrow": _write_arrow,
    "NPY": _write_npy,
    "NPZ": _write_npz,
    "Matlab": _write_matlab,
    "HDF5": _write_hdf5,
}
