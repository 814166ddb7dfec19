"""How long a fit will take, and how much memory, told from fits of a few of the objects."""

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

SMALLEST = 300  # objects; below, there is nothing to wait for
_FIRST = 100  # objects of the first trial; each further one has twice as many
_PATIENCE = 1.0  # seconds of trials, after which no larger one is made


@dataclass(frozen=True)
class Estimate:
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
    """A duration that promises no more digits than it has."""
    if seconds < 1:
        return "a second or less"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def estimate(method: Method, params: dict[str, Any], X: Any) -> Estimate | None:
    """Fits of some hundred objects, their growth carried on to all; None where that says nothing.

    Seconds and bytes are a + b n + c n^p, each with the catalog's p.
    What a method does only on large data is not seen by the trials.
    """
    n = X.shape[0]
    pairwise = params.get("metric") == "precomputed"
    if n < SMALLEST or method.objects == "subjects" or (pairwise and hasattr(X, "tocsr")):
        return None
    chosen = np.random.RandomState(0).permutation(n)
    large = {**params, **_as_large(method, n)}
    trials: list[Trial] = []
    _warm_up(method, large, X[chosen[:_FIRST]][:, chosen[:_FIRST]] if pairwise else X[:_FIRST])
    size, start = _FIRST, perf_counter()
    while size <= n // 2 and perf_counter() - start < _PATIENCE:
        rows = np.sort(chosen[:size])
        part = X[rows][:, rows] if pairwise else X[rows]
        with suppress(ValueError, TypeError, RuntimeError, MemoryError):  # too few objects, perhaps
            trials.append(_trial(method, large, part))
        size *= 2
    if not trials:
        return None
    some = any(params.get(name) for name in ("n_landmarks", "n_prototypes"))
    linear = some or large != params
    seconds = [(t.size, t.seconds) for t in trials]
    n_bytes = _carried_on(
        [(t.size, t.n_bytes) for t in trials], n, 1.0 if linear else method.memory
    )
    if method.memory == 2.0 and not linear:  # which small trials hide behind their buffers
        n_bytes = max(n_bytes, float(n) * n * float_dtype(X.dtype).itemsize)
    return Estimate(_carried_on(seconds, n, 1.0 if linear else method.power), n_bytes)


class Trial(NamedTuple):
    """A fit of a few objects."""

    size: int
    seconds: float
    n_bytes: int


def _as_large(method: Method, n: int) -> dict[str, Any]:
    """Parameters that make a method treat few objects as it would treat n."""
    if method.name == "MDS":
        from lowdim.methods.mds import SAMPLED_FROM

        return {"method": "sampled"} if n > SAMPLED_FROM else {}
    return {}


def _warm_up(method: Method, params: dict[str, Any], X: Any) -> None:
    """A fit that loads what the method needs, and does not count."""
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.load()(**params).fit(X)


def _trial(method: Method, params: dict[str, Any], X: Any) -> Trial:
    """One fit, timed while its memory is traced, which slows compiled code down but little."""
    log = logging.getLogger("lowdim")
    level = log.level
    log.setLevel(logging.ERROR)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = perf_counter()
            method.load()(**params).fit(X)
            return Trial(X.shape[0], perf_counter() - start, tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
        log.setLevel(level)


def _carried_on(seen: list[tuple[int, float]], n: int, power: float) -> float:
    """Least squares of the relative errors, no term below zero."""
    from scipy.optimize import nnls

    def terms(size: float) -> list[float]:
        return [1.0, size, size**power]

    design = np.array([terms(size) for size, _ in seen]) / [[value] for _, value in seen]
    scale = design.max(axis=0)
    weights = nnls(design / scale, np.ones(len(seen)))[0] / scale
    return float(np.dot(weights, terms(n)))
