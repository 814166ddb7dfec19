"""The contract of every estimator: checks, fit, transform, feature names, tags, saving.

A method implements `_fit(objects)`, which sets `embedding_`, and `_transform(new)`. A method with
an inverse of its own also implements `_inverse(Y)`. It declares its parameters and `traits`
(`declarations`), its fitted attributes (`_attributes` and `_needed`) and their units (`_units`).
Everything else is done here.
"""

from __future__ import annotations

from functools import partial
from inspect import Signature, signature
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lowdim import checks
from lowdim.backends import on_device_of_x
from lowdim.checks import Array, is_sparse
from lowdim.distances.metrics import IF_NAN, NAN_AWARE, euclidean, rescale_rows
from lowdim.distances.row_blocks import RowBlocks
from lowdim.distances.units import exponent_of, scale_by_power
from lowdim.estimator import persist
from lowdim.estimator.checkpoints import keep_states
from lowdim.estimator.declarations import Traits
from lowdim.estimator.decoders import (
    NearestObjects,
    apply_decoder,
    decoder_of,
    decoder_rule,
    nearest_objects,
)
from lowdim.estimator.docstrings import insert_passages
from lowdim.estimator.fitted_state import (
    Numbers,
    Rule,
    document,
    exponent,
    kinds_of_columns,
    names_of_columns,
    number,
    row_attributes,
    size_of,
    source,
)
from lowdim.estimator.footprint import Problem, claim_memory
from lowdim.estimator.units import convert_units, fit_in_unit
from lowdim.estimator.updating import Growth, only_if_it_grows, update
from lowdim.messages import argument
from lowdim.objects.block_sources import load_all, open_source, reopen_source
from lowdim.objects.dask_rows import DaskRows
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects, check_relations
from lowdim.objects.objects import (
    BlockedObjects,
    MeasuredObjects,
    Objects,
    blocked_objects,
    is_precomputed,
    measured_objects,
    objects_of,
)
from lowdim.runtime.callbacks import Change, Monitor, change_parameters, show_progress, verbosity
from lowdim.runtime.checkpoint import States
from lowdim.runtime.context import current, resolve_device
from lowdim.runtime.scheduling import use_threads

METHODS = ("fit", "fit_transform", "transform", "inverse_transform", "update")
"""Those that compute on the device of X."""


class _ConstructorSignature:
    """What `help` shows of a class: the arguments of `__init__`; some Pythons show `__new__`'s."""

    def __get__(self, estimator: object, cls: type) -> Signature:
        constructor = signature(cls.__init__)  # type: ignore[misc]
        return constructor.replace(parameters=list(constructor.parameters.values())[1:])


