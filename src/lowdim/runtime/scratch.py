"""Temporary files of computations whose data do not fit into memory."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import IO, Any

import numpy as np

from lowdim.checks import Array
from lowdim.runtime.context import current


class HeldRows:
    """Rows of `width` numbers that are held in memory; the methods are those of `ScratchRows`."""

    def __init__(self, width: int, dtype: np.dtype[Any]) -> None:
        self._parts = [np.empty((0, width), dtype=dtype)]

    def close(self) -> None:
        self._parts = []

    def append(self, rows: Array) -> None:
        self._parts.append(rows)

    def read(self, rows: slice) -> Array:
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0][rows]


class ScratchRows:
    """Rows of `width` numbers in a temporary file, which are appended and read back.

    The file has no name where the system allows that (on Linux), and is removed when it is closed
    elsewhere: it vanishes however the process ends.
    """

    def __init__(self, width: int, dtype: np.dtype[Any]) -> None:
        self.width, self.dtype, self._file = width, dtype, _open_temporary()

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def append(self, rows: Array) -> None:
        """Write rows after those that are there."""
        try:
            self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
            self._file.flush()
        except OSError as error:
            raise _explain(error) from error

    def read(self, rows: slice) -> Array:
        """Some consecutive rows."""
        size = self.width * self.dtype.itemsize
        out = np.empty((rows.stop - rows.start, self.width), dtype=self.dtype)
        self._file.seek(rows.start * size)
        got = self._file.readinto(out.data.cast("B")) if out.size else 0  # type: ignore[attr-defined]
        if got != out.nbytes:
            raise OSError(f"A temporary file in {folder()!r} was cut short.")
        self._file.seek(0, os.SEEK_END)
        return out


Rows = HeldRows | ScratchRows


def folder() -> str:
    """The folder of temporary files."""
    return current().scratch or tempfile.gettempdir()


def _open_temporary() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=folder(), prefix="lowdim-")
    except OSError as error:
        raise _explain(error) from error


def _explain(error: OSError) -> OSError:
    """The error of a temporary file, with the folder and what to do."""
    reason = "is full" if error.errno == errno.ENOSPC else f"cannot be used ({error.strerror})"
    return OSError(
        error.errno or errno.EIO,
        f"The folder {folder()!r} of temporary files {reason}. Choose another one by "
        "lowdim.compute(scratch=...), LOWDIM_SCRATCH or --scratch",
    )
