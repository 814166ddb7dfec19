"""What a fit will take, known before it runs: memory, time, approximations, cheaper choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from lowdim.catalog import find
from lowdim.estimator.footprint import Problem, alternatives, claim_memory, footprint
from lowdim.estimator.neighbors import search_method
from lowdim.estimator.probes import SMALLEST as SMALLEST
from lowdim.estimator.probes import seconds_of_fit
from lowdim.neighbor_graphs.indexes import exact_is_fast
from lowdim.objects.blocked_objects import BlockedObjects
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime import memory
from lowdim.runtime.context import current, n_threads
from lowdim.runtime.scheduling import running


@dataclass(frozen=True)
class Plan:
    """What a fit will take; see `plan`.

    Attributes
    ----------
    name : str
        Class of the estimator.
    n : int
        Number of objects.
    memory : dict
        Bytes of each step at the peak of the fit, beyond the data.
    allowed : int or None
        Bytes that the fit may take; None if they are not known.
    seconds : (float, float) or None
        Shortest and longest time that is likely; None if there is no estimate.
    threads : int
        Number of threads.
    approximate : list of str
        Results that are not exact.
    cheaper : list of str
        What would take less time or memory, by parameters that this estimator has.
    """

    name: str
    n: int
    memory: dict[str, int]
    allowed: int | None
    seconds: tuple[float, float] | None
    threads: int
    approximate: list[str]
    cheaper: list[str]

    @property
    def n_bytes(self) -> int:
        """Bytes at the peak of the fit, beyond the data."""
        return sum(self.memory.values())

    @property
    def summary(self) -> str:
        """Time and memory in one line."""
        time = "" if self.seconds is None else f"{self._time()}, "
        return f"{time}{memory.readable(self.n_bytes)} of memory beyond the data"

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {memory.readable(size)}" for name, size in self.memory.items())
        allowed = "" if self.allowed is None else f" of {memory.readable(self.allowed)}"
        lines = [
            f"{self.name} of {self.n} objects",
            f"  memory       {memory.readable(self.n_bytes)}{allowed}, beyond the data: {parts}",
            f"  time         {self._time()} on {self.threads} threads",
            f"  approximate  {', '.join(self.approximate) or 'nothing'}",
            f"  cheaper      {'; '.join(self.cheaper)}",
        ]
        return "\n".join(lines)

    def _time(self) -> str:
        if self.seconds is None:
            return "no estimate of the time"
        low, high = map(_readable, self.seconds)
        return low if low == high else f"between {low} and {high}"


def plan(estimator: Any, X: Any) -> Plan:
    """What `estimator.fit(X)` will take. The estimator is not changed.

    Parameters
    ----------
    estimator : estimator
        One of lowdim's.
    X : array-like
        The argument of `fit`.

    Returns
    -------
    Plan
        Print it, or read its attributes.

    Raises
    ------
    MemoryError
        If the fit would take more memory than it may (see `lowdim.compute`) or than there is. The
        message names what this estimator can do instead.

    Notes
    -----
    The memory is that of formulas, which `python -m benchmarks memory` compares with real peaks.
    The time is a range around an estimate: fits of a few hundred of the objects are measured, in
    CPU time on one thread, which takes a second or two; from them the time grows as it did when it
    was measured for each method with its default parameters. The range ends at half and at twice
    the estimate. Of 16 fits to real data 13 were inside; search and eigensolvers that depend on the
    structure of the data take up to five times the estimate.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(200, random_state=0)
    >>> print(lowdim.plan(lowdim.MDS(), X))  # doctest: +ELLIPSIS
    MDS of 200 objects
      memory       1.1 MB of ...
      time         no estimate of the time on ... threads
      approximate  nothing
      cheaper      ...
    """
    method = find(type(estimator).__name__)
    if method is None or not hasattr(estimator, "_objects"):
        raise TypeError(f"estimator must be an estimator of lowdim, got {estimator!r}.")
    copy = clone(estimator)
    with running(copy._n_jobs):
        objects = copy._objects(X)
        claim_memory(copy, objects, {})
        return Plan(
            name=method.name,
            n=objects.n,
            memory=_steps(copy, objects, square=method.memory == 2.0),
            allowed=_allowed(),
            seconds=seconds_of_fit(estimator, method, objects),
            threads=n_threads(),
            approximate=_approximations(copy, objects),
            cheaper=alternatives(copy, objects),
        )


def _steps(estimator: Any, objects: Objects, *, square: bool) -> dict[str, int]:
    """The peak of the memory, divided by what takes it."""
    problem, total = Problem(estimator, objects), footprint(estimator, objects)
    steps: dict[str, int] = {}
    if hasattr(estimator, "_n_wanted"):
        steps["nearest neighbours"] = min(total, int(problem.arcs * (4 + problem.size)))
    elif square and problem.distances <= total:
        steps["dissimilarities of all pairs"] = int(problem.distances)
    steps["matrices and solver"] = total - sum(steps.values())
    return {name: size for name, size in steps.items() if size}


def _allowed() -> int | None:
    """Bytes that a computation may take."""
    found = [size for size in (current().memory, memory.available_bytes()) if size is not None]
    return min(found, default=None)


def _approximations(estimator: Any, objects: Objects) -> list[str]:
    """What a fit to these objects computes approximately."""
    found = []
    searched = hasattr(estimator, "_n_wanted") and search_method(estimator) == "auto"
    large = isinstance(objects, BlockedObjects) or (
        isinstance(objects, MeasuredObjects) and not exact_is_fast(objects.rows, objects.metric)
    )
    if searched and large:
        found.append("nearest neighbours (recall about 0.95)")
    if hasattr(estimator, "angle") and getattr(estimator, "method", "exact") != "exact":
        found.append("repulsion between distant points, if there are many")
    if hasattr(estimator, "negative_sample_rate"):
        found.append("repulsion, by random samples")
    if getattr(estimator, "n_landmarks", None) is not None:
        found.append(f"distances, from n_landmarks={estimator.n_landmarks} objects")
    if getattr(estimator, "n_prototypes", None) is not None:
        found.append(f"the places of all but n_prototypes={estimator.n_prototypes} objects")
    if hasattr(estimator, "_sampled") and estimator._sampled(objects):
        found.append("stress, by random pairs")
    return found


def _readable(seconds: float) -> str:
    """A duration with no more digits than are known."""
    if seconds < 1:
        return "a second or less"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
