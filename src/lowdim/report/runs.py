"""What a report is made of: maps, and what was found out about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowdim.checks import Array


@dataclass(frozen=True)
class Measure:
    """A number that says how true a map is, with its confidence interval if it is an estimate."""

    value: float
    low: float | None = None
    high: float | None = None
    better: str | None = "higher"  # or "lower"; None where neither is better
    meaning: str = ""


@dataclass(frozen=True)
class Assessment:
    """What is known of how true a map is; all of it may be left out.

    measures : by name, in the order of the table.
    warnings : what must not be read from the map, in plain words.
    rnx : sizes K and values R_NX(K).
    shepard : dissimilarities and distances on the map of the same pairs.
    torn, false : of each object, the share of its neighbours that the map places far away, and the
        share of its neighbours on the map that are none.
    """

    measures: Mapping[str, Measure] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    rnx: tuple[Any, Any] | None = None
    shepard: tuple[Any, Any] | None = None
    torn: Any = None
    false: Any = None


@dataclass(frozen=True)
class Run:
    """One map: what made it, how long that took, and what was found out about it.

    name : stands above the map; unique in a report.
    method : name of the estimator's class.
    parameters : those that were set.
    embedding : coordinates, (n,) or (n, p). Rows with NaN are not drawn; of more than three
        dimensions the first two are.
    """

    name: str
    method: str
    parameters: Mapping[str, Any]
    embedding: Any
    seconds: float | None = None
    assessment: Assessment = field(default_factory=Assessment)

    @property
    def points(self) -> Array:
        """The coordinates to draw, (n, 1 to 3)."""
        Y: Array = np.asarray(self.embedding, dtype=np.float64)
        if Y.ndim == 1:
            Y = Y[:, None]
        if Y.ndim != 2 or not Y.shape[1]:
            raise ValueError(
                f"runs: the embedding of {self.name!r} must have a row an object, got {Y.shape}."
            )
        return Y if Y.shape[1] <= 3 else Y[:, :2]

    @property
    def call(self) -> str:
        """The line of Python that makes the map."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"lowdim.{self.method}({given}).fit_transform(X)"


def check_runs(runs: Sequence[Run]) -> int:
    """The number of objects, the same in every run."""
    if not runs:
        raise ValueError("runs is empty: a report needs at least one map.")
    counts = {run.name: len(run.points) for run in runs}
    if len(counts) < len(runs):
        raise ValueError(f"runs must have different names, got {[run.name for run in runs]}.")
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{n} in {name!r}" for name, n in counts.items())
        raise ValueError(f"runs must place the same objects, got {found}.")
    n = next(iter(counts.values()))
    for run in runs:
        for name in ("torn", "false"):
            values = getattr(run.assessment, name)
            if values is not None and np.shape(values) != (n,):
                raise ValueError(
                    f"runs: {name} of {run.name!r} has shape {np.shape(values)}, but there are "
                    f"{n} objects."
                )
    return n
