"""Writing a map, with ids and labels of the objects."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.atomic import replace_file
from lowdim.tables.columns import date_strings
from lowdim.tables.errors import require
from lowdim.tables.formats import PARQUET, format_of

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
        format: any that `read` takes, except images. An NPY file holds the coordinates alone.
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
    Y = np.asarray(embedding)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2:
        raise ValueError(f"embedding must have rows and columns, got shape {Y.shape}.")
    columns = [f"y{i}" for i in range(Y.shape[1])] if names is None else [str(n) for n in names]
    if len(columns) != Y.shape[1]:
        raise ValueError(f"names has {len(columns)} entries, but embedding {Y.shape[1]} columns.")
    described = {str(name): _column(v, str(name), len(Y)) for name, v in (labels or {}).items()}
    while id_name in {*columns, *described}:
        id_name += "_"
    for name in [name for name in described if name in columns]:
        described[f"{name}_label"] = described.pop(name)
    named = None if ids is None else _column(ids, "ids", len(Y))
    with replace_file(path, force=force) as temporary:
        writer(temporary, _Result(Y, columns, named, id_name, described))
    return path


def writer_for(path: Path) -> Callable[[Path, _Result], None]:
    """The function that writes the format of a path; DataError if there is none."""
    writer: Callable[[Path, _Result], None] = globals()[f"_write_{format_of(path)}"]
    return writer


def _column(values: Any, name: str, n: int) -> Array:
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(f"{name} must have one entry for each of {n} rows, got {values.shape}.")
    if values.dtype.kind == "M":
        return date_strings(values)
    return np.asarray(values, dtype=object) if values.dtype.kind in "US" else values


@dataclass(frozen=True)
class _Result:
    """What is written: coordinates, ids and labels of each object."""

    coordinates: Array
    names: list[str]
    ids: Array | None
    id_name: str
    labels: dict[str, Array]

    def columns(self) -> dict[str, Array]:
        """Everything as named columns: ids, labels, coordinates."""
        columns = {} if self.ids is None else {self.id_name: self.ids}
        return columns | self.labels | dict(zip(self.names, self.coordinates.T, strict=True))

    def rows(self, plain: Callable[[Array], list[Any]]) -> Iterator[tuple[Any, ...]]:
        """The rows of the columns, each made a list of Python values by `plain`."""
        columns = self.columns().values()
        for start in range(0, len(self.coordinates), _CHUNK):
            parts = [plain(values[start : start + _CHUNK]) for values in columns]
            yield from zip(*parts, strict=True)

    def arrays(self) -> dict[str, Array]:
        """Everything as arrays by name: strings are objects, "" where there is none."""
        arrays = {"embedding": self.coordinates, "coordinate_names": np.array(self.names, object)}
        if self.ids is not None:
            arrays["ids"] = self.ids
        return {name: _text(values) for name, values in (arrays | self.labels).items()}


def _text(values: Array) -> Array:
    if values.dtype != object:
        return values
    return np.array(["" if v is None else str(v) for v in values.tolist()], dtype=object)


def _without_nan(values: Array) -> list[Any]:
    return [None if v != v else v for v in values.tolist()]


def _digits(values: Array) -> list[Any]:
    """As many digits as it takes to read numbers back exactly."""
    if values.dtype.kind == "f":
        return ["" if v == "nan" else v for v in values.astype(str).tolist()]
    return ["" if v is None else v for v in values.tolist()]


def _write_text(path: Path, result: _Result) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        delimiter = "," if path.suffix.lower() == ".csv" else "\t"
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(result.columns())
        writer.writerows(result.rows(_digits))


def _write_json_lines(path: Path, result: _Result) -> None:
    names = list(result.columns())
    with open(path, "w", encoding="utf-8") as file:
        for row in result.rows(_without_nan):
            record = dict(zip(names, row, strict=True))
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")


def _write_excel(path: Path, result: _Result) -> None:
    book = require("openpyxl", "excel", "Excel files").Workbook(write_only=True)
    sheet = book.create_sheet("map")
    sheet.append(list(result.columns()))
    for row in result.rows(_without_nan):
        sheet.append(row)
    with open(path, "wb") as file:
        book.save(file)


def _write_arrow(path: Path, result: _Result) -> None:
    arrow = require("pyarrow", "io", "Parquet and Arrow files")
    table = arrow.table({name: arrow.array(v) for name, v in result.columns().items()})
    if path.suffix.lower() in PARQUET:
        from pyarrow import parquet

        parquet.write_table(table, path)
    else:
        from pyarrow import feather

        feather.write_feather(table, path)


def _write_npy(path: Path, result: _Result) -> None:
    with open(path, "wb") as file:
        np.save(file, result.coordinates, allow_pickle=False)


def _write_npz(path: Path, result: _Result) -> None:
    arrays = result.arrays().items()
    plain: dict[str, Any] = {n: v.astype(np.str_) if v.dtype == object else v for n, v in arrays}
    with open(path, "wb") as file:
        np.savez(file, **plain)


def _write_matlab(path: Path, result: _Result) -> None:
    from scipy.io import savemat

    def variable(name: str) -> str:
        """A name that Matlab allows for a variable."""
        letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
        return letters[:63] if letters[:1].isalpha() else f"v{letters}"[:63]

    variables = {variable(name): values for name, values in result.arrays().items()}
    savemat(str(path), variables, appendmat=False, do_compression=True, long_field_names=True)


def _dataset(h5py: Any, group: Any, name: str, values: Array) -> Any:
    strings = h5py.string_dtype() if values.dtype.kind in "OU" else None
    return group.create_dataset(name.replace("/", "_"), data=_text(values), dtype=strings)


def _write_hdf5(path: Path, result: _Result) -> None:
    h5py = require("h5py", "hdf5", "HDF5 files")
    with h5py.File(path, "w") as file:
        for name, values in result.arrays().items():
            _dataset(h5py, file, name, values)


def _write_anndata(path: Path, result: _Result) -> None:
    """The coordinates as `X` and in `obsm`, the labels in `obs`, the ids as its index."""
    h5py = require("h5py", "hdf5", "AnnData files")

    def mark(item: Any, kind: str, version: str) -> None:
        item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version

    def put(group: Any, name: str, values: Array) -> None:
        kind = "string-array" if values.dtype.kind in "OU" else "array"
        mark(_dataset(h5py, group, name, values), kind, "0.2.0")

    def table(name: str, index: Array, columns: dict[str, Array]) -> None:
        group = file.create_group(name)
        mark(group, "dataframe", "0.2.0")
        group.attrs["_index"] = "_index"
        order = np.array(list(columns), dtype=object)
        group.attrs.create("column-order", order, dtype=h5py.string_dtype())
        put(group, "_index", index)
        for column, values in columns.items():
            put(group, column, values)

    count = np.arange(len(result.coordinates)).astype(str).astype(object)
    with h5py.File(path, "w") as file:
        mark(file, "anndata", "0.1.0")
        put(file, "X", result.coordinates)
        table("obs", count if result.ids is None else result.ids, result.labels)
        table("var", np.array(result.names, dtype=object), {})
        for name in ("layers", "obsm", "varm", "obsp", "varp", "uns"):
            mark(file.create_group(name), "dict", "0.1.0")
        put(file["obsm"], f"X_{result.names[0].rstrip('0123456789')}", result.coordinates)
