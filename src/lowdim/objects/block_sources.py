"""Where rows that are read in blocks come from: memory maps, HDF5 and Zarr arrays, Parquet files,
Dask arrays and DataFrames.

`open_source` decides which inputs are read in blocks. Memory maps are read by ordinary reads of
their file, because pages of a map that have been touched count as memory of the process.
"""

from __future__ import annotations

import mmap
import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array, as_frame, float_dtype, mapped_file
from lowdim.distances.row_blocks import RowBlocks
from lowdim.messages import argument
from lowdim.objects.dask_rows import DaskRows
from lowdim.objects.parquet_rows import ParquetRows, parquet_files
from lowdim.runtime import memory
from lowdim.runtime.tasks import tasks

SUFFIXES = (".npy", ".parquet")  # of files that are read in blocks
IN_MEMORY_SHARE = 8  # the memory of a computation, in units of the largest data that is read whole:
# an index of neighbours holds the rows three times, and methods need as much again


def open_source(X: Any, *, lazy: bool = False) -> Any:
    """The argument of `fit` or `transform`, with data in files as `RowBlocks` if they are large.

    Data in files that are small for the memory of the computation are read, and a small memory map
    is returned as it is. Whatever is not a source of rows is returned as it is. With `lazy`, input
    of Dask is always `DaskRows`.
    """
    X = as_frame(X)
    if lazy and is_dask(X):
        return DaskRows(X)
    mapped_file(X)
    largest = largest_whole(is_dask(X)) if _is_source(X) else 0
    if isinstance(X, np.memmap) and X.size * float_dtype(X.dtype).itemsize <= largest:
        return X
    source = as_blocks(X)
    if source is None:
        return X
    return read_whole(source, "fit") if source.nbytes <= largest else source


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "ndim")


def largest_whole(dask: bool = False) -> int:
    """Bytes up to which data in files, or in a Dask array, are read whole.

    Dask arrays are left where they are if there is a cluster, and so are files if the user asked
    for one.
    """
    place = tasks()
    stays = place.wanted or (dask and place.parallel)
    return 0 if stays else memory.budget() // IN_MEMORY_SHARE


def load_all(X: Any) -> Any:
    """The argument of a method that needs all rows at once; MemoryError if they are too large.

    A memory map is returned as it is.
    """
    mapped_file(X)
    if isinstance(X, np.memmap):
        return X
    source = as_blocks(X)
    return X if source is None else read_whole(source, "This method")


def read_whole(source: RowBlocks, purpose: str) -> Array:
    """All rows of a source, if they fit into the memory of the computation."""
    budget = memory.budget()
    if source.nbytes > budget:
        raise MemoryError(
            f"{purpose} needs all rows of X at once, but those of {source.description} take "
            f"{memory.readable(source.nbytes)} and the computation may take "
            f"{memory.readable(budget)} of memory. Use PCA, a method with "
            f"{argument('n_landmarks')}, or UMAP or TSNE, which read them in blocks; or fit to a "
            "sample and place the others with transform; or allow more memory (lowdim.compute, "
            "LOWDIM_MEMORY, --memory)."
        )
    return source.read(slice(0, source.shape[0]))


def as_blocks(X: Any) -> RowBlocks | None:
    """A source of rows as `RowBlocks`; None if X is something else."""
    if isinstance(X, RowBlocks):
        return X
    if not _is_source(X):
        return None
    if isinstance(X, np.memmap):
        return MappedRows(X)
    if is_dask(X):
        return DaskRows(X)
    return file_rows(Path(X)) if isinstance(X, str | PathLike) else StoredRows(X)


def _is_source(X: Any) -> bool:
    """Whether X is a file or an array in one, or is of Dask."""
    if isinstance(X, np.memmap):
        return X.ndim == 2
    if isinstance(X, str):  # other text is no data, and is refused as such
        return Path(X).suffix in SUFFIXES or os.path.exists(X)
    stored = type(X).__module__.partition(".")[0] in ("h5py", "zarr")
    return isinstance(X, PathLike) or (stored and hasattr(X, "dtype")) or is_dask(X)


def file_rows(path: Path) -> RowBlocks:
    """The rows of a file: .npy, or a Parquet file or a folder of them."""
    if not path.exists():
        raise FileNotFoundError(f"X: {path} does not exist.")
    if path.suffix == ".npy":
        try:
            return MappedRows(np.load(path, mmap_mode="r", allow_pickle=False))
        except (ValueError, OSError, EOFError) as error:
            raise ValueError(
                f"X: {path} cannot be read as a NumPy file; it may be cut short ({error})."
            ) from error
    files = parquet_files(path)
    if files:
        return ParquetRows(files, path)
    raise ValueError(
        f"X: {path} is not a file that is read in blocks: those are .npy and .parquet files and "
        "folders of .parquet files. Open an HDF5 or Zarr array and give that, or read the file."
    )


