"""The time of a fit, as a range, from fits of a few of the objects.

Probes run on one thread and are measured in CPU time, so that other programs on the machine do not
change the estimate. How the time grows from them to all objects has been measured for each method
with its default parameters (`fit_times.json`, by `python -m benchmarks times`).
"""

from __future__ import annotations

import json
import logging
import warnings
from contextlib import suppress
from functools import cache
from importlib.resources import files
from inspect import signature
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from lowdim.catalog import Method
from lowdim.objects.objects import Objects
from lowdim.runtime.context import n_threads
from lowdim.runtime.scheduling import running

SMALLEST = 300  # objects; fewer are fitted at once
FIRST = 100  # objects of the first probe; each further one has twice as many
PATIENCE = 1.0  # seconds of probes, after which no larger one is made
LEAST_PROBES = 3  # fewer do not show how the time grows
MARGIN = 2.0  # factor between the estimate and the ends of the range
PARALLEL = 0.9  # share of a fit that several threads divide, about
LOOSE_MARGIN = 1.5  # the same around several extrapolations by a law of growth
WIDEST = 16.0  # ratio of the ends of a range beyond which no range is given
UNIMPORTANT = {"metric", "init", "affinity", "warm_start"}  # they choose no algorithm
_REFUSALS = (ValueError, TypeError, RuntimeError, MemoryError)  # of an estimator
_UNUSED = {"checkpoint": None, "warm_start": False, "callback": None, "verbose": 0, "n_jobs": 1}


def seconds_of_fit(estimator: Any, method: Method, objects: Objects) -> tuple[float, float] | None:
    """Shortest and longest time that is likely; None if the probes give no estimate.

    The time grows from the probes to n objects as it did when it was measured. For parameters and
    metrics that change how it grows, seconds of one thread are taken as a + b n + c n^p with the p
    of the catalog, and divided by the number of threads in the shortest time only.

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
    threads = n_threads(known.get("n_jobs"))
    probe = clone(estimator).set_params(**{k: v for k, v in _UNUSED.items() if k in known})
    if _grows_as_measured(method, known, objects):
        probes = _probes(probe, objects)
        return as_measured(probes, objects.n, fit_times()[method.name], threads) if probes else None
    large = method.at_scale(objects.n) if objects.measured else {}
    large = {name: value for name, value in large.items() if known[name] == "auto"}
    linear = bool(large) or bool(method.reduced_by and known[method.reduced_by])
    probes = _probes(probe.set_params(**large), objects)
    found = likely(probes, objects.n, 1.0 if linear else method.power)
    return None if found is None else (found[0] / threads, found[1])


@cache
def fit_times() -> dict[str, list[tuple[int, float]]]:
    """Numbers of objects and CPU seconds of fits, by method, as measured."""
    found: dict[str, list[tuple[int, float]]] = json.loads(
        files("lowdim.estimator").joinpath("fit_times.json").read_text()
    )
    return found


def _grows_as_measured(method: Method, known: dict[str, Any], objects: Objects) -> bool:
    """Whether nothing is chosen that changes how the time grows: an algorithm, landmarks, ..."""
    if not objects.measured or not objects.euclidean:
        return False
    usual = {name: p.default for name, p in signature(method.load()).parameters.items()}
    algorithms = {
        name
        for name, value in usual.items()
        if isinstance(value, str | bool) and name not in UNIMPORTANT
    }
    deciding = algorithms | ({method.reduced_by} if method.reduced_by else set())
    if usual["n_components"] is None:  # all of them
        deciding.add("n_components")
    return method.name in fit_times() and all(known[name] == usual[name] for name in deciding)


def as_measured(
    probes: list[tuple[int, float]], n: int, measured: list[tuple[int, float]], threads: int
) -> tuple[float, float]:
    """Likely times for n objects, from the last two probes and the times measured elsewhere."""
    sizes, seconds = np.log(np.array(measured)).T
    slope = max(1.0, (seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2]))

    def reference(size: int) -> float:
        beyond = max(0.0, np.log(size) - sizes[-1])
        return float(np.interp(np.log(size), sizes, seconds) + slope * beyond)

    last = probes[-2:]
    found = [np.log(spent) + reference(n) - reference(size) for size, spent in last]
    middle = float(np.exp(np.mean(found))) * (1 - PARALLEL + PARALLEL / threads)
    return middle / MARGIN, middle * MARGIN


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
    low, high = min(found) / LOOSE_MARGIN, max(found) * LOOSE_MARGIN
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
