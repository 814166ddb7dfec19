"""What a report is made of: maps, and what made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from lowdim.catalog import find
from lowdim.checks import Array, as_columns
from lowdim.plot.compare import maps_by_name
from lowdim.quality import Assessment


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
    assessment : Assessment or None
        What `lowdim.quality.assess` returned.

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
    assessment: Assessment | None = None

    @property
    def points(self) -> Array:
        """The coordinates to draw, (n, 1 to 3)."""
        Y = as_columns(self.embedding, np.float64)
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
    named = isinstance(models, Mapping)
    models = [models] if isinstance(models, Run) else models
    return [_run(one, name, named) for name, one in maps_by_name(models)]


def _run(one: Any, name: str, named: bool) -> Run:
    if isinstance(one, Run):
        return replace(one, name=name) if named else one
    if hasattr(one, "embedding_"):
        return Run(name, type(one).__name__, _set_parameters(one), one.embedding_)
    return Run(name, "", {}, one)


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
    return next(iter(counts.values()))
