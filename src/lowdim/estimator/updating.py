"""`update`: new objects join a map that has been fitted.

A method whose traits have `grows` implements `_update(new)`. Here is what they share:
the checks, the state after an error, and how far the map has drifted.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import MethodType
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.catalog import CATALOG
from lowdim.checks import Array
from lowdim.distances.metrics import canonical_metric
from lowdim.distances.units import exponent_of, scale_by_power
from lowdim.estimator.units import copy_fitted_state
from lowdim.messages import argument
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.block_sources import load_all
from lowdim.objects.objects import is_precomputed
from lowdim.runtime.callbacks import show_progress, verbosity
from lowdim.runtime.context import resolve_device
from lowdim.runtime.scheduling import use_threads

LARGEST_DRIFT = 0.05  # median displacement, in widths of the map, at which a fresh fit is due
LARGEST_NOVELTY = 0.25  # share of new objects unlike the old ones at which it is due
NOVELTY_NEIGHBORS = 10  # nearest neighbours by which a new object is compared with the old ones
ESTIMATED = {"seuclidean": "V", "mahalanobis": "VI", "gower": "", "geodesic": ""}
"""Metrics with parameters that are estimated from the training objects, and their names."""


class Growth(NamedTuple):
    """What `_update` says of the new objects."""

    graph: NeighborGraph | None = None  # of all, if a fit to them might give another map
    refined: bool = False  # whether the old objects may have moved
    unlike: float = 0.0  # the novelty of the new objects where it does not follow from the graph


class only_if_it_grows:
    """Decorator of the method `update`: only methods whose traits have `grows` have it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__doc__ = function, function.__doc__
        self.__name__, self.__wrapped__ = function.__name__, function

    def __get__(self, estimator: Any, cls: type | None = None) -> Any:
        owner = type(estimator) if cls is None else cls
        if not (hasattr(owner, "traits") and owner.traits.grows):
            raise AttributeError(
                f"{owner.__name__} has no update. Place new objects with transform, or fit again "
                f"to all objects; {', '.join(row.name for row in CATALOG if row.grows)} have it."
            )
        return self.function if estimator is None else MethodType(self.function, estimator)


def update(estimator: Any, X: Any) -> None:
    """Add new objects to the map of a fitted estimator, which an error leaves as it was."""
    check_is_fitted(estimator)
    name = type(estimator).__name__
    _check_metric(estimator)
    if not hasattr(estimator, "embedding_"):
        raise ValueError(
            f"{name}.update: there is no map, because {argument('transform_mode', 'graph')}."
        )
    old = estimator.embedding_
    first = getattr(estimator, "_fitted_first_map", old)  # that of the fit
    label = name if verbosity(getattr(estimator, "verbose", 0)) else ""
    with use_threads(estimator._n_jobs), show_progress(label):
        new = estimator._new_objects(load_all(X))
        if exponent_of(new.rows) > 0:  # in the unit of the training objects
            raise ValueError(
                f"{name}.update: the values of X are larger than those of the training objects by "
                "too many orders of magnitude. Bring them to the same unit, or fit again to all "
                "objects."
            )
        model = copy.copy(estimator._model_in_unit)
        with resolve_device(len(old) + new.n):
            growth = model._update(new)
        grown = _in_unit_of(estimator, model)
    vars(grown).pop("decoder_", None)  # of the old map
    grown.drift_ = np.linalg.norm(grown.embedding_[: len(old)] - old, axis=1)
    grown._fitted_first_map = first
    grown.drift_score_ = max(
        drift_score(before, grown.embedding_, growth) for before in (old, first)
    )
    vars(estimator).clear()
    vars(estimator).update(vars(grown))
    if estimator.drift_score_ > 1:
        checks.warn(
            f"{name}: drift_score_ is {estimator.drift_score_:.2g}, above 1: the old objects have "
            "moved far, or many of the new ones are unlike them. Fit again to all objects."
        )


def _check_metric(estimator: Any) -> None:
    """Refuse metrics under which the distances of old and new objects are not comparable."""
    metric, params = estimator._metric_choice()
    name = type(estimator).__name__
    if is_precomputed(metric) or getattr(estimator, "affinity", "") == "precomputed":
        raise ValueError(
            f"{name}.update needs objects under a metric: the distances between new objects are "
            f"not known with {argument('metric', 'precomputed')}. Fit again to the matrix of all "
            "objects."
        )
    if not isinstance(metric, str):
        return
    known, params = canonical_metric(metric, params)
    if known in ESTIMATED and ESTIMATED[known] not in params:
        advice = ESTIMATED[known] and f"give metric_params={{{ESTIMATED[known]!r}: ...}}, or "
        raise ValueError(
            f"{name}.update: {argument('metric', metric)} is estimated from the objects, so that "
            f"new ones change the distances of the old ones: {advice}fit again to all objects."
        )


def _in_unit_of(estimator: Any, model: Any) -> Any:
    """The model that has grown, in the unit of the data; see `fit_in_unit`."""
    if not hasattr(estimator, "_fitted_in_unit"):
        return model
    exponent = estimator._fitted_exponent
    rows_exponent = estimator._training_objects.metric.exponent if hasattr(model, "X_fit_") else 0
    grown = copy.copy(estimator)
    copy_fitted_state(grown, model, exponent)
    if hasattr(model, "X_fit_"):
        grown.X_fit_ = scale_by_power(model.X_fit_, rows_exponent)
    vars(grown).pop("_cached_training", None)
    grown._fitted_in_unit = model
    return grown


def width(Y: Array) -> float:
    """The longer side of a map."""
    known = Y[np.isfinite(Y).all(axis=1)]
    return float(np.ptp(known, axis=0).max(initial=0.0)) if len(known) else 0.0


def drift_score(old: Array, Y: Array, growth: Growth) -> float:
    """How urgent a fresh fit is; it is due above 1.

    The larger of two numbers: the novelty of the new objects in units of 25 %; and, if the map was
    refined, the median displacement of the old objects in units of 5 % of the width of their map.
    """
    drift = np.linalg.norm(Y[: len(old)] - old, axis=1)
    moved, size = drift[np.isfinite(drift)], width(old)
    share = float(np.median(moved)) / size if growth.refined and len(moved) and size > 0 else 0.0
    new = growth.unlike if growth.graph is None else novelty(growth.graph, len(old))
    return max(share / LARGEST_DRIFT, new / LARGEST_NOVELTY)


def novelty(graph: NeighborGraph, n_old: int) -> float:
    """The share of new objects whose ten nearest are all new too, beyond what chance explains.

    0 if the new objects are mixed with the old ones, 1 if they have no old neighbours. The first
    `n_old` objects of the graph are the old ones.
    """
    k = graph.n_neighbors
    arcs = (graph if k is None else graph.take(min(k, NOVELTY_NEIGHBORS))).csr()
    counts = np.diff(arcs.indptr)[n_old:]
    first = arcs.indptr[n_old]
    among = np.concatenate([[0], np.cumsum(arcs.indices[first:] < n_old)])
    alone = among[arcs.indptr[n_old + 1 :] - first] == among[arcs.indptr[n_old:-1] - first]
    chance = (graph.n_objects - n_old - 1) / (graph.n_objects - 1)
    expected = float((chance**counts).mean())
    return max(0.0, (float(alone.mean()) - expected) / (1 - expected)) if expected < 1 else 0.0