class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of all estimators.

    Fitted attributes end in `_`. Further fitted state is named `_fitted...`, and state that can be
    computed again from the fitted attributes is named `_cached...` and is not pickled. `_clear`
    deletes all three before each fit. Rules for the first two are in `_attributes`; see
    `fitted_state`.
    """

    traits: ClassVar[Traits]
    _passages: ClassVar[dict[str, str]] = {}  # of docstrings, beside `docstrings.PASSAGES`

    _attributes: ClassVar[dict[str, Rule]] = {
        "embedding_": Numbers("n c"),
        "X_fit_": Numbers("n d", sparse=None),
        "source_": source,
        "n_features_in_": size_of("d"),
        "feature_names_in_": names_of_columns,
        "gower_kinds_": kinds_of_columns,
        "n_iter_": number(0),
        "history_": Numbers("*", finite=False),
        "decoder_": decoder_rule,
        "drift_": Numbers("*", least=0, missing=True),
        "drift_score_": number(0),
        "_fitted_first_map": Numbers("* c", finite=False),
        "preparation_": document,  # how the command line made X from a table
        "_fitted_exponent": exponent,
    }
    _needed: ClassVar[tuple[str, ...]] = ("embedding_",)

    embedding_: Array
    X_fit_: Any
    gower_kinds_: list[Any]
    source_: dict[str, Any]
    decoder_: dict[str, Any]
    drift_: Array
    drift_score_: float
    _fitted_first_map: Array  # of an update: the map of the fit
    _fitted_in_unit: Self
    _fitted_exponent: int = 0  # of the unit of `_fitted_in_unit`
    _cached_training: MeasuredObjects | BlockedObjects
    _cached_states: States

    # Fitted attributes, parameters and arguments of `fit` that have the unit of the
    # dissimilarities, each with the power of the unit; always `embedding_`, if only with 0.
    _units: ClassVar[dict[str, float]] = {}
    _follows_unit: bool = True  # whether the map of c X follows from that of X; see `units`
    _reads_blocks: bool = False  # whether `fit` can read rows in blocks, instead of all at once
    _unknown_pairs = False  # whether NaN in precomputed input marks an unknown pair
    _leaves_out = False  # whether `transform` gives NaN to objects that it cannot place

    __signature__ = _ConstructorSignature()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        unit_known = "embedding_" in cls._units or cls._unit_of is not Embedder._unit_of
        if cls._fit is not Embedder._fit and not unit_known:
            raise TypeError(
                f"{cls.__name__}._units must have the power of the unit of X that embedding_ has: "
                '{"embedding_": 1} if coordinates grow with X, 0 if they are pure numbers.'
            )
        if cls.__doc__ is not None:  # it is None under python -OO
            cls.__doc__ = insert_passages(cls.__doc__, cls._passages)
        for name in METHODS:
            if name in vars(cls):
                method = vars(cls)[name]
                if method.__doc__ is not None:
                    method.__doc__ = insert_passages(method.__doc__, cls._passages)
                setattr(cls, name, on_device_of_x(method))

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Check the names of the arguments."""
        checks.constructor_arguments(cls, args, kwargs)
        estimator: Self = super().__new__(cls)
        return estimator

    # --- the public contract -------------------------------------------------------------

    @on_device_of_x
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object per row, or a matrix of dissimilarities or kernel values if the estimator's
            `metric`, `kernel` or `affinity` is "precomputed". Rows may also be in a file: a memory
            map, an HDF5 or Zarr array, or the path of a .npy or Parquet file; or be those of a Dask
            array or DataFrame.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        return self._check_and_fit(X)

    @on_device_of_x
    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit to X and return `embedding_`; the parameters are those of `fit`."""
        return self.fit(X, y, **fit_params).embedding_

    @on_device_of_x
    def transform(self, X: Any) -> Array:
        """Coordinates of new objects; those of a row do not depend on the other rows of X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_new, n_features)
            New objects, of the same kind as those of `fit`; for precomputed input their
            dissimilarities to the training objects, of shape (n_new, n_samples).

        Returns
        -------
        array of shape (n_new, n_components)
            A Dask array if X is one or a Dask DataFrame.
        """
        check_is_fitted(self)
        with use_threads(self._n_jobs):
            if not is_precomputed(self._metric_choice()[0]):
                X = open_source(X, lazy=True)
            if isinstance(X, RowBlocks):
                return self._transform_blocks(X)
            new, model = self._new_objects(X), self._model_in_unit
            Y = _transform_parts(model, new) if hasattr(model, "parts_") else model._transform(new)
            Y = convert_units(self, "embedding_", Y, self._fitted_exponent)
            return self._finite_result(Y, "transform")

    @on_device_of_x
    def inverse_transform(self, Y: Any) -> Any:
        """Vectors of the input space for given coordinates.

        Parameters
        ----------
        Y : array of shape (n, n_components)

        Returns
        -------
        array of shape (n, n_features)
            If the estimator was fitted on dissimilarities or on arbitrary objects, which have no
            vectors, a tuple instead: `objects`, the numbers of the nearest training objects on the
            map, of shape (n, k), and `weights`, which are not negative and have sum 1 in each row.

        Notes
        -----
        The method ``fit_decoder`` offers other inverses for methods without one of their own.
        """
        check_is_fitted(self)
        Y = checks.vectors(Y, name="Y")
        if Y.shape[1] != self._n_features_out:
            raise ValueError(
                f"Y has {Y.shape[1]} columns, but the map has {self._n_features_out} coordinates."
            )
        with use_threads(self._n_jobs):
            model, exponent = self._model_in_unit, self._fitted_exponent
            Y = convert_units(self, "embedding_", Y, -exponent)
            chosen = hasattr(model, "decoder_")  # by `fit_decoder`
            vectors = Embedder._inverse(model, Y) if chosen else model._inverse(Y)
            if isinstance(vectors, NearestObjects):
                return vectors
            if model is not self:
                unit = (
                    self._training_objects.metric.exponent if hasattr(self, "X_fit_") else exponent
                )
                vectors = scale_by_power(vectors, unit)
            return self._finite_result(vectors, "inverse_transform")

    @only_if_it_grows
    @on_device_of_x
    def update(self, X: Any) -> Self:
        """Add new objects to the map, near which the old ones stay.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_new, n_features)
            New objects, of the same kind as those of `fit`.

        Returns
        -------
        self
            `embedding_` and the other fitted attributes are those of the old objects and, after
            them, the new ones. The attribute `drift_`, of shape (n_old,), is the distance by which
            each old object has moved on the map. `drift_score_` is a number that says whether a
            fresh fit is due: above 1, which also causes a warning.

        Raises
        ------
        AttributeError
            If the method cannot grow.
        ValueError
            If X does not fit the training objects, or the model cannot take more objects. The
            estimator is not changed.

        Notes
        -----
        The neighbours of the old objects are not searched again, and the map is refined rather than
        made anew. The page "Growing maps" of the documentation describes what each method does.

        Examples
        --------
        >>> import lowdim
        >>> X, _ = lowdim.data.swiss_roll(400, random_state=0)
        >>> pca = lowdim.PCA(2).fit(X[:300]).update(X[300:])
        >>> pca.embedding_.shape, pca.drift_.shape
        ((400, 2), (300,))
        """
        update(self, X)
        return self

    def fit_decoder(self, decoder: str = "auto") -> Self:
        """Choose how `inverse_transform` goes from coordinates back to vectors.

        Parameters
        ----------
        decoder : {"auto", "local", "kernel", "network"}, default="auto"
            "local" interpolates between the nearest training vectors, as without a call of this
            method. "kernel" is kernel ridge regression, whose width has the least leave-one-out
            error. "network" trains a network (needs PyTorch: ``pip install 'lowdim[torch]'``).
            "auto" takes the one of least error on a tenth of the objects, which it holds out.

        Returns
        -------
        self
            With the attribute `decoder_`, a dictionary; its entry "kind" is the kind of decoder,
            and after "auto" "errors" are the mean squared errors on the held-out objects.

        Raises
        ------
        ValueError
            If the estimator keeps no training vectors: it has an inverse of its own, as PCA has, or
            was not fitted on vectors.

        Examples
        --------
        >>> import lowdim
        >>> X, _ = lowdim.data.swiss_roll(300, random_state=0)
        >>> isomap = lowdim.Isomap().fit(X).fit_decoder("kernel")
        >>> isomap.inverse_transform(isomap.embedding_[:2]).shape
        (2, 3)
        """
        check_is_fitted(self)
        with use_threads(self._n_jobs):
            model = self._model_in_unit
            model.decoder_ = self.decoder_ = decoder_of(model, decoder)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the estimator to a file of arrays and JSON; `lowdim.load(path)` reads it."""
        persist.save(self, path)

    def plot(self, labels: Any = None, **options: Any) -> Any:
        """Draw the map, coloured by `labels`; returns matplotlib axes.

        The options are those of `lowdim.plot.scatter`: `names`, `images`, `density`, `title`, `ax`
        and so on. If the embedding has more than three dimensions, the first two are drawn.
        """
        from lowdim.plot import scatter

        check_is_fitted(self)
        Y = self.embedding_
        shown = Y if Y.shape[1] <= 3 else Y[:, :2]
        options.setdefault("title", type(self).__name__)
        return scatter(shown, labels, **options)

    # --- to be implemented by a method ------------------------------------------------------------

    def _fit(self, objects: Objects) -> None:
        """Set `embedding_`; a method whose `fit` has more arguments gets them as keywords."""
        raise NotImplementedError

    def _transform(self, new: NewObjects) -> Array:
        """Coordinates of new objects, each row computed independently."""
        raise NotImplementedError

    def _memory(self, fit: Problem) -> float:
        """Bytes at the peak of a fit, beyond the data and tiles; for time see `Traits.power`."""
        return 0.0

    def _uses_sample(self, objects: Objects) -> bool:
        """Whether a fit to these objects is that of method="sampled"; see `Traits.samples`."""
        return False

    def _variants(self, state: dict[str, Any]) -> dict[str, Rule]:
        """Rules for fitted attributes that depend on parameters; see `_attributes`."""
        return {}

    def _needs(self, state: dict[str, Any]) -> set[str]:
        """Fitted attributes that a model must have; see `_needed`."""
        needed = (name for base in type(self).__mro__ for name in vars(base).get("_needed", ()))
        return {*needed, *row_attributes(self, state)}

    def _update(self, new: NewObjects) -> Growth:
        """Let new objects join the map, if the method's traits have `grows`.

        Called on a copy of the fitted estimator; sets `embedding_`, registered to the map before,
        and other attributes to those of all objects.
        """
        raise NotImplementedError

    def _inverse(self, Y: Array) -> Any:
        """The general inverse: that of `fit_decoder`, by default barycentric interpolation."""
        vectors = getattr(self, "X_fit_", None)
        placed = np.isfinite(self.embedding_).all(axis=1)
        if vectors is None or vectors.ndim != 2:
            nearest = nearest_objects(self.embedding_[placed], Y)
            return NearestObjects(np.flatnonzero(placed)[nearest.objects], nearest.weights)
        decoder = getattr(self, "decoder_", {"kind": "local"})
        return apply_decoder(decoder, self.embedding_[placed], vectors[placed], Y)

    # --- to be overridden by a method with other input -----------------------------------------

    def _objects(self, X: Any) -> Objects:
        """Check the argument of `fit`."""
        metric, params = self._metric_choice()
        if not is_precomputed(metric):
            X = open_source(X) if self._reads_blocks else load_all(X)
        if not hasattr(self, "metric"):
            return self._vector_objects(X)
        learned = hasattr(metric, "get_params")
        if not isinstance(metric, str) and not callable(metric) and not learned:
            raise checks.WrongTypeError(
                f"{argument('metric')} must be a name, a function of two objects or a fitted "
                f"estimator that has learned a metric, got {metric!r}."
            )
        if not is_precomputed(metric):
            self._check_features(X, metric, fitting=True)
        objects = objects_of(X, metric, params, unknown_pairs=self._unknown_pairs)
        if is_precomputed(metric):
            self.n_features_in_ = objects.n
        return objects

    def _vector_objects(self, X: Any) -> Objects:
        """Check the argument of `fit` of a method of vectors alone, such as PCA."""
        if isinstance(X, RowBlocks):
            self._check_features(X, "euclidean", fitting=True)
            return blocked_objects(X)
        rows = checks.vectors(X, sparse=True)
        self._check_features(X if hasattr(X, "shape") else rows, "euclidean", fitting=True)
        exponent = exponent_of(rows) if self._follows_unit else 0
        return MeasuredObjects(scale_by_power(rows, -exponent), euclidean(exponent))

    def _new_objects(self, X: Any) -> NewObjects:
        """Check the argument of `transform`."""
        exponent = self._fitted_exponent
        if not hasattr(self, "metric"):
            rows = rescale_rows(_vectors, exponent, X)
            self._check_features(X if hasattr(X, "shape") else rows, "euclidean", fitting=False)
            return MeasuredNewObjects(rows, MeasuredObjects(rows, euclidean()))
        if is_precomputed(self._metric_choice()[0]):
            unknown_pairs = self._unknown_pairs
            new = check_relations(X, unknown_pairs=unknown_pairs, exponent=exponent)
            validate_data(self, new.vectors(), skip_check_array=True, reset=False)
            return new
        known = self._training_objects
        self._check_features(X, known.metric_name, fitting=False)
        return MeasuredNewObjects(known.metric.prepare(X), known)

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters."""
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

    def _unit_of(self, name: str) -> float:
        """The power of the unit that an attribute, parameter or argument has; see `_units`."""
        return self._units.get(name, 0)

    def _remember(self, objects: MeasuredObjects) -> None:
        """Store the training objects, which `transform` needs."""
        self.X_fit_ = objects.rows
        if objects.metric.name == "gower":
            self.gower_kinds_ = objects.metric.params["kinds"]
        self._cached_training = objects

    @property
    def _training_objects(self) -> Any:
        """The training objects under their metric; computed again after loading or unpickling."""
        if hasattr(self, "source_") and hasattr(self, "_cached_training"):
            self._cached_training.rows.check_unchanged(self.source_["fingerprint"])
        if not hasattr(self, "_cached_training"):
            metric, params = self._metric_choice()
            if hasattr(self, "source_"):
                self._cached_training = blocked_objects(reopen_source(self.source_), metric, params)
                return self._cached_training
            if hasattr(self, "gower_kinds_"):
                params["kinds"] = self.gower_kinds_
            self._cached_training = measured_objects(self.X_fit_, metric, params)
        return self._cached_training

    @property
    def _model_in_unit(self) -> Self:
        """The model in the unit of the data, which `transform` reads; self for ordinary data."""
        model: Self = vars(self).get("_fitted_in_unit", self)
        return model

    def _transform_blocks(self, X: RowBlocks) -> Array:
        """Coordinates of the rows of a source, a Dask array if it is of Dask.

        A block is a task of its own. If the training objects are in blocks too, it is compared with
        them by a pass over those, so the blocks are then placed one after the other.
        """
        self._check_features(X, "euclidean", fitting=False)
        in_turn = hasattr(self, "source_")
        Y: Array
        if isinstance(X, DaskRows) and not in_turn:
            Y = X.map_lazily(_transform_block, self, self._n_features_out)
            return Y
        if in_turn:
            parts = [self.transform(X.read(part)) for part in X.blocks()]
        else:
            parts = list(X.map(_transform_block, self))
        Y = _concatenate_rows(parts)
        return X.with_partitions(Y) if isinstance(X, DaskRows) else Y

    # --- a fit ------------------------------------------------------------------------------

    def _check_and_fit(self, X: Any, **arguments: Any) -> Self:
        """Forget an earlier fit and fit to X; after an error the estimator is not fitted."""
        before = getattr(self, "_cached_states", None)
        self._clear()
        try:
            checks.single_values(self)
            checks.random_state(getattr(self, "random_state", None))
            label = type(self).__name__ if verbosity(getattr(self, "verbose", 0)) else ""
            with use_threads(self._n_jobs), show_progress(label):
                objects = self._objects(X)
                if objects.n > 1 and objects.identical():
                    checks.warn(
                        f"X: all {objects.n} objects are the same, so a map of them shows nothing."
                    )
                with keep_states(self, objects, arguments, before):
                    if objects.rows_exponent == objects.exponent == 0:
                        self._claim_and_fit(objects, **arguments)
                    else:
                        fit_in_unit(self, objects, arguments)
        except BaseException:
            self._clear()
            raise
        return self

    def _claim_and_fit(self, objects: Objects, **arguments: Any) -> None:
        """Fit to objects that have been checked."""
        if objects.n < 2:
            raise ValueError(f"X: n_samples = {objects.n}, but a map needs at least 2 objects.")
        if isinstance(objects, MeasuredObjects) and hasattr(self, "metric"):
            self._remember(objects)
        elif isinstance(objects, BlockedObjects) and hasattr(self, "metric"):
            self.source_, self._cached_training = objects.rows.full_reference(), objects
        claim_memory(self, objects, arguments)
        with resolve_device(objects.n):
            self._fit(objects, **arguments)

    def _clear(self) -> None:
        """Delete everything that a fit has set."""
        for name in self._fitted_state():
            delattr(self, name)

    def _fitted_state(self) -> dict[str, Any]:
        """All that a fit has set, by its name; see the class for the names of fitted state."""
        return {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") or name.startswith(("_fitted", "_cached"))
        }

    def _finite_result(self, rows: Array, purpose: str) -> Array:
        """Raise ValueError if a result is not finite, unless a missing value explains it."""
        metric = self._metric_choice()[0]
        explained = (
            self._leaves_out
            or np.isnan(self.embedding_).any()
            or (isinstance(metric, str) and metric in NAN_AWARE)
        )
        if not explained and not np.isfinite(rows).all():
            row = int(np.argwhere(~np.isfinite(rows))[0, 0])
            raise ValueError(
                f"{purpose}: the result for row {row} overflows {rows.dtype}. Are its numbers in "
                "the units of the training data?"
            )
        return rows

    @property
    def _n_jobs(self) -> int | None:
        return getattr(self, "n_jobs", None)

    def _monitor(self, max_iter: int, retune: Change | None = None) -> Monitor:
        """A monitor with the estimator's `callback` and `verbose`, for the next solver of a fit.

        A method with parameters that can be changed during a fit gives `retune`: it is called when
        the estimator has new values, and takes those into the running solver.
        """
        change = None if retune is None else partial(change_parameters, self, retune)
        label, states = type(self).__name__, current().states
        return Monitor(max_iter, label, self.callback, self.verbose, change, states)

    def _check_n_components(self, n: int) -> int:
        return checks.integer(
            self.n_components, "n_components", 1, n - 1, " (one less than n_samples)"
        )

    # --- scikit-learn's protocols ---------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        metric = self._metric_choice()[0]
        tags.input_tags.pairwise = is_precomputed(metric)
        tags.input_tags.allow_nan = isinstance(metric, str) and metric in NAN_AWARE
        tags.input_tags.sparse = not tags.input_tags.allow_nan
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        if hasattr(getattr(self, "metric", None), "metric_"):
            copy.metric = self.metric  # a learned metric is data: a copy of it would not be fitted
        return copy

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {k: v for k, v in state.items() if not k.startswith("_cached")}


def _transform_parts(model: Any, new: NewObjects) -> Array:
    """Place each new object in the component of its nearest training object; see `connect`."""
    members = np.concatenate(model.part_rows_)
    sizes = [len(own) for own in model.part_rows_]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    nearest = new.among(members).nearest(1)[0][:, 0]
    Y: Array = model.embedding_
    out = np.empty((new.n, Y.shape[1]), Y.dtype)
    for place, (own, part) in enumerate(zip(model.part_rows_, model.parts_, strict=True)):
        asked = np.flatnonzero(owner[nearest] == place)
        if len(asked):
            shift = Y[own[0]] - part.embedding_[0]
            out[asked] = part._transform(new.subset(asked).among(own)) + shift
    return out


def _transform_block(rows: Array, first: int, estimator: Embedder) -> Any:
    return estimator.transform(rows)


def _concatenate_rows(parts: list[Any]) -> Any:
    """Rows of arrays or of sparse matrices, one part after the other."""
    if is_sparse(parts[0]):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.concatenate(parts)


def _vectors(X: Any, name: str, copy: bool) -> Any:
    """Rows of methods without a metric, as `Metric.prepare` returns them."""
    return checks.vectors(X, name=name, sparse=True, copy=copy)
