"""The arguments of `fit` and `transform`: from user input to `Objects` and `NewObjects`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from lowdim import checks
from lowdim.distances.metrics import NAN_AWARE, euclidean, resolve_metric
from lowdim.distances.preparation import IF_NAN, in_unit
from lowdim.distances.row_blocks import RowBlocks
from lowdim.distances.units import exponent_of, scaled
from lowdim.messages import argument
from lowdim.objects.block_sources import opened, reopened, whole
from lowdim.objects.blocked_objects import BlockedObjects, NewToBlocks, blocked_objects
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects, given_relations
from lowdim.objects.objects import MeasuredObjects, Objects, is_precomputed, objects_of


class TakesObjects(BaseEstimator):
    """Checks objects and new objects, and keeps the training objects for `transform`."""

    X_fit_: Any
    gower_kinds_: list[Any]
    source_: dict[str, Any]
    _cached_training: MeasuredObjects | BlockedObjects

    _follows_unit: bool = True  # whether the map of c X follows from that of X; see `units`
    _unknown_pairs = False  # whether NaN in precomputed input marks an unknown pair

    def _objects(self, X: Any) -> Objects:
        """Check the argument of `fit`."""
        if not is_precomputed(self._metric_choice()[0]):
            X = opened(X) if self._reads_blocks() else whole(X)
        if not hasattr(self, "metric"):  # a method of vectors alone, such as PCA
            if isinstance(X, RowBlocks):
                self._check_features(X, "euclidean", fitting=True)
                return blocked_objects(X)
            rows = checks.vectors(X, sparse=True)
            self._check_features(X if hasattr(X, "shape") else rows, "euclidean", fitting=True)
            exponent = exponent_of(rows) if self._follows_unit else 0
            return MeasuredObjects(scaled(rows, -exponent), euclidean(exponent))
        metric, params = self._metric_choice()
        learned = hasattr(metric, "get_params")
        if not isinstance(metric, str) and not callable(metric) and not learned:
            raise checks.WrongTypeError(
                f"{argument('metric')} must "
                "be a name, a function of two objects or a fitted estimator that has "
                f"learned a metric, got {metric!r}."
            )
        if not is_precomputed(metric):
            self._check_features(X, metric, fitting=True)
        objects = objects_of(X, metric, params, unknown_pairs=self._unknown_pairs)
        if is_precomputed(metric):
            self.n_features_in_ = objects.n
        return objects

    def _new_objects(self, X: Any) -> NewObjects:
        """Check the argument of `transform`."""
        if not hasattr(self, "metric"):
            rows = in_unit(_vectors, getattr(self, "_fitted_exponent", 0), X)
            self._check_features(X if hasattr(X, "shape") else rows, "euclidean", fitting=False)
            return MeasuredNewObjects(rows, MeasuredObjects(rows, euclidean()))
        if is_precomputed(self._metric_choice()[0]):
            exponent = getattr(self, "_fitted_exponent", 0)
            new = given_relations(X, unknown_pairs=self._unknown_pairs, exponent=exponent)
            validate_data(self, new.vectors(), skip_check_array=True, reset=False)
            return new
        known = self._training
        self._check_features(X, known.metric_name, fitting=False)
        if isinstance(known, BlockedObjects):
            return NewToBlocks(known.metric.prepare(X), known)
        return MeasuredNewObjects(known.metric.prepare(X), known)

    def _reads_blocks(self) -> bool:
        """Whether `fit` can read objects that do not fit into memory in blocks."""
        return False

    def _remember(self, objects: MeasuredObjects) -> None:
        """Store the training objects, which `transform` needs."""
        self.X_fit_ = objects.rows
        if objects.metric.name == "gower":
            self.gower_kinds_ = objects.metric.params["kinds"]
        self._cached_training = objects

    @property
    def _training(self) -> Any:
        """The training objects under their metric; computed again after loading or unpickling."""
        if not hasattr(self, "_cached_training"):
            metric, params = self._metric_choice()
            if hasattr(self, "source_"):
                self._cached_training = blocked_objects(reopened(self.source_), metric, params)
                return self._cached_training
            if hasattr(self, "gower_kinds_"):
                params["kinds"] = self.gower_kinds_
            found, rows = resolve_metric(metric, params, self.X_fit_)
            self._cached_training = MeasuredObjects(rows, found)
        return self._cached_training

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters; methods with other parameter names override this."""
        params = checks.keywords(getattr(self, "metric_params", None), "metric_params")
        metric = getattr(self, "metric", "euclidean")
        if isinstance(metric, str) and metric == "minkowski" and hasattr(self, "p"):
            params.setdefault("p", self.p)
        return metric, params

    def _check_features(self, X: Any, metric: Any, *, fitting: bool) -> None:
        """Record the number and names of the features (`fitting`), or compare them with `fit`."""
        if callable(metric) or metric == "callable":
            if not (hasattr(X, "shape") and len(X.shape) == 2):
                return
        elif metric != "gower" and not hasattr(X, "shape"):
            X = checks.vectors(X, sparse=True, allow_nan=metric in NAN_AWARE, if_nan=IF_NAN)
        if fitting and type(X) is np.ndarray and X.ndim == 2 and X.shape[1] > 0:
            self.n_features_in_ = X.shape[1]  # features of an array have no names
        elif hasattr(X, "shape") and len(X.shape) == 2 and X.shape[1] > 0:
            validate_data(self, X, skip_check_array=True, reset=fitting)


def _vectors(X: Any, name: str, copy: bool) -> Any:
    """Rows of methods without a metric, as `Metric.prepare` returns them."""
    return checks.vectors(X, name=name, sparse=True, copy=copy)
