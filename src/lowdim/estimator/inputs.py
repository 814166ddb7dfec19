"""The arguments of `fit` and `transform`: from user input to `Objects` and `NewObjects`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from lowdim import checks
from lowdim.distances.metrics import NAN_AWARE, euclidean, resolve_metric
from lowdim.distances.preparation import IF_NAN, in_unit
from lowdim.distances.row_blocks import RowBlocks
from lowdim.distances.units import exponent_of, scaled
from lowdim.objects.block_sources import opened, reopened, whole
from lowdim.objects.blocked_objects import BlockedObjects, NewToBlocks, blocked_objects
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects, given_relations
from lowdim.objects.objects import MeasuredObjects, Objects, is_precomputed, objects_of


def objects_of_fit(estimator: Any, X: Any) -> Objects:
    """Check the argument of `fit`."""
    metric, params = estimator._metric_choice()
    if not is_precomputed(metric):
        X = opened(X) if estimator._reads_blocks() else whole(X)
    if not hasattr(estimator, "metric"):  # a method of vectors alone, such as PCA
        if isinstance(X, RowBlocks):
            check_features(estimator, X, "euclidean", fitting=True)
            return blocked_objects(X)
        rows = checks.vectors(X, sparse=True)
        check_features(estimator, X if hasattr(X, "shape") else rows, "euclidean", fitting=True)
        exponent = exponent_of(rows) if estimator._follows_unit else 0
        return MeasuredObjects(scaled(rows, -exponent), euclidean(exponent))
    learned = hasattr(metric, "get_params")
    if not isinstance(metric, str) and not callable(metric) and not learned:
        raise checks.WrongTypeError(
            "metric must be a name, a function of two objects or a fitted estimator that has "
            f"learned a metric, got {metric!r}."
        )
    if not is_precomputed(metric):
        check_features(estimator, X, metric, fitting=True)
    objects = objects_of(X, metric, params, unknown_pairs=estimator._unknown_pairs)
    if is_precomputed(metric):
        estimator.n_features_in_ = objects.n
    return objects


def objects_of_transform(estimator: Any, X: Any) -> NewObjects:
    """Check the argument of `transform`."""
    exponent = getattr(estimator, "_fitted_exponent", 0)
    if not hasattr(estimator, "metric"):
        rows = in_unit(_vectors, exponent, X)
        check_features(estimator, X if hasattr(X, "shape") else rows, "euclidean", fitting=False)
        return MeasuredNewObjects(rows, MeasuredObjects(rows, euclidean()))
    if is_precomputed(estimator._metric_choice()[0]):
        unknown_pairs = estimator._unknown_pairs
        new = given_relations(X, unknown_pairs=unknown_pairs, exponent=exponent)
        validate_data(estimator, new.vectors(), skip_check_array=True, reset=False)
        return new
    known = estimator._training
    check_features(estimator, X, known.metric_name, fitting=False)
    if isinstance(known, BlockedObjects):
        return NewToBlocks(known.metric.prepare(X), known)
    return MeasuredNewObjects(known.metric.prepare(X), known)


def objects_of_model(estimator: Any) -> MeasuredObjects | BlockedObjects:
    """The training objects under their metric, after loading or unpickling."""
    metric, params = estimator._metric_choice()
    if hasattr(estimator, "source_"):
        return blocked_objects(reopened(estimator.source_), metric, params)
    if hasattr(estimator, "gower_kinds_"):
        params["kinds"] = estimator.gower_kinds_
    found, rows = resolve_metric(metric, params, estimator.X_fit_)
    return MeasuredObjects(rows, found)


def check_features(estimator: Any, X: Any, metric: Any, *, fitting: bool) -> None:
    """Record the number and names of the features (`fitting`), or compare them with `fit`."""
    if callable(metric) or metric == "callable":
        if not (hasattr(X, "shape") and len(X.shape) == 2):
            return
    elif metric != "gower" and not hasattr(X, "shape"):
        X = checks.vectors(X, sparse=True, allow_nan=metric in NAN_AWARE, if_nan=IF_NAN)
    if fitting and type(X) is np.ndarray and X.ndim == 2 and X.shape[1] > 0:
        estimator.n_features_in_ = X.shape[1]  # features of an array have no names
    elif hasattr(X, "shape") and len(X.shape) == 2 and X.shape[1] > 0:
        validate_data(estimator, X, skip_check_array=True, reset=fitting)


def _vectors(X: Any, name: str, copy: bool) -> Any:
    """Rows of methods without a metric, as `Metric.prepare` returns them."""
    return checks.vectors(X, name=name, sparse=True, copy=copy)
