"""Files of plain values: a zip of one JSON document and plain arrays. No code in it, never pickle.

Models (`lowdim.estimator.persist`) and checkpoints (`lowdim.runtime.checkpoint`) are such files.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from lowdim.checks import is_sparse
from lowdim.runtime import memory
from lowdim.runtime.atomic import replace_file

Encoder = Callable[[Any, dict[str, Any], str], Any]
"""Encodes a value that `encode` does not know, or raises TypeError."""


def write(
    path: str | PathLike[str],
    name: str,
    document: dict[str, Any],
    arrays: dict[str, Any],
    *,
    force: bool,
) -> None:
    """Write a document and the arrays that it refers to, completely or not at all.

    Parameters
    ----------
    path : str or path-like
    name : str
        Name of the document in the archive, which tells kinds of files apart.
    document : dict
        Plain values, as `encode` makes them.
    arrays : dict
        The arrays that `encode` has collected.
    force : bool
        Whether an existing file is replaced.
    """
    with (
        replace_file(path, force=force) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
    ):
        archive.writestr(name, json.dumps(document, indent=1))
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


@contextmanager
def open_archive(path: str | PathLike[str], name: str) -> Iterator[tuple[Any, StoredArrays]]:
    """Open a file of `write`; yields its document and its arrays.

    Raises
    ------
    ValueError
        If the file is damaged, or holds no document of this name.
    MemoryError
        If its contents do not fit into memory.
    """
    with zipfile.ZipFile(path) as archive:
        _check_size(archive, path)
        if name not in archive.namelist():
            kind = name.removesuffix(".json")
            raise ValueError(f"it holds no {name}, so it is not a lowdim {kind}.")
        try:
            document = json.loads(archive.read(name))
        except ValueError as error:
            raise ValueError(f"its {name} is damaged ({error}).") from error
        yield document, StoredArrays(archive)


def _check_size(archive: zipfile.ZipFile, path: str | PathLike[str]) -> None:
    """Refuse a file that holds more than its own size, and one that does not fit into memory."""
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
    if not stored or total > os.path.getsize(path):
        raise ValueError("its arrays are compressed or overlap, as those of no saved file do.")
    memory.claim(total, f"Loading {os.fspath(path)}", "Load it on a machine with more memory.")


class Arrays:
    """Arrays by name. Each is taken at most once: a file refers to none of them twice."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self.arrays = arrays
        self.taken: set[str] = set()

    def take(self, name: Any) -> Any:
        """The array of this name."""
        if not isinstance(name, str) or name in self.taken:
            raise ValueError(f"it refers to the array {name!r} more than once.")
        self.taken.add(name)
        return self._read(name)

    def _read(self, name: str) -> Any:
        _check_type(name, self.arrays[name].dtype)
        return self.arrays[name]


class StoredArrays(Arrays):
    """The arrays of a file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        super().__init__({})
        self.archive = archive

    def names(self) -> list[str]:
        """The names of all arrays."""
        members = self.archive.namelist()
        return [name.removesuffix(".npy") for name in members if name.endswith(".npy")]

    def _read(self, name: str) -> Any:
        member = self.archive.getinfo(f"{name}.npy")
        with self.archive.open(member) as file:
            shape, dtype = _header(file)
            if math.prod(shape) * dtype.itemsize > member.file_size:
                raise ValueError(f"the array {name!r} is shorter than its shape {shape}.")
            _check_type(name, dtype)
        with self.archive.open(member) as file:
            return np.lib.format.read_array(file, allow_pickle=False)


def _check_type(name: str, dtype: np.dtype[Any]) -> None:
    """Numbers, bytes and dates are read; objects would need pickle."""
    if dtype.kind not in "biufSMm" or not dtype.isnative:
        raise ValueError(f"the array {name!r} has the type {dtype}, no number or pickle.")


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of the entries of an NPY file."""
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array has the NPY version {version}.")
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return shape, dtype


def unknown(value: Any, arrays: dict[str, Any], where: str) -> Any:
    """The `Encoder` that refuses every value."""
    raise TypeError(f"{where} is a {type(value).__name__}, which a file of arrays cannot keep.")


def encode(value: Any, arrays: dict[str, Any], where: str, other: Encoder = unknown) -> Any:
    """A value as JSON; its arrays are added to `arrays`.

    Parameters
    ----------
    value : object
        None, numbers, strings, arrays, sparse matrices, lists, tuples and dicts of them.
    arrays : dict
        The arrays so far, by name.
    where : str
        What the value is, for the message of an error.
    other : callable
        Encodes other values.
    """
    if isinstance(value, np.generic) and not isinstance(value, str):
        return {"$scalar": store(np.asarray(value), arrays)}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OU":
            if not all(isinstance(v, str) for v in value.ravel()):
                raise TypeError(f"{where} holds arbitrary objects, which a file cannot keep.")
            return {"$strings": value.tolist(), "dtype": value.dtype.kind}
        return {"$array": store(value, arrays)}
    if is_sparse(value):
        csr = value.tocsr()
        parts = [store(part, arrays) for part in (csr.data, csr.indices, csr.indptr)]
        return {"$csr": parts, "shape": list(csr.shape)}
    if isinstance(value, list | tuple):
        items = [encode(item, arrays, f"{where}[{i}]", other) for i, item in enumerate(value)]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        pairs = [
            [encode(k, arrays, where, other), encode(v, arrays, where, other)]
            for k, v in value.items()
        ]
        return {"$dict": pairs}
    if isinstance(value, PathLike):
        return os.fspath(value)
    return other(value, arrays, where)


def store(array: Any, arrays: dict[str, Any]) -> str:
    """Add an array; returns its name."""
    name = f"array{len(arrays)}"
    arrays[name] = np.asarray(array)
    return name


def decode(value: Any, arrays: Arrays, other: Callable[[str, Any], Any] | None = None) -> Any:
    """The inverse of `encode`; `other` decodes the content of an entry of another kind."""
    if isinstance(value, list):
        return [decode(item, arrays, other) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "$array":
        return arrays.take(content)
    if kind == "$scalar":
        return arrays.take(content)[()]
    if kind == "$float":
        return float(content)
    if kind == "$strings":
        return np.array(content, dtype="U" if value.get("dtype") == "U" else object)
    if kind == "$tuple":
        return tuple(decode(item, arrays, other) for item in content)
    if kind == "$dict":
        return {decode(k, arrays, other): decode(v, arrays, other) for k, v in content}
    if kind == "$csr":
        from scipy.sparse import csr_array

        parts = tuple(arrays.take(name) for name in content)
        return csr_array(parts, shape=tuple(value["shape"]))
    if other is None:
        raise ValueError(f"it holds an entry of unknown kind {kind!r}.")
    return other(kind, content)
