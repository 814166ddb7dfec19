"""What is written: coordinates, ids and labels of each object."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lowdim.checks import Array


@dataclass(frozen=True)
class Result:
    """The rows of an output file."""

    coordinates: Array
    names: list[str]
    ids: Array | None = None
    id_name: str = "id"
    labels: dict[str, Array] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return len(self.coordinates)

    def columns(self) -> dict[str, Array]:
        """Everything as named columns: ids, labels, coordinates."""
        columns = {} if self.ids is None else {self.id_name: self.ids}
        columns.update(self.labels)
        for name, values in zip(self.names, self.coordinates.T, strict=True):
            columns[name] = values
        return columns


def as_text(values: Array) -> Array:
    """Strings of a fixed width for formats without missing strings."""
    return np.array(["" if v is None else str(v) for v in values.tolist()], dtype=np.str_)
