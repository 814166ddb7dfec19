"""One module a family of formats: `read(path, options)` and, but for images, `write`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from lowdim.messages import argument
from lowdim.tables.errors import DataError

_MODULES = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".dat": "text",
    ".jsonl": "json_lines",
    ".ndjson": "json_lines",
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
    ".xlsx": "excel",
}
ENDINGS = tuple(_MODULES)
FORMATS = tuple(ending[1:] for ending in ENDINGS)


def is_ending(ending: str) -> bool:
    """Whether an ending such as ".csv" names a format."""
    return ending.lower() in _MODULES


def ending_of(path: Path, format: str | None = None) -> str:
    """The ending that names the format of a path, or the given format; empty for a folder."""
    if path.is_dir():
        return ""
    if format is not None:
        return f".{format}"
    if is_ending(path.suffix):
        return path.suffix.lower()
    ending = f"the ending {path.suffix!r}" if path.suffix else "no ending"
    if path.suffix.lower() in (".zip", ".7z", ".tar"):
        raise DataError(f"{path} has {ending}; unpack it first, to one of {', '.join(ENDINGS)}.")
    raise DataError(
        f"{path} has {ending}; the endings known are {', '.join(ENDINGS)}. Set "
        f"{argument('format', ...)} to say what it holds."
    )


def module_for(ending: str) -> Any:
    """The module for an ending; the empty one is that of a folder of images."""
    return import_module(f"lowdim.tables.formats.{_MODULES[ending] if ending else 'images'}")
