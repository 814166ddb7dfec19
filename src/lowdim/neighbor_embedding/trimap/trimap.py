"""TriMap: dimension reduction by triplets (Amid and Warmuth 2019)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, check_random_state
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers
from lowdim.estimator.footprint import Problem
from lowdim.estimator.links import keep_known
from lowdim.estimator.neighbors import fit_with_graph, neighbor_graph
from lowdim.estimator.traits import Traits
from lowdim.neighbor_embedding.descent import LARGEST_RATE
from lowdim.neighbor_embedding.pacmap.pacmap import n_known, pair_start, place_by_near_pairs
from lowdim.neighbor_embedding.pacmap.pairs import nearest_scaled, neighbor_scales
from lowdim.neighbor_embedding.trimap.triplets import TripletLayout, choose_triplets
from lowdim.neighbor_embedding.umap.layout import lay_out
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile

MORE_NEIGHBORS = 50  # beyond n_inliers, from which the inliers are chosen
NEW_INLIERS = 5  # of new objects: a few near neighbours determine their position best


class TriMap(Embedder):
    """Dimension reduction by triplets (TriMap).

    k-NN -> triplets of near and far objects -> layout

    A triplet (i, j, k) says that i is nearer to j than to k [Amid2019]_. With d_ij = 1 +
    \\|y_i - y_j\\|^2 it minimises ::

        sum w_ijk d_ij / (d_ij + d_ik)

    Most triplets have a near neighbour j and a random k; a few have two random objects, which
    preserves the arrangement of clusters. A triplet weighs more if its two squared distances,
    relative to local scales, differ more.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_inliers : int, default=12
        Number of near neighbours of each object.
    n_outliers : int, default=4
        Number of random objects with which each of them is compared.
    n_random : int, default=3
        Number of random triplets of each object.
    weight_temp : float, default=0.5
        Temperature of the logarithm of the weights: 0 leaves them as they are, 1 is the ordinary
        logarithm.
    learning_rate : float, default=0.1
        Step size.
    max_iter : int, default=400
        Number of iterations.
    $metric
    $metric_params
    init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default="pca"
        Initial coordinates. "pca" is classical scaling if X holds dissimilarities. An array is used
        as it is; others are scaled to a standard deviation of 0.1.
    random_state : int, RandomState or None, default=None
        Seed of the triplets and of init="random"; None is a fixed seed.
    $run

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the training objects.
    scales_ : array of shape (n_samples,)
        Mean distance of each object to its fourth to sixth neighbours.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    PaCMAP : Preserves neighbourhoods better, by pairs.
    PCA : Preserves large distances.

    Notes
    -----
    Time of an iteration and memory are proportional to n n_inliers n_outliers, in addition to the
    neighbour search. The weights need distances between objects that are not neighbours; if X is a
    graph, those in the start are taken instead.

    `transform` keeps the training objects fixed and minimises the loss of the triplets of each new
    object and its five nearest neighbours, in which the distance to a random object is the mean.
    `transform(X_train)` returns exactly `embedding_`: an object at distance zero from a training
    object gets the coordinates of that object. `inverse_transform` interpolates between training
    vectors (barycentric weights).

    References
    ----------
    .. [Amid2019] E. Amid and M. K. Warmuth, "TriMap: large-scale dimensionality reduction using
       triplets", arXiv 1910.00204 (2019).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import TriMap
    >>> X = load_digits().data
    >>> trimap = TriMap(random_state=0).fit(X[:200])
    >>> trimap.embedding_.shape
    (200, 2)
    >>> trimap.transform(X[200:203]).shape
    (3, 2)
    """

    traits = Traits(
        sentence="k-NN -> triplets of near and far objects -> layout",
        keeps="the arrangement of clusters; neighbours less well than UMAP",
        when="the large picture of many points matters more than their nearest neighbours",
        cost="n k per iteration and n k memory, k triplets of a point, neighbours aside",
        extends="loss of the triplets with neighbours, map fixed; barycentric inverse",
        paper="Amid and Warmuth 2019",
        power=1.0,
        local_only=True,
        live=("learning_rate",),
    )

    _attributes: ClassVar = {"scales_": Numbers("n", positive=True)}
    _needed = ("scales_",)
    _units: ClassVar = {"embedding_": 0, "scales_": 1}

    fit = fit_with_graph

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_inliers: int = 12,
        n_outliers: int = 4,
        n_random: int = 3,
        weight_temp: float = 0.5,
        learning_rate: float = 0.1,
        max_iter: int = 400,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_inliers = n_inliers
        self.n_outliers = n_outliers
        self.n_random = n_random
        self.weight_temp = weight_temp
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _memory(self, fit: Problem) -> float:
        n_inliers, n_outliers, n_random = self._counts(fit.n)
        triplets = n_inliers * n_outliers + n_random
        return fit.n * (self._n_wanted(fit.n) * (8 + fit.size) + 90.0 * triplets)

    def _counts(self, n: int) -> tuple[int, int, int]:
        """The numbers of inliers of n objects, of outliers of each, and of random triplets."""
        n_inliers = checks.integer(self.n_inliers, "n_inliers", 1)
        n_outliers = checks.integer(self.n_outliers, "n_outliers", 1)
        n_random = checks.integer(self.n_random, "n_random", 0)
        return max(1, min(n_inliers, n - 2)), min(n_outliers, n - 1), n_random

    def _n_wanted(self, n: int) -> int:
        return min(self._counts(n)[0] + MORE_NEIGHBORS, n - 1)

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        n, counts = objects.n, self._counts(objects.n)
        self._check_parameters(n)
        neighbors = neighbor_graph(self, objects, graph, n_known(self, objects, graph), counts[0])
        random = check_random_state(0 if self.random_state is None else self.random_state)
        seed = int(random.randint(2**31 - 1))
        start = pair_start(self, objects, neighbors, random)
        order = backend().stable_order(np.abs(start[:, 0]))
        temperature, dtype = float(self.weight_temp), neighbors.distances.dtype
        triplets, self.scales_ = choose_triplets(
            neighbors, objects, start, order, counts, temperature, seed
        )
        del neighbors  # before the layout
        # The gradient of the paper's implementation, to which the rate belongs, is half of ours.
        rate = self.learning_rate / 2
        layout = TripletLayout(triplets, start, order, n_epochs=self.max_iter, rate=rate)

        def retune(changed: dict[str, Any]) -> None:
            self._check_parameters(n)
            layout.rate = self.learning_rate / 2

        embedding, self.n_iter_ = lay_out(layout, self._monitor(self.max_iter, retune))
        self.embedding_ = embedding.astype(dtype, copy=False)

    def _check_parameters(self, n: int) -> None:
        self._check_n_components(n)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.learning_rate, "learning_rate", 0, LARGEST_RATE)
        checks.real(self.weight_temp, "weight_temp", 0, 10)

    def _transform(self, new: NewObjects) -> Array:
        Y = self.embedding_
        nearest, distances = new.nearest(max(1, self._n_wanted(len(Y))), "auto")
        own, count = neighbor_scales(distances), min(NEW_INLIERS, self._counts(len(Y))[0])
        near = nearest_scaled(nearest, distances, own, self.scales_, count)
        typical = 1 + 2 * float(Y.var(axis=0, dtype=np.float64).sum())  # d of two random points
        return keep_known(place_by_near_pairs(near, Y, typical), Y, nearest, distances)
