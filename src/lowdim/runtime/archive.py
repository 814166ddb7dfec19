"""Files of plain values: a zip of one JSON document and plain arrays. No code in it, never pickle.

Models (`lowdim.estimator.persist`) and checkpoints (`lowdim.runtime.checkpoint`) are such files.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from lowdim.checks import Array, is_sparse
from lowdim.runtime import memory
from lowdim.runtime.atomic import replace_file
from lowdim.runtime.interrupts import defer_interrupts

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
    """Write a document of plain values, and the arrays that `encode` has collected for it.

    The name of the document in the archive tells kinds of files apart.
    """
    with (
        defer_interrupts(),  # an interrupted archive could not even be closed
        replace_file(path, force=force) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
    ):
        archive.writestr(name, json.dumps(document, indent=1))
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read(path: str | PathLike[str], name: str) -> tuple[Any, dict[str, Any]]:
    """The document and the arrays of a file of `write`.

    ValueError if the file is damaged or holds no document of this name; MemoryError if its contents
    do not fit into memory.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
        if not stored or total > os.path.getsize(path):  # as those of no saved file do
            raise ValueError("its arrays are compressed or overlap.")
        memory.claim(total, f"Loading {os.fspath(path)}", "Load it on a machine with more memory.")
        if name not in archive.namelist():
            kind = name.removesuffix(".json")
            raise ValueError(f"it holds no {name}, so it is not a lowdim {kind}.")
        try:
            document = json.loads(archive.read(name))
        except ValueError as error:
            raise ValueError(f"its {name} is damaged ({error}).") from error
        arrays = [member for member in members if member.filename.endswith(".npy")]
        return document, {m.filename.removesuffix(".npy"): _read_array(archive, m) for m in arrays}


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """An array that is not larger than its file."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"an array has the NPY version {version}.")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"the array {member.filename!r} is shorter than its shape {shape}.")
    with archive.open(member) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def unknown(value: Any, arrays: dict[str, Any], where: str) -> Any:
    """The `Encoder` that refuses every value."""
    raise TypeError(f"{where} is a {type(value).__name__}, which a file of arrays cannot keep.")


def encode(value: Any, arrays: dict[str, Any], where: str, other: Encoder = unknown) -> Any:
    """A value as JSON: None, numbers, strings, arrays, sparse matrices, and lists, tuples and dicts
    of them; `other` encodes the rest.

    Its arrays are added to `arrays`. `where` says what the value is, for the message of an error.
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


def decode(
    value: Any, arrays: dict[str, Any], other: Callable[[dict[str, Any]], Any] | None = None
) -> Any:
    """The inverse of `encode`; `other` decodes an entry of another kind.

    Arrays are taken out of `arrays`: a file refers to none of them twice.
    """
    if isinstance(value, list):
        return [decode(item, arrays, other) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()))
    if kind == "$array":
        return _take(content, arrays)
    if kind == "$scalar":
        return _take(content, arrays)[()]
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

        parts = tuple(_take(name, arrays) for name in content)
        return csr_array(parts, shape=tuple(value["shape"]))
    if other is None:
        raise ValueError(f"it holds an entry of unknown kind {kind!r}.")
    return other(value)


def _take(name: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(name, str) or name not in arrays:
        raise ValueError(f"it lacks the array {name!r}, or refers to it more than once.")
    array = arrays.pop(name)
    if array.dtype.kind not in "biufSMm" or not array.dtype.isnative:
        raise ValueError(f"the array {name!r} has the type {array.dtype}, no number or pickle.")
    return array
