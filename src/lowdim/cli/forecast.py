"""What a fit will cost: memory from the catalog, time as a range from fits of a few objects."""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.checks import float_dtype, is_sparse
from lowdim.runtime import memory

if TYPE_CHECKING:
    from lowdim.catalog import Method

SMALLEST = 300  # objects; fewer are fitted at once
_FIRST = 100  # objects of the first probe; each further one has twice as many
_PATIENCE = 1.0  # seconds of probes, after which no larger one is made
_LEAST_PROBES = 3  # fewer do not show how the time grows
_MARGIN = 2.0  # factor by which times of a shared machine vary
_WIDEST = 16.0  # ratio of the ends of a range beyond which no range is shown
_REFUSALS = (ValueError, TypeError, RuntimeError, MemoryError)  # of an estimator


@dataclass(frozen=True)
class Forecast:
    """The cost of a fit.

    Attributes
    ----------
    seconds : tuple of two floats, or None
        Shortest and longest time that is likely; None if the probes give no estimate.
    n_bytes : float or None
        Memory of the largest array, if the method needs one that grows with the square of n.
    """

    seconds: tuple[float, float] | None
    n_bytes: float | None

    def __str__(self) -> str:
        parts = []
        if self.seconds is not None:
            low, high = map(readable, self.seconds)
            parts.append(low if low == high else f"between {low} and {high}")
        if self.n_bytes is not None:
            text = f"at least {memory.readable(self.n_bytes)} of memory"
            free = memory.available_bytes()
            if free is not None and self.n_bytes > free:
                text += f", of which only {memory.readable(free)} is free"
            parts.append(text)
        return ", ".join(parts)


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
    """Fit some hundreds of the objects and extrapolate; None if there is no estimate.

    Seconds are taken as a + b n + c n^p with the p of the catalog. What a method does only on large
    data is not seen by the probes, unless the catalog says how to ask for it.
    """
    n = X.shape[0]
    params = {**params, "checkpoint": None} if "checkpoint" in params else params  # not of a probe
    pairwise = params.get("metric") == "precomputed"
    if n < SMALLEST or method.objects != "vectors" or (pairwise and is_sparse(X)):
        return None
    large = {} if pairwise else method.at_scale(n)
    large = {name: v for name, v in large.items() if params.get(name, "auto") == "auto"}
    linear = bool(large) or bool(method.reduced_by and params.get(method.reduced_by))
    probes = _probes(method, {**params, **large}, X, pairwise)
    seconds = _range(probes, n, 1.0 if linear else method.power)
    n_bytes = None
    if method.memory == 2.0 and not linear:
        n_bytes = float(n) * n * float_dtype(X.dtype).itemsize
    return None if seconds is None and n_bytes is None else Forecast(seconds, n_bytes)


def _probes(
    method: Method, params: dict[str, Any], X: Any, pairwise: bool
) -> list[tuple[int, float]]:
    """Sizes and seconds of fits of some of the objects."""
    n = X.shape[0]
    chosen = np.random.RandomState(0).permutation(n)
    probes: list[tuple[int, float]] = []
    _warm_up(method, params, X[chosen[:_FIRST]][:, chosen[:_FIRST]] if pairwise else X[:_FIRST])
    size, start = _FIRST, perf_counter()
    while size <= n // 2 and perf_counter() - start < _PATIENCE:
        rows = np.sort(chosen[:size])
        part = X[rows][:, rows] if pairwise else X[rows]
        with suppress(*_REFUSALS):  # too few objects, perhaps
            probes.append((size, _probe(method, params, part)))
        size *= 2
    return probes


def _range(probes: list[tuple[int, float]], n: int, power: float) -> tuple[float, float] | None:
    """Likely times for n objects: by the law of growth from all probes and from all but the last,
    and in proportion to the last, with a margin. None if these disagree."""
    if len(probes) < _LEAST_PROBES:
        return None
    found = [_extrapolated(probes, n, power), _extrapolated(probes[:-1], n, power)]
    found.append(probes[-1][1] * n / probes[-1][0])
    low, high = min(found) / _MARGIN, max(found) * _MARGIN
    return (low, high) if high <= _WIDEST * low else None


def _warm_up(method: Method, params: dict[str, Any], X: Any) -> None:
    """A fit that loads what the method needs and is not counted."""
    with suppress(*_REFUSALS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.load()(**params).fit(X)


def _probe(method: Method, params: dict[str, Any], X: Any) -> float:
    """Seconds of one fit."""
    log = logging.getLogger("lowdim")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = perf_counter()
            method.load()(**params).fit(X)
            return perf_counter() - start
    finally:
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
