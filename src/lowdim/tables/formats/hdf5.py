"""HDF5, through h5py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.runtime import memory
from lowdim.tables.containers import choose
from lowdim.tables.errors import DataError, damaged, require
from lowdim.tables.frame import Frame
from lowdim.tables.options import Options
from lowdim.tables.result import Result, as_text


@contextmanager
def opened(path: Path, kind: str) -> Iterator[Any]:
    """An HDF5 file for reading; every error of h5py becomes a DataError of one line."""
    h5py = require("h5py", "hdf5", f"{kind} files")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (DataError, MemoryError):
        raise
    except Exception as error:  # h5py's errors are of many kinds, none of them its own
        raise damaged(path, kind, error) from error


def whole(dataset: Any) -> Any:
    """The content of a dataset; its size is checked first, strings are decoded."""
    memory.claim(
        int(np.prod(dataset.shape, dtype=object)) * dataset.dtype.itemsize,
        f"Reading {dataset.name} of {dataset.file.filename}",
        "Save the part that is needed, or fewer columns.",
    )
    import h5py

    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.asarray(dataset.asstr()[...], dtype=object)
    return dataset[...]


def read(path: Path, options: Options) -> Frame:
    """One of the file's datasets, and those beside it with one value an object."""
    with opened(path, "HDF5") as file:
        datasets: dict[str, Lazy] = {}

        def collect(name: str, item: Any) -> None:
            if hasattr(item, "dtype"):
                datasets[name] = Lazy(item)

        file.visititems(collect)
        key = None if options.key is None else options.key.strip("/")
        frame = choose(path, datasets, key)
        frame.numbers = np.asarray(frame.numbers)
    return frame


class Lazy:
    """A dataset that is read when it is asked for."""

    def __init__(self, dataset: Any) -> None:
        self.dataset, self.dtype, self.shape = dataset, dataset.dtype, dataset.shape
        self.ndim, self.size = len(self.shape), dataset.size

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(whole(self.dataset), dtype=dtype)

    def reshape(self, *shape: int) -> Any:
        return np.asarray(self).reshape(*shape)


def write(path: Path, result: Result) -> None:
    """Datasets: the coordinates with their names, ids and labels."""
    h5py = require("h5py", "hdf5", "HDF5 files")
    with h5py.File(path, "w") as file:
        file["embedding"] = result.coordinates
        arrays: dict[str, Any] = {"coordinate_names": np.array(result.names)}
        if result.ids is not None:
            arrays["ids"] = result.ids
        for name, values in (arrays | result.labels).items():
            textual = values.dtype.kind in "OU"
            file.create_dataset(
                name.replace("/", "_"),
                data=as_text(values).astype(object) if textual else values,
                dtype=h5py.string_dtype() if textual else None,
            )
