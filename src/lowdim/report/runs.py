"""What a report is made of: maps, and what made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.report.findings import Findings, findings_of


@dataclass(frozen=True)
class Run:
    """One map of a report: what made it, and how well it shows the data.

    Attributes
    ----------
    name : str
        Written above the map; unique in a report.
    method : str
        Name of the class of the estimator.
    parameters : mapping of str to value
        The parameters that were set.
    embedding : array of shape (n,) or (n, n_components)
        Coordinates. Rows with NaN are not drawn. Of more than three dimensions the first two are.
    seconds : float or None
        Time of the fit.
    assessment : quality report, Findings or None
        What `lowdim.quality.assess` returned, or `Findings` made by other means.

    Examples
    --------
    >>> from lowdim.report import Run
    >>> Run("PCA", "PCA", {"n_components": 2}, [[0, 0], [1, 2]]).call
    'lowdim.PCA(n_components=2).fit_transform(X)'
    """

    name: str
    method: str
    parameters: Mapping[str, Any]
    embedding: Any
    seconds: float | None = None
    assessment: Any = None

    @cached_property
    def findings(self) -> Findings:
        """What was found out about the map, nothing if it was not assessed."""
        if self.assessment is None:
            return Findings()
        if isinstance(self.assessment, Findings):
            return self.assessment
        Y = np.asarray(self.embedding, dtype=np.float64).reshape(len(self.embedding), -1)
        return findings_of(self.assessment, np.asarray(~np.isnan(Y).any(axis=1)))

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
            values = getattr(run.findings, name)
            if values is not None and np.shape(values) != (n,):
                raise ValueError(
                    f"runs: {name} of {run.name!r} has shape {np.shape(values)}, but there are "
                    f"{n} objects."
                )
    return n
