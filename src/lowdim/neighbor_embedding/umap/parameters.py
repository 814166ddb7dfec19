"""The parameters of UMAP: defaults, checks, and what follows from them.

Names, order and defaults are those of umap-learn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_array

from lowdim import checks
from lowdim.checks import Array
from lowdim.distances.units import scale_by_power
from lowdim.estimator import Embedder, declare_parameters
from lowdim.estimator.neighbors import graph_of_fit
from lowdim.messages import argument
from lowdim.neighbor_embedding.docs import PASSAGES
from lowdim.neighbor_embedding.starts import UMAP_STARTS
from lowdim.neighbor_embedding.umap.curved import SPACES, start_dim
from lowdim.neighbor_embedding.umap.layout import fit_curve
from lowdim.neighbor_embedding.umap.targets import DISCRETE
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import GivenGraph, Objects, measured_objects
from lowdim.runtime.callbacks import Callback, CheckpointFile

LARGE = 10_000  # objects above which fewer epochs suffice
EPOCHS, EPOCHS_IF_LARGE, EPOCHS_FOR_DENSITY = 500, 200, 200  # umap-learn's defaults
DISCONNECTION = {
    **dict.fromkeys(("jaccard", "bit_jaccard", "dice", "hellinger"), 1.0),
    **dict.fromkeys(("cosine", "correlation"), 2.0),
}
"""The largest values of bounded metrics; see `disconnection_distance`."""
LARGEST = 1e6  # of factors of forces, and of a: products of them stay finite in float32
LARGEST_POWER = 10.0  # of b, likewise
ROUNDING = 1e-6  # relative error of distances at which they still count as the largest value
NEW_EPOCHS = 100  # of `transform`, as in umap-learn
LISTS = (list, tuple, np.ndarray)  # types of several values


PARAMETERS = """
n_neighbors : int, default=15
    Size of a neighbourhood, including the object itself: small for detail, large for the
    overall structure.
$n_components
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
n_epochs : int or list of int, default=None
    Number of epochs of the layout. None is 500, or 200 for more than 10,000 objects, and 200
    more with `densmap`. A list has the epochs whose maps are kept in `embedding_list_`; its
    largest entry is the number of epochs.
learning_rate : float, default=1.0
    Step size of the first epoch, relative to the largest step at which the attraction is
    stable.
init : {"spectral", "pca", "random", "tswspectral"} or array, default="spectral"
    Initial coordinates, of shape (n_samples, n_components) if given as an array. They are
    scaled to the same extent in each case. "pca" often keeps large distances better (rank
    correlation for the cells of Muraro .53, with "spectral" .35; for a mammoth .88 and .83),
    "spectral" distances along curved sheets (S-curve .97 and .89). "tswspectral" is another name
    of "spectral": the solver is chosen automatically.
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
    coordinates NaN. None is the largest value of a bounded metric, at which objects have
    nothing in common: 1 of "jaccard", "bit_jaccard", "dice" and "hellinger", 2 of "cosine" and
    "correlation", infinity of others.
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
global_weight : float, default=0.0
    From 0 to 1: how strongly the map is pulled towards the shape of a global map, which is that of
    the principal components, or of `init` if that is "random" or an array. 0 is UMAP as published,
    1 the global map.
