"""One module a family of formats: `read(path, options)` and, but for images, `write`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from lowdim.tables.errors import DataError

_MODULES = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".dat": "text",
    ".parquet": "arrow",
    ".pq": "arrow",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "numpy_files",
    ".npz": "numpy_files",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".h5ad": "annotated",
    ".mat": "matlab",
}
ENDINGS = tuple(_MODULES)


def module_for(path: Path) -> Any:
    """The module for the format of a path, by its ending."""
    if path.is_dir():
        return import_module("lowdim.tables.formats.images")
    name = _MODULES.get(path.suffix.lower())
    if name is None:
        ending = f"the ending {path.suffix!r}" if path.suffix else "no ending"
        packed = path.suffix.lower() in (".zip", ".gz", ".bz2", ".xz", ".zst", ".7z", ".tar")
        advice = "unpack it first, to one of" if packed else "the endings known are"
        raise DataError(f"{path} has {ending}; {advice} {', '.join(ENDINGS)}.")
    return import_module(f"lowdim.tables.formats.{name}")
