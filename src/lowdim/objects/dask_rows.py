"""Rows of a Dask array or DataFrame: its partitions are the blocks, and are worked on as tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from lowdim.checks import Array, float_dtype
from lowdim.distances.row_blocks import RowBlocks
from lowdim.runtime.tasks import Tasks, tasks

logger = logging.getLogger("lowdim")


class DaskRows(RowBlocks):
    """A two-dimensional Dask array, or a DataFrame with columns of numbers.

    Every pass over the rows computes the partitions, unless they have been persisted.
    """

    def __init__(self, X: Any) -> None:
        self.names = list(X.columns) if hasattr(X, "columns") else None
        array = _known_rows(_array_of_frame(X) if hasattr(X, "dtypes") else X)
        super().__init__(array.shape, array.dtype)
        if len(array.chunks[1]) > 1:
            logger.info("X: the %d chunks of columns are put together", len(array.chunks[1]))
            array = array.rechunk({1: -1})
        self.starts = np.concatenate([[0], np.cumsum(array.chunks[0])]).astype(np.int64)
        self.block_rows = max(array.chunks[0])
        self._array = array

    @property
    def description(self) -> str:
        return "a Dask array" if self.names is None else "a Dask DataFrame"

    def column(self, number: int) -> str:
        return super().column(number) if self.names is None else f"column {self.names[number]!r}"

    def place(self, start: int, stop: int) -> str:
        words = super().place(start, stop)
        number = int(np.searchsorted(self.starts, start, side="right")) - 1
        return f"partition {number}: {words}" if stop <= self.starts[number + 1] else words

    def blocks(self) -> list[slice]:
        """The partitions that are not empty."""
        return [slice(int(a), int(b)) for a, b in pairwise(self.starts) if a < b]

    @property
    def tasks(self) -> Tasks:
        from lowdim.backends.dask.calls import LocalTasks

        cluster = tasks()
        return cluster if cluster.parallel else LocalTasks()

    def items(self) -> list[Any]:
        parts = self._array.to_delayed()[:, 0]
        ends = pairwise(self.starts.tolist())
        return [(part, a, b) for part, (a, b) in zip(parts, ends, strict=True) if a < b]

    def load(self, item: Any) -> tuple[Array, int]:
        values, start, stop = item
        return self.check_values(np.asarray(values), start, stop), start

    def map_lazily(self, function: Callable[..., Any], shared: Any, width: int) -> Any:
        """The results of function(rows, first, shared) for all partitions, rows of this width, as
        a Dask array, which computes them when it is computed itself."""
        from dask import array
        from dask.delayed import delayed

        from lowdim.backends.dask.calls import Call

        work = delayed(Call(partial(_apply, self, function, shared)), pure=False, traverse=False)
        parts = [
            array.from_delayed(work(item), (item[2] - item[1], width), self.dtype)
            for item in self.items()
        ]
        return array.concatenate(parts)

    def with_partitions(self, rows: Array) -> Array:
        """Other rows of the same objects as a Dask array with the same partitions."""
        from dask import array

        sizes = tuple(part.stop - part.start for part in self.blocks())
        parts: Array = array.from_array(rows, chunks=(sizes, rows.shape[1]))
        return parts

    def _values(self, start: int, stop: int) -> Array:
        return np.asarray(self._array[start:stop].compute())

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self), _array=None)  # `load` is all that workers call


def _apply(source: DaskRows, function: Callable[..., Any], shared: Any, item: Any) -> Array:
    return np.asarray(function(*source.load(item), shared), dtype=source.dtype)


def _array_of_frame(frame: Any) -> Any:
    """A DataFrame as an array of floats; TypeError if a column does not hold numbers."""
    if frame.ndim != 2:
        raise ValueError("X must be a table of rows and columns, but got a Dask Series.")
    wrong = {str(name): kind for name, kind in frame.dtypes.items() if kind.kind not in "fiub"}
    if wrong:
        columns = ", ".join(f"{name} ({kind})" for name, kind in list(wrong.items())[:5])
        raise TypeError(
            "X must hold numbers, but these columns of a Dask DataFrame do not: "
            f"{columns}. Drop or convert them."
        )
    kinds = {float_dtype(np.dtype(f"{kind.kind}{kind.itemsize}")) for kind in frame.dtypes}
    return frame.astype(np.result_type(*kinds)).to_dask_array(lengths=True)


def _known_rows(array: Any) -> Any:
    """The array with numbers of rows that are known; computes the partitions if they are not."""
    if array.ndim != 2 or not any(np.isnan(count) for count in array.chunks[0]):
        return array
    from dask.array import Array as DaskArray

    lengths = tuple(int(count) for count in array[:, :1].map_blocks(_length).compute()[:, 0])
    chunks = (lengths, array.chunks[1])
    return DaskArray(array.dask, array.name, chunks, dtype=array.dtype, meta=array._meta)


def _length(rows: Array) -> Array:
    return np.full((1, 1), len(rows))
