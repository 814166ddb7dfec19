"""Matlab's `.mat`: version 5 and older through SciPy, 7.3 through h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import is_sparse
from lowdim.runtime import memory
from lowdim.tables.containers import choose
from lowdim.tables.errors import damaged
from lowdim.tables.formats.hdf5 import Lazy, opened
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options
from lowdim.tables.result import Result, as_text


def read(path: Path, options: Options) -> Frame:
    """One of the file's variables, and those beside it with one value an object."""
    with open(path, "rb") as file:
        head = file.read(128)
    if b"MATLAB 7.3" in head or head.startswith(b"\x89HDF"):
        return _read_hdf5(path, options)
    from scipy.io import loadmat, whosmat

    try:
        sizes = whosmat(path)
        memory.claim(
            sum(8 * int(np.prod(shape, dtype=object)) for _, shape, _ in sizes),
            f"Reading {path}",
            "Save the variable that is needed alone.",
        )
        variables = loadmat(path, simplify_cells=False)
    except MemoryError:
        raise
    except Exception as error:  # zlib, struct and SciPy each have errors of their own
        raise damaged(path, "Matlab", error) from error
    return choose(
        path, {name: _plain(v) for name, v in variables.items() if name[:2] != "__"}, options.key
    )


def _plain(value: Any) -> Any:
    """Cells of strings as strings, trailing blanks removed."""
    if is_sparse(value):
        return value.tocsr()
    value = np.asarray(value)
    if value.dtype == object:
        cells = [np.asarray(cell).ravel() for cell in value.ravel()]
        if all(cell.dtype.kind == "U" and cell.size <= 1 for cell in cells):
            return np.array([str(cell[0]) if cell.size else None for cell in cells], dtype=object)
    if value.dtype.kind == "U":
        return np.array([v.rstrip() for v in value.ravel()], dtype=object)
    return value


def _read_hdf5(path: Path, options: Options) -> Frame:
    """Version 7.3 is HDF5 with every matrix transposed."""
    with opened(path, "Matlab 7.3") as file:
        able = {
            name: np.asarray(Lazy(item)).T
            for name, item in file.items()
            if hasattr(item, "dtype") and item.dtype.kind in "biuf"
        }
        return choose(path, able, options.key)


def write(path: Path, result: Result) -> None:
    """Variables: the coordinates with their names, ids and labels."""
    from scipy.io import savemat

    variables: dict[str, Any] = {
        "embedding": result.coordinates,
        "coordinate_names": np.array(result.names, dtype=object),
    }
    if result.ids is not None:
        variables["ids"] = as_text(result.ids).astype(object)
    for name, values in result.labels.items():
        textual = values.dtype.kind in "OU"
        variables[_variable(name)] = as_text(values).astype(object) if textual else values
    savemat(str(path), variables, appendmat=False, do_compression=True, long_field_names=True)


def _variable(name: str) -> str:
    """A name that Matlab allows for a variable."""
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return letters[:63] if letters[:1].isalpha() else f"v{letters}"[:63]
