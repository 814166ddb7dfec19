"""Maps of several slices of data in which shared objects stay together.

Slices are moments, batches, or versions of a model. Each slice has a map of its own, and an object
of two slices is drawn to the place that it has on the map of the other one: the maps are pinned to
each other by springs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.checks import Array
from lowdim.neighbor_embedding.umap.umap import UMAP

OWN = ("alignment_regularisation", "alignment_window_size")  # parameters that are not those of UMAP


def fit_aligned(
    estimator: Any,
    slices: Sequence[Any],
    relations: Sequence[Mapping[int, int]] | None = None,
    *,
    strength: float = 0.01,
    window: int = 3,
    targets: Sequence[Any] | None = None,
) -> list[Any]:
    """Fit an estimator to several slices of data, so that shared objects stay together.

    Parameters
    ----------
    estimator : estimator
        One whose `fit` has `pinned`: UMAP, PaCMAP, LargeVis, NegativeSamplingTSNE, TriMap, TSNE,
        WeightedTSNE or MDS. It is copied.
    slices : list of arrays
        What `fit` takes, for each slice.
    relations : list of dict, default=None
        For each slice but the last one, the row in the next slice of each of its objects that is
        there too. None: all slices have the same objects in the same order.
    strength : float, default=0.01
        `pin_strength` of the springs between slices: the share of its distance by which an object
        returns to its places on other maps in each step.
    window : int, default=3
        The number of slices before and after a slice that its objects are drawn to. One that is d
        slices away counts 1 / d.
    targets : list of arrays, default=None
        `y` of each slice.

    Returns
    -------
    list of estimators
        Fitted to one slice each.

    Notes
    -----
    Each slice is fitted twice: first in the order of the slices, drawn to those before it, then
    again from its map, drawn to those on both sides. Time is twice that of separate fits.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> slices = [X[:200], X[100:300]]
    >>> shared = {i: i - 100 for i in range(100, 200)}
    >>> first, second = lowdim.fit_aligned(lowdim.UMAP(n_epochs=50), slices, [shared])
    >>> first.embedding_.shape, second.embedding_.shape
    ((200, 2), (200, 2))
    """
    if "pinned" not in signature(estimator.fit).parameters:
        raise ValueError(
            f"{type(estimator).__name__} cannot be aligned, because its fit has no pinned objects. "
            "Use UMAP or TSNE."
        )
    numbers = _object_numbers(slices, relations)
    models = [clone(estimator) for _ in slices]
    _fit_all(models, slices, numbers, strength, window, targets)
    return models


@dataclass(eq=False, repr=False)
class AlignedUMAP(BaseEstimator):
    """UMAP of several slices of data, in which shared objects stay together.

    The interface is that of umap-learn. `fit_aligned` does the same with other methods.

    Parameters
    ----------
    alignment_regularisation : float, default=0.01
        Strength of the springs between the maps; see `strength` of `fit_aligned`.
    alignment_window_size : int, default=3
        See `window` of `fit_aligned`.
    n_neighbors, n_components, metric, metric_kwds, n_epochs, learning_rate, init, min_dist, \
