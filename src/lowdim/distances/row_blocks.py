"""Rows of numbers that are read in blocks, because they may not fit into memory.

`RowBlocks` is the base class of all sources of such rows; the sources are in `block_sources`.
Everything that is computed from all rows goes through `map`: a function of one block, which is
called for each of them, in this process or on the workers of a cluster (`lowdim.runtime.tasks`).
So functions that are given to it are functions of a module, and their further arguments can be
pickled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array, all_finite, float_dtype, is_sparse
from lowdim.runtime import memory
from lowdim.runtime.scheduling import blocks
from lowdim.runtime.tasks import HERE, NewGroup, Tasks, Work, tasks

Result = TypeVar("Result")
Files = list[tuple[str, int, int]]

BUDGET_SHARE = 64  # the memory of a computation, in units of the size of a block
LARGEST_BLOCK = 64 * 1024**2  # bytes; larger ones are not read faster
PARALLEL_BLOCKS = 64  # on a cluster, whatever the number of workers: sums must not depend on it
SMALL_BLOCK = 1024**2  # bytes of a block that is not divided for the sake of more tasks
DIGEST_CHUNK = 1024**2  # bytes of a digest of its own; see `Backend.digest`


class RowBlocks:
    """Rows of numbers that are read in blocks, as float32 or float64.

    A source implements `_values`, and `description` and `reference` if it has a name.
    """

    ndim = 2

    def __init__(self, shape: tuple[int, ...], stored_dtype: Any) -> None:
        if len(shape) != 2 or 0 in shape:
            raise ValueError(
                f"X must be a table of at least one row and one column, but {self.description} has "
                f"shape {tuple(shape)}."
            )
        if np.dtype(stored_dtype).kind not in "fiub":
            raise TypeError(f"X must hold numbers, but {self.description} holds {stored_dtype}.")
        self.shape = int(shape[0]), int(shape[1])
        self.dtype = float_dtype(stored_dtype)
        size = min(memory.budget() // BUDGET_SHARE, LARGEST_BLOCK)
        if tasks().parallel:
            size = min(size, max(self.nbytes // PARALLEL_BLOCKS, SMALL_BLOCK))
        self.block_rows = max(1, min(self.shape[0], size // self.row_bytes))
        self._scanned: Scan | None = None

    # --- what a source implements ---------------------------------------------------------------

    @property
    def description(self) -> str:
        """The source in a few words, for messages."""
        return type(self).__name__

    def reference(self) -> dict[str, Any] | None:
        """Plain values from which `block_sources.reopen_source` opens the source, if it can."""
        return None

    def full_reference(self) -> dict[str, Any]:
        """The reference, with what identifies the content; `reopen_source` checks that."""
        about = {"shape": list(self.shape), "fingerprint": self.fingerprint()}
        return {"kind": "memory", "path": "", **(self.reference() or {}), **about}

    def _values(self, start: int, stop: int) -> Array:
        """The rows start, ..., stop - 1 as they are stored."""
        raise NotImplementedError

    def column(self, number: int) -> str:
        """A column in words."""
        return f"column {number}"

    # --- reading --------------------------------------------------------------------------------

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.shape[1] * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.shape[0] * self.row_bytes

    def read(self, rows: slice) -> Array:
        """Consecutive rows as a C-contiguous array; ValueError if a number is not finite."""
        start, stop, _ = rows.indices(self.shape[0])
        try:
            values = self._values(start, stop)
        except (OSError, ValueError) as error:
            kind = OSError if isinstance(error, OSError) else ValueError
            reason = str(error).removeprefix("X: ")
            raise kind(f"X: {self.place(start, stop)} cannot be read: {reason}") from error
        return self.check_values(values, start, stop)

    def place(self, start: int, stop: int) -> str:
        """The rows start, ..., stop - 1 in words."""
        return f"rows {start} to {stop - 1} of {self.description}"

    def check_values(self, values: Array, start: int, stop: int) -> Array:
        """Rows that were read, as a C-contiguous and aligned array of finite numbers."""
        if values.shape != (stop - start, self.shape[1]):
            raise ValueError(
                f"X: {self.place(start, stop)} cannot be read: {values.shape[0]} rows were found. "
                "Is the file cut short?"
            )
        rows = np.require(values, self.dtype, ["C", "A"])
        if not all_finite(rows):
            row, column = np.argwhere(~np.isfinite(rows))[0]
            what = "NaN" if np.isnan(rows[row, column]) else "infinity"
            raise ValueError(
                f"X contains {what} in row {start + row}, {self.column(int(column))} (found in "
                f"{self.place(start, stop)}). Remove or impute such numbers."
            )
        return rows

    def take(self, rows: Array) -> Array:
        """Some rows, by ascending numbers."""
        chosen = [
            number
            for number, part in enumerate(self.blocks())
            if np.searchsorted(rows, part.start) < np.searchsorted(rows, part.stop)
        ]
        items = self.items()
        parts = self._map([items[number] for number in chosen], _select_from_block, rows)
        return np.concatenate([np.empty((0, self.shape[1]), dtype=self.dtype), *parts])

    def blocks(self) -> list[slice]:
        """The blocks as ranges of rows, in order."""
        return blocks(self.shape[0], self.block_rows)

    # --- working on blocks ----------------------------------------------------------------------

    @property
    def tasks(self) -> Tasks:
        """Where blocks are worked on; a source that only this process can read stays here."""
        return HERE if self.reference() is None else tasks()

    def items(self) -> list[Any]:
        """The blocks as they are sent to where they are worked on, in order; see `load`."""
        return list(self.blocks())

    def load(self, item: Any) -> tuple[Array, int]:
        """The rows of an item of `items`, and the number of the first one."""
        return self.read(item), item.start

    def map(self, function: Callable[..., Result], *shared: Any) -> Iterator[Result]:
        """The results of function(rows, first, *shared) for all blocks in order, `first` being the
        number of the first row of a block.

        The function is one of a module, not a lambda; the shared arguments can be pickled.
        """
        return self._map(self.items(), function, *shared)

    def _map(
        self, items: list[Any], function: Callable[..., Result], *shared: Any
    ) -> Iterator[Result]:
        return self.tasks.map(partial(_apply_to_block, self, function, shared), items)

    def exchange(
        self,
        split: Callable[..., Any],
        shared: tuple[Any, ...],
        count: int,
        group: NewGroup,
        work: Work[Result],
    ) -> Iterator[Result]:
        """Divide all blocks into pieces, and work on groups of these; see `Tasks.exchange`.

        `split` is called as the function of `map` is.
        """
        divide = partial(_apply_to_block, self, split, shared)
        return self.tasks.exchange(divide, self.items(), count, group, work)

    # --- what all rows are read for once --------------------------------------------------------

    def scan(self) -> Scan:
        """Read all rows once: checks that they are finite, finds the largest and a digest."""
        if self._scanned is None:
            files = self._files()
            self._scanned = _join_scans(self, files, self.map(_scan_block))
        return self._scanned

    def fingerprint(self) -> str:
        """The digest of the rows, as that of an array with the same content."""
        return self.scan().digest

    def check_unchanged(self, digest: str) -> None:
        """Raise ValueError unless the rows have this digest.

        They are read for it if their files were written since they have been read last.
        """
        if self._scanned is not None and self._scanned.files != self._files():
            self._scanned = None
        if self.fingerprint() != digest:
            raise ValueError(
                f"The model was fitted to {self.description}, whose content has changed since: "
                "`transform` compares new objects with its rows. Put the former file back, or fit "
                "again."
            )

    def _files(self) -> Files:
        """Name, size and time of the last change of each file that holds rows."""
        reference = self.reference()
        if reference is None:
            return []
        path = Path(reference["path"])
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


class Scan(NamedTuple):
    """The digest and the largest magnitude of all rows, and the files as they were then."""

    digest: str
    largest: float
    files: Files


def _apply_to_block(
    source: RowBlocks, function: Callable[..., Result], shared: tuple[Any, ...], item: Any
) -> Result:
    rows, first = source.load(item)
    return function(rows, first, *shared)


def _select_from_block(rows: Array, first: int, numbers: Array) -> Array:
    begin, end = np.searchsorted(numbers, (first, first + len(rows)))
    return np.asarray(rows[numbers[begin:end] - first])


def _scan_block(rows: Array, first: int) -> tuple[float, bytes, Array, bytes]:
    """The largest magnitude; digests of whole chunks; and bytes of chunks that others complete."""
    octets = rows.reshape(-1).view(np.uint8)
    begin = first * rows.shape[1] * rows.itemsize
    head = min(-begin % DIGEST_CHUNK, len(octets))
    whole = (len(octets) - head) // DIGEST_CHUNK * DIGEST_CHUNK
    digests = backend().digest(octets[head : head + whole]) if whole else np.empty(0, np.uint64)
    largest = max(float(rows.max()), -float(rows.min()))
    return largest, octets[:head].tobytes(), digests, octets[head + whole :].tobytes()


def _join_scans(
    source: RowBlocks, files: Files, parts: Iterator[tuple[float, bytes, Array, bytes]]
) -> Scan:
    """The scan of all rows from those of the blocks."""
    total = hashlib.blake2b(_digest_header(source), digest_size=8)
    largest, open_chunk = 0.0, b""
    for size, head, digests, tail in parts:
        largest, open_chunk = max(largest, size), open_chunk + head
        if len(open_chunk) == DIGEST_CHUNK:
            total.update(_digest_of(open_chunk))
            open_chunk = b""
        total.update(digests.tobytes())
        open_chunk += tail
    if open_chunk:
        total.update(_digest_of(open_chunk))
    return Scan(total.hexdigest(), largest, files)


def _digest_of(octets: bytes) -> bytes:
    return backend().digest(np.frombuffer(octets, np.uint8)).tobytes()


def fingerprint(rows: Any) -> str:
    """A digest of a data set, of all its values: arrays are read at the speed of the memory."""
    if isinstance(rows, RowBlocks):
        return rows.fingerprint()
    digest = hashlib.blake2b(_digest_header(rows), digest_size=8)
    if rows.dtype == object:
        digest.update(repr(list(rows)).encode())
        return digest.hexdigest()
    parts = [rows]
    if is_sparse(rows):
        counts = np.diff(rows.indptr).astype(np.int64)
        parts = [counts, rows.indices.astype(np.int32, copy=False), rows.data]
    for part in parts:
        digest.update(backend().digest(part).tobytes())
    return digest.hexdigest()


def _digest_header(rows: Any) -> bytes:
    return repr((rows.shape, str(rows.dtype))).encode()
