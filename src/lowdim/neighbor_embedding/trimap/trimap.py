"""TriMap: dimension reduction by triplets (Amid and Warmuth 2019)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers
from lowdim.neighbor_embedding.anchors import fit_with_pins, pinned_start
from lowdim.neighbor_embedding.descent import LARGEST_RATE
from lowdim.neighbor_embedding.docs import PASSAGES
from lowdim.neighbor_embedding.pacmap.pacmap import begin, place_new
from lowdim.neighbor_embedding.trimap.triplets import TripletLayout, choose_triplets
from lowdim.neighbor_embedding.umap.layout import lay_out
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects

MORE_NEIGHBORS = 50  # beyond n_inliers, from which the inliers are chosen
NEW_INLIERS = 5  # of new objects: a few near neighbours determine their position best


@declare_parameters
class TriMap(Iterative, Embedder):
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
    $n_components
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
        Step size. Values of 1 to 3 preserve large distances better if the data have many
        dimensions, and neighbours about as well.
    max_iter : int, default=400
        Number of iterations.
    $metric
    $start
        An array is used as it is; others are scaled to a standard deviation of 0.1.
    random_state : int, RandomState or None, default=None
        Seed of the triplets and of init="random"; None is a fixed seed.
    $run

    Attributes
    ----------
    $embedding
    scales_ : array of shape (n_samples,)
        Mean distance of each object to its fourth to sixth neighbours.
    $counts

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
    $known

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
        keeps="the arrangement of clusters; neighbours less well than UMAP",
        when="the large picture of many points matters more than their nearest neighbours",
        cost="n k per iteration and n k memory, k triplets of a point, neighbours aside",
        extends="the loss of triplets with neighbours against the fixed map; barycentric inverse",
        paper="Amid and Warmuth 2019",
        power=1.0,
        local_only=True,
        live=("learning_rate",),
    )

    _attributes: ClassVar = {"scales_": Numbers("n", positive=True)}
    _needed = ("scales_",)
    _units: ClassVar = {"embedding_": 0, "scales_": 1}
    _passages = PASSAGES

    fit = fit_with_pins

    n_components: int = 2
    _: KW_ONLY
    n_inliers: int = 12
    n_outliers: int = 4
    n_random: int = 3
    weight_temp: float = 0.5
    learning_rate: float = 0.1
    max_iter: int = 400
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    init: Any = "pca"

    def _memory(self, fit: Problem) -> float:
        n_inliers, n_outliers, n_random = self._counts(fit.n)
        triplets = n_inliers * n_outliers + n_random
        return fit.n * (self._n_wanted(fit.n) * (8 + fit.size) + 90.0 * triplets)

    def _counts(self, n: int) -> tuple[int, int, int]:
        """The numbers of inliers of n objects, of outliers of each, and of random triplets."""
        n_inliers = checks.integer(self.n_inliers, "n_inliers", 1)
        n_outliers = checks.integer(self.n_outliers, "n_outliers", 1)
        n_random = checks.integer(self.n_random, "n_random", 0)
        return max(1, min(n_inliers, n - 2)), min(n_outliers, n - 1), min(n_random, n * n)

    def _n_wanted(self, n: int) -> int:
        return min(self._counts(n)[0] + MORE_NEIGHBORS, n - 1)

    def _fit(
        self,
        objects: Objects,
        graph: NeighborGraph | None = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
    ) -> None:
        n, counts = objects.n, self._counts(objects.n)
        self._check_parameters(n)
        neighbors, start, order, seed = begin(self, objects, graph, counts[0])
        temperature, dtype = float(self.weight_temp), neighbors.distances.dtype
        triplets, self.scales_ = choose_triplets(
            neighbors, objects, start, order, counts, temperature, seed
        )
        del neighbors  # before the layout
        springs, start = pinned_start(start, pinned, pin_strength, self.init)
        layout = TripletLayout(triplets, start, order, self.max_iter, springs)

        def retune(changed: dict[str, Any]) -> None:
            self._check_parameters(n)
            # The gradient of the paper, to which the rate belongs, is half of ours.
            layout.rate = self.learning_rate / 2

        retune({})
        embedding, self.n_iter_ = lay_out(layout, self._monitor(self.max_iter, retune))
        self.embedding_ = embedding.astype(dtype, copy=False)

    def _check_parameters(self, n: int) -> None:
        self._check_n_components(n)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.learning_rate, "learning_rate", 0, LARGEST_RATE)
        checks.real(self.weight_temp, "weight_temp", 0, 10)

    def _transform(self, new: NewObjects) -> Array:
        Y = self.embedding_
        typical = 1 + 2 * float(Y.var(axis=0, dtype=np.float64).sum())  # d of two random points
        return place_new(self, new, min(NEW_INLIERS, self._counts(len(Y))[0]), typical)
