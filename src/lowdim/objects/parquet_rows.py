"""Rows of Parquet files, one row group at a time, through pyarrow."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.checks import Array, float_dtype
from lowdim.distances.row_blocks import RowBlocks
from lowdim.messages import one_line
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks

ENDINGS = (".parquet", ".pq")
GROUP_SHARE = 4  # the memory of a computation, in units of the largest row group


def parquet_files(path: Path) -> list[Path]:
    """A Parquet file, or those in a folder by name; an empty list if there are none."""
    if path.is_dir():
        return sorted(one for one in path.rglob("*") if one.suffix in ENDINGS and one.is_file())
    return [path] if path.suffix in ENDINGS else []


class ParquetRows(RowBlocks):
    """The rows of Parquet files with the same columns of numbers, one file after the other.

    `path` is what the user gave: the file, or the folder. All columns are read unless some are
    named. A row group is decoded as a whole. The last one is kept, for blocks that are smaller.
    """

    def __init__(self, files: list[Path], path: Path, columns: list[str] | None = None) -> None:
        self.path = path.absolute()
        self.names: list[str] = []
        self.types: list[Any] = []
        self.groups: list[tuple[Path, int]] = []  # file, and number of a row group in it
        counts: list[int] = []
        largest = 0
        for file in files:
            about = _open_file(file)
            types = dict(zip(about.schema_arrow.names, about.schema_arrow.types, strict=True))
            names = list(types) if columns is None else columns
            if not self.names:
                self.names, self.types = names, [types[name] for name in names]
                _check_numbers(file, types, names)
            self._check_same(file, types, names, files[0])
            for group in range(about.metadata.num_row_groups):
                self.groups.append((file.absolute(), group))
                counts.append(int(about.metadata.row_group(group).num_rows))
                largest = max(largest, counts[-1])
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        kinds = [np.dtype(one.to_pandas_dtype()) for one in self.types]
        super().__init__((int(self.starts[-1]), len(self.names)), np.result_type(*kinds))
        if any(float_dtype(kind) == np.float64 for kind in kinds):
            self.dtype = np.dtype(np.float64)
        size, budget = largest * self.row_bytes, memory.budget()
        if size > budget // GROUP_SHARE:
            raise MemoryError(
                f"X: a row group of {self.description} takes {memory.readable(size)}, which is too "
                f"much for a memory of {memory.readable(budget)}. Write it with smaller row "
                "groups, or allow more memory (lowdim.compute)."
            )
        self._kept: tuple[int, Array] | None = None

    @property
    def description(self) -> str:
        return str(self.path)

    def column(self, number: int) -> str:
        return f"column {self.names[number]!r}"

    def reference(self) -> dict[str, Any]:
        return {"kind": "parquet", "path": str(self.path), "columns": self.names}

    def blocks(self) -> list[slice]:
        """Row groups, or equal parts of those that are larger than a block."""
        return [
            slice(int(begin) + part.start, int(begin) + part.stop)
            for begin, end in pairwise(self.starts)
            for part in blocks(int(end - begin), self.block_rows)
        ]

    def _values(self, start: int, stop: int) -> Array:
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        parts = []
        for group in range(first, len(self.groups)):
            begin, end = int(self.starts[group]), int(self.starts[group + 1])
            if begin >= stop:
                break
            parts.append(self._group(group)[max(start - begin, 0) : min(stop, end) - begin])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _group(self, number: int) -> Array:
        kept = self._kept  # another thread of a worker may replace it
        if kept is None or kept[0] != number:
            self._kept = kept = None  # frees the last one first
            file, group = self.groups[number]
            try:
                table = _open_file(file).read_row_group(group, columns=self.names)
            except _arrow_errors() as error:
                raise ValueError(_damage(file, error)) from error
            values = np.empty((table.num_rows, len(self.names)), dtype=self.dtype)
            for place, name in enumerate(self.names):
                values[:, place] = table.column(name).to_numpy(zero_copy_only=False)
            self._kept = kept = number, values
        return kept[1]

    def _check_same(
        self, file: Path, types: dict[str, Any], names: list[str], reference: Path
    ) -> None:
        """Raise ValueError unless a file has the columns of the first one."""
        if names != self.names or not set(names) <= set(types):
            wrong = sorted(set(types) ^ set(self.names)) or ["their order"]
            raise ValueError(
                f"X: {file} has other columns than {reference}: {', '.join(wrong[:5])}. All files "
                "must have the same columns."
            )
        for name, before in zip(self.names, self.types, strict=True):
            now = types[name]
            if before != now:
                raise ValueError(
                    f"X: column {name!r} is {before} in {reference}, but {now} in {file}. Write "
                    "all files with the same types."
                )

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self), _kept=None)


def column_kinds(file: Path) -> dict[str, bool]:
    """The columns of a file, and whether they hold numbers."""
    schema = _open_file(file).schema_arrow
    return {name: _is_number(one) for name, one in zip(schema.names, schema.types, strict=True)}


def read_column(files: list[Path], name: str) -> Array:
    """One column of all files, of any type."""
    parts = [_open_file(file).read([name]).column(name) for file in files]
    return np.concatenate([part.to_numpy(zero_copy_only=False) for part in parts])


def _check_numbers(file: Path, types: dict[str, Any], names: list[str]) -> None:
    for name in names:
        if not _is_number(types[name]):
            raise ValueError(
                f"X: column {name!r} of {file} holds {types[name]}, not numbers. Write a file "
                "without it."
            )


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _open_file(file: Path) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow: pip install "lowdim[io]"') from error
    try:
        return parquet.ParquetFile(file)
    except _arrow_errors() as error:
        raise ValueError(_damage(file, error)) from error


def _arrow_errors() -> tuple[type[Exception], ...]:
    from pyarrow import ArrowException

    return (ArrowException, OSError)


def _damage(file: Path, error: Exception) -> str:
    reason = one_line(error)[:160]
    return f"X: {file} cannot be read as Parquet; it may be cut short or damaged ({reason})."
