"""LargeVis (Tang, Liu, Zhang and Mei 2016), and the spectrum of attraction and repulsion."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array, check_random_state
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers
from lowdim.estimator.footprint import Problem
from lowdim.estimator.neighbors import fit_with_graph
from lowdim.estimator.traits import Traits
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.starts import layout_start, spread_start
from lowdim.neighbor_embedding.tsne import NEW_PERPLEXITY
from lowdim.neighbor_embedding.umap.layout import Layout, lay_out
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile

CURVE = (1.0, 1.0)  # points at distance d are linked with probability 1 / (1 + d^2)
DEGREE = 4.0  # mean sum of the weights of an object's edges, as in the fuzzy graphs of UMAP
LARGEST = 1e6  # of the parameters of the forces
CAUCHY = Similarity()  # the same, for new objects


class LargeVis(Embedder):
    """LargeVis: the affinities of t-SNE, laid out by negative sampling.

    perplexity affinities -> layout(attract P, repel random points)

    Two points at distance d are linked with probability 1 / (1 + d^2). It maximises ::

        sum p_ij (log 1 / (1 + d_ij^2)  +  gamma sum_k log(1 - 1 / (1 + d_ik^2)))

    over random objects k, `negative_sample_rate` of them for each edge [Tang2016]_. The repulsion
    gamma moves the map along the spectrum of [Boehm2022]_, also while a fit runs: strong repulsion
    spreads objects as t-SNE does, less of it contracts clusters and shows the connections between
    them as UMAP does, and very little shows only the large picture, as Laplacian eigenmaps do.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    perplexity : float or sequence of float, default=50.0
        Effective number of neighbours of each object.
    repulsion_strength : float, default=7.0
        The weight gamma of the repulsion.
    negative_sample_rate : float, default=5
        Number of random objects for each edge.
    learning_rate : float, default=1.0
        Initial step size.
    max_iter : int, default=300
        Number of iterations.
    $metric
    $metric_params
    init : {"pca", "spectral", "random"} or array of shape (n_samples, n_components), default="pca"
        Initial coordinates. "pca" is classical scaling if X holds dissimilarities.
    random_state : int, RandomState or None, default=None
        Seed of the random objects and of the start; None is a fixed seed.
    $run

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the training objects.
    affinities_ : sparse array of shape (n_samples, n_samples)
        The affinities P of the training objects.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features seen in `fit`.

    See Also
    --------
    TSNE : The same affinities against the repulsion of all pairs; `exaggeration` is its spectrum.
    UMAP : Another graph and kernel, less repulsion.

    Notes
    -----
    Time of an iteration and memory are proportional to n perplexity, in addition to the neighbour
    search. All forces of an iteration act at once, so that the result does not depend on the number
    of threads.

    `transform` keeps the training objects fixed and places a new object as t-SNE does, so that the
    affinities of its nearest training objects are preserved best. `transform(X_train)` returns
    exactly `embedding_`: an object at distance zero from a training object gets the coordinates of
    that object. `inverse_transform` interpolates between training vectors (barycentric weights).

    References
    ----------
    .. [Tang2016] J. Tang, J. Liu, M. Zhang and Q. Mei, "Visualizing large-scale and
       high-dimensional data", *International Conference on World Wide Web* (2016) 287-297.
    .. [Boehm2022] J. N. Böhm, P. Berens and D. Kobak, "Attraction-repulsion spectrum in neighbor
       embeddings", *Journal of Machine Learning Research* 23 (2022) 1-32.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import LargeVis
    >>> X = load_digits().data
    >>> model = LargeVis(perplexity=20, max_iter=100).fit(X[:200])
    >>> model.embedding_.shape
    (200, 2)
    >>> model.transform(X[200:203]).shape
    (3, 2)
    """

    traits = Traits(
        sentence="perplexity affinities -> layout(attract P, repel random points)",
        keeps="neighbours; clusters apart",
        when="you want to move between the pictures of t-SNE and UMAP, by one parameter",
        cost="n k per iteration and n k memory, neighbours aside",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="Tang, Liu, Zhang and Mei 2016; spectrum: Böhm, Berens and Kobak 2022",
        power=1.0,
        local_only=True,
        live=("repulsion_strength", "negative_sample_rate", "learning_rate"),
    )

    _attributes: ClassVar = {"affinities_": Numbers("n n", least=0, sparse=True)}
    _units: ClassVar = {"embedding_": 0}

    affinities_: Any

    fit = fit_with_graph

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 50.0,
        repulsion_strength: float = 7.0,
        negative_sample_rate: float = 5,
        learning_rate: float = 1.0,
        max_iter: int = 300,
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
        self.perplexity = perplexity
        self.repulsion_strength = repulsion_strength
        self.negative_sample_rate = negative_sample_rate
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
        return 70 * fit.arcs

    def _n_wanted(self, n: int) -> int:
        return min(n - 1, int(3 * max(shared.perplexities(self, n))))

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        self._check_parameters(objects.n)
        neighbors = shared.perplexity_graph(self, objects, graph)
        self.affinities_ = shared.pair_affinities(self, neighbors)
        dtype = neighbors.distances.dtype
        del neighbors  # before the layout
        random = check_random_state(0 if self.random_state is None else self.random_state)
        dim, edges = int(self.n_components), self.affinities_ * dtype.type(DEGREE * objects.n)
        seed = int(random.randint(2**31 - 1))
        own = np.random.RandomState(seed)  # kinds of objects differ in the numbers they draw
        start = layout_start(self.init, dim, objects, self.affinities_, own)
        start = spread_start(start, dim, edges, CURVE, random)
        layout = Layout(
            edges,
            start.astype(dtype),
            curve=CURVE,
            n_epochs=self.max_iter,
            seed=seed,
            **self._forces(),
        )

        def retune(changed: dict[str, Any]) -> None:
            self._check_parameters(objects.n)
            layout.set_forces(CURVE, **self._forces())

        monitor = self._monitor(self.max_iter, retune)
        self.embedding_, self.n_iter_ = lay_out(layout, monitor)

    def _check_parameters(self, n: int) -> None:
        self._check_n_components(n)
        shared.perplexities(self, n)
        checks.integer(self.max_iter, "max_iter", 1)
        self._forces()

    def _forces(self) -> dict[str, Any]:
        """Options of the layout."""
        names = ("learning_rate", "repulsion_strength", "negative_sample_rate")
        rate, repulsion, negatives = (
            checks.real(getattr(self, name), name, 0, LARGEST) for name in names
        )
        return {
            "learning_rate": rate,
            "repulsion": repulsion,
            "negative_sample_rate": negatives,
        }

    def _transform(self, new: NewObjects) -> Array:
        wanted = min(NEW_PERPLEXITY, *shared.perplexities(self, len(self.embedding_)))
        return shared.place_new(new, self.embedding_, [wanted], CAUCHY)
