"""Uniform manifold approximation and projection (McInnes, Healy and Melville 2018)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from lowdim import checks
from lowdim.base import NeighborEmbedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.extend.membership import place_by_membership
from lowdim.matrices.fuzzy import (
    FuzzyGraph,
    directed,
    fuzzy_graph,
    intersect,
    intersect_labels,
    log_radii,
    new_memberships,
)
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.metrics import resolve_metric
from lowdim.relations.neighbors import neighbors
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import GivenGraph, Objects, objects_of
from lowdim.solvers.layout import Density, Layout, fit_curve, lay_out
from lowdim.solvers.spectral_start import spectral_start
from lowdim.solvers.starts import given_start, spread_out
from lowdim.solvers.svd import principal_scores

STARTS = ("spectral", "pca", "random")
SIZE, NOISE = 10.0, 1e-5  # extent of a start along every axis, and the noise on it in its units
LARGE = 10_000  # objects above which fewer epochs do


class UMAP(NeighborEmbedder):
    """Neighbours kept together, all others pushed apart: a fuzzy graph laid out by cross-entropy.

    k-NN -> fuzzy graph -> cross-entropy layout

    Names and meanings are umap-learn's; its other output metrics, `transform_mode` and `unique` are
    not there.

    Parameters
    ----------
    n_neighbors : size of a neighbourhood, the object itself counted: small for detail, large
        for an overview.
    n_components : dimension of the map.
    metric, metric_kwds : how neighbours are measured; "precomputed" for dissimilarities, a sparse
        graph of distances, or a `NeighborGraph`.
    n_epochs : of the layout; None: 500, above 10,000 objects 200, with densmap 200 more.
    learning_rate : the first epoch's step, in units of the step that the pulls' stiffness allows.
    init : "spectral" (smooth modes of the graph), "pca", "random", or an array of coordinates. All
        are stretched to the same size.
    min_dist, spread : how tightly points may lie on the map, and its scale.
    n_jobs : threads; the result does not depend on it.
    set_op_mix_ratio : 1: an edge is kept by the fuzzy union of its ends' opinions, 0: by their
        intersection.
    local_connectivity : number of nearest neighbours that belong fully.
    repulsion_strength, negative_sample_rate : their product weighs repulsion. The rate is also
        that of the points drawn to push a vertex, 16 an epoch for 5.
    a, b : of the curve 1 / (1 + a d^2b); None: fitted to min_dist and spread.
    random_state : seed; None: 0. Same seed, same map, for any number of threads.
    target_n_neighbors : of targets that are numbers; -1: n_neighbors.
    target_metric : "categorical" (y are labels, -1 unknown) or a metric of the targets.
    target_metric_kwds : further arguments of it.
    target_weight : 0: only the data counts, 1: only the targets.
    transform_seed : of the points that new objects meet.
    densmap : also keep the density (Narayan, Berger and Cho 2021): radii of neighbourhoods on the
        map are to be correlated with those in the data.
    dens_lambda, dens_frac, dens_var_shift : weight of that, the share of the epochs (the last) in
        which it counts, and a constant added to the variance of the map's radii.
    output_dens : compute `rad_orig_` and `rad_emb_`; fit_transform then returns all three.
    disconnection_distance : neighbours at this distance or beyond are none. Objects left without
        any get NaN.
    precomputed_knn : (indices, distances), each object its own first neighbour, as of umap-learn;
        see also `fit(X, graph=...)`.
    verbose, callback : a progress bar; a function of the state after every epoch, which may stop.
    low_memory, transform_queue_size, angular_rp_forest, force_approximation_algorithm, tqdm_kwds :
        kept for compatibility, without effect.

    Attributes
    ----------
    embedding_ : coordinates. graph_ : the fuzzy graph, a CSR matrix of memberships.
    a_, b_, n_iter_ : curve and epochs used. rad_orig_, rad_emb_ : log radii (see output_dens).

    `fit(X, y)` is supervised. `transform` lets new objects move on the map, which stands still, by
    the objective that made it, as if they had been among the data; equal to a training object they
    get its coordinates. `inverse_transform` is barycentric. An epoch takes time in n k, memory is
    n k. Up to 512 objects all push each other and nothing is random but the noise on the start.
    """

    def __init__(
        self,
        n_neighbors: int = 15,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_kwds: dict[str, Any] | None = None,
        n_epochs: int | None = None,
        learning_rate: float = 1.0,
        init: Any = "spectral",
        min_dist: float = 0.1,
        spread: float = 1.0,
        n_jobs: int | None = -1,
        set_op_mix_ratio: float = 1.0,
        local_connectivity: float = 1.0,
        repulsion_strength: float = 1.0,
        negative_sample_rate: float = 5,
        a: float | None = None,
        b: float | None = None,
        random_state: Any = None,
        target_n_neighbors: int = -1,
        target_metric: Any = "categorical",
        target_metric_kwds: dict[str, Any] | None = None,
        target_weight: float = 0.5,
        transform_seed: int = 42,
        densmap: bool = False,
        dens_lambda: float = 2.0,
        dens_frac: float = 0.3,
        dens_var_shift: float = 0.1,
        output_dens: bool = False,
        disconnection_distance: float | None = None,
        precomputed_knn: Any = (None, None, None),
        verbose: bool = False,
        callback: Callback | None = None,
        low_memory: bool = True,
        transform_queue_size: float = 4.0,
        angular_rp_forest: bool = False,
        force_approximation_algorithm: bool = False,
        tqdm_kwds: dict[str, Any] | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.metric = metric
        self.metric_kwds = metric_kwds
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.init = init
        self.min_dist = min_dist
        self.spread = spread
        self.n_jobs = n_jobs
        self.set_op_mix_ratio = set_op_mix_ratio
        self.local_connectivity = local_connectivity
        self.repulsion_strength = repulsion_strength
        self.negative_sample_rate = negative_sample_rate
        self.a = a
        self.b = b
        self.random_state = random_state
        self.target_n_neighbors = target_n_neighbors
        self.target_metric = target_metric
        self.target_metric_kwds = target_metric_kwds
        self.target_weight = target_weight
        self.transform_seed = transform_seed
        self.densmap = densmap
        self.dens_lambda = dens_lambda
        self.dens_frac = dens_frac
        self.dens_var_shift = dens_var_shift
        self.output_dens = output_dens
        self.disconnection_distance = disconnection_distance
        self.precomputed_knn = precomputed_knn
        self.verbose = verbose
        self.callback = callback
        self.low_memory = low_memory
        self.transform_queue_size = transform_queue_size
        self.angular_rp_forest = angular_rp_forest
        self.force_approximation_algorithm = force_approximation_algorithm
        self.tqdm_kwds = tqdm_kwds

    def fit(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Self:
        """Compute `embedding_` from the objects X and, where given, their targets y.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix (n_samples, n_features); with metric="precomputed"
            a matrix of dissimilarities, a sparse graph of them, or a `NeighborGraph`.
        y : labels, -1 for unknown ones; or numbers, if `target_metric` is a metric; or None.
        graph : the neighbour graph of X from `lowdim.neighbors`, with at least n_neighbors - 1
            neighbours, to be used instead of computing it.
        """
        return self._fit_to(X, graph=graph, targets=y)

    def fit_transform(self, X: Any, y: Any = None, *, graph: NeighborGraph | None = None) -> Any:
        """Fit to X and return `embedding_`, with `output_dens` also `rad_orig_` and `rad_emb_`."""
        self.fit(X, y, graph=graph)
        if self.output_dens:
            return self.embedding_, self.rad_orig_, self.rad_emb_
        return self.embedding_

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        return self.metric, dict(self.metric_kwds or {})

    # --- neighbours ------------------------------------------------------------------------

    def _n_wanted(self, n: int) -> int:
        asked = checks.integer(self.n_neighbors, "n_neighbors", 2)
        if asked > n:
            checks.warn(
                f"n_neighbors={asked} is larger than the number of objects: all {n} of them are "
                "each other's neighbours."
            )
        return min(asked, n) - 1

    def _neighbor_graph(self, objects: Objects, given: NeighborGraph | None) -> NeighborGraph:
        if given is None and not isinstance(objects, GivenGraph):
            given = self._precomputed_graph(objects)
        return super()._neighbor_graph(objects, given)

    def _precomputed_graph(self, objects: Objects) -> NeighborGraph | None:
        """The graph in `precomputed_knn`, each object's entry for itself taken out."""
        known = self.precomputed_knn
        if known is None or known[0] is None:
            return None
        indices, distances = np.asarray(known[0]), np.asarray(known[1], dtype=np.float64)
        n = objects.n
        if indices.ndim != 2 or indices.shape != distances.shape or len(indices) != n:
            raise ValueError(
                f"precomputed_knn must hold indices and distances of shape ({n}, k), got "
                f"{indices.shape} and {distances.shape}."
            )
        if indices.min() < -1 or indices.max() >= n:
            raise ValueError(f"precomputed_knn: indices must lie in [0, {n}).")
        itself = indices == np.arange(n)[:, None]
        itself[~itself.any(axis=1), -1] = True  # one goes in any case
        itself &= itself.cumsum(axis=1) == 1
        indices = indices[~itself].reshape(n, -1)
        distances = distances[~itself].reshape(n, -1)
        missing = indices < 0
        indices = np.where(missing, np.arange(n)[:, None], indices).astype(np.int32)
        distances = np.where(missing, np.inf, distances).astype(objects.dtype)
        return NeighborGraph(indices, distances, objects.metric_name, objects.fingerprint())

    # --- fit ---------------------------------------------------------------------------------

    def _fit_graph(self, objects: Objects, graph: NeighborGraph, targets: Any = None) -> None:
        n = objects.n
        dim = self._check_n_components(n)
        self._check_parameters()
        k = self._n_wanted_quietly(n) + 1
        fuzzy = self._fuzzy(graph, k)
        matrix = fuzzy.matrix if targets is None else self._supervised(fuzzy.matrix, k, targets)
        self.graph_ = matrix
        self.rho_, self.sigma_, self.reach_ = fuzzy.rho, fuzzy.sigma, graph.reach()
        random = self._random()
        start = self._start(objects, matrix, dim, random).astype(graph.distances.dtype)
        density = None
        if self.densmap or self.output_dens:
            self.rad_orig_ = log_radii(fuzzy.matrix, graph.adjacency("union"))
        if self.densmap:
            density = Density(self.rad_orig_, self.dens_lambda, self.dens_frac, self.dens_var_shift)
        layout = Layout(
            matrix,
            start,
            curve=(self.a_, self.b_),
            n_epochs=self._epochs(n),
            density=density,
            seed=int(random.randint(2**31 - 1)),
            **self._forces(),
        )
        self.embedding_, self.n_iter_ = lay_out(layout, self._monitor(layout.n_epochs))
        lonely = np.diff(matrix.indptr) == 0
        if lonely.any():
            checks.warn(
                f"{int(lonely.sum())} objects have no edge in the fuzzy graph; their coordinates "
                "are NaN. Raise disconnection_distance, set_op_mix_ratio or n_neighbors."
            )
            self.embedding_[lonely] = np.nan
        if self.output_dens:
            self.rad_emb_ = self._map_radii(k)

    def _check_parameters(self) -> None:
        checks.real(self.set_op_mix_ratio, "set_op_mix_ratio", 0, 1)
        checks.real(self.local_connectivity, "local_connectivity", 0)
        checks.real(self.repulsion_strength, "repulsion_strength", 0)
        checks.real(self.negative_sample_rate, "negative_sample_rate", 0)
        checks.real(self.learning_rate, "learning_rate", 0)
        checks.real(self.target_weight, "target_weight", 0, 1)
        checks.real(self.dens_lambda, "dens_lambda", 0)
        checks.real(self.dens_frac, "dens_frac", 0, 1)
        checks.real(self.dens_var_shift, "dens_var_shift", 0)
        checks.integer(self.transform_seed, "transform_seed", 0)
        if not self._categorical:
            try:
                resolve_metric(self.target_metric, self.target_metric_kwds, np.zeros((2, 1)))
            except (TypeError, ValueError) as error:
                raise type(error)(f"target_metric: {error}") from None
        if self.n_epochs is not None:
            checks.integer(self.n_epochs, "n_epochs", 0)
        if self.disconnection_distance is not None:
            checks.real(self.disconnection_distance, "disconnection_distance", 0, open_low=True)
        if (self.a is None) != (self.b is None):
            raise ValueError("a and b must be given together, or neither of them.")
        if self.a is not None and self.b is not None:
            self.a_ = checks.real(self.a, "a", 0, open_low=True)
            self.b_ = checks.real(self.b, "b", 0, open_low=True)
            return
        spread = checks.real(self.spread, "spread", 0, open_low=True)
        if not 0 <= checks.real(self.min_dist, "min_dist") <= spread:
            raise ValueError(
                f"min_dist must lie between 0 and spread={spread:g}, got {self.min_dist!r}."
            )
        self.a_, self.b_ = fit_curve(spread, self.min_dist)

    @property
    def _categorical(self) -> bool:
        return isinstance(self.target_metric, str) and self.target_metric == "categorical"

    def _n_wanted_quietly(self, n: int) -> int:
        return min(int(self.n_neighbors), n) - 1

    def _fuzzy(self, graph: NeighborGraph, k: int) -> FuzzyGraph:
        far = self.disconnection_distance
        return fuzzy_graph(
            graph,
            k,
            local_connectivity=float(self.local_connectivity),
            mix=float(self.set_op_mix_ratio),
            disconnection=np.inf if far is None else float(far),
        )

    def _supervised(self, matrix: Any, k: int, y: Any) -> Any:
        """The fuzzy graph intersected with that of the targets."""
        n, weight = matrix.shape[0], float(self.target_weight)
        if self._categorical:
            labels = column_or_1d(y, warn=True)
            self._check_length(labels, n)
            known = np.unique(labels, return_inverse=True)[1]
            numeric = labels.dtype.kind in "iuf"
            codes = np.where(labels == -1, -1, known) if numeric else known
            far = 2.5 / (1 - weight) if weight < 1 else 1e12
            return intersect_labels(matrix, codes, far)
        targets = np.asarray(y)
        self._check_length(targets, n)
        targets = checks.vectors(targets.reshape(n, -1), name="y")
        asked = checks.integer(self.target_n_neighbors, "target_n_neighbors", -1)
        size = min(k if asked == -1 else max(asked, 2), n)
        objects = objects_of(targets, self.target_metric, self.target_metric_kwds)
        other = directed(objects.neighbor_graph(size - 1), size)
        return intersect(matrix, other, weight)

    def _check_length(self, y: Array, n: int) -> None:
        if len(y) != n:
            raise ValueError(f"y has {len(y)} targets, but X has {n} objects.")

    def _random(self) -> np.random.RandomState:
        seed = 0 if self.random_state is None else self.random_state
        return np.random.RandomState(check_random_state(seed).randint(2**31 - 1))

    def _epochs(self, n: int) -> int:
        if self.n_epochs is not None:
            return int(self.n_epochs)
        return (500 if n <= LARGE else 200) + (200 if self.densmap else 0)

    def _forces(self) -> dict[str, Any]:
        return {
            "learning_rate": float(self.learning_rate),
            "repulsion": float(self.repulsion_strength),
            "negative_sample_rate": float(self.negative_sample_rate),
        }

    def _start(
        self, objects: Objects, matrix: Any, dim: int, random: np.random.RandomState
    ) -> Array:
        n = objects.n
        vectors = objects.vectors("init") if objects.has_table else None
        if not isinstance(self.init, str):
            start = given_start(self.init, (n, dim), STARTS).astype(np.float64)
        elif checks.choice(self.init, "init", STARTS) == "spectral":
            start = spectral_start(matrix, dim, random, rows=vectors)
        elif self.init == "random":
            start = random.uniform(-1, 1, (n, dim))
        elif vectors is None:
            raise ValueError("init='pca' needs vectors; use 'spectral' for dissimilarities.")
        else:
            start = principal_scores(vectors, dim, random)
        return spread_out(start, random, SIZE, NOISE)

    def _placed(self) -> Array:
        return np.asarray(np.isfinite(self.embedding_).all(axis=1))

    def _map_radii(self, k: int) -> Array:
        """Log radii of the neighbourhoods on the map."""
        placed = self._placed()
        out = np.full(len(placed), np.nan, dtype=self.embedding_.dtype)
        k = min(k, int(placed.sum()))
        near = neighbors(self.embedding_[placed], k - 1)
        matrix = fuzzy_graph(near, k).matrix
        out[placed] = log_radii(matrix, near.adjacency("union"))
        return out

    # --- new objects ---------------------------------------------------------------------------

    def _transform(self, new: NewObjects) -> Array:
        n = len(self.embedding_)
        k = self._n_wanted_quietly(n) + 1
        nearest, distances = new.nearest(k - 1, self._search)
        if self.disconnection_distance is not None:
            far = distances >= self.disconnection_distance
            distances = np.where(far, np.asarray(np.inf, distances.dtype), distances)
        weights = new_memberships(
            nearest,
            distances,
            k,
            FuzzyGraph(self.graph_, self.rho_, self.sigma_),
            self.reach_,
            local_connectivity=float(self.local_connectivity),
            mix=float(self.set_op_mix_ratio),
        )
        placed = self._placed()
        number = np.cumsum(placed) - 1  # among the objects on the map
        weights[~placed[nearest]] = 0
        Y = place_by_membership(
            np.maximum(number, 0)[nearest],
            weights,
            self.embedding_[placed],
            curve=(self.a_, self.b_),
            n_epochs=100 if self.n_epochs is None else int(self.n_epochs) // 3,
            seed=int(self.transform_seed),
            **self._forces(),
        )
        Y[~(weights > 0).any(axis=1)] = np.nan
        return self._keep_known(Y, nearest, distances)
