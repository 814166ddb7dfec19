"""Uniform manifold approximation and projection (McInnes, Healy and Melville 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Problem, Traits
from lowdim.estimator.fitted_state import Numbers, graph_rule, number
from lowdim.estimator.links import keep_known
from lowdim.estimator.neighbors import fitted_neighbors, join
from lowdim.estimator.updating import Growth, update
from lowdim.messages import argument
from lowdim.neighbor_embedding.anchors import Spring, hold, pins, springs_and_start
from lowdim.neighbor_embedding.starts import umap_start
from lowdim.neighbor_embedding.umap import fuzzy_graph as fuzzy
from lowdim.neighbor_embedding.umap.combination import combine_models
from lowdim.neighbor_embedding.umap.curved import SPACES, lay_out_on
from lowdim.neighbor_embedding.umap.fuzzy_graph import FuzzyGraph
from lowdim.neighbor_embedding.umap.layout import Density, Layout, lay_out, place_by_membership
from lowdim.neighbor_embedding.umap.parameters import LISTS, NEW_EPOCHS, UMAPParameters, rows_of
from lowdim.neighbor_embedding.umap.targets import intersect_targets, of_length
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.procrustes import align_to_old
from lowdim.objects.identical import identical_rows
from lowdim.objects.neighbors import neighbors as search_neighbors
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import BlockedObjects, Objects

UPDATE_EPOCHS = 0.05  # share of the epochs of a fit, the last ones, that `update` runs
BALANCE = 0.003  # share of the pull towards a global map with global_weight=0.5
UPDATE_HOLD = 0.02  # share of its displacement by which an old object returns after each of them


class UMAP(UMAPParameters):
    """Uniform manifold approximation and projection (UMAP).

    k-NN -> fuzzy graph -> cross-entropy layout

    Represents the neighbours of all objects by one weighted graph and places the objects so that
    linked ones attract and others repel each other [McInnes2018]_. The parameters, their order and
    their meaning are those of umap-learn.

    Parameters
    ----------
    $parameters
    $checkpoint

    Attributes
    ----------
    $embedding
    embedding_list_ : array of shape (n_maps, n_samples, n_components)
        The maps after the epochs in `n_epochs`, if that is a list; the last is `embedding_`.
    graph_ : sparse array of shape (n_samples, n_samples)
        The fuzzy graph.
    knn_indices, knn_dists : array of shape (n_samples, n_neighbors)
        Each object and its nearest neighbours, and the distances to them, as umap-learn has them.
        They are known after a fit in memory without `y` and `unique`.
    graph_dists_ : sparse array of shape (n_samples, n_samples)
        The distances between neighbours.
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
    new objects, as if they had been part of the data.
    $known

    The density term is that of densMAP [Narayan2021]_.

    Fitted models of the same objects can be combined: `a * b` embeds the intersection of their
    fuzzy graphs, `a + b` the union, `a - b` what is linked in the first but not in the second. The
    parameters are those of the first; the result has no `transform`.

    With another `output_metric` than "euclidean" a new object is placed at the weighted mean of its
    neighbours.

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

    traits = Traits(
        keeps="neighbours; clusters apart",
        when="many points whose clusters and their detail are to be seen, quickly",
        cost="n k per epoch and n k memory, neighbours aside",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="McInnes, Healy and Melville 2018; densMAP: Narayan, Berger and Cho 2021",
        power=0.9,
        local_only=True,
        suggested=True,
        live=("min_dist", "spread", "learning_rate", "repulsion_strength", "negative_sample_rate"),
        grows=True,
    )

    _reads_blocks = True
    _attributes: ClassVar = {
        "embedding_": Numbers("n c", missing=True),
        "embedding_list_": Numbers("* n c", missing=True),
        "_fitted_neighbors": graph_rule,
        "unique_rows_": Numbers("distinct", "iu", 0, "n"),
        "graph_": Numbers("distinct|n distinct|n", least=0, sparse=True),
        "rho_": Numbers("distinct|n", least=0),
        "sigma_": Numbers("distinct|n", least=0),
        "reach_": Numbers("distinct|n", least=0),
        "rad_orig_": Numbers("*", missing=True),
        "rad_emb_": Numbers("*", missing=True),
        "a_": number(positive=True),
        "b_": number(positive=True),
    }
    _needed = ("graph_", "rho_", "sigma_", "reach_", "a_", "b_")

    graph_: Any
    embedding_list_: Array
    _leaves_out = True  # objects without an edge

    def _memory(self, fit: Problem) -> float:
        index = 0 if isinstance(fit.objects, BlockedObjects) else 39 * fit.arcs
        return 26 * fit.arcs + index

    def _needs(self, state: dict[str, Any]) -> set[str]:
        layout = {"embedding_", "a_", "b_"} if self.transform_mode == "graph" else set()
        training = {"X_fit_", "source_", "rho_", "sigma_", "reach_"}  # of no combination of models
        return super()._needs(state) - layout - (set() if training & set(state) else training)

    def fit(
        self,
        X: Any,
        y: Any = None,
        ensure_all_finite: bool | str = True,
        *,
        graph: NeighborGraph | None = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        sample_weight: Any = None,
    ) -> Self:
        """Compute `embedding_` from the objects X and, if given, their targets y.

        Parameters
        ----------
        $objects
        y : array of shape (n_samples,) or (n_samples, n_targets), default=None
            Labels, -1 or None for unknown ones; or numbers if `target_metric` is a metric.
        ensure_all_finite : {True, False, "allow-nan"}, default=True
            Whether X must not contain infinity and NaN. Other values than True are of use if the
            metric is a function that accepts such numbers.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, with at least n_neighbors - 1
            neighbours, to be used instead of computing it.
        $pins
        sample_weight : array of shape (n_samples,), default=None
            How many equal objects each row stands for: it attracts and repels others as so many
            objects at one place do. Only ratios count. The neighbours of an object are other rows.

        Returns
        -------
        self
        """
        rows = rows_of(X, ensure_all_finite, self.metric)
        return self._check_and_fit(
            rows,
            graph=graph,
            targets=y,
            pinned=pinned,
            pin_strength=pin_strength,
            sample_weight=sample_weight,
        )

    def fit_transform(
        self, X: Any, y: Any = None, ensure_all_finite: bool | str = True, **fit_params: Any
    ) -> Any:
        """Fit to X and return `embedding_`; the parameters are those of `fit`.

        With `output_dens` the result is the tuple `embedding_`, `rad_orig_`, `rad_emb_`, and with
        transform_mode="graph" it is `graph_`.
        """
        self.fit(X, y, ensure_all_finite, **fit_params)
        if self.transform_mode == "graph":
            return self.graph_
        if self.output_dens:
            return self.embedding_, self.rad_orig_, self.rad_emb_
        return self.embedding_

    # --- fit: neighbours -> fuzzy graph -> start -> layout ------------------------------------

    def _fit(
        self,
        objects: Objects,
        graph: NeighborGraph | None = None,
        targets: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        sample_weight: Any = None,
    ) -> None:
        self._check_parameters(objects.n)
        if pinned is not None or sample_weight is not None or self.global_weight > 0:
            self._require_plane(f"pinned, sample_weight or {argument('global_weight')}")
        anchors = pins(pinned, pin_strength, objects.n, self._start_dim, objects.dtype)
        masses = None if sample_weight is None else checks.sample_weight(sample_weight, objects.n)
        if self.unique:  # the others get the coordinates of the first of a set of identical rows
            if not objects.has_table or graph is not None:
                raise ValueError(
                    f"{argument('unique', True)} compares rows of numbers, but X was given as "
                    "dissimilarities, as arbitrary objects, or with a graph. Set "
                    f"{argument('unique', False)}."
                )
            self.unique_rows_, groups = identical_rows(objects.vectors("unique"))
            if targets is not None:
                targets = of_length(np.asarray(targets), objects.n)[self.unique_rows_]
            objects = objects.subset(self.unique_rows_)
            anchors = None if anchors is None else anchors.renumber(self.unique_rows_)
            masses = None if masses is None else np.bincount(groups, masses)
        random = self._random()
        neighbors = self._neighbor_graph(objects, graph)
        if targets is None and masses is None and not self.unique and objects.in_memory:
            self._fitted_neighbors = neighbors
        fuzzy_graph = self._fuzzy_graph(neighbors)
        self.graph_ = fuzzy_graph.matrix
        if targets is not None:
            k = int(self.target_n_neighbors)
            self.graph_ = intersect_targets(
                self.graph_,
                targets,
                float(self.target_weight),
                metric=self.target_metric,
                metric_params=self.target_metric_kwds,
                n_neighbors=self._n_neighbors(objects.n) if k == -1 else k,
            )
        density, dtype = self._density(fuzzy_graph, neighbors), neighbors.distances.dtype
        del neighbors, fuzzy_graph  # before the layout
        if self.transform_mode == "embedding":
            rows = objects.rows_for("init") if objects.is_table_without_gaps() else None
            curve, dim, init = self._curve(), self._start_dim, self.init
            if self.global_weight > 0 and isinstance(init, str) and init == "spectral":
                init = init if rows is None else "pca"  # which shows the large picture
            start = umap_start(init, dim, self.graph_, curve, random, rows).astype(dtype)
            weight = float(self.global_weight)
            springs, start = springs_and_start(start, anchors, self.init, weight, BALANCE)
            self._lay_out(start, random, density, springs, masses=masses)
        if self.unique:
            for name in ("embedding_", "rad_orig_", "rad_emb_"):
                if hasattr(self, name):
                    setattr(self, name, getattr(self, name)[groups])
            if hasattr(self, "embedding_list_"):
                self.embedding_list_ = self.embedding_list_[:, groups]

    def _fuzzy_graph(self, graph: NeighborGraph) -> FuzzyGraph:
        k = self._n_neighbors(graph.n_objects)
        fuzzy_graph = fuzzy.fuzzy_graph(
            graph, k, disconnection=self._disconnection, **self._membership_options()
        )
        self.rho_, self.sigma_, self.reach_ = fuzzy_graph.rho, fuzzy_graph.sigma, graph.reach()
        return fuzzy_graph

    def _density(self, fuzzy_graph: FuzzyGraph, graph: NeighborGraph) -> Density | None:
        if self.densmap or self.output_dens:
            self.rad_orig_ = fuzzy.log_radii(fuzzy_graph.matrix, graph.adjacency("union"))
        if not self.densmap:
            return None
        return Density(self.rad_orig_, self.dens_lambda, self.dens_frac, self.dens_var_shift)

    def _lay_out(
        self,
        start: Array,
        random: np.random.RandomState,
        density: Density | None = None,
        springs: Sequence[Spring] = (),
        tail: float = 1.0,
        masses: Array | None = None,
    ) -> None:
        """Set `embedding_` to the layout of `graph_`, by the last share `tail` of the epochs."""
        self.a_, self.b_ = self._curve()
        n_epochs = self._epochs(len(start))
        options: dict[str, Any] = {
            "curve": (self.a_, self.b_),
            "n_epochs": n_epochs,
            "seed": int(random.randint(2**31 - 1)),
            **self._force_options(),
        }
        listed = self.n_epochs if isinstance(self.n_epochs, LISTS) and tail == 1 else ()
        maps: dict[int, Array] = {int(epoch): start for epoch in sorted(listed)}
        if self.output_metric == "euclidean":
            layout = Layout(
                self.graph_, start, density=density, springs=springs, masses=masses, **options
            )
            layout.epoch = n_epochs - round(tail * n_epochs)

            def retune(changed: dict[str, Any]) -> None:
                self._check_parameters(len(start))
                self.a_, self.b_ = self._curve()
                layout.set_forces((self.a_, self.b_), **self._force_options())

            result = lay_out(layout, self._monitor(n_epochs, retune), maps)
        else:
            space = SPACES[self.output_metric]
            result = lay_out_on(space, self.graph_, start, self._monitor(n_epochs), **options)
        self.embedding_, self.n_iter_ = result
        alone = np.diff(self.graph_.indptr) == 0
        if alone.any():
            checks.warn(
                f"{int(alone.sum())} objects have no edge in the fuzzy graph; their coordinates "
                f"are NaN. Raise {argument('disconnection_distance')}, "
                f"{argument('set_op_mix_ratio')} or {argument('n_neighbors')}."
            )
            self.embedding_[alone] = np.nan
        if maps:
            done = [Y for epoch, Y in maps.items() if epoch < self.n_iter_]
            self.embedding_list_ = np.stack([*done, self.embedding_])
            self.embedding_list_[:, np.isnan(self.embedding_[:, 0])] = np.nan
        if self.output_dens:
            self.rad_emb_ = fuzzy.log_radii_of_points(self.embedding_, int(self.n_neighbors))

    # --- more objects: joined graph -> fuzzy graph -> last epochs of the layout ----------------

    def update(self, X: Any, ensure_all_finite: bool | str = True) -> Self:
        """Add new objects to the map, near which the old ones stay; see `Embedder.update`.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_new, n_features)
            New objects, of the same kind as those of `fit`.
        ensure_all_finite : {True, False, "allow-nan"}, default=True
            See `fit`.

        Returns
        -------
        self
            `embedding_` and the other fitted attributes are those of the old objects and, after
            them, the new ones; `drift_` and `drift_score_` say how far the old ones have moved.

        Raises
        ------
        ValueError
            If X does not fit the training objects, or if the model was fitted to dissimilarities,
            to targets, with `unique` or with another `output_metric` than "euclidean". The
            estimator is not changed.

        Notes
        -----
        The fuzzy graph is that of all objects. The layout repeats the last 5 % of the epochs, in
        which steps are small, from the old map and the places that `transform` gives to the new
        objects; after each epoch an old object returns by a fiftieth of its displacement.
        """
        update(self, rows_of(X, ensure_all_finite, self.metric))
        return self

    def _update(self, new: NewObjects) -> Growth:
        self._require_plane("UMAP.update")
        objects, graph = join(self, new, fitted_neighbors(self))
        old, placed, before = self.embedding_, self._transform(new), self.n_iter_
        self._check_parameters(objects.n)
        fuzzy_graph = self._fuzzy_graph(graph)
        self.graph_, self._fitted_neighbors = fuzzy_graph.matrix, graph
        anchors = hold(old, placed, UPDATE_HOLD, graph.distances.dtype)
        density, random = self._density(fuzzy_graph, graph), self._random()
        self._lay_out(anchors.places, random, density, [anchors], UPDATE_EPOCHS)
        self.n_iter_ = before + round(UPDATE_EPOCHS * self.n_iter_)
        if hasattr(self, "embedding_list_"):  # of the old objects
            del self.embedding_list_
        self.embedding_ = align_to_old(old, self.embedding_)
        return Growth(graph, refined=True)

    # --- new objects: neighbours -> memberships -> layout against the embedding ----------------

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
        return super().transform(rows_of(X, ensure_all_finite, self.metric))

    def _transform(self, new: NewObjects) -> Any:
        embedding = None if self.transform_mode == "graph" else self.embedding_
        if hasattr(self, "unique_rows_"):
            new = new.among(self.unique_rows_)
            embedding = None if embedding is None else embedding[self.unique_rows_]
        k = self._n_neighbors(len(self.rho_))
        nearest, distances = new.nearest(k - 1, "auto")
        far = distances >= self._disconnection
        distances = np.where(far, np.asarray(np.inf, distances.dtype), distances)
        fuzzy_graph = FuzzyGraph(self.graph_, self.rho_, self.sigma_)
        weights = fuzzy.new_memberships(
            nearest, distances, k, fuzzy_graph, self.reach_, **self._membership_options()
        )
        if embedding is None:
            return fuzzy.as_matrix(nearest, weights, len(self.rho_))
        Y = place_among_placed(
            nearest,
            weights,
            embedding,
            self.output_metric,
            curve=(self.a_, self.b_),
            n_epochs=NEW_EPOCHS if self.n_epochs is None else int(np.max(self.n_epochs)) // 3,
            seed=checks.integer(self.transform_seed, "transform_seed", 0, 2**63 - 1),
            **self._force_options(),
        )
        return keep_known(Y, embedding, nearest, distances)

    def _new_objects(self, X: Any) -> NewObjects:
        if not hasattr(self, "rho_"):
            raise ValueError(
                "This model combines two others and has no training objects to compare new ones "
                "with: transform them with one of the two."
            )
        return super()._new_objects(X)

    def _inverse(self, Y: Array) -> Any:
        self._require_plane("inverse_transform")
        return super()._inverse(Y)

    @property
    def _n_features_out(self) -> int:
        return len(self.rho_) if self.transform_mode == "graph" else super()._n_features_out

    # --- the neighbours by the names of umap-learn ----------------------------------------------

    @property
    def knn_indices(self) -> Array:
        """Each object, followed by its nearest neighbours."""
        lists = self._listed_neighbors.indices
        return np.hstack([np.arange(len(lists), dtype=lists.dtype)[:, None], lists])

    @property
    def knn_dists(self) -> Array:
        """The distances of each object to itself and to its nearest neighbours."""
        return np.pad(self._listed_neighbors.distances, ((0, 0), (1, 0)))

    @property
    def graph_dists_(self) -> Any:
        """The distances between neighbours, in one direction or both."""
        return self._fitted_neighbors.adjacency("union")

    _knn_indices, _knn_dists = knn_indices, knn_dists

    @property
    def _raw_data(self) -> Any:
        """The training vectors, which `umap.plot.diagnostic` reads."""
        return self.X_fit_

    @property
    def _knn_search_index(self) -> Any:
        """What `umap.plot.diagnostic` asks for more neighbours of the training objects."""
        return SimpleNamespace(query=self._nearest_with_itself)

    def _nearest_with_itself(self, X: Any, k: int) -> tuple[Array, Array]:
        graph = search_neighbors(X, k - 1, metric=self.metric, metric_params=self.metric_kwds)
        itself = np.arange(len(graph.indices), dtype=graph.indices.dtype)[:, None]
        return np.hstack([itself, graph.indices]), np.pad(graph.distances, ((0, 0), (1, 0)))

    @property
    def _listed_neighbors(self) -> NeighborGraph:
        if self._fitted_neighbors.indptr is not None:
            raise AttributeError("knn_indices: objects have different numbers of neighbours.")
        return self._fitted_neighbors

    # --- combinations of fitted models ----------------------------------------------------------

    def __mul__(self, other: UMAP) -> UMAP:
        return combine_models(self, other, fuzzy.intersect)

    def __add__(self, other: UMAP) -> UMAP:
        return combine_models(self, other, fuzzy.unite)

    def __sub__(self, other: UMAP) -> UMAP:
        return combine_models(self, other, fuzzy.subtract)


def place_among_placed(
    nearest: Array, weights: Array, embedding: Array, metric: str, **options: Any
) -> Array:
    """Coordinates of new objects under a metric of the output, NaN if no edge determines them.

    Edges to training objects without coordinates (NaN) are ignored. On a curved surface a new
    object is placed at the weighted mean of its neighbours.
    """
    placed = np.asarray(np.isfinite(embedding).all(axis=1))
    number = np.maximum(np.cumsum(placed) - 1, 0)  # of each object among those with coordinates
    nearest, weights = number[nearest], np.where(placed[nearest], weights, 0)
    known = embedding[placed]
    if metric == "euclidean":
        Y = place_by_membership(nearest, weights, known, **options)
    else:
        Y = SPACES[metric].means(nearest, weights, known).astype(known.dtype)
    Y[~(weights > 0).any(axis=1)] = np.nan
    return Y
