"""Uniform manifold approximation and projection (McInnes, Healy and Melville 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.base import NeighborEmbedder
from lowdim.callbacks import Callback
from lowdim.checks import Array, check_random_state
from lowdim.extend.membership import place_by_membership
from lowdim.matrices.fuzzy import (
    FuzzyGraph,
    as_matrix,
    fuzzy_graph,
    intersect,
    log_radii,
    new_memberships,
    subtract,
    unite,
)
from lowdim.matrices.targets import DISCRETE, intersect_targets, of_length
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.identical import identical_rows
from lowdim.relations.metrics import resolve_metric
from lowdim.relations.neighbors import neighbors
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import GivenGraph, Objects
from lowdim.relations.precomputed import lists_without_self
from lowdim.relations.units import scaled
from lowdim.runtime.scheduling import running
from lowdim.solvers.curved_layout import SURFACES, lay_out_on
from lowdim.solvers.layout import Density, Layout, fit_curve, lay_out
from lowdim.solvers.spectral_start import spectral_start
from lowdim.solvers.starts import given_start, spread_out
from lowdim.solvers.svd import principal_scores

STARTS = ("spectral", "pca", "random", "tswspectral")
SIZE, NOISE = 10.0, 1e-5  # extent of a start along every axis, and the noise on it in its units
LARGE = 10_000  # objects above which fewer epochs suffice
EPOCHS, EPOCHS_IF_LARGE, EPOCHS_FOR_DENSITY = 500, 200, 200  # umap-learn's defaults
NEW_EPOCHS = 100  # of `transform`, as in umap-learn


class UMAP(NeighborEmbedder):
    """Uniform manifold approximation and projection (UMAP).

    k-NN -> fuzzy graph -> cross-entropy layout

    Represents the neighbours of all objects by one weighted graph and places the objects so that
    linked ones attract and others repel each other [McInnes2018]_. The parameters, their order and
    their meaning are those of umap-learn.

    Parameters
    ----------
    n_neighbors : int, default=15
        Size of a neighbourhood, including the object itself: small for detail, large for the
        overall structure.
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or callable, default="euclidean"
        Dissimilarity between two objects: the name of a SciPy metric, "gower", "nan_euclidean",
        "haversine", a function of two objects, or "precomputed" if X holds dissimilarities, a
        sparse graph of them, or a `NeighborGraph`. If the function returns a tuple, as metrics with
        a gradient do in umap-learn, its first element is the distance.
    metric_kwds : dict, default=None
        Further arguments of the metric.
    output_metric : {"euclidean", "haversine", "hyperboloid"}, default="euclidean"
        Distance in the embedding: of the plane or space, of the sphere (`embedding_` holds
        colatitude and longitude in radians, n_components must be 2), or of the hyperbolic space
        (coordinates x of the points (x, sqrt(1 + x^2)) of a hyperboloid).
    output_metric_kwds : dict, default=None
        No effect; accepted for compatibility with umap-learn.
    n_epochs : int, default=None
        Number of epochs of the layout. None is 500, or 200 for more than 10,000 objects, and 200
        more with `densmap`.
    learning_rate : float, default=1.0
        Step size of the first epoch, relative to the largest step at which the attraction is
        stable.
    init : {"spectral", "pca", "random", "tswspectral"} or array, default="spectral"
        Initial coordinates, of shape (n_samples, n_components) if given as an array. They are
        scaled to the same extent in each case. "tswspectral" is another name of "spectral": the
        solver is chosen automatically.
    min_dist : float, default=0.1
        Minimum distance between points in the embedding: small values allow dense clusters.
    spread : float, default=1.0
        Scale of the embedding.
    n_jobs : int, default=-1
        Number of threads; -1 takes all. The result does not depend on it.
    set_op_mix_ratio : float, default=1.0
        How the two weights of an edge are combined, from 1 (fuzzy union) to 0 (intersection).
    local_connectivity : float, default=1.0
        Number of nearest neighbours with membership 1.
    repulsion_strength : float, default=1.0
        Weight of the repulsion.
    negative_sample_rate : float, default=5
        Further factor of the repulsion, and of the number of points sampled for it: 16 for each
        point and epoch at the default 5.
    a : float, default=None
        Parameter of the kernel 1 / (1 + a d^(2b)); None fits it to `min_dist` and `spread`.
    b : float, default=None
        The other parameter of the kernel; None fits it too.
    random_state : int, RandomState or None, default=None
        Seed; None is 0. The same seed gives the same result for any number of threads.
    target_n_neighbors : int, default=-1
        Size of a neighbourhood of numeric targets; -1 is `n_neighbors`.
    target_metric : str or callable, default="categorical"
        "categorical" if the targets are labels (-1, None or NaN for unknown ones); "ordinal",
        "count" or "string" for ranks, numbers of events or texts, compared by differences, by
        differences of square roots and by edit distances relative to the largest one; else a
        metric of the targets.
    target_metric_kwds : dict, default=None
        Further arguments of the metric of the targets.
    target_weight : float, default=0.5
        From 0 (only the data count) to 1 (only the targets count).
    transform_seed : int, default=42
        Seed of the points sampled by `transform`.
    transform_mode : {"embedding", "graph"}, default="embedding"
        "graph" computes `graph_` only, without an embedding; `transform` then returns the
        memberships of the edges between new and training objects, as a sparse matrix.
    densmap : bool, default=False
        Whether to preserve local densities too (densMAP): the radii of neighbourhoods in the
        embedding are made to correlate with those in the data.
    dens_lambda : float, default=2.0
        Weight of the density term.
    dens_frac : float, default=0.3
        Fraction of the epochs, the last ones, in which the density term is used.
    dens_var_shift : float, default=0.1
        Constant added to the variance of the radii in the embedding.
    output_dens : bool, default=False
        Whether to compute `rad_orig_` and `rad_emb_`, which `fit_transform` then returns too.
    disconnection_distance : float, default=None
        Neighbours at this distance or farther are ignored. Objects without neighbours get the
        coordinates NaN.
    precomputed_knn : tuple of (indices, distances), default=(None, None, None)
        Neighbours of each object, including the object itself, in the format of umap-learn. See
        also the argument `graph` of `fit`.
    verbose : bool, default=False
        Whether to show a progress bar.
    callback : callable, default=None
        Function that is called with the state after every epoch; the fit stops when it returns
        True.
    low_memory : bool, default=True
        No effect; accepted for compatibility with umap-learn.
    transform_queue_size : float, default=4.0
        No effect; accepted for compatibility with umap-learn.
    angular_rp_forest : bool, default=False
        No effect; accepted for compatibility with umap-learn.
    force_approximation_algorithm : bool, default=False
        No effect; accepted for compatibility with umap-learn.
    tqdm_kwds : dict, default=None
        No effect; accepted for compatibility with umap-learn.
    unique : bool, default=False
        Whether to embed identical rows once. `graph_` is then the graph of the distinct rows.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the training objects.
    graph_ : sparse array of shape (n_samples, n_samples)
        The fuzzy graph.
    a_, b_ : float
        Parameters of the kernel.
    n_iter_ : int
        Number of epochs.
    rad_orig_ : array of shape (n_samples,)
        Logarithms of the radii of neighbourhoods in the data, with `densmap` or `output_dens`.
    rad_emb_ : array of shape (n_samples,)
        The same in the embedding, with `output_dens`.
    unique_rows_ : array of shape (n_distinct,)
        The first of each set of identical rows, with `unique`.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    TSNE : Preserves the nearest neighbours better and takes more time.
    DiffusionMap : Preserves continuous structure such as branches.

    Notes
    -----
    `fit(X, y)` is supervised. Time of an epoch and memory are proportional to n k, in addition to
    the neighbour search. Up to 512 objects all repel each other, and only the noise added to the
    start is random.

    `transform` keeps the training objects fixed and minimises the objective over the coordinates of
    new objects, as if they had been part of the data. `transform(X_train)` returns exactly
    `embedding_`: an object at distance zero from a training object gets the coordinates of that
    object. `inverse_transform` interpolates between training vectors (barycentric weights).

    The density term is that of densMAP [Narayan2021]_.

    Fitted models of the same objects can be combined: `a * b` embeds the intersection of their
    fuzzy graphs, `a + b` the union, `a - b` what is linked in the first but not in the second. The
    parameters are those of the first; the result has no `transform`.

    On the sphere and the hyperboloid a new object is placed at the weighted mean of its neighbours.

    References
    ----------
    .. [McInnes2018] L. McInnes, J. Healy and J. Melville, "UMAP: uniform manifold approximation and
       projection for dimension reduction", arXiv 1802.03426 (2018).
    .. [Narayan2021] A. Narayan, B. Berger and H. Cho, "Assessing single-cell transcriptomic
       variability through density-preserving data visualization", *Nature Biotechnology* 39 (2021)
       765-774.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import UMAP
    >>> X, y = load_digits(return_X_y=True)
    >>> umap = UMAP(n_neighbors=10, n_epochs=100).fit(X[:200])
    >>> umap.embedding_.shape
    (200, 2)
    >>> umap.transform(X[200:203]).shape
    (3, 2)
    >>> UMAP(n_neighbors=10, n_epochs=100).fit(X[:200], y[:200]).embedding_.shape  # supervised
    (200, 2)
    """

    _leaves_out = True  # objects without an edge

    def __init__(
        self,
        n_neighbors: int = 15,
        n_components: int = 2,
        metric: Any = "euclidean",
        metric_kwds: dict[str, Any] | None = None,
        output_metric: str = "euclidean",
        output_metric_kwds: dict[str, Any] | None = None,
        n_epochs: int | None = None,
        learning_rate: float = 1.0,
        init: Any = "spectral",
        min_dist: float = 0.1,
        spread: float = 1.0,
        low_memory: bool = True,
        n_jobs: int | None = -1,
        set_op_mix_ratio: float = 1.0,
        local_connectivity: float = 1.0,
        repulsion_strength: float = 1.0,
        negative_sample_rate: float = 5,
        transform_queue_size: float = 4.0,
        a: float | None = None,
        b: float | None = None,
        random_state: Any = None,
        angular_rp_forest: bool = False,
        target_n_neighbors: int = -1,
        target_metric: Any = "categorical",
        target_metric_kwds: dict[str, Any] | None = None,
        target_weight: float = 0.5,
        transform_seed: int = 42,
        transform_mode: str = "embedding",
        force_approximation_algorithm: bool = False,
        verbose: bool = False,
        tqdm_kwds: dict[str, Any] | None = None,
        unique: bool = False,
        densmap: bool = False,
        dens_lambda: float = 2.0,
        dens_frac: float = 0.3,
        dens_var_shift: float = 0.1,
        output_dens: bool = False,
        disconnection_distance: float | None = None,
        precomputed_knn: Any = (None, None, None),
        callback: Callback | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.metric = metric
        self.metric_kwds = metric_kwds
        self.output_metric = output_metric
        self.output_metric_kwds = output_metric_kwds
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.init = init
        self.min_dist = min_dist
        self.spread = spread
        self.low_memory = low_memory
        self.n_jobs = n_jobs
        self.set_op_mix_ratio = set_op_mix_ratio
        self.local_connectivity = local_connectivity
        self.repulsion_strength = repulsion_strength
        self.negative_sample_rate = negative_sample_rate
        self.transform_queue_size = transform_queue_size
        self.a = a
        self.b = b
        self.random_state = random_state
        self.angular_rp_forest = angular_rp_forest
        self.target_n_neighbors = target_n_neighbors
        self.target_metric = target_metric
        self.target_metric_kwds = target_metric_kwds
        self.target_weight = target_weight
        self.transform_seed = transform_seed
        self.transform_mode = transform_mode
        self.force_approximation_algorithm = force_approximation_algorithm
        self.verbose = verbose
        self.tqdm_kwds = tqdm_kwds
        self.unique = unique
        self.densmap = densmap
        self.dens_lambda = dens_lambda
        self.dens_frac = dens_frac
        self.dens_var_shift = dens_var_shift
        self.output_dens = output_dens
        self.disconnection_distance = disconnection_distance
        self.precomputed_knn = precomputed_knn
        self.callback = callback

    def fit(
        self,
        X: Any,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        graph: NeighborGraph | None = None,
    ) -> Self:
        """Compute `embedding_` from the objects X and, if given, their targets y.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object a row; with metric="precomputed" a matrix of dissimilarities, a sparse graph
            of them, or a `NeighborGraph`.
        y : array of shape (n_samples,) or (n_samples, n_targets), default=None
            Labels, -1 or None for unknown ones; or numbers if `target_metric` is a metric.
        ensure_all_finite : {True, False, "allow-nan"}, default=True
            Whether X must not contain infinity and NaN. Other values than True are of use if the
            metric is a function that accepts such numbers.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, with at least n_neighbors - 1
            neighbours, to be used instead of computing it.

        Returns
        -------
        self
        """
        return self._fit_to(self._admit(X, ensure_all_finite), graph=graph, targets=y)

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        graph: NeighborGraph | None = None,
    ) -> Any:
        """Fit to X and return `embedding_`; the parameters are those of `fit`.

        With `output_dens` the result is the tuple `embedding_`, `rad_orig_`, `rad_emb_`, and with
        transform_mode="graph" it is `graph_`.
        """
        self.fit(X, y, ensure_all_finite, graph=graph)
        if self.transform_mode == "graph":
            return self.graph_
        if self.output_dens:
            return self.embedding_, self.rad_orig_, self.rad_emb_
        return self.embedding_

    def transform(self, X: Any, ensure_all_finite: bool | str = True) -> Any:
        """Coordinates of new objects; those of a row do not depend on the other rows of X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_new, n_features)
            New objects, of the same kind as those of `fit`; for precomputed input their
            dissimilarities to the training objects, of shape (n_new, n_samples).
        ensure_all_finite : {True, False, "allow-nan"}, default=True
            See `fit`.

        Returns
        -------
        array of shape (n_new, n_components)
            With transform_mode="graph" a sparse matrix of shape (n_new, n_samples).
        """
        return super().transform(self._admit(X, ensure_all_finite))

    def __mul__(self, other: UMAP) -> UMAP:
        return self._combined(other, intersect)

    def __add__(self, other: UMAP) -> UMAP:
        return self._combined(other, unite)

    def __sub__(self, other: UMAP) -> UMAP:
        return self._combined(other, subtract)

    # --- parameters ---------------------------------------------------------------------------

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        metric = _distance_alone(self.metric) if callable(self.metric) else self.metric
        return metric, checks.keywords(self.metric_kwds, "metric_kwds")

    def _admit(self, X: Any, ensure_all_finite: bool | str) -> Any:
        """X, as a list of rows that are not checked for infinity and NaN if this is asked for."""
        checks.choice(ensure_all_finite, "ensure_all_finite", (True, False, "allow-nan"))
        if ensure_all_finite is True or not callable(self.metric):
            return X
        table = check_array(X, ensure_all_finite=ensure_all_finite)
        rows = np.empty(len(table), dtype=object)
        rows[:] = list(table)
        return rows

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None, **arguments: Any) -> None:
        self._check_parameters(objects.n)
        if not self.unique:
            super()._fit(objects, graph, **arguments)
            return
        if not objects.has_table or graph is not None:
            raise ValueError(
                "unique=True compares rows of numbers, but X was given as dissimilarities, as "
                "arbitrary objects, or with a graph. Set unique=False."
            )
        first, groups = identical_rows(objects.vectors("unique"))
        if arguments.get("targets") is not None:
            arguments["targets"] = of_length(np.asarray(arguments["targets"]), objects.n)[first]
        super()._fit(objects.subset(first), None, **arguments)
        self.unique_rows_ = first
        for name in ("embedding_", "rad_orig_", "rad_emb_"):
            if hasattr(self, name):
                setattr(self, name, getattr(self, name)[groups])

    def _check_parameters(self, n: int) -> None:
        self._check_n_components(n)
        k = checks.integer(self.n_neighbors, "n_neighbors", 2)
        if k > n:
            checks.warn(
                f"n_neighbors={k} is larger than the number of objects: all {n} of them are "
                "each other's neighbours."
            )
        for name in ("set_op_mix_ratio", "target_weight", "dens_frac"):
            checks.real(getattr(self, name), name, 0, 1)
        for name in (
            "local_connectivity",
            "repulsion_strength",
            "negative_sample_rate",
            "learning_rate",
            "dens_lambda",
            "dens_var_shift",
        ):
            checks.real(getattr(self, name), name, 0)
        checks.integer(self.transform_seed, "transform_seed", 0, 2**63 - 1)
        if self.target_n_neighbors != -1:
            checks.integer(self.target_n_neighbors, "target_n_neighbors", 2)
        checks.choice(self.transform_mode, "transform_mode", ("embedding", "graph"))
        self._check_output_metric()
        if self.n_epochs is not None:
            checks.integer(self.n_epochs, "n_epochs", 0)
        if self.disconnection_distance is not None:
            checks.real(self.disconnection_distance, "disconnection_distance", 0, open_low=True)
        if isinstance(self.init, str):
            checks.choice(self.init, "init", STARTS)
        if self.target_metric not in DISCRETE:
            try:
                resolve_metric(self.target_metric, self.target_metric_kwds, np.zeros((2, 1)))
            except (TypeError, ValueError) as error:
                raise type(error)(f"target_metric: {error}") from None
        self._curve()

    def _check_output_metric(self) -> None:
        if self.output_metric == "euclidean":
            return
        checks.choice(self.output_metric, "output_metric", ("euclidean", *SURFACES))
        if self.output_metric == "haversine" and self.n_components != 2:
            raise ValueError(
                f"output_metric='haversine' needs n_components=2, got {self.n_components}."
            )
        if self.densmap:
            raise ValueError(
                f"densmap=True needs output_metric='euclidean', got {self.output_metric!r}."
            )

    def _curve(self) -> tuple[float, float]:
        """The parameters a and b of the kernel, as given or fitted to `min_dist` and `spread`."""
        if (self.a is None) != (self.b is None):
            raise ValueError("a and b must be given together, or neither of them.")
        if self.a is not None:
            a = checks.real(self.a, "a", 0, open_low=True)
            return a, checks.real(self.b, "b", 0, open_low=True)
        spread = checks.real(self.spread, "spread", 0, open_low=True)
        if not 0 <= checks.real(self.min_dist, "min_dist") <= spread:
            raise ValueError(
                f"min_dist must lie between 0 and spread={spread:g}, got {self.min_dist!r}."
            )
        return fit_curve(spread, self.min_dist)

    def _n_neighbors(self, n: int) -> int:
        """The size of a neighbourhood among n objects, including the object itself."""
        return min(int(self.n_neighbors), n)

    def _n_wanted(self, n: int) -> int:
        return self._n_neighbors(n) - 1

    def _epochs(self, n: int) -> int:
        if self.n_epochs is not None:
            return int(self.n_epochs)
        epochs = EPOCHS if n <= LARGE else EPOCHS_IF_LARGE
        return epochs + EPOCHS_FOR_DENSITY if self.densmap else epochs

    def _memberships(self) -> dict[str, float]:
        return {
            "local_connectivity": float(self.local_connectivity),
            "mix": float(self.set_op_mix_ratio),
        }

    def _forces(self) -> dict[str, float]:
        return {
            "learning_rate": float(self.learning_rate),
            "repulsion": float(self.repulsion_strength),
            "negative_sample_rate": float(self.negative_sample_rate),
        }

    @property
    def _disconnection(self) -> float:
        far = self.disconnection_distance
        return np.inf if far is None else float(far)

    # --- fit: neighbours -> fuzzy graph -> start -> layout ------------------------------------

    def _neighbor_graph(self, objects: Objects, given: NeighborGraph | None) -> NeighborGraph:
        lists = self.precomputed_knn
        listlike = isinstance(lists, tuple | list | np.ndarray)
        if lists is not None and not (listlike and len(lists) >= 2):
            raise TypeError(
                "precomputed_knn must be a tuple of indices and distances, each of shape "
                f"(n_samples, n_neighbors), or None; got {lists!r}."
            )
        listed = lists is not None and lists[0] is not None
        if listed and given is None and not isinstance(objects, GivenGraph):
            indices, distances = lists_without_self(
                lists[0], lists[1], objects.n, "precomputed_knn"
            )
            distances = scaled(distances, -objects.exponent).astype(objects.dtype)
            return self._cut(NeighborGraph(indices, distances, objects.metric_name))
        return super()._neighbor_graph(objects, given)

    def _fit_graph(self, objects: Objects, graph: NeighborGraph, targets: Any = None) -> None:
        random = self._random()
        fuzzy = self._fuzzy_graph(graph, targets)
        density = self._density(fuzzy, graph)
        if self.transform_mode == "graph":
            return
        start = self._start(objects, random).astype(graph.distances.dtype)
        self._lay_out(start, random, density)

    def _random(self) -> np.random.RandomState:
        seed = 0 if self.random_state is None else self.random_state
        return np.random.RandomState(check_random_state(seed).randint(2**31 - 1))

    def _lay_out(
        self, start: Array, random: np.random.RandomState, density: Density | None = None
    ) -> None:
        """Set `embedding_` to the layout of `graph_`."""
        self.a_, self.b_ = self._curve()
        options: dict[str, Any] = {
            "curve": (self.a_, self.b_),
            "n_epochs": self._epochs(len(start)),
            "seed": int(random.randint(2**31 - 1)),
            **self._forces(),
        }
        monitor = self._monitor(options["n_epochs"])
        if self.output_metric == "euclidean":
            layout = Layout(self.graph_, start, density=density, **options)
            self.embedding_, self.n_iter_ = lay_out(layout, monitor)
        else:
            surface = SURFACES[self.output_metric]
            self.embedding_, self.n_iter_ = lay_out_on(
                surface, self.graph_, start, monitor, **options
            )
        self._leave_out_isolated()
        if self.output_dens:
            self.rad_emb_ = self._radii_of_embedding()

    def _combined(self, other: UMAP, combine: Callable[[Any, Any], Any]) -> UMAP:
        """A model of a combination of the fuzzy graphs of two fitted models."""
        if not isinstance(other, UMAP):
            raise TypeError(f"A UMAP can be combined with a UMAP, got {type(other).__name__}.")
        check_is_fitted(self, "graph_")
        check_is_fitted(other, "graph_")
        if hasattr(self, "unique_rows_") or hasattr(other, "unique_rows_"):
            raise ValueError(
                "Models fitted with unique=True cannot be combined: their graphs hold distinct "
                "rows only. Set unique=False."
            )
        if self.graph_.shape != other.graph_.shape:
            raise ValueError(
                "Only models of the same objects can be combined, but they have "
                f"{self.graph_.shape[0]} and {other.graph_.shape[0]} objects."
            )
        result: UMAP = clone(self).set_params(output_dens=False, densmap=False, unique=False)
        with running(self._n_jobs):
            result.graph_, random = combine(self.graph_, other.graph_), self._random()
            further = self.output_metric == "haversine"
            start = spectral_start(result.graph_, int(self.n_components) + further, random)
            start = spread_out(start, random, SIZE, NOISE).astype(result.graph_.dtype)
            result._lay_out(start, random)
        return result

    def _fuzzy_graph(self, graph: NeighborGraph, targets: Any) -> FuzzyGraph:
        """The fuzzy graph of the data; `graph_` is its intersection with that of the targets."""
        k = self._n_neighbors(graph.n_objects)
        fuzzy = fuzzy_graph(graph, k, disconnection=self._disconnection, **self._memberships())
        self.graph_ = fuzzy.matrix
        self.rho_, self.sigma_, self.reach_ = fuzzy.rho, fuzzy.sigma, graph.reach()
        if targets is not None:
            asked = int(self.target_n_neighbors)
            self.graph_ = intersect_targets(
                fuzzy.matrix,
                targets,
                float(self.target_weight),
                metric=self.target_metric,
                metric_params=self.target_metric_kwds,
                n_neighbors=k if asked == -1 else max(asked, 2),
            )
        return fuzzy

    def _start(self, objects: Objects, random: np.random.RandomState) -> Array:
        # A start on the sphere has three coordinates, unless it is given.
        further = isinstance(self.init, str) and self.output_metric == "haversine"
        shape = (objects.n, int(self.n_components) + further)
        vectors = objects.vectors("init") if objects.has_table else None
        if not isinstance(self.init, str):
            start = given_start(self.init, shape, STARTS).astype(np.float64)
        elif self.init in ("spectral", "tswspectral"):
            start = spectral_start(self.graph_, shape[1], random, rows=vectors)
        elif self.init == "random":
            start = random.uniform(-1, 1, shape)
        elif vectors is None:
            raise ValueError("init='pca' needs vectors; use 'spectral' for dissimilarities.")
        else:
            start = principal_scores(vectors, shape[1], random)
        return spread_out(start, random, SIZE, NOISE)

    def _density(self, fuzzy: FuzzyGraph, graph: NeighborGraph) -> Density | None:
        """The density term of densMAP, if it is used."""
        if self.densmap or self.output_dens:
            self.rad_orig_ = log_radii(fuzzy.matrix, graph.adjacency("union"))
        if not self.densmap:
            return None
        return Density(self.rad_orig_, self.dens_lambda, self.dens_frac, self.dens_var_shift)

    def _leave_out_isolated(self) -> None:
        """Set the coordinates of objects without edges to NaN."""
        isolated = np.diff(self.graph_.indptr) == 0
        if isolated.any():
            checks.warn(
                f"{int(isolated.sum())} objects have no edge in the fuzzy graph; their coordinates "
                "are NaN. Raise disconnection_distance, set_op_mix_ratio or n_neighbors."
            )
            self.embedding_[isolated] = np.nan

    @property
    def _placed(self) -> Array:
        return np.asarray(np.isfinite(self.embedding_).all(axis=1))

    def _radii_of_embedding(self) -> Array:
        """Logarithms of the radii of neighbourhoods in the embedding; NaN for isolated objects."""
        placed = self._placed
        radii = np.full(len(placed), np.nan, dtype=self.embedding_.dtype)
        k = self._n_neighbors(int(placed.sum()))
        graph = neighbors(self.embedding_[placed], k - 1)
        radii[placed] = log_radii(fuzzy_graph(graph, k).matrix, graph.adjacency("union"))
        return radii

    # --- new objects ---------------------------------------------------------------------------

    def _new_objects(self, X: Any) -> NewObjects:
        if not hasattr(self, "rho_"):
            raise ValueError(
                "This model combines two others and has no training objects to compare new ones "
                "with: transform them with one of the two."
            )
        return super()._new_objects(X)

    def _transform(self, new: NewObjects) -> Any:
        if hasattr(self, "unique_rows_"):
            new = new.among(self.unique_rows_)
        k = self._n_neighbors(len(self.rho_))
        nearest, distances = new.nearest(k - 1, self._search)
        far = np.asarray(np.inf, distances.dtype)
        distances = np.where(distances >= self._disconnection, far, distances)
        known = FuzzyGraph(self.graph_, self.rho_, self.sigma_)
        weights = new_memberships(nearest, distances, k, known, self.reach_, **self._memberships())
        if self.transform_mode == "graph":
            return as_matrix(nearest, weights, len(self.rho_))
        Y = self._positions(nearest, weights)
        Y[~(weights > 0).any(axis=1)] = np.nan
        same = distances[:, 0] == 0
        Y[same] = self._distinct[nearest[same, 0]]
        return Y

    @property
    def _distinct(self) -> Array:
        """The coordinates of the objects that were embedded."""
        rows = getattr(self, "unique_rows_", None)
        return self.embedding_ if rows is None else self.embedding_[rows]

    def _positions(self, nearest: Array, weights: Array) -> Array:
        """Coordinates of new objects from the memberships of their edges to training objects."""
        known = self._distinct
        placed = np.asarray(np.isfinite(known).all(axis=1))
        number = np.maximum(np.cumsum(placed) - 1, 0)  # of each object among those with coordinates
        weights[~placed[nearest]] = 0
        if self.output_metric != "euclidean":
            surface = SURFACES[self.output_metric]
            return surface.means(number[nearest], weights, known[placed]).astype(known.dtype)
        return place_by_membership(
            number[nearest],
            weights,
            known[placed],
            curve=(self.a_, self.b_),
            n_epochs=NEW_EPOCHS if self.n_epochs is None else int(self.n_epochs) // 3,
            seed=checks.integer(self.transform_seed, "transform_seed", 0, 2**63 - 1),
            **self._forces(),
        )

    def _inverse(self, Y: Array) -> Array:
        if self.output_metric != "euclidean":
            raise ValueError(
                "inverse_transform interpolates in Euclidean space, but "
                f"output_metric={self.output_metric!r}."
            )
        return super()._inverse(Y)

    @property
    def _n_features_out(self) -> int:
        return len(self.rho_) if self.transform_mode == "graph" else super()._n_features_out


def _distance_alone(metric: Callable[..., Any]) -> Callable[..., float]:
    """A metric without the gradient that it may return in a tuple with the distance."""

    def distance(one: Any, other: Any, **params: Any) -> float:
        found = metric(one, other, **params)
        return found[0] if isinstance(found, tuple) else found  # type: ignore[no-any-return]

    return distance
