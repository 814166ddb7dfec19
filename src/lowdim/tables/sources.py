"""Where a table comes from: a file, perhaps compressed, a pipe or standard input."""

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
from typing import IO, Any, cast

from lowdim.tables.errors import DataError, damaged, require
from lowdim.tables.formats import ending_of, is_ending

PACKED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "Zstandard"}
_MAGIC = (
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
class Source:
    """A file on disk that can be read several times.

    Attributes
    ----------
    path : Path
        The file; a temporary one if the data came through a pipe or were compressed.
    ending : str
        The ending that names its format.
    name : str
        What messages call it.
    temporary : bool
        Whether the file is deleted when the table has been read.
    """

    path: Path
    ending: str
    name: str
    temporary: bool = False


@contextmanager
def opened_source(path: Path, format: str | None) -> Iterator[Source]:
    """The data of a path as a file; "-" is standard input.

    Parameters
    ----------
    path : Path
        A file, a folder, a named pipe, or "-".
    format : str or None
        The ending of the format, if it is not that of the path.
    """
    if str(path) == "-":
        stream = getattr(sys.stdin, "buffer", sys.stdin)
        with _spooled(cast(IO[bytes], stream), "standard input", "", format) as source:
            yield source
    elif not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    elif path.is_file() and path.suffix.lower() in PACKED:
        with open(path, "rb") as raw:
            inner = path.with_suffix("")
            with _spooled(raw, str(path), inner.suffix.lower(), format) as source:
                yield source
    elif path.is_file() or path.is_dir():
        yield Source(path, ending_of(path, format), str(path))
    else:  # a pipe, as from process substitution
        name = "the pipe" if path.parent.name == "fd" else str(path)
        with open(path, "rb") as raw, _spooled(raw, name, "", format) as source:
            yield source


@contextmanager
def _spooled(raw: IO[bytes], name: str, ending: str, format: str | None) -> Iterator[Source]:
    """A temporary copy, unpacked; without a format, it is guessed from the first bytes."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "data"
        with open(copy, "wb") as file:
            shutil.copyfileobj(raw, file)
        while (found := _guessed(copy, name)) in PACKED:
            _unpack(copy, name, found)
        if not is_ending(ending):
            ending = found
        source = Source(copy, ending_of(Path(f"data{ending}"), format), name, temporary=True)
        try:
            yield source
        except DataError as error:
            raise DataError(str(error).replace(os.fspath(copy), name)) from error


def _guessed(path: Path, name: str) -> str:
    with open(path, "rb") as file:
        head = file.read(64).lstrip()
    for magic, ending in _MAGIC:
        if head.startswith(magic):
            return ending
    if head.startswith(b"PK"):
        try:
            with zipfile.ZipFile(path) as archive:
                return ".xlsx" if "xl/workbook.xml" in archive.namelist() else ".npz"
        except zipfile.BadZipFile as error:
            raise damaged(name, "a ZIP archive", error) from error
    return ".txt"


def _unpack(path: Path, name: str, ending: str) -> None:
    unpacked = path.with_suffix(".unpacked")
    try:
        with _opened(path, ending) as packed, open(unpacked, "wb") as file:
            shutil.copyfileobj(packed, file)
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise damaged(name, PACKED[ending], error) from error
    os.replace(unpacked, path)


def _opened(path: Path, ending: str) -> Any:
    if ending == ".zst":
        return require("zstandard", "zstd", "Zstandard files").open(path, "rb")
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return openers[ending](path, "rb")