"""
"""The passage on the parameters in the docstring of UMAP."""


@declare_parameters
class UMAPParameters(Embedder):
    """The parameters of UMAP and what follows from them; `PARAMETERS` describes them."""

    _passages: ClassVar = PASSAGES | {"parameters": PARAMETERS}
    _units: ClassVar = {"embedding_": 0, "rho_": 1, "sigma_": 1, "reach_": 1}

    n_neighbors: int = 15
    n_components: int = 2
    metric: Any = "euclidean"
    metric_kwds: dict[str, Any] | None = None
    output_metric: str = "euclidean"
    output_metric_kwds: dict[str, Any] | None = None
    n_epochs: Any = None
    learning_rate: float = 1.0
    init: Any = "spectral"
    min_dist: float = 0.1
    spread: float = 1.0
    low_memory: bool = True
    n_jobs: int | None = -1
    set_op_mix_ratio: float = 1.0
    local_connectivity: float = 1.0
    repulsion_strength: float = 1.0
    negative_sample_rate: float = 5
    transform_queue_size: float = 4.0
    a: float | None = None
    b: float | None = None
    random_state: Any = None
    angular_rp_forest: bool = False
    target_n_neighbors: int = -1
    target_metric: Any = "categorical"
    target_metric_kwds: dict[str, Any] | None = None
    target_weight: float = 0.5
    transform_seed: int = 42
    transform_mode: str = "embedding"
    force_approximation_algorithm: bool = False
    verbose: bool = False
    tqdm_kwds: dict[str, Any] | None = None
    unique: bool = False
    densmap: bool = False
    dens_lambda: float = 2.0
    dens_frac: float = 0.3
    dens_var_shift: float = 0.1
    output_dens: bool = False
    disconnection_distance: float | None = None
    precomputed_knn: Any = (None, None, None)
    callback: Callback | None = None
    global_weight: float = 0.0
    checkpoint: CheckpointFile = None
    warm_start: bool = False

    def _check_parameters(self, n: int) -> None:
        self._check_n_components(n)
        neighborhood_size(self.n_neighbors, n)
        for name in ("set_op_mix_ratio", "target_weight", "dens_frac", "global_weight"):
            checks.real(getattr(self, name), name, 0, 1)
        for name in ("repulsion_strength", "negative_sample_rate", "learning_rate", "dens_lambda"):
            checks.real(getattr(self, name), name, 0, LARGEST)
        for name in ("local_connectivity", "dens_var_shift"):
            checks.real(getattr(self, name), name, 0)
        checks.integer(self.transform_seed, "transform_seed", 0, 2**63 - 1)
        if self.target_n_neighbors != -1:
            checks.integer(self.target_n_neighbors, "target_n_neighbors", 2)
        checks.choice(self.transform_mode, "transform_mode", ("embedding", "graph"))
        self._check_output_metric()
        self._check_epochs()
        if self.disconnection_distance is not None:
            checks.real(self.disconnection_distance, "disconnection_distance", 0, open_low=True)
        if isinstance(self.init, str):
            checks.choice(self.init, "init", UMAP_STARTS)
        if not isinstance(self.target_metric, str) or self.target_metric not in DISCRETE:
            try:
                measured_objects(np.zeros((2, 1)), self.target_metric, self.target_metric_kwds)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{argument('target_metric')}: {error}") from None
        self._curve()

    def _check_epochs(self) -> None:
        if not isinstance(self.n_epochs, LISTS) or getattr(self.n_epochs, "ndim", 1) == 0:
            if self.n_epochs is not None:
                checks.integer(self.n_epochs, "n_epochs", 0)
            return
        if not len(self.n_epochs):
            raise ValueError(f"{argument('n_epochs')} is an empty list. Give one epoch or more.")
        for i, epoch in enumerate(self.n_epochs):
            checks.integer(epoch, f"n_epochs[{i}]", 1)
        self._require_plane(f"A list as {argument('n_epochs')}")
        if self.checkpoint is not None or self.warm_start:
            raise ValueError(
                f"A list as {argument('n_epochs')} needs neither {argument('checkpoint')} nor "
                f"{argument('warm_start')}."
            )

    def _check_output_metric(self) -> None:
        if self.output_metric == "euclidean":
            return
        checks.choice(self.output_metric, "output_metric", ("euclidean", *SPACES))
        wanted = SPACES[self.output_metric].n_components
        if wanted is not None and self.n_components != wanted:
            raise ValueError(
                f"{argument('output_metric', self.output_metric)} needs "
                f"{argument('n_components', wanted)}, got {self.n_components}."
            )
        if self.densmap:
            self._require_plane(argument("densmap", True))

    def _require_plane(self, purpose: str) -> None:
        if self.output_metric != "euclidean":
            raise ValueError(
                f"{purpose} needs {argument('output_metric', 'euclidean')}, got "
                f"{self.output_metric!r}."
            )

    def _curve(self) -> tuple[float, float]:
        """The parameters a and b of the kernel, as given or fitted to `min_dist` and `spread`."""
        if (self.a is None) != (self.b is None):
            raise ValueError("a and b must be given together, or neither of them.")
        if self.a is not None:
            a = checks.real(self.a, "a", 0, LARGEST, open_low=True)
            return a, checks.real(self.b, "b", 0, LARGEST_POWER, open_low=True)
        return fit_curve(self.spread, self.min_dist)

    def _n_neighbors(self, n: int) -> int:
        """The size of a neighbourhood among n objects, including the object itself."""
        return min(int(self.n_neighbors), n)

    def _n_wanted(self, n: int) -> int:
        return self._n_neighbors(n) - 1

    def _epochs(self, n: int) -> int:
        if self.n_epochs is not None:
            return int(np.max(self.n_epochs))
        epochs = EPOCHS if n <= LARGE else EPOCHS_IF_LARGE
        return epochs + EPOCHS_FOR_DENSITY if self.densmap else epochs

    @property
    def _start_dim(self) -> int:
        """Number of coordinates of the start: those that the space wants, unless it is given."""
        dim = int(self.n_components)
        return start_dim(self.output_metric, dim) if isinstance(self.init, str) else dim

    def _membership_options(self) -> dict[str, float]:
        return {
            "local_connectivity": float(self.local_connectivity),
            "mix": float(self.set_op_mix_ratio),
        }

    def _force_options(self) -> dict[str, float]:
        """Options of the layout, of training objects and of new ones."""
        return {
            "learning_rate": float(self.learning_rate),
            "repulsion": float(self.repulsion_strength),
            "negative_sample_rate": float(self.negative_sample_rate),
        }

    @property
    def _disconnection(self) -> float:
        if self.disconnection_distance is not None:
            return float(self.disconnection_distance)
        largest = DISCONNECTION.get(self.metric) if isinstance(self.metric, str) else None
        return np.inf if largest is None else largest * (1 - ROUNDING)

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        metric = _distance_alone(self.metric) if callable(self.metric) else self.metric
        return metric, checks.keywords(self.metric_kwds, "metric_kwds")

    def _neighbor_graph(self, objects: Objects, graph: NeighborGraph | None) -> NeighborGraph:
        """The graph to fit to: that of `precomputed_knn`, or else as in every method."""
        lists, k = self.precomputed_knn, self._n_wanted(objects.n)
        listlike = isinstance(lists, LISTS) and getattr(lists, "ndim", 1) > 0
        if lists is not None and not (listlike and len(lists) >= 2):
            raise TypeError(
                f"{argument('precomputed_knn')} must be a tuple of indices and distances, each of "
                f"shape (n_samples, n_neighbors), or None; got {lists!r}."
            )
        listed = lists is not None and lists[0] is not None
        if listed and graph is None and not isinstance(objects, GivenGraph):
            indices, distances = _lists_without_self(
                lists[0], lists[1], objects.n, "precomputed_knn"
            )
            distances = scale_by_power(distances, -objects.exponent).astype(objects.dtype)
            return NeighborGraph(indices, distances, objects.metric_name).take(k)
        return graph_of_fit(self, objects, graph, k, k)

    def _random(self) -> np.random.RandomState:
        return np.random.RandomState(checks.fixed_seed(self.random_state))


def neighborhood_size(n_neighbors: Any, n: int) -> int:
    """The size of a neighbourhood among n objects, including the object itself, checked."""
    k = checks.integer(n_neighbors, "n_neighbors", 2)
    if k > n:
        checks.warn(
            f"{argument('n_neighbors', k)} is larger than the number of objects: all {n} of them "
            "are each other's neighbours."
        )
    return min(k, n)


def _distance_alone(metric: Callable[..., Any]) -> Callable[..., float]:
    """A metric without the gradient that it may return in a tuple with the distance."""

    def distance(one: Any, other: Any, **params: Any) -> float:
        result = metric(one, other, **params)
        value: float = result[0] if isinstance(result, tuple) else result
        return value

    return distance


def _lists_without_self(indices: Any, distances: Any, n: int, name: str) -> tuple[Array, Array]:
    """Neighbour lists of n objects, as umap-learn has them, without each object's entry for itself.

    -1 stands for a missing neighbour, which becomes the object itself at an infinite distance. If a
    list does not hold the object itself, its last entry is left out. `name` is that of the
    argument.
    """
    indices, distances = np.asarray(indices), np.asarray(distances, dtype=np.float64)
    if indices.ndim != 2 or indices.shape != distances.shape or len(indices) != n:
        raise ValueError(
            f"{name} must hold indices and distances of shape ({n}, k), got "
            f"{indices.shape} and {distances.shape}."
        )
    if indices.min() < -1 or indices.max() >= n:
        raise ValueError(f"{name}: indices must lie in [0, {n}).")
    known = distances[indices >= 0]
    if not (np.isfinite(known) & (known >= 0)).all():
        raise ValueError(f"{name}: distances must be finite and not negative.")
    own = np.arange(n)[:, None]
    itself = indices == own
    itself[~itself.any(axis=1), -1] = True
    itself &= itself.cumsum(axis=1) == 1
    indices = indices[~itself].reshape(n, -1)
    distances = distances[~itself].reshape(n, -1)
    missing = indices < 0
    indices = np.where(missing, own, indices).astype(np.int32)
    return indices, np.where(missing, np.inf, distances)


def rows_of(X: Any, ensure_all_finite: bool | str, metric: Any) -> Any:
    """The argument of `fit`, with the check for infinity and NaN that the user asks for.

    Only a metric that is a function can accept such numbers. X then becomes a list of rows, which
    are not checked again.
    """
    checks.choice(ensure_all_finite, "ensure_all_finite", (True, False, "allow-nan"))
    if ensure_all_finite is True or not callable(metric):
        return X
    # A copy, because the function may write into the rows that it is given.
    table = check_array(X, ensure_all_finite=ensure_all_finite, copy=True)
    rows = np.empty(len(table), dtype=object)
    rows[:] = list(table)
    return rows
