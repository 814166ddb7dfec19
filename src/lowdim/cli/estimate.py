"""How long a fit will take, and how much memory, told from fits of a few of the objects."""

from __future__ import annotations

import logging
import tracemalloc
import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from lowdim.backends import memory

if TYPE_CHECKING:
    from lowdim.catalog import Method

SMALLEST = 200  # objects; below, there is nothing to wait for
_SIZES = (100, 200, 400)
_PATIENCE = 2.0  # seconds of a trial after which no larger one is made


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes, both as an order of magnitude."""

    seconds: float
    n_bytes: float

    def __str__(self) -> str:
        return f"about {readable(self.seconds)} and {memory.readable(self.n_bytes)} of memory"


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

    Seconds grow as a power of the number of objects, fitted to the trials and at least linear;
    bytes as a n + b n^2. What a method does only on large data is not seen by the trials.
    """
    n = X.shape[0]
    pairwise = params.get("metric") == "precomputed"
    if n < SMALLEST or method.objects == "subjects" or (pairwise and hasattr(X, "tocsr")):
        return None
    chosen = np.random.RandomState(0).permutation(n)
    trials: list[tuple[int, float, int]] = []
    for size in (m for m in _SIZES if m <= max(n // 2, _SIZES[0])):
        rows = np.sort(chosen[:size])
        part = X[rows][:, rows] if pairwise else X[rows]
        try:
            trials.append((size, *_trial(method, {**params, **_as_large(method, n)}, part)))
        except (ValueError, TypeError, RuntimeError, MemoryError):
            continue
        if trials[-1][1] > _PATIENCE:
            break
    if not trials:
        return None
    return Estimate(_seconds(trials, n), _bytes(trials, n))


def _as_large(method: Method, n: int) -> dict[str, Any]:
    """Parameters that make a method treat few objects as it would treat n."""
    if method.name == "MDS":
        from lowdim.methods.mds import LARGE

        return {"method": "sampled"} if n > LARGE else {}
    return {}


def _trial(method: Method, params: dict[str, Any], X: Any) -> tuple[float, int]:
    level = logging.getLogger("lowdim").level
    logging.getLogger("lowdim").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method.load()(**params).fit(X)  # once to load what it needs, and to be timed warm
            start = perf_counter()
            method.load()(**params).fit(X)
            seconds = perf_counter() - start
            tracemalloc.start()
            try:
                method.load()(**params).fit(X)
                return seconds, tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    finally:
        logging.getLogger("lowdim").setLevel(level)


def _seconds(trials: list[tuple[int, float, int]], n: int) -> float:
    sizes, seconds = np.array([(m, s) for m, s, _ in trials], dtype=float).T
    power = 2.0
    if len(trials) > 1:
        power = float(np.clip(np.log(seconds[-1] / seconds[-2]) / np.log(2), 1.0, 3.0))
    return float(seconds[-1] * (n / sizes[-1]) ** power)


def _bytes(trials: list[tuple[int, float, int]], n: int) -> float:
    m, peak = trials[-1][0], float(trials[-1][2])
    if len(trials) == 1:
        return peak * n / m
    # peak(m) = a m + b m^2 through the two largest trials
    half, low = trials[-2][0], float(trials[-2][2])
    square = max(0.0, (peak / m - low / half) / (m - half))
    line = max(0.0, peak / m - square * m)
    return line * n + square * n * n
