"""The endings of formats, the options of reading, and the data of a path as a file on disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from lowdim.messages import argument
from lowdim.tables.errors import DataError, damage_errors, require

MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?", "-")
"""Texts that mean a missing value."""

FORMATS_BY_ENDING = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".dat"), "text"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "JSON lines"),
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather", ".ipc"), "Arrow"),
    ".xlsx": "Excel",
    ".npy": "NPY",
    ".npz": "NPZ",
    **dict.fromkeys((".h5", ".hdf5"), "HDF5"),
    ".h5ad": "AnnData",
    ".mat": "Matlab",
}
ENDINGS = tuple(FORMATS_BY_ENDING)
FORMATS = tuple(ending[1:] for ending in ENDINGS)
PARQUET = (".parquet", ".pq")

_COMPRESSED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
_FIRST_BYTES = (
    (b"\x1f\x8b", ".gz"),
    (b"BZh", ".bz2"),
    (b"\xfd7zXZ", ".xz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"\x93NUMPY", ".npy"),
    (b"\x89HDF", ".h5"),
    (b"MATLAB", ".mat"),
    (b"{", ".jsonl"),
)


@dataclass(frozen=True)
class Options:
    """The options of all formats; each reader uses its own. None: guessed from the file."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = MISSING_TEXTS
    key: str | None = None  # which array of a file that holds several
    image_size: tuple[int, int] | None = None  # width and height that images are resized to
    color: bool = False  # images in three channels instead of one
    prose: bool = False  # whether fields may be sentences, with spaces inside
    ending: str = ""  # of the format, whatever the file is called


class Source(NamedTuple):
    """A file that can be read several times, the ending of its format, its name in messages."""

    path: Path
    ending: str
    name: str
    temporary: bool = False


def ending_of(path: Path, format: str | None = None) -> str:
    """The ending of the format of a path, or of the format that is named; empty for a folder."""
    if path.is_dir():
        return ""
    if format is not None:
        return f".{format}"
    if path.suffix.lower() in FORMATS_BY_ENDING:
        return path.suffix.lower()
    ending = f"the ending {path.suffix!r}" if path.suffix else "no ending"
    if path.suffix.lower() in (".zip", ".7z", ".tar"):
        raise DataError(
            f"{path} has {ending}; unpack it first. The endings known are {', '.join(ENDINGS)}."
        )
    raise DataError(
        f"{path} has {ending}; the endings known are {', '.join(ENDINGS)}. Set "
        f"{argument('format', ...)} to say what it holds."
    )


@contextmanager
def source_of(path: Path, format: str | None) -> Iterator[Source]:
    """The data of a file, a folder, a pipe or standard input ("-"), as a file on disk."""
    if str(path) == "-":
        stream = getattr(sys.stdin, "buffer", sys.stdin)
        with _copy(cast(IO[bytes], stream), "standard input", "", format) as source:
            yield source
    elif not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    elif path.is_file() and path.suffix.lower() in _COMPRESSED:
        with (
            open(path, "rb") as raw,
            _copy(raw, str(path), path.with_suffix("").suffix.lower(), format) as source,
        ):
            yield source
    elif path.is_file() or path.is_dir():
        yield Source(path, ending_of(path, format), str(path))
    else:  # a pipe, as from process substitution
        name = "the pipe" if path.parent.name == "fd" else str(path)
        with open(path, "rb") as raw, _copy(raw, name, "", format) as source:
            yield source


@contextmanager
def _copy(raw: IO[bytes], name: str, ending: str, format: str | None) -> Iterator[Source]:
    """A temporary copy, decompressed; without a format, it is guessed from the first bytes."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "data"
        with open(copy, "wb") as file:
            shutil.copyfileobj(raw, file)
        while (guess := _guess_ending(copy, name)) in _COMPRESSED:
            _decompress(copy, name, guess)
        path = Path(f"data{ending if ending in FORMATS_BY_ENDING else guess}")
        try:
            yield Source(copy, ending_of(path, format), name, temporary=True)
        except DataError as error:
            raise DataError(str(error).replace(os.fspath(copy), name)) from error


def _guess_ending(path: Path, name: str) -> str:
    with open(path, "rb") as file:
        head = file.read(64).lstrip()
    for first, ending in _FIRST_BYTES:
        if head.startswith(first):
            return ending
    if head.startswith(b"PK"):
        with damage_errors(name, "a ZIP archive"), zipfile.ZipFile(path) as archive:
            return ".xlsx" if "xl/workbook.xml" in archive.namelist() else ".npz"
    return ".txt"


def _decompress(path: Path, name: str, ending: str) -> None:
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    if ending == ".zst":
        openers[ending] = require("zstandard", "zstd", "Zstandard files").open
    content = path.with_suffix(".content")
    with (
        damage_errors(name, _COMPRESSED[ending]),
        openers[ending](path, "rb") as compressed,
        open(content, "wb") as file,
    ):
        shutil.copyfileobj(compressed, file)
    os.replace(content, path)
