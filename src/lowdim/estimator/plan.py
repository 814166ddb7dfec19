"""What a fit will take, known before it runs: memory, time, approximations, cheaper choices."""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from lowdim.estimator.embedder import Embedder
from lowdim.estimator.footprint import alternatives, claim_memory, footprint, search_method
from lowdim.neighbor_graphs.search import use_exact_search
from lowdim.objects.objects import BlockedObjects, MeasuredObjects, Objects
from lowdim.runtime import memory
from lowdim.runtime.context import current, n_threads
from lowdim.runtime.scheduling import use_threads

SMALLEST = 300  # objects; fewer are fitted at once
FIRST = 100  # objects of the first probe; each further one has twice as many
PATIENCE = 1.0  # seconds of probes, after which no larger one is made
MARGIN = 2.5  # factor between the estimate and the ends of the range
PARALLEL = 0.9  # share of a fit that several threads divide, about
UNIMPORTANT = {"metric", "init", "affinity", "warm_start"}  # they choose no algorithm
_REFUSALS = (ValueError, TypeError, RuntimeError, MemoryError)  # of an estimator
_UNUSED = {"checkpoint": None, "warm_start": False, "callback": None, "verbose": 0, "n_jobs": 1}


@dataclass(frozen=True)
class Plan:
    """What a fit will take; see `plan`.

    Attributes
    ----------
    name : str
        Class of the estimator.
    n : int
        Number of objects.
    n_bytes : int
        Bytes at the peak of the fit, beyond the data.
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
    n_bytes: int
    allowed: int | None
    seconds: tuple[float, float] | None
    threads: int
    approximate: list[str]
    cheaper: list[str]

    @property
    def summary(self) -> str:
        """Time and memory in one line."""
        time = "" if self.seconds is None else f"{self._time()}, "
        return f"{time}{memory.readable(self.n_bytes)} of memory beyond the data"

    def __str__(self) -> str:
        allowed = "" if self.allowed is None else f" of {memory.readable(self.allowed)}"
        lines = [
            f"{self.name} of {self.n} objects",
            f"  memory       {memory.readable(self.n_bytes)}{allowed}, beyond the data",
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


def plan(estimator: Any, X: Any, y: Any = None) -> Plan:
    """What `estimator.fit(X)` will take. The estimator is not changed.

    Parameters
    ----------
    estimator : estimator
        One of lowdim's.
    X : array-like
        The argument of `fit`.
    y : array of shape (n_samples,), default=None
        The labels, for methods that need them to fit; without them there is no estimate of the
        time.

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
    The memory is that of formulas. The time is a range around an estimate: fits of a few hundred of
    the objects are measured, in CPU time on one thread, which takes a second or two. From the
    largest of them the time grows with a power of n, which `python -m benchmarks scale` measures
    for each method with its default parameters; for other algorithms and metrics it is that between
    the two largest. The range ends at the estimate divided by 2.5 and times 2.5. Search and
    eigensolvers that depend on the structure of the data can take longer. `python -m benchmarks
    plan` compares both with what fits take.

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
    if not isinstance(estimator, Embedder):
        raise TypeError(f"estimator must be an estimator of lowdim, got {estimator!r}.")
    copy = clone(estimator)
    with use_threads(copy._n_jobs):
        objects = copy._objects(X)
        claim_memory(copy, objects, {})
        limits = [size for size in (current().memory, memory.available_bytes()) if size is not None]
        return Plan(
            name=type(estimator).__name__,
            n=objects.n,
            n_bytes=footprint(copy, objects),
            allowed=min(limits, default=None),
            seconds=seconds_of_fit(copy, objects, y),
            threads=n_threads(),
            approximate=_approximations(copy, objects),
            cheaper=alternatives(copy, objects),
        )