spread, low_memory, set_op_mix_ratio, local_connectivity, repulsion_strength, \
negative_sample_rate, transform_queue_size, a, b, random_state, angular_rp_forest, \
target_n_neighbors, target_metric, target_metric_kwds, target_weight, transform_seed, \
force_approximation_algorithm, verbose, unique
        As in `UMAP`. A list or tuple has the value of each slice.

    Attributes
    ----------
    embeddings_ : list of arrays
        The map of each slice.
    mappers_ : list of UMAP
        The model of each slice, which has `transform`, `inverse_transform` and `save`.

    See Also
    --------
    fit_aligned : The function for other methods.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> shared = {i: i - 100 for i in range(100, 200)}
    >>> model = lowdim.AlignedUMAP(n_epochs=50).fit([X[:200], X[100:300]], relations=[shared])
    >>> model.update(X[200:400], relations=shared).embeddings_[-1].shape
    (200, 2)
    """

    n_neighbors: Any = 15
    n_components: int = 2
    metric: Any = "euclidean"
    metric_kwds: Any = None
    n_epochs: Any = None
    learning_rate: Any = 1.0
    init: Any = "spectral"
    alignment_regularisation: float = 1.0e-2
    alignment_window_size: int = 3
    min_dist: Any = 0.1
    spread: Any = 1.0
    low_memory: bool = False
    set_op_mix_ratio: Any = 1.0
    local_connectivity: Any = 1.0
    repulsion_strength: Any = 1.0
    negative_sample_rate: Any = 5
    transform_queue_size: float = 4.0
    a: float | None = None
    b: float | None = None
    random_state: Any = None
    angular_rp_forest: bool = False
    target_n_neighbors: Any = -1
    target_metric: Any = "categorical"
    target_metric_kwds: Any = None
    target_weight: Any = 0.5
    transform_seed: int = 42
    force_approximation_algorithm: bool = False
    verbose: bool = False
    unique: bool = False

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None = None,
        *,
        relations: Sequence[Mapping[int, int]] | None = None,
    ) -> Self:
        """Compute `embeddings_` of slices.

        Parameters
        ----------
        X : list of arrays
            The slices.
        y : list of arrays, default=None
            The targets of each slice, as in `UMAP.fit`.
        relations : list of dict, default=None
            See `fit_aligned`.

        Returns
        -------
        self
        """
        numbers = _object_numbers(X, relations)
        models = [self._mapper(i) for i in range(len(X))]
        _fit_all(models, X, numbers, *self._alignment(), y)
        self.mappers_, self.embeddings_ = models, [model.embedding_ for model in models]
        self._numbers = numbers
        return self

    def fit_transform(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None = None,
        *,
        relations: Sequence[Mapping[int, int]] | None = None,
    ) -> list[Array]:
        """Fit to slices and return `embeddings_`; the parameters are those of `fit`."""
        return self.fit(X, y, relations=relations).embeddings_

    def update(self, X: Any, y: Any = None, *, relations: Mapping[int, int], **params: Any) -> Self:
        """Add a slice; the maps of the others stay as they are.

        Parameters
        ----------
        X : array
            The slice.
        y : array, default=None
            Its targets.
        relations : dict
            The row in X of each object of the slice before that is there too.
        **params
            Parameters of `UMAP` for this slice.

        Returns
        -------
        self
        """
        check_is_fitted(self, "mappers_")
        n = len(self.mappers_)
        mapper = self._mapper(n, params)
        numbers = [*self._numbers, _next_numbers(self._numbers, relations, *_lengths([X]))]
        strength, window = self._alignment()
        places = _mean_places(numbers, n, [model.embedding_ for model in self.mappers_], window)
        mapper.fit(X, y, pinned=places, pin_strength=strength)
        self._numbers = numbers
        self.mappers_.append(mapper)
        self.embeddings_.append(mapper.embedding_)
        return self

    def transform(self, X: Any, slice_index: int = -1) -> Array:
        """Coordinates of new objects on the map of one slice, by default the last one."""
        check_is_fitted(self, "mappers_")
        placed: Array = self.mappers_[slice_index].transform(X)
        return placed

    def _alignment(self) -> tuple[float, int]:
        strength, window = self.alignment_regularisation, self.alignment_window_size
        return (
            checks.real(strength, "alignment_regularisation", 0, 1, open_low=True),
            checks.integer(window, "alignment_window_size", 1),
        )

    def _mapper(self, number: int, changed: Mapping[str, Any] | None = None) -> UMAP:
        """The model of a slice; a list or tuple of a parameter has the value of each slice."""
        params = {k: v for k, v in self.get_params(deep=False).items() if k not in OWN}
        params.update(changed or {})
        for name, value in params.items():
            if isinstance(value, list | tuple):
                if number >= len(value):
                    raise ValueError(
                        f"{name} has {len(value)} values, but there are more slices: give one for "
                        "each, or a single one."
                    )
                params[name] = value[number]
        return UMAP(**params)


def _object_numbers(
    slices: Sequence[Any], relations: Sequence[Mapping[int, int]] | None
) -> list[Array]:
    """For each slice the numbers of its objects, which a shared object has in all of its slices."""
    lengths = _lengths(slices)
    if relations is None:
        if len(set(lengths)) > 1:
            raise ValueError(
                f"relations is None, but the slices have {lengths} objects. Give for each "
                "slice but the last a dict from its rows to those of the next slice."
            )
        return [np.arange(lengths[0])] * len(lengths)
    if len(relations) != len(lengths) - 1:
        raise ValueError(
            f"relations has {len(relations)} entries for {len(lengths)} slices: give one for "
            "each slice but the last."
        )
    numbers = [np.arange(lengths[0])]
    for relation, length in zip(relations, lengths[1:], strict=True):
        numbers.append(_next_numbers(numbers, relation, length))
    return numbers


def _next_numbers(numbers: list[Array], relation: Mapping[int, int], length: int) -> Array:
    """The numbers of the objects of a slice after others; `relation` is that of the last of them
    to it."""
    place = f"relations[{len(numbers) - 1}]"
    pairs = np.array([*relation.items()], dtype=np.int64).reshape(-1, 2)
    for column, size, whose in ((0, len(numbers[-1]), "its"), (1, length, "the next")):
        outside = (pairs[:, column] < 0) | (pairs[:, column] >= size)
        if outside.any():
            before, after = pairs[outside][0]
            raise ValueError(
                f"{place} has {before}: {after}, but {whose} slice has {size} objects, numbered "
                "from 0."
            )
    if len(np.unique(pairs[:, 1])) < len(pairs):
        raise ValueError(f"{place} relates two objects to the same one.")
    own: Array = np.arange(length) + 1 + max(part.max(initial=-1) for part in numbers)
    own[pairs[:, 1]] = numbers[-1][pairs[:, 0]]
    return own


def _mean_places(numbers: list[Array], at: int, maps: Sequence[Array], window: int) -> Array:
    """The mean place of each object of slice `at` on other maps; NaN if it is on none of them."""
    n, dim = len(numbers[at]), maps[0].shape[1]
    total, weights = np.zeros((n, dim)), np.zeros((n, 1))
    for other in range(max(0, at - window), min(len(maps), at + window + 1)):
        if other == at:
            continue
        _, rows, there = np.intersect1d(
            numbers[at], numbers[other], assume_unique=True, return_indices=True
        )
        placed = np.isfinite(maps[other][there]).all(axis=1)
        rows, there, weight = rows[placed], there[placed], 1 / abs(at - other)
        total[rows] += weight * maps[other][there]
        weights[rows] += weight
    with np.errstate(invalid="ignore"):
        return np.asarray(total / weights)


def _fit_all(
    models: list[Any],
    slices: Sequence[Any],
    numbers: list[Array],
    strength: float,
    window: int,
    targets: Sequence[Any] | None,
) -> None:
    """Fit the models to their slices: one after the other, then each between its neighbours."""
    ys = [None] * len(slices) if targets is None else targets
    maps: list[Array] = []
    for at, (model, X, y) in enumerate(zip(models, slices, ys, strict=True)):
        places = _mean_places(numbers, at, maps, window) if maps else None
        maps.append(model.fit(X, y, pinned=places, pin_strength=strength).embedding_)
    if len(slices) == 1:
        return
    for at, (model, X, y) in enumerate(zip(models, slices, ys, strict=True)):
        init = model.init
        model.set_params(init=np.nan_to_num(maps[at]))
        places = _mean_places(numbers, at, maps, window)
        maps[at] = model.fit(X, y, pinned=places, pin_strength=strength).embedding_
        model.set_params(init=init)


def _lengths(slices: Sequence[Any]) -> list[int]:
    if not isinstance(slices, list | tuple) or not slices:
        raise TypeError(f"X must be a list of slices, got {type(slices).__name__}.")
    return [X.shape[0] if hasattr(X, "shape") else len(X) for X in slices]
