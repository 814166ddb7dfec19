"""The self-organizing map (Kohonen 1982, 2001)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.numpy_blocks import unit_length
from lowdim.checks import Array, fixed_random_state
from lowdim.distances.metrics import NAN_AWARE, rescale_rows
from lowdim.distances.units import exponent_of, scale_by_power
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters
from lowdim.estimator.barycentric import decode
from lowdim.estimator.decoders import NearestObjects
from lowdim.estimator.fitted_state import Numbers, Sizes, any_number, number
from lowdim.estimator.units import copy_fitted_state
from lowdim.learned.self_organizing_map.prototypes import (
    INITS,
    Prototypes,
    RelationalPrototypes,
    VectorPrototypes,
    relational_squares,
    relational_start,
    vector_start,
)
from lowdim.learned.self_organizing_map.training import (
    NEIGHBORHOODS,
    Schedule,
    interpolate_places,
    kernel,
    train_batch,
    train_online,
)
from lowdim.messages import argument
from lowdim.numerics.unit_grid import UnitGrid, check_shape, choose_shape
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import (
    MeasuredObjects,
    Objects,
    measured_objects,
    relative_dissimilarities,
)
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks, use_threads

MEANS = ("euclidean", "cosine", "nan_euclidean")  # metrics under which vectors have a mean
LAST_RADIUS = 0.8  # at 1 prototypes lie far inside of the data, at 0.5 neighbours part
UNITS_PER_ROOT = 5.0  # units per square root of the number of objects (Vesanto 2000)


def _grid_shape(name: str, value: Any, sizes: Sizes) -> None:
    """The number of units of a chain, or those of rows and columns of a grid."""
    whole = isinstance(value, tuple) and all(isinstance(item, int) for item in value)
    units = sizes.get("units", 0)
    if not whole or len(value) != sizes.get("c") or min(value) < 1 or math.prod(value) != units:
        raise ValueError(f"{name} is not the shape of a grid of {units} units.")


@declare_parameters
class SelfOrganizingMap(Iterative, Embedder):
    """Self-organizing map: prototypes on a grid, adjacent ones alike.

    grid + prototypes -> best unit of each object -> means over neighbourhoods that shrink

    Each unit of a grid has a prototype in the space of the data. An object belongs to the unit with
    the nearest prototype. Prototypes become means of the objects of their unit and of the units
    around it, while the radius of this neighbourhood decreases.

    Parameters
    ----------
    n_components : {1, 2}, default=2
        Dimension of the grid: a chain or a sheet of units.
    shape : tuple of int or "auto", default="auto"
        Rows and columns of the grid; (n_units,) for a chain. "auto" is about 5 n_samples^(1/2)
        units, with sides in the ratio of the standard deviations of the first two principal
        components.
    topology : {"hexagonal", "rectangular"}, default="hexagonal"
        Shape of the cells. A unit has 6 adjacent units, or 8 with the diagonal ones.
    toroidal : bool, default=False
        Whether opposite sides of the grid are adjacent, so that there is no border.
    training : {"batch", "online"}, default="batch"
        "batch" takes all objects in each step; "online" moves the prototypes towards one object
        after the other, in random order.
    neighborhood : {"gaussian", "bubble", "cut_gaussian"}, default="gaussian"
        Weight of a unit at distance d of the best one, for the radius r: exp(-d^2 / (2 r^2)); 1 up
        to r and 0 beyond; or the product of both.
    radius : tuple of float, default=None
        First and last radius, in units of the spacing of the grid; it decreases geometrically.
        None is from a quarter of the longer side (at least 1) to 0.8. A smaller last radius lowers
        the quantization error and raises the topographic error.
    learning_rate : tuple of float, default=(0.5, 0.1)
        First and last step size of training="online"; it decreases geometrically. With a much
        smaller last step size the prototypes cannot follow the shrinking neighbourhoods, and the
        quantization error is larger.
    max_iter : int, default=40
        Number of passes over the objects.
    init : {"pca", "random"} or array of shape (n_units, n_features), default="pca"
        First prototypes: on the plane of the first two principal components, or random objects.
    prototypes : {"mean", "median"}, default="mean"
        "median" makes each prototype a training object, for dissimilarities whose means have no
        sense. It compares all pairs of objects.
    placement : {"unit", "interpolated"}, default="unit"
        Coordinates of an object: those of its best unit, or a place between it and the adjacent
        units.
    metric : str or callable, default="euclidean"
        "euclidean", "cosine", "nan_euclidean" (missing values take no part), or any other metric or
        "precomputed": then the prototypes are combinations of objects (relational map), which needs
        the dissimilarities of all pairs.
    $metric_params
    random_state : int, RandomState or None, default=None
        Seed of init="random" and of the order of training="online"; None stands for 0.
    $n_jobs
    callback : callable, default=None
        Called after every pass with the quantization error and the map before it; a true return
        value stops.
    $verbose
    $checkpoint

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects on the grid.
    units_ : array of shape (n_samples,)
        The best unit of each object.
    codebook_ : array of shape (n_units, n_features)
        The prototypes; those of a relational map of vectors are computed from its coefficients. Not
        for dissimilarities and arbitrary objects.
    coefficients_ : array of shape (n_units, n_samples)
        Coefficients of the objects in each prototype of a relational map.
    medoids_ : array of shape (n_units,)
        The object nearest to each prototype of a relational map.
    grid_ : array of shape (n_units, n_components)
        Coordinates of the units, centred at 0, with spacing 1.
    shape_ : tuple of int
        Rows and columns. Units are numbered row by row.
    hits_ : array of shape (n_units,)
        Number of objects of each unit, or the sum of their weights.
    u_matrix_ : array of shape `shape_`
        Mean distance of each prototype to those of the adjacent units: large values are gaps.
    quantization_error_ : float
        Mean distance of the objects to the prototypes of their units.
    topographic_error_ : float
        Share of objects whose best and second best unit are not adjacent.
    history_ : array of shape (n_iter,)
        Quantization error before each pass (during it if training is online).
    n_iter_ : int
        Number of passes.

    See Also
    --------
    PCA : the plane that the map starts from.
    CurvilinearComponentAnalysis : prototypes that find their places freely.

    Notes
    -----
    A pass takes time n m d for n objects, m units and d features. A relational map takes n^2 memory
    and n^2 + n m^2 time per pass.

    Batch training is that of [2]_, prototypes="median" that of [4]_. The relational map of [3]_ is
    that of the vectors if the dissimilarities are Euclidean distances.

    ``transform(X_train)`` equals `embedding_`. `inverse_transform` returns the prototype of the
    nearest unit, or with placement="interpolated" a combination of the nearest ones; of a map of
    dissimilarities, the object nearest to the prototype.

    References
    ----------
    .. [1] T. Kohonen, "Self-organized formation of topologically correct feature maps", Biological
       Cybernetics 43, 1982.
    .. [2] T. Kohonen, "Self-Organizing Maps", third edition, Springer, 2001.
    .. [3] B. Hammer, A. Hasenfuss, "Topographic mapping of large dissimilarity data sets", Neural
       Computation 22, 2010.
    .. [4] T. Kohonen, P. Somervuo, "How to make large self-organizing maps for nonvectorial data",
       Neural Networks 15, 2002.

    Examples
    --------
    Colours on a grid: adjacent units have similar colours.

    >>> import numpy as np
    >>> import lowdim
    >>> colors = np.random.default_rng(0).uniform(size=(500, 3))
    >>> som = lowdim.SelfOrganizingMap(shape=(8, 10)).fit(colors)
    >>> som.codebook_.shape, int(som.hits_.sum())
    ((80, 3), 500)
    >>> bool(som.topographic_error_ < 0.2)
    True
    """

    traits = Traits(
        keeps="which objects are alike, as places on a grid of prototypes",
        when="you want an ordered summary of the data by prototypes, and to look at one feature "
        "after the other",
        cost="n m d per pass for m units; dissimilarities also take an n x n matrix",
        extends="the unit with the nearest prototype; the prototype of the nearest unit",
        paper="Kohonen 1982, 2001; relational: Hammer and Hasenfuss 2010; median: Kohonen and "
        "Somervuo 2002",
        power=1.2,
        local_only=True,
    )

    _attributes: ClassVar = {
        "grid_": Numbers("units c"),
        "shape_": _grid_shape,
        "codebook_": Numbers("units d"),
        "coefficients_": Numbers("units n"),
        "medoids_": Numbers("units", "iu", 0, "n"),
        "units_": Numbers("n", "iu", 0, "units"),
        "hits_": Numbers("units", "iuf", 0),
        "u_matrix_": Numbers("...", finite=False),
        "quantization_error_": any_number,
        "topographic_error_": any_number,
        "_fitted_gaps": Numbers("*", finite=False),
        "_fitted_sums": Numbers("units *"),
        "_fitted_counts": Numbers("units *", least=0),
        "_fitted_halves": Numbers("units"),
        "_fitted_scale": number(positive=True),
    }
    _needed = ("grid_", "shape_", "_fitted_gaps")

    _units: ClassVar = {
        "embedding_": 0,
        "init": 1,
        "codebook_": 1,
        "quantization_error_": 1,
        "u_matrix_": 1,
        "history_": 1,
        "_fitted_sums": 1,
    }

    n_components: int = 2
    _: KW_ONLY
    shape: tuple[int, ...] | str = "auto"
    topology: str = "hexagonal"
    toroidal: bool = False
    training: str = "batch"
    neighborhood: str = "gaussian"
    radius: tuple[float, float] | None = None
    learning_rate: tuple[float, float] = (0.5, 0.1)
    max_iter: int = 40
    init: Any = "pca"
    prototypes: str = "mean"
    placement: str = "unit"
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None

    # --- fit ----------------------------------------------------------------------------------

    def _memory(self, fit: Problem) -> float:
        if fit.objects.metric_name in MEANS and not fit.is_set("prototypes", "median"):
            d = int(fit.objects.vectors("prototypes").shape[1])
            units = UNITS_PER_ROOT * math.sqrt(fit.n)
            if isinstance(self.shape, tuple) and all(isinstance(one, int) for one in self.shape):
                units = math.prod(self.shape)
            return (2.0 * fit.n + 10.0 * units) * d * fit.size  # centred rows; prototypes
        return 2.25 * fit.square  # the relational map squares the distances

    def _needs(self, state: dict[str, Any]) -> set[str]:
        needed = super()._needs(state)
        if "coefficients_" not in state:
            return needed - {"X_fit_"} | {"codebook_", "_fitted_sums", "_fitted_counts"}
        vectors = "X_fit_" in needed and self.metric not in NAN_AWARE
        needed |= {"coefficients_", "_fitted_scale", "_fitted_halves"}
        return needed | {"codebook_"} if vectors else needed

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train the map on the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object per row, or a matrix of dissimilarities if `metric` is "precomputed".
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), default=None
            How often each object counts, such as the number of observations that a row stands for;
            not negative. The size of a grid of shape="auto" and the start do not depend on it.

        Returns
        -------
        self
        """
        return self._check_and_fit(X, sample_weight=sample_weight)

    def _fit(self, objects: Objects, sample_weight: Any = None) -> None:
        self._check_parameters()
        random = self._random()
        prototypes: Prototypes
        if self._has_means(objects):
            assert isinstance(objects, MeasuredObjects)
            rows = self._rows(objects.rows, objects)
            grid, prototypes = vector_start(rows, objects.metric, self._new_grid, self.init, random)
        else:
            if not isinstance(self.init, str):
                raise ValueError(
                    f"{argument('init')} must be 'pca' or 'random' if prototypes are combinations "
                    f"of objects (any metric but {', '.join(MEANS)}, or "
                    f"{argument('prototypes', 'median')}); got an array."
                )
            D, self._fitted_scale = relative_dissimilarities(objects)
            median = self.prototypes == "median"
            grid, prototypes = relational_start(D, self._new_grid, self.init, random, median=median)
        if sample_weight is not None:
            prototypes.weights = checks.sample_weight(sample_weight, objects.n, zero=True)
        radius, monitor = self._radii(grid), self._monitor(self.max_iter)
        if self.training == "batch":
            self.history_ = train_batch(prototypes, grid, self.neighborhood, radius, monitor)
        else:
            rates, n = self._rates(), objects.n
            self.history_ = train_online(
                prototypes, grid, self.neighborhood, radius, rates, n, monitor, random
            )
        self.n_iter_ = len(self.history_)
        self.shape_, self.grid_ = grid.shape, grid.coordinates.astype(objects.dtype)
        if isinstance(prototypes, RelationalPrototypes):
            self.coefficients_, self._fitted_halves = prototypes.coefficients, prototypes.halves
            self.medoids_ = prototypes.squared_distances(slice(None)).argmin(axis=0)
            if objects.has_vectors:
                self.codebook_ = np.asarray(self.coefficients_ @ objects.vectors("codebook_"))
        self._describe(prototypes, grid)
        if isinstance(prototypes, VectorPrototypes):
            self._fitted_sums, self._fitted_counts = prototypes.sums(self.units_)

    def _check_parameters(self) -> None:
        checks.integer(self.n_components, "n_components", 1, 2)
        checks.choice(self.topology, "topology", ("hexagonal", "rectangular"))
        checks.choice(self.training, "training", ("batch", "online"))
        checks.choice(self.neighborhood, "neighborhood", NEIGHBORHOODS)
        checks.choice(self.prototypes, "prototypes", ("mean", "median"))
        checks.choice(self.placement, "placement", ("unit", "interpolated"))
        checks.integer(self.max_iter, "max_iter", 1)
        if isinstance(self.init, str):
            checks.choice(self.init, "init", INITS)
        if self.prototypes == "median" and self.training == "online":
            raise ValueError(
                f"{argument('prototypes', 'median')} needs {argument('training', 'batch')}, got "
                f"{argument('training', 'online')}."
            )

    def _new_grid(self, Y: Array) -> UnitGrid:
        """The grid for objects with principal coordinates Y."""
        options = self.n_components, self.topology, bool(self.toroidal)
        if isinstance(self.shape, str) and self.shape == "auto":
            units = UNITS_PER_ROOT * np.sqrt(len(Y))
            shape = choose_shape(units, Y.std(axis=0), *options)
        else:
            shape = check_shape(self.shape, *options)
        return UnitGrid(shape, *options[1:])

    def _radii(self, grid: UnitGrid) -> Schedule:
        if self.radius is None:
            return Schedule(max(1.0, float(grid.periods.max()) / 4), LAST_RADIUS)
        return Schedule(*checks.decreasing(self.radius, "radius", np.inf))

    def _rates(self) -> Schedule:
        return Schedule(*checks.decreasing(self.learning_rate, "learning_rate", 1.0))

    def _random(self) -> np.random.RandomState:
        return fixed_random_state(self.random_state)

    def _has_means(self, objects: Objects) -> bool:
        return objects.metric_name in MEANS and self.prototypes == "mean"

    def _remember(self, objects: MeasuredObjects) -> None:
        if not self._has_means(objects):  # else the prototypes are all that `transform` needs
            super()._remember(objects)

    @property
    def _training_objects(self) -> Any:
        if not hasattr(self, "_fitted_sums"):
            return super()._training_objects
        exponent = self._fitted_exponent  # that of the codebook may be another
        codebook = scale_by_power(self.codebook_, -exponent)
        units = measured_objects(codebook, *self._metric_choice())
        prepare = partial(rescale_rows, units.metric.prepare, exponent)
        return MeasuredObjects(
            units.rows, replace(units.metric, exponent=exponent, prepare=prepare)
        )

    def _rows(self, rows: Any, known: MeasuredObjects) -> Any:
        """Vectors as they are averaged: of unit length under the cosine distance."""
        if known.metric.name != "cosine":
            return rows
        return unit_length(scale_by_power(rows, -exponent_of(rows)))

    def _describe(self, prototypes: Prototypes, grid: UnitGrid) -> None:
        if isinstance(prototypes, VectorPrototypes):
            self.codebook_ = prototypes.codebook
        nearest, distances = prototypes.nearest(2)
        first, second = grid.edges
        gaps = prototypes.between(first, second)
        # The cosine distance is half the squared distance of vectors of length 1.
        cosine = isinstance(prototypes, VectorPrototypes) and prototypes.metric.name == "cosine"
        self._fitted_gaps = 2 * gaps if cosine else gaps * gaps
        scale = getattr(self, "_fitted_scale", 1.0)
        adjacent = np.maximum(np.bincount(first, minlength=grid.n), 1)
        u_matrix = (np.bincount(first, gaps, minlength=grid.n) / adjacent).reshape(grid.shape)
        self.u_matrix_ = (u_matrix * scale).astype(self.grid_.dtype)
        self.units_ = nearest[:, 0].astype(np.int64)
        self.hits_ = np.bincount(self.units_, prototypes.weights, minlength=grid.n)
        self.quantization_error_ = prototypes.mean(distances[:, 0]) * scale
        self.topographic_error_ = prototypes.mean(~grid.are_adjacent(*nearest.T))
        self.embedding_ = self._places(self.units_, prototypes.squared_distances)

    # --- further training ---------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train further with new objects, which need not be kept in memory together.

        The first call is `fit`. Later ones keep the grid. With training="batch" the sums of the
        objects of earlier calls are kept, and all prototypes are computed again with the last
        radius; with training="online" each new object makes a step with the last radius and
        learning rate.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_new, n_features)
            New objects, as vectors.
        y : None
            Ignored.
        sample_weight : array of shape (n_new,), default=None
            How often each object counts, as in `fit`.

        Returns
        -------
        self
            `embedding_`, `units_` and the two errors are those of the new objects, and `hits_`
            counts all objects.
        """
        if not hasattr(self, "grid_"):
            return self.fit(X, y, sample_weight)
        if not hasattr(self, "_fitted_sums"):
            raise ValueError(
                "partial_fit needs vectors under the metric 'euclidean', 'cosine' or "
                f"'nan_euclidean' and {argument('prototypes', 'mean')}, but "
                f"{argument('metric', self.metric)} and {argument('prototypes', self.prototypes)} "
                "make a relational map. Fit all objects at once."
            )
        with use_threads(self._n_jobs):
            trained = self._model_in_unit
            trained._train_further(self._new_objects(X), sample_weight)
            if trained is not self:
                copy_fitted_state(self, trained, self._fitted_exponent)
        return self

    def _train_further(self, new: NewObjects, sample_weight: Any) -> None:
        prototypes = self._vector_prototypes(new)
        if sample_weight is not None:
            prototypes.weights = checks.sample_weight(sample_weight, new.n, zero=True)
        grid, radius = self._grid, self._radii(self._grid).last
        if self.training == "online":
            step = self._rates().last
            once, random = Monitor(1, type(self).__name__), self._random()
            still, rate = Schedule(radius, radius), Schedule(step, step)
            train_online(prototypes, grid, self.neighborhood, still, rate, new.n, once, random)
        else:
            sums, counts = prototypes.sums(prototypes.nearest(1)[0][:, 0])
            sums, counts = sums + self._fitted_sums, counts + self._fitted_counts
            prototypes.smooth(sums, counts, kernel(grid, radius, self.neighborhood))
        before = self.hits_
        self._describe(prototypes, grid)
        self.hits_ = self.hits_ + before
        if self.training == "batch":
            self._fitted_sums, self._fitted_counts = sums, counts

    # --- new objects --------------------------------------------------------------------------

    @property
    def _grid(self) -> UnitGrid:
        return UnitGrid(tuple(self.shape_), self.topology, bool(self.toroidal))

    def _vector_prototypes(self, new: NewObjects) -> VectorPrototypes:
        """The prototypes of a map of vectors, with new objects."""
        known = self._training_objects
        rows = self._rows(new.vectors(), known)
        rows = rows.astype(np.result_type(rows.dtype, self.codebook_.dtype), copy=False)
        return VectorPrototypes(rows, known.metric, self.codebook_)

    def _nearest_units(self, new: NewObjects) -> Array:
        if hasattr(self, "_fitted_sums"):
            return self._vector_prototypes(new).nearest(1)[0][:, 0].astype(np.int64)
        return backend().smallest(self._squares(new), 1)[0][:, 0].astype(np.int64)

    def _squares(self, new: NewObjects) -> Array:
        """Squared distances of new objects to all prototypes."""
        if hasattr(self, "_fitted_sums"):
            return self._vector_prototypes(new).squared_distances(slice(None))
        D = new.distances() / self.coefficients_.dtype.type(self._fitted_scale)
        return relational_squares(D, self.coefficients_, self._fitted_halves)

    def _transform(self, new: NewObjects) -> Array:
        return self._places(self._nearest_units(new), lambda part: self._squares(new.subset(part)))

    def _places(self, units: Array, squares: Callable[[slice], Array]) -> Array:
        """Coordinates of objects, from their units and squared distances to all prototypes."""
        if self.placement == "unit":
            return np.asarray(self.grid_[units])
        places = [
            interpolate_places(self._grid, units[part], squares(part), self._fitted_gaps)
            for part in blocks(len(units), 1024)
        ]
        return np.concatenate(places).astype(self.grid_.dtype)

    def _inverse(self, Y: Array) -> Any:
        if not hasattr(self, "codebook_"):
            medoids = self.medoids_[self._grid.nearest_unit(Y)]
            return NearestObjects(medoids[:, None], np.ones((len(Y), 1), self.grid_.dtype))
        if self.placement == "interpolated" and not self.toroidal:
            return decode(self.grid_, self.codebook_, Y)
        return np.asarray(self.codebook_[self._grid.nearest_unit(Y)])

    def predict(self, X: Any) -> Array:
        """The number of the best unit of each object.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_new, n_features)
            Objects, as in `transform`.

        Returns
        -------
        array of shape (n_new,)
        """
        check_is_fitted(self)
        with use_threads(self._n_jobs):
            return self._model_in_unit._nearest_units(self._new_objects(X))
