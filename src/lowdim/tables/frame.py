"""The content of a file, before the roles of its columns are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lowdim.checks import Array, dense


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

    def column(self, name: str) -> Array:
        """The values of a column by its name; unnamed columns of numbers are x0, x1, ..."""
        if name in self.beside:
            return self.beside[name]
        if name in self.texts:
            return self.texts[name]
        place = self.number_names.index(name)
        return dense(self.numbers[:, [place]]).ravel()

    @property
    def number_names(self) -> list[str]:
        """Names of the columns of numbers."""
        return self.names or [f"x{i}" for i in range(self.numbers.shape[1])]

    @property
    def all_names(self) -> list[str]:
        """Names of all columns, those beside the data last."""
        return [*(self.order or [*self.number_names, *self.texts]), *self.beside]

    def place(self, row: int) -> str:
        """How to find a row: by its line in a text file without quoted line breaks, else by
        its number."""
        if self.first_line is None:
            return f"row {row}"
        return f"row {row} (line {row + self.first_line})"


class FileColumns(Mapping[str, Array]):
    """All columns of a file as it holds them, of the rows that were kept."""

    def __init__(self, frame: Frame | None = None, kept: Array | None = None) -> None:
        self._frame, self._kept = frame, kept

    def __getitem__(self, name: str) -> Array:
        if self._frame is None or name not in self._frame.all_names:
            raise KeyError(name)
        values = self._frame.column(name)
        return values if self._kept is None else values[self._kept]

    def __iter__(self) -> Iterator[str]:
        return iter([] if self._frame is None else self._frame.all_names)

    def __len__(self) -> int:
        return 0 if self._frame is None else len(self._frame.all_names)
