"""The content of a file, before the roles of its columns are chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lowdim.checks import Array


class Mixed(NamedTuple):
    """A column of numbers with something else among them: where, what, and how many numbers."""

    row: int
    value: str
    numbers: int


@dataclass
class Frame:
    """The content of a file, one object a row.

    `numbers` is a dense array, a memory map or a sparse matrix, whose columns are named by
    `names` if the file names them; `texts` are columns of strings, with None where a value is
    missing; `beside` holds what the file keeps beside its data, such as the labels in an NPZ
    file. `ids` are the names of the objects if the file has them in a place of their own.
    `as_stored` returns a column of `numbers` as the file holds it, where `numbers` may have rounded
    it: integers, or strings with None where a value is missing.
    """

    numbers: Any
    names: list[str] | None = None
    texts: dict[str, Array] = field(default_factory=dict)
    beside: dict[str, Array] = field(default_factory=dict)
    ids: Array | None = None
    mixed: dict[str, Mixed] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    order: list[str] | None = None  # of all columns, as in the file
    first_line: int | None = None  # of the rows, in a text file
    image_shape: tuple[int, ...] | None = None  # of each row, if it is an image
    as_stored: Callable[[str], Array] | None = None
    photographs: bool = False  # images whose values are light

    @property
    def n_rows(self) -> int:
        return int(self.numbers.shape[0])

    def place(self, row: int) -> str:
        """How to find a row: by its line in a text file without quoted line breaks, else by
        its number."""
        if self.first_line is None:
            return f"row {row}"
        return f"row {row} (line {row + self.first_line})"
