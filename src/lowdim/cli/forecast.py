"""How long a fit will take and how much memory, extrapolated from fits of a few of the objects."""

from __future__ import annotations

import logging
import tracemalloc
import warnings
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowdim.checks import float_dtype
from lowdim.runtime import memory

if TYPE_CHECKING:
    from lowdim.catalog import Method

SMALLEST = 300  # objects; fewer are fitted at once
_FIRST = 100  # objects of the first probe; each further one has twice as many
_PATIENCE = 1.0  # seconds of probes, after which no larger one is made
_REFUSALS = (ValueError, TypeError, RuntimeError, MemoryError)  # of an estimator


@dataclass(frozen=True)
class Forecast:
    """Seconds and bytes, both as an order of magnitude."""

    seconds: float
    n_bytes: float

    def __str__(self) -> str:
        text = f"about {readable(self.seconds)} and {memory.readable(self.n_bytes)} of memory"
        free = memory.available_bytes()
        if free is not None and self.n_bytes > free:
            text += f", of which only {memory.readable(free)} is free"
        return text


def readable(seconds: float) -> str:
    """A duration with no more digits than are known."""
    if seconds < 1:
        return "a second or less"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def forecast(method: Method, params: dict[str, Any], X: Any) -> Forecast | None:
    """Fit some hundreds of the objects and extrapolate; None if that would say nothing.

    Seconds and bytes are taken as a + b n + c n^p, each with the p of the catalog. What a method
    does only on large data is not seen by the probes, unless the catalog says how to ask for it.
    """
    n = X.shape[0]
    pairwise = params.get("metric") == "precomputed"
    if n < SMALLEST or method.objects != "vectors" or (pairwise and hasattr(X, "tocsr")):
        return None
    chosen = np.random.RandomState(0).permutation(n)
    large = {} if pairwise else method.at_scale(n)
    large = {name: v for name, v in large.items() if params.get(name, "auto") == "auto"}
    probed = {**params, **large}
    probes: list[Probe] = []
    _warm_up(method, probed, X[chosen[:_FIRST]][:, chosen[:_FIRST]] if pairwise else X[:_FIRST])
    size, start = _FIRST, perf_counter()
    while size <= n // 2 and perf_counter() - start < _PATIENCE:
        rows = np.sort(chosen[:size])
        part = X[rows][:, rows] if pairwise else X[rows]
        with suppress(*_REFUSALS):  # too few objects, perhaps
            probes.append(_probe(method, probed, part))
        size *= 2
    if not probes:
        return None
    linear = bool(large) or bool(method.reduced_by and params.get(method.reduced_by))
    seconds = [(t.size, t.seconds) for t in probes]
    n_bytes = _extrapolated(
        [(t.size, t.n_bytes) for t in probes], n, 1.0 if linear else method.memory
    )
    if method.memory == 2.0 and not linear:  # small probes do not show it
        n_bytes = max(n_bytes, float(n) * n * float_dtype(X.dtype).itemsize)
    return Forecast(_extrapolated(seconds, n, 1.0 if linear else method.power), n_bytes)


class Probe(NamedTuple):
    """A fit of a few objects."""

    size: int
    seconds: float
    n_bytes: int


def _warm_up(method: Method, params: dict[str, Any], X: Any) -> None:
    """A fit that loads what the method needs and is not counted."""
    with suppress(*_REFUSALS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.load()(**params).fit(X)


def _probe(method: Method, params: dict[str, Any], X: Any) -> Probe:
    """One fit, timed while its memory is traced, which hardly slows down compiled code."""
    log = logging.getLogger("lowdim")
    level = log.level
    log.setLevel(logging.ERROR)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = perf_counter()
            method.load()(**params).fit(X)
            return Probe(X.shape[0], perf_counter() - start, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
        log.setLevel(level)


def _extrapolated(seen: list[tuple[int, float]], n: int, power: float) -> float:
    """Least squares of the relative errors, no term below zero."""
    from scipy.optimize import nnls

    def terms(size: float) -> list[float]:
        return [1.0, size, size**power]

    design = np.array([terms(size) for size, _ in seen]) / [[value] for _, value in seen]
    scale = design.max(axis=0)
    weights = nnls(design / scale, np.ones(len(seen)))[0] / scale
    return float(np.dot(weights, terms(n)))
