"""The objects of a file, as an estimator takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lowdim.checks import Array, is_sparse
from lowdim.messages import plural
from lowdim.summaries import html_facts, short_repr
from lowdim.tables.columns import Frame
from lowdim.tables.errors import join_names
from lowdim.tables.recipe import Recipe


@dataclass(repr=False)
class Table:
    """The objects of a file, made by `lowdim.tables.read`.

    Attributes
    ----------
    X : array, memory map or sparse matrix
        What to fit: vectors, a table of mixed types for Gower's distance, or dissimilarities.
    source : str
        Name of the file.
    metric : str or None
        "precomputed", "gower", or None if any metric can be used.
    columns : list of str or None
        Names of the columns of X, if they have names.
    ids : array of shape (n_rows,) or None
        Names of the objects.
    id_name : str
        Name of the column of ids.
    labels : dict of str to array of shape (n_rows,)
        Columns that describe the objects and are not used for the map.
    notes : list of str
        The choices that were made for the user, one sentence each.
    recipe : Recipe or None
        How X was made, so that a model can do the same to new data.
    file_columns : mapping of str to array of shape (n_rows,)
        All columns of the file as it holds them, used for the map or not; empty for distances.
    images : array of shape (n_rows, height, width) or (n_rows, height, width, 3), or None
        The objects as pictures, if they are images.

    Examples
    --------
    >>> import lowdim
    >>> with open("fruit.csv", "w") as file:
    ...     _ = file.write("name,width,weight\\nplum,4,60\\npear,7,170\\n")
    >>> table = lowdim.tables.read("fruit.csv", id="name")
    >>> table.X.shape, table.columns, list(table.ids)
    ((2, 2), ['width', 'weight'], ['plum', 'pear'])
    """

    X: Any
    source: str
    metric: str | None = None
    columns: list[str] | None = None
    ids: Array | None = None
    id_name: str = "id"
    labels: dict[str, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    recipe: Recipe | None = None
    images: Array | None = None
    file_columns: Mapping[str, Array] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of objects."""
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        return short_repr(self, self._facts())

    def _repr_html_(self) -> str:
        notes = {f"note {place}": note for place, note in enumerate(self.notes, start=1)}
        return html_facts(f"Table of {self.source}", {**self._facts(), **notes})

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"source": self.source, "n_rows": self.n_rows}
        if self.metric is None:
            facts["n_features"] = int(self.X.shape[1])
        else:
            facts["metric"] = self.metric
        if self.ids is not None:
            facts["ids"] = self.id_name
        if self.labels:
            facts["labels"] = join_names(self.labels)
        return facts

    def __str__(self) -> str:
        if self.metric == "precomputed":
            pairs = f", {self.X.nnz // 2:,} pairs known" if is_sparse(self.X) else ""
            size = f"distances between {self.n_rows:,} objects{pairs}"
        else:
            d = self.X.shape[1]
            size = f"{self.n_rows:,} objects x {plural(d, 'feature')}"
        return "\n".join([f"{self.source}: {size}", *(f"  {note}" for note in self.notes)])


class FileColumns(Mapping[str, Array]):
    """All columns of a file as it holds them, of the rows that were kept."""

    def __init__(self, frame: Frame, kept: Array | None) -> None:
        self._frame, self._kept = frame, kept

    def __getitem__(self, name: str) -> Array:
        if name not in self._frame.all_names:
            raise KeyError(name)
        values = self._frame.column(name)
        return values if self._kept is None else values[self._kept]

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame.all_names)

    def __len__(self) -> int:
        return len(self._frame.all_names)
