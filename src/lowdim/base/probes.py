"""The time of a fit, as a range, from fits of a few of the objects.

Probes run on one thread and are measured in CPU time, so that other programs on the machine do not
change the estimate.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from lowdim.catalog import Method
from lowdim.relations.objects import Objects
from lowdim.runtime.context import n_threads
from lowdim.runtime.scheduling import running

SMALLEST = 300  # objects; fewer are fitted at once
FIRST = 100  # objects of the first probe; each further one has twice as many
PATIENCE = 1.0  # seconds of probes, after which no larger one is made
LEAST_PROBES = 3  # fewer do not show how the time grows
MARGIN = 1.5  # factor by which CPU times vary
WIDEST = 16.0  # ratio of the ends of a range beyond which no range is given
_REFUSALS = (ValueError, TypeError, RuntimeError, MemoryError)  # of an estimator
_UNUSED = {"checkpoint": None, "warm_start": False, "callback": None, "verbose": 0, "n_jobs": 1}


def seconds_of_fit(estimator: Any, method: Method, objects: Objects) -> tuple[float, float] | None:
    """Shortest and longest time that is likely; None if the probes give no estimate.

    Seconds of one thread are taken as a + b n + c n^p with the p of the catalog, and divided by the
    number of threads in the shortest time only. What a method does only on large data is not seen
    by the probes, unless the catalog says how to ask for it.

    Parameters
    ----------
    estimator : estimator
    method : Method
        Its row of the catalog.
    objects : Objects
        What it is to be fitted to.
    """
    if objects.n < SMALLEST or method.objects != "vectors":
        return None
    known = estimator.get_params(deep=False)
    large = method.at_scale(objects.n) if objects.measured else {}
    large = {name: value for name, value in large.items() if known[name] == "auto"}
    linear = bool(large) or bool(method.reduced_by and known[method.reduced_by])
    probe = clone(estimator).set_params(**large, **{k: v for k, v in _UNUSED.items() if k in known})
    found = likely(_probes(probe, objects), objects.n, 1.0 if linear else method.power)
    return None if found is None else (found[0] / n_threads(known.get("n_jobs")), found[1])


def _probes(estimator: Any, objects: Objects) -> list[tuple[int, float]]:
    """Sizes and seconds of fits of some of the objects."""
    chosen = np.random.RandomState(0).permutation(objects.n)
    probes: list[tuple[int, float]] = []
    with suppress(*_REFUSALS):  # loads what the method needs, and is not counted
        _probe(estimator, objects.subset(np.sort(chosen[:FIRST])))
    size, spent = FIRST, 0.0
    while size <= objects.n // 2 and spent < PATIENCE:
        part = objects.subset(np.sort(chosen[:size]))
        with suppress(*_REFUSALS):  # too few objects, perhaps
            probes.append((size, _probe(estimator, part)))
            spent += probes[-1][1]
        size *= 2
    return probes


def _probe(estimator: Any, objects: Objects) -> float:
    """CPU seconds of one fit."""
    log = logging.getLogger("lowdim")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), running(1):
            warnings.simplefilter("ignore")
            start = process_time()
            clone(estimator)._fit_objects(objects)
            return process_time() - start
    finally:
        log.setLevel(level)


def likely(probes: list[tuple[int, float]], n: int, power: float) -> tuple[float, float] | None:
    """Likely times for n objects: by the law of growth from all probes and from all but the last,
    and in proportion to the last, with a margin. None if these disagree."""
    if len(probes) < LEAST_PROBES:
        return None
    found = [_extrapolated(probes, n, power), _extrapolated(probes[:-1], n, power)]
    found.append(probes[-1][1] * n / probes[-1][0])
    low, high = min(found) / MARGIN, max(found) * MARGIN
    return (low, high) if high <= WIDEST * low else None


def _extrapolated(seen: list[tuple[int, float]], n: int, power: float) -> float:
    """Least squares of the relative errors, no term below zero."""
    from scipy.optimize import nnls

    def terms(size: float) -> list[float]:
        return [1.0, size, size**power]

    design = np.array([terms(size) for size, _ in seen]) / [[value] for _, value in seen]
    scale = design.max(axis=0)
    weights = nnls(design / scale, np.ones(len(seen)))[0] / scale
    return float(np.dot(weights, terms(n)))
