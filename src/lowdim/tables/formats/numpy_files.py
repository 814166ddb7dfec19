"""NPY, memory-mapped, and NPZ."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from lowdim.runtime import memory
from lowdim.tables.containers import choose, matrix
from lowdim.tables.errors import DataError, damaged
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options
from lowdim.tables.result import Result, as_text


def read(path: Path, options: Options) -> Frame:
    """An array, or one of several; pickled objects are never loaded."""
    if options.ending == ".npz":
        arrays = _archive(path)
        if {"format", "shape", "data"} <= set(arrays) and options.key is None:
            return Frame(_sparse(path))
        return choose(path, arrays, options.key)
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # the header is Python text, and a damaged one is anything
        raise _explained(path, error) from error
    if not isinstance(values, np.ndarray):
        raise DataError(f"{path} is an NPZ archive; give it the ending .npz.")
    return Frame(matrix(values, str(path)))


def _explained(path: Path, error: Exception) -> DataError:
    if "allow_pickle" in str(error) or "Python objects" in str(error):
        return DataError(
            f"{path} holds pickled Python objects, which may run code when they are loaded and "
            "are never read; save plain arrays of numbers."
        )
    return damaged(path, "NumPy", error)


def _archive(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            memory.claim(
                sum(member.file_size for member in members),
                f"Unpacking {path}",
                "Choose one array with numpy.load and save it as .npy, which is memory-mapped.",
            )
            return {m.filename[: -len(".npy")]: _member(archive, m) for m in members}
    except MemoryError:
        raise
    except Exception as error:  # zlib, struct, zipfile and NumPy each have errors of their own
        raise _explained(path, error) from error


def _sparse(path: Path) -> Any:
    """What `scipy.sparse.save_npz` wrote, by rows."""
    from scipy import sparse

    try:
        matrix = sparse.csr_array(sparse.load_npz(path))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise damaged(path, "a sparse matrix", error) from error
    return matrix


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """One array whose header declares no more bytes than the archive holds."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        declared = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if not dtype.hasobject and declared > member.file_size:
            raise ValueError(
                f"{member.filename} declares {declared} bytes but holds {member.file_size}"
            )
    with archive.open(member) as file:
        return npy.read_array(file, allow_pickle=False)


def write(path: Path, result: Result) -> None:
    """NPZ: the coordinates with their names, ids and labels; NPY: the coordinates alone."""
    with open(path, "wb") as file:
        if path.suffix.lower() == ".npy":
            np.save(file, result.coordinates, allow_pickle=False)
            return
        arrays: dict[str, Any] = {
            "embedding": result.coordinates,
            "coordinate_names": np.array(result.names),
        }
        if result.ids is not None:
            arrays["ids"] = _plain(result.ids)
        arrays.update({name: _plain(values) for name, values in result.labels.items()})
        np.savez(file, **arrays)


def _plain(values: Any) -> Any:
    return as_text(values) if values.dtype == object else values