def _approximations(estimator: Any, objects: Objects) -> list[str]:
    """What a fit to these objects computes approximately."""
    texts = []
    if (
        hasattr(estimator, "_n_wanted")
        and isinstance(objects, MeasuredObjects | BlockedObjects)
        and not use_exact_search(objects.rows, objects.metric, search_method(estimator))
    ):
        texts.append("nearest neighbours (recall about 0.95)")
    if hasattr(estimator, "angle") and getattr(estimator, "method", "exact") != "exact":
        texts.append("repulsion between distant points, if there are many")
    if hasattr(estimator, "negative_sample_rate"):
        texts.append("repulsion, by random samples")
    if getattr(estimator, "n_landmarks", None) is not None:
        texts.append(f"distances, from n_landmarks={estimator.n_landmarks} objects")
    if getattr(estimator, "n_prototypes", None) is not None:
        texts.append(f"the places of all but n_prototypes={estimator.n_prototypes} objects")
    if estimator._uses_sample(objects):
        texts.append("the objective, by random pairs")
    return texts


def _readable(seconds: float) -> str:
    """A duration with no more digits than are known."""
    if seconds < 1:
        return "a second or less"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def seconds_of_fit(estimator: Any, objects: Objects, y: Any = None) -> tuple[float, float] | None:
    """Shortest and longest time that is likely; None if there is no estimate."""
    traits = estimator.traits
    if objects.n < SMALLEST:
        return None
    known = estimator.get_params(deep=False)
    probe = clone(estimator).set_params(**{k: v for k, v in _UNUSED.items() if k in known})
    if sampled := estimator._uses_sample(objects):
        probe.set_params(method="sampled")
    linear = sampled or bool(traits.reduced_by and known[traits.reduced_by])
    probes = _probes(probe, objects, y)
    if not probes:
        return None
    size, seconds = probes[-1]
    power = 1.0 if linear else traits.power
    if not linear and len(probes) > 1 and not _as_measured(estimator, objects):
        before, less = probes[-2]
        power = float(np.clip(np.log(seconds / less) / np.log(size / before), 1.0, 3.0))
    divided = 1 - PARALLEL + PARALLEL / n_threads(known.get("n_jobs"))
    middle = seconds * (objects.n / size) ** power * divided
    return middle / MARGIN, middle * MARGIN


def _as_measured(estimator: Any, objects: Objects) -> bool:
    """Whether nothing is chosen that changes how the time grows: a metric or an algorithm."""
    known = estimator.get_params(deep=False)
    usual = {name: p.default for name, p in signature(type(estimator)).parameters.items()}
    algorithms = {
        name
        for name, value in usual.items()
        if (isinstance(value, str | bool) and name not in UNIMPORTANT)
        or (name == "n_components" and value is None)  # all of them
    }
    same = all(known[name] == usual[name] for name in algorithms)
    return same and objects.measured and objects.euclidean


def _probes(estimator: Any, objects: Objects, y: Any) -> list[tuple[int, float]]:
    """Sizes and seconds of fits of some of the objects."""
    chosen = np.random.RandomState(0).permutation(objects.n)
    labels = None if y is None else np.asarray(y)

    def probe(size: int) -> float:
        rows = np.sort(chosen[:size])
        arguments = {} if labels is None else {"y": labels[rows]}
        return _probe(estimator, objects.subset(rows), **arguments)

    probes: list[tuple[int, float]] = []
    with suppress(*_REFUSALS):  # loads what the method needs, and is not counted
        probe(FIRST)
    size, spent = FIRST, 0.0
    while size <= objects.n // 2 and spent < PATIENCE:
        with suppress(*_REFUSALS):  # too few objects, perhaps
            probes.append((size, probe(size)))
            spent += probes[-1][1]
        size *= 2
    return probes


def _probe(estimator: Any, objects: Objects, **arguments: Any) -> float:
    """CPU seconds of one fit, with further arguments."""
    log = logging.getLogger("lowdim")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), use_threads(1):
            warnings.simplefilter("ignore")
            start = process_time()
            clone(estimator)._claim_and_fit(objects, **arguments)
            return process_time() - start
    finally:
        log.setLevel(level)