def reopen_source(reference: dict[str, Any]) -> RowBlocks:
    """The source that `RowBlocks.described` has described; ValueError if its content is another."""
    kind, path = reference["kind"], Path(reference["path"])
    if kind == "memory":
        raise ValueError(
            "The model was fitted to rows that were not in a file, and does not keep them: "
            "`transform` works only before it is saved. Fit to a file, or to an array in memory."
        )
    if not path.exists():
        raise FileNotFoundError(
            f"The model was fitted to {path}, which does not exist any more. `transform` compares "
            "new objects with its rows: put the file back."
        )
    source = _open_reference(kind, path, reference)
    source.check_unchanged(reference["fingerprint"])
    return source


def _open_reference(kind: str, path: Path, reference: dict[str, Any]) -> RowBlocks:
    if kind == "npy":
        shape, dtype = tuple(reference["shape"]), np.dtype(reference["dtype"])
        return MappedRows(np.memmap(path, dtype, "r", reference["offset"], shape))
    if kind == "parquet":
        return ParquetRows(parquet_files(path), path, reference.get("columns"))
    if kind == "hdf5":
        import h5py

        return StoredRows(h5py.File(path, "r")[reference["name"]])
    import zarr

    return StoredRows(zarr.open_array(path, mode="r"))


class MappedRows(RowBlocks):
    """A memory map, or a part of one."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        self.path = None if array.filename is None else Path(array.filename).absolute()
        self._array: Any = array
        super().__init__(array.shape, array.dtype)
        self.given, self.offset = array.dtype, 0
        if self.path is None or not array.flags.c_contiguous or array.mode == "c":
            return  # the file does not hold the rows one after the other, or not the same numbers
        if array.mode != "r":
            array.flush()
        # A part of a map has the offset of the whole: its place follows from the addresses.
        begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
        base: Any = array.base
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        if not isinstance(base, mmap.mmap):
            return
        address = np.frombuffer(base, np.uint8).ctypes.data
        self.offset = begin + array.ctypes.data - address
        self._array = None

    @property
    def description(self) -> str:
        return "a memory map" if self.path is None else str(self.path)

    def reference(self) -> dict[str, Any] | None:
        if self._array is not None:
            return None
        return {
            "kind": "npy",
            "path": str(self.path),
            "offset": self.offset,
            "dtype": self.given.str,
            "shape": list(self.shape),
        }

    def _values(self, start: int, stop: int) -> Array:
        if self._array is not None:
            return np.array(self._array[start:stop])
        width, size = self.shape[1], self.given.itemsize
        assert self.path is not None
        values = np.fromfile(
            self.path, self.given, (stop - start) * width, offset=self.offset + start * width * size
        )
        return values[: len(values) // width * width].reshape(-1, width)


class StoredRows(RowBlocks):
    """A two-dimensional array of HDF5 (h5py) or Zarr."""

    def __init__(self, array: Any) -> None:
        self._array = array
        super().__init__(tuple(array.shape), array.dtype)

    @property
    def _place(self) -> tuple[str, str]:
        """The path of the file and the name of the array in it, or empty strings."""
        file = getattr(self._array, "file", None)
        if file is not None:  # of h5py
            return os.path.abspath(file.filename), str(self._array.name)
        root = getattr(self._array.store, "root", None)
        return ("" if root is None else os.path.abspath(root)), str(self._array.path)

    @property
    def description(self) -> str:
        path, name = self._place
        return f"{name.strip('/') or 'the array'} of {path or 'a store in memory'}"

    def reference(self) -> dict[str, Any] | None:
        path, name = self._place
        if not path:
            return None
        if hasattr(self._array, "file"):
            return {"kind": "hdf5", "path": path, "name": name}
        return {"kind": "zarr", "path": os.path.join(path, name)}

    def _values(self, start: int, stop: int) -> Array:
        return np.asarray(self._array[start:stop])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self), _array=self.reference())
        if state["_array"] is None:
            raise TypeError(f"X: {self.description} cannot be sent to another process.")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        place = state["_array"]
        source: Any = _open_reference(place["kind"], Path(place["path"]), place)
        vars(self).update(state, _array=source._array)
