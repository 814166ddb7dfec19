"""AnnData (`.h5ad`), through h5py alone.

The layout is that of https://anndata.readthedocs.io/en/latest/fileformat-prose.html: `X`, `layers`
and `obsm` hold matrices, dense or compressed by rows or columns; `obs` a table of what is known
of each object.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lowdim.tables.containers import flat, matrix
from lowdim.tables.errors import DataError, listed, require
from lowdim.tables.formats.hdf5 import opened, whole
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options
from lowdim.tables.result import Result, as_text


def read(path: Path, options: Options) -> Frame:
    """A matrix of the file (`X` unless a key such as `obsm/X_pca` is given), with its `obs`."""
    with opened(path, "AnnData") as file:
        if "obs" not in file:
            raise DataError(f"{path} has no obs, so it is not an AnnData file.")
        key = (options.key or "X").strip("/")
        if key not in file:
            raise DataError(f"{path} has no {key!r}; it holds {listed(_matrices(file))}.")
        data = matrix(_matrix(file[key]), f"{path}: {key}")
        names = None
        if key == "X" or key.startswith("layers/"):
            names = [str(v) for v in _column(file["var"][_index(file["var"])])]
        frame = Frame(data, names)
        if len(_matrices(file)) > 1:
            frame.notes.append(f"the data is {key!r}, of {listed(_matrices(file))}")
        obs = file["obs"]
        frame.ids = flat(_column(obs[_index(obs)]), frame.n_rows)
        for name in obs.attrs.get("column-order", []):
            values = flat(_column(obs[name]), frame.n_rows)
            if values is not None:
                frame.beside[str(name)] = values
    return frame


def _matrices(file: Any) -> list[str]:
    found = ["X"] if "X" in file else []
    for group in ("layers", "obsm"):
        found += [f"{group}/{name}" for name in file.get(group, ())]
    return found


def _index(table: Any) -> str:
    return str(table.attrs.get("_index", "_index"))


def _matrix(item: Any) -> Any:
    kind = item.attrs.get("encoding-type", "array")
    if kind in ("csr_matrix", "csc_matrix"):
        from scipy import sparse

        parts = tuple(whole(item[name]) for name in ("data", "indices", "indptr"))
        make = sparse.csr_array if kind == "csr_matrix" else sparse.csc_array
        n_rows, n_columns = (int(side) for side in item.attrs["shape"])
        return make(parts, shape=(n_rows, n_columns)).tocsr()
    if not hasattr(item, "dtype"):
        raise DataError(f"{item.file.filename}: {item.name} is {kind}, not a matrix.")
    return whole(item)


def _column(item: Any) -> Any:
    """One column of a table: plain, categorical or with a mask."""
    if hasattr(item, "dtype"):
        return whole(item)
    kind = item.attrs.get("encoding-type")
    if kind == "categorical":
        categories, codes = whole(item["categories"]), whole(item["codes"])
        if categories.dtype.kind in "biuf" and (codes >= 0).all():
            return categories[codes]
        if categories.dtype.kind in "biuf":
            return np.where(codes < 0, np.nan, categories.astype(float)[codes])
        return np.where(codes < 0, None, np.asarray(categories, dtype=object)[codes])
    values, mask = whole(item["values"]), whole(item["mask"]).astype(bool)
    if values.dtype.kind in "biuf":
        return np.where(mask, np.nan, values) if mask.any() else values
    return np.where(mask, None, values)


def write(path: Path, result: Result) -> None:
    """The coordinates as `X` and in `obsm`, the labels in `obs`, the ids as its index."""
    h5py = require("h5py", "hdf5", "AnnData files")

    def put(group: Any, name: str, values: Any) -> None:
        textual = values.dtype.kind in "OU"
        item = group.create_dataset(
            name,
            data=as_text(values).astype(object) if textual else values,
            dtype=h5py.string_dtype() if textual else None,
        )
        _mark(item, "string-array" if textual else "array", "0.2.0")

    def table(name: str, index: Any, columns: dict[str, Any]) -> None:
        group = file.create_group(name)
        _mark(group, "dataframe", "0.2.0")
        group.attrs["_index"] = "_index"
        order = np.array(list(columns), dtype=object)
        group.attrs.create("column-order", order, dtype=h5py.string_dtype())
        put(group, "_index", index)
        for column, values in columns.items():
            put(group, column.replace("/", "_"), values)

    counted = np.arange(result.n_rows).astype(str)
    with h5py.File(path, "w") as file:
        _mark(file, "anndata", "0.1.0")
        put(file, "X", result.coordinates)
        table("obs", counted if result.ids is None else as_text(result.ids), result.labels)
        table("var", np.array(result.names), {})
        for name in ("layers", "obsm", "varm", "obsp", "varp", "uns"):
            _mark(file.create_group(name), "dict", "0.1.0")
        put(file["obsm"], f"X_{result.names[0].rstrip('0123456789')}", result.coordinates)


def _mark(item: Any, kind: str, version: str) -> None:
    item.attrs["encoding-type"] = kind
    item.attrs["encoding-version"] = version
