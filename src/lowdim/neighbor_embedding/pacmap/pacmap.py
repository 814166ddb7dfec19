"""Pairwise controlled manifold approximation (Wang, Huang, Rudin and Shaposhnik 2021)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, fixed_random_state
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers
from lowdim.estimator.links import keep_known
from lowdim.estimator.neighbors import graph_of_fit
from lowdim.neighbor_embedding.anchors import pinned_start
from lowdim.neighbor_embedding.descent import LARGEST_RATE
from lowdim.neighbor_embedding.docs import PASSAGES
from lowdim.neighbor_embedding.pacmap import pairs
from lowdim.neighbor_embedding.starts import START_SIZE, sne_start
from lowdim.neighbor_embedding.stochastic_neighbors import PRECISE_UP_TO
from lowdim.neighbor_embedding.umap.layout import lay_out
from lowdim.neighbor_embedding.umap.targets import label_codes, of_length
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import GivenGraph, Objects

MORE_NEIGHBORS = 50  # beyond n_neighbors, from which the near pairs are chosen
START_EXTENT = 0.1  # standard deviation of the first coordinate of the start
NEAR = pairs.CONSTANTS[0]
PLACING_STEPS = 100  # for new objects


@declare_parameters
class PaCMAP(Iterative, Embedder):
    """Pairwise controlled manifold approximation (PaCMAP), also LocalMAP.

    k-NN -> near, mid-near and further pairs -> three-phase layout

    Attracts the two objects of near and of mid-near pairs, and repels those of further pairs
    [Wang2021]_. With d = 1 + \\|y_i - y_j\\|^2 it minimises ::

        w_near sum d / (10 + d)  +  w_mid sum d / (10000 + d)  +  sum 1 / (1 + d)

    Near pairs are an object and its nearest neighbours, by distances relative to local scales. A
    mid-near partner is the second nearest of six random objects, a further one is random. The
    weight of the mid-near pairs is large in the first 100 iterations, which arrange the whole map,
    small in the next 100, and then 0, while the neighbourhoods are refined.

    Parameters
    ----------
    $n_components
    n_neighbors : int or None, default=10
        Number of near pairs of each object. None is 10 up to 10,000 objects and 10 + 15 log10(n /
        10,000) for more.
    MN_ratio : float, default=0.5
        Number of mid-near pairs for each near pair.
    FP_ratio : float, default=2.0
        Number of further pairs for each near pair.
    learning_rate : float, default=1.0
        Step size of Adam.
    max_iter : int, default=450
        Number of iterations; those after the first 200 belong to the third phase.
    local_distance : float or None, default=None
        LocalMAP [Wang2025]_ if it is a number, 10 in the paper: in the third phase further pairs
        are drawn again among objects within this distance on the map, and near pairs that are far
        apart attract less. Clusters are separated more clearly.
    $metric
    $start
        An array is used as it is; others are scaled to a standard deviation of 0.1.
    random_state : int, RandomState or None, default=None
        Seed of the pairs and of init="random"; None is a fixed seed.
    $run

    Attributes
    ----------
    $embedding
    near_pairs_, mid_pairs_, further_pairs_ : array of shape (n_pairs, 2)
        The pairs; with `local_distance` the further ones of the last iteration.
    scales_ : array of shape (n_samples,)
        Mean distance of each object to its fourth to sixth neighbours.
    $counts

    See Also
    --------
    TriMap : Preserves global structure by triplets.
    UMAP : Preserves neighbourhoods; large distances mean less.

    Notes
    -----
    `fit(X, y)` is supervised: neighbours of another label become near pairs only if there are no
    others among the n_neighbors + 50 nearest. Time of an iteration and memory are proportional to
    n n_neighbors, in addition to the neighbour search. Mid-near pairs need distances between
    objects that are not neighbours; if X is a graph or read in blocks, those in the start are taken
    instead.

    `transform` keeps the training objects fixed and minimises the loss of the near pairs of each
    new object.
    $known

    References
    ----------
    .. [Wang2021] Y. Wang, H. Huang, C. Rudin and Y. Shaposhnik, "Understanding how dimension
       reduction tools work: an empirical approach to deciphering t-SNE, UMAP, TriMap, and PaCMAP
       for data visualization", *Journal of Machine Learning Research* 22 (2021) 1-73.
    .. [Wang2025] Y. Wang, Y. Sun, H. Huang and C. Rudin, "Dimension reduction with locally adjusted
       graphs", *AAAI Conference on Artificial Intelligence* 39 (2025) 21357-21365.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import PaCMAP
    >>> X, y = load_digits(return_X_y=True)
    >>> pacmap = PaCMAP(random_state=0).fit(X[:200])
    >>> pacmap.embedding_.shape
    (200, 2)
    >>> pacmap.transform(X[200:203]).shape
    (3, 2)
    >>> PaCMAP(random_state=0).fit(X[:200], y[:200]).embedding_.shape  # supervised
    (200, 2)
    """

    traits = Traits(
        keeps="neighbours, and the arrangement of clusters better than t-SNE and UMAP",
        when="one map is to show clusters and how they lie to each other, quickly",
        cost="n k per iteration and n k memory, neighbours aside",
        extends="the loss of the near pairs against the fixed map; barycentric inverse",
        paper="Wang, Huang, Rudin and Shaposhnik 2021; LocalMAP: Wang, Sun, Huang and Rudin 2025",
        power=1.0,
        local_only=True,
        live=("learning_rate", "local_distance"),
    )

    _reads_blocks = True
    _attributes: ClassVar = {
        "near_pairs_": Numbers("* *", "iu", 0, "n"),
        "mid_pairs_": Numbers("* *", "iu", 0, "n"),
        "further_pairs_": Numbers("* *", "iu", 0, "n"),
        "scales_": Numbers("n", positive=True),
    }
    _needed = ("scales_",)
    _units: ClassVar = {"embedding_": 0, "scales_": 1}
    _passages = PASSAGES

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int | None = 10
    MN_ratio: float = 0.5
    FP_ratio: float = 2.0
    learning_rate: float = 1.0
    max_iter: int = 450
    local_distance: float | None = None
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    init: Any = "pca"

    def _memory(self, fit: Problem) -> float:
        wanted = self._n_wanted(fit.n)
        return fit.n * (wanted * (8 + 2 * fit.size) + 50 * sum(self._counts(fit.n)))

    def _counts(self, n: int) -> list[int]:
        """The numbers of near, mid-near and further pairs of each of n objects."""
        return pairs.pair_counts(n, self.n_neighbors, self.MN_ratio, self.FP_ratio)

    def _n_wanted(self, n: int) -> int:
        return min(self._counts(n)[0] + MORE_NEIGHBORS, n - 1)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: NeighborGraph | None = None,
        near_pairs: Any = None,
        mid_pairs: Any = None,
        further_pairs: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        sample_weight: Any = None,
    ) -> Self:
        """Compute `embedding_` from the objects X and, if given, their labels y.

        Parameters
        ----------
        $objects
        y : array of shape (n_samples,), default=None
            Labels, -1 or None for unknown ones.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, with at least n_neighbors neighbours,
            better n_neighbors + 50, to be used instead of computing it.
        near_pairs, mid_pairs, further_pairs : array of shape (n_pairs, 2), default=None
            Pairs of numbers of objects, to be used instead of choosing them, such as `near_pairs_`
            of another fit.
        $pins
            Distant pins attract others only weakly: to lead a map, pin a fifth of the objects or
            more.
        sample_weight : array of shape (n_samples,), default=None
            How many equal objects each row stands for: its pairs count as often, and it is drawn
            as often as a partner. Only ratios count. Near pairs are those of different rows.

        Returns
        -------
        self
        """
        return self._check_and_fit(
            X,
            graph=graph,
            targets=y,
            near_pairs=near_pairs,
            mid_pairs=mid_pairs,
            further_pairs=further_pairs,
            pinned=pinned,
            pin_strength=pin_strength,
            sample_weight=sample_weight,
        )

    def _fit(
        self,
        objects: Objects,
        graph: NeighborGraph | None = None,
        targets: Any = None,
        near_pairs: Any = None,
        mid_pairs: Any = None,
        further_pairs: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        sample_weight: Any = None,
    ) -> None:
        n, (n_near, n_mid, n_further) = objects.n, self._counts(objects.n)
        self._check_parameters(n)
        labels = None if targets is None else label_codes(of_length(column_or_1d(targets), n))
        masses = None if sample_weight is None else checks.sample_weight(sample_weight, n)
        neighbors, start, order, seed = begin(self, objects, graph, n_near)
        near, self.scales_ = pairs.near_partners(neighbors, n_near, labels)
        dtype = neighbors.distances.dtype
        del neighbors  # before the layout
        if near_pairs is not None:
            near = pairs.given_partners(near_pairs, "near_pairs", n)
        if mid_pairs is None:
            mid = pairs.mid_partners(objects, start, order, n_mid, seed, labels, masses)
        else:
            mid = pairs.given_partners(mid_pairs, "mid_pairs", n)
        if further_pairs is None:
            further = pairs.draw_others(near, start[order], order, n_further, seed)
        else:
            further = pairs.given_partners(further_pairs, "further_pairs", n)
        springs, start = pinned_start(start, pinned, pin_strength, self.init)
        layout = pairs.PairLayout(
            [near, mid, further], start, order, self.max_iter, springs, seed=seed, masses=masses
        )

        def retune(changed: dict[str, Any]) -> None:
            self._check_parameters(n)
            layout.rate, layout.reach = self.learning_rate, self.local_distance or 0.0

        retune({})

        embedding, self.n_iter_ = lay_out(layout, self._monitor(self.max_iter, retune))
        self.embedding_ = embedding.astype(dtype, copy=False)
        partners = near, mid, layout.further
        self.near_pairs_, self.mid_pairs_, self.further_pairs_ = map(pairs.as_pairs, partners)

    def _check_parameters(self, n: int) -> None:
        self._check_n_components(n)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.learning_rate, "learning_rate", 0, LARGEST_RATE)
        if self.local_distance is not None:
            checks.real(self.local_distance, "local_distance", 0, open_low=True)

    def _transform(self, new: NewObjects) -> Array:
        return place_new(self, new, self._counts(len(self.embedding_))[0])


def begin(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, least: int
) -> tuple[NeighborGraph, Array, Array, int]:
    """What PaCMAP and TriMap begin with: the neighbour graph, of at least so many neighbours; the
    start, in the precision of the layout; the objects in the order of their random numbers; and the
    seed of these numbers."""
    given = objects.graph if isinstance(objects, GivenGraph) else graph
    most = given.n_neighbors if isinstance(given, NeighborGraph) else None
    wanted = estimator._n_wanted(objects.n)
    k = int(wanted if most is None else min(wanted, most))
    neighbors = graph_of_fit(estimator, objects, graph, k, least)
    random = fixed_random_state(estimator.random_state)
    seed = int(random.randint(2**31 - 1))
    start = sne_start(estimator.init, int(estimator.n_components), objects, neighbors, random)
    if isinstance(estimator.init, str):
        start = start * (START_EXTENT / START_SIZE)
    precise = objects.n <= PRECISE_UP_TO
    start = np.array(start, dtype=objects.dtype if precise else np.float32, order="C")
    return neighbors, start, backend().stable_order(np.abs(start[:, 0])), seed


def place_new(estimator: Any, new: NewObjects, count: int, constant: float = NEAR) -> Array:
    """Coordinates of new objects by `count` near pairs of each; see `place_by_near_pairs`."""
    Y = estimator.embedding_
    nearest, distances = new.nearest(estimator._n_wanted(len(Y)), "auto")
    own = pairs.neighbor_scales(distances)
    near = backend().nearest_scaled(nearest, distances, own, estimator.scales_, count, None)
    return keep_known(place_by_near_pairs(near, Y, constant), Y, nearest, distances)


def place_by_near_pairs(near: Array, embedding: Array, constant: float = NEAR) -> Array:
    """Coordinates of new objects of least loss of their near pairs with training objects.

    The start is the partner of least loss. The loss d / (constant + d) is concave in the squared
    distance, so that the mean of the partners with weights (constant + d)^-2 has no larger loss
    than the place before.
    """
    partners = embedding[near].astype(np.float64)
    d = 1 + np.square(partners[:, None] - partners[:, :, None]).sum(axis=3)
    Y = partners[np.arange(len(near)), (d / (constant + d)).sum(axis=2).argmin(axis=1)]
    for _ in range(PLACING_STEPS):
        weights = 1 / np.square(constant + 1 + np.square(partners - Y[:, None]).sum(axis=2))
        Y = (weights[:, :, None] * partners).sum(axis=1) / weights.sum(axis=1)[:, None]
    return np.asarray(Y.astype(embedding.dtype))
