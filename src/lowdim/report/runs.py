"""What a report is made of: maps, and what made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np

from lowdim.catalog import find
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
                f"runs: the embedding of {self.name!r} must have one row per object, got {Y.shape}."
            )
        return Y if Y.shape[1] <= 3 else Y[:, :2]

    @property
    def call(self) -> str:
        """The line of Python that makes the map; empty if it is not known."""
        if not self.method:
            return ""
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        package = "lowdim." if find(self.method) is not None else ""
        return f"{package}{self.method}({arguments}).fit_transform(X)"


def runs_of(models: Any) -> list[Run]:
    """Runs from what a user has: runs, fitted estimators or arrays, in a list or by name."""
    if isinstance(models, Mapping):
        return [_run(one, str(name)) for name, one in models.items()]
    if isinstance(models, Run) or hasattr(models, "embedding_"):
        models = [models]
    runs: list[Run] = []
    for one in models:
        name = one.name if isinstance(one, Run) else _free_name(one, [run.name for run in runs])
        runs.append(_run(one, name))
    return runs


def _run(one: Any, name: str) -> Run:
    if isinstance(one, Run):
        return replace(one, name=name)
    if hasattr(one, "embedding_"):
        return Run(name, type(one).__name__, _set_parameters(one), one.embedding_)
    return Run(name, "", {}, one)


def _free_name(one: Any, taken: Sequence[str]) -> str:
    stem = type(one).__name__ if hasattr(one, "embedding_") else "map"
    name, count = stem, 2
    while name in taken:
        name, count = f"{stem} {count}", count + 1
    return name


def _set_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters that differ from their defaults and can be written down."""
    if not hasattr(estimator, "get_params"):
        return {}
    defaults = {
        name: parameter.default
        for name, parameter in signature(type(estimator).__init__).parameters.items()
    }
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if isinstance(value, str | int | float | tuple | dict | None)
        and value != defaults.get(name)
    }


def check_runs(runs: Sequence[Run]) -> int:
    """The number of objects, the same in every run."""
    if not runs:
        raise ValueError("runs is empty: a report needs at least one map.")
    counts = {run.name: len(run.points) for run in runs}
    if len(counts) < len(runs):
        raise ValueError(f"runs must have different names, got {[run.name for run in runs]}.")
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{n} in {name!r}" for name, n in counts.items())
        raise ValueError(f"runs must place the same objects, got {sizes}.")
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
