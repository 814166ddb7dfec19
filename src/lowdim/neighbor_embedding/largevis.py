"""LargeVis (Tang, Liu, Zhang and Mei 2016), and the spectrum of attraction and repulsion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array, fixed_random_state
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers, graph_rule
from lowdim.estimator.neighbors import fitted_neighbors, join
from lowdim.estimator.updating import Growth
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.anchors import Spring, fit_with_pins, hold, pinned_start
from lowdim.neighbor_embedding.docs import SAMPLING_PASSAGES
from lowdim.neighbor_embedding.starts import sne_start, umap_start
from lowdim.neighbor_embedding.tsne import NEW_PERPLEXITY
from lowdim.neighbor_embedding.umap.layout import Layout, lay_out
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.procrustes import align_to_old
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.elementary import power

# The mean of w over all pairs of a map of t-SNE is about TSNE_MEAN + TSNE_OWN / n: measured with
# digits and Fashion-MNIST, 250 to 20,000 objects.
TSNE_MEAN, TSNE_OWN = 1 / 1500, 5.0
UPDATE_EPOCHS = 0.05  # share of the epochs, the last ones, that `update` runs
UPDATE_HOLD = 0.02  # share of its displacement by which an old object returns after each of them
CURVE = (1.0, 1.0)  # points at distance d are linked with probability 1 / (1 + d^2)
DEGREE = 4.0  # mean sum of the weights of an object's edges, as in the fuzzy graphs of UMAP
LARGEST = 1e6  # of the parameters of the forces
CAUCHY = Similarity()  # the same, for new objects


@declare_parameters
class SamplingEmbedder(Iterative, Embedder):
    """LargeVis and negative-sampling t-SNE; `_forces` are options of the layout, which differ."""

    _attributes: ClassVar = {
        "affinities_": Numbers("n n", least=0, sparse=True),
        "_fitted_neighbors": graph_rule,
    }
    _units: ClassVar = {"embedding_": 0}
    _passages = SAMPLING_PASSAGES

    fit = fit_with_pins

    n_components: int = 2
    _: KW_ONLY
    negative_sample_rate: float = 5
    learning_rate: float = 1.0
    max_iter: int = 300
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    init: Any = "pca"

    def _memory(self, fit: Problem) -> float:
        return 70 * fit.arcs

    def _n_wanted(self, n: int) -> int:
        return min(n - 1, int(3 * max(shared.perplexities(self, n))))

    def _fit(
        self,
        objects: Objects,
        graph: NeighborGraph | None = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
    ) -> None:
        self._check_parameters(objects.n)
        neighbors = shared.perplexity_graph(self, objects, graph)
        if objects.in_memory:
            self._fitted_neighbors = neighbors
        self.affinities_ = shared.pair_affinities(self, neighbors)
        dim, dtype = int(self.n_components), neighbors.distances.dtype
        random = fixed_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        own = np.random.RandomState(seed)  # kinds of objects differ in the numbers they draw
        start = sne_start(self.init, dim, objects, self.affinities_, own)
        start = umap_start(start, dim, self.affinities_, CURVE, random).astype(dtype)
        springs, start = pinned_start(start, pinned, pin_strength, self.init)
        self._lay_out(start, seed, springs)

    def _lay_out(
        self, start: Array, seed: int, springs: Sequence[Spring], tail: float = 1.0
    ) -> None:
        """Set `embedding_` to the layout of `affinities_`, by the last share `tail` of epochs."""
        n = len(start)
        edges = self.affinities_ * start.dtype.type(DEGREE * n)
        layout = Layout(
            edges,
            start,
            n_epochs=self.max_iter,
            seed=seed,
            springs=springs,
            **self._force_options(n),
        )
        layout.epoch = self.max_iter - round(tail * self.max_iter)

        def retune(changed: dict[str, Any]) -> None:
            self._check_parameters(n)
            layout.set_forces(**self._force_options(n))

        self.embedding_, self.n_iter_ = lay_out(layout, self._monitor(self.max_iter, retune))

    def _check_parameters(self, n: int) -> None:
        self._check_n_components(n)
        shared.perplexities(self, n)
        checks.integer(self.max_iter, "max_iter", 1)
        self._force_options(n)

    def _force_options(self, n: int) -> dict[str, Any]:
        raise NotImplementedError

    def _update(self, new: NewObjects) -> Growth:
        objects, graph = join(self, new, fitted_neighbors(self))
        old, placed, before = self.embedding_, self._transform(new), self.n_iter_
        self._check_parameters(objects.n)
        self._fitted_neighbors, self.affinities_ = graph, shared.pair_affinities(self, graph)
        anchors = hold(old, placed, UPDATE_HOLD, old.dtype)
        self._lay_out(anchors.places, 0, [anchors], UPDATE_EPOCHS)
        self.n_iter_ = before + round(UPDATE_EPOCHS * self.max_iter)
        self.embedding_ = align_to_old(old, self.embedding_)
        return Growth(graph, refined=True)

    def _transform(self, new: NewObjects) -> Array:
        wanted = min(NEW_PERPLEXITY, *shared.perplexities(self, len(self.embedding_)))
        return shared.place_new(new, self.embedding_, [wanted], CAUCHY)


@declare_parameters
class LargeVis(SamplingEmbedder):
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
    $n_components
    perplexity : float or sequence of float, default=50.0
        Effective number of neighbours of each object.
    repulsion_strength : float, default=7.0
        The weight gamma of the repulsion.
    negative_sample_rate : float, default=5
        Number of random objects for each edge.
    $settings

    Attributes
    ----------
    $embedding
    $affinities
    $counts

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
    affinities of its nearest training objects are preserved best.
    $known

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
        keeps="neighbours; clusters apart",
        when="you want to move between the pictures of t-SNE and UMAP, by one parameter",
        cost="n k per iteration and n k memory, neighbours aside",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="Tang, Liu, Zhang and Mei 2016; spectrum: Böhm, Berens and Kobak 2022",
        power=1.0,
        local_only=True,
        live=("repulsion_strength", "negative_sample_rate", "learning_rate"),
        grows=True,
    )

    _: KW_ONLY
    perplexity: Any = 50.0
    repulsion_strength: float = 7.0

    def _force_options(self, n: int) -> dict[str, Any]:
        names = ("learning_rate", "repulsion_strength", "negative_sample_rate")
        values = (checks.real(getattr(self, name), name, 0, LARGEST) for name in names)
        options = ("learning_rate", "repulsion", "negative_sample_rate")
        return {"curve": CURVE, **dict(zip(options, values, strict=True))}


@declare_parameters
class NegativeSamplingTSNE(SamplingEmbedder):
    """t-SNE by negative sampling (Neg-t-SNE): the spectrum from t-SNE to UMAP as one parameter.

    perplexity affinities -> layout(attract P, repel random points)

    A classifier tells pairs of neighbours from random pairs, by the logistic loss [Damrich2023]_ ::

        sum p_ij (log(1 - h_ij)  +  sum_k log h_ik),   h = Z m / (Z m + n (n - 1) w),

    with w = 1 / (1 + d^2) of two points at distance d, and m random objects k for each edge. The
    constant Z decides how much objects attract each other: for the sum of w over all pairs of a map
    of t-SNE, about 5 n + n^2 / 1500, the map is like that one, and for n^2 / m like that of UMAP.

    Parameters
    ----------
    $n_components
    perplexity : float or sequence of float, default=30.0
        Effective number of neighbours of each object.
    spectrum : float, default=0.0
        The place on the spectrum: 0 is t-SNE, 1 is UMAP; log Z moves evenly between the two. Larger
        numbers contract clusters further. It can be changed while a fit runs.
    negative_sample_rate : float, default=5
        The number m of random objects for each edge.
    $settings

    Attributes
    ----------
    $embedding
    $affinities
    $counts

    See Also
    --------
    LargeVis : The same affinities under another loss.
    TSNE : Repulsion of all pairs instead of random ones.

    Notes
    -----
    Time, memory, `transform` and `update` are those of `LargeVis`.

    References
    ----------
    .. [Damrich2023] S. Damrich, J. N. Böhm, F. A. Hamprecht and D. Kobak, "From t-SNE to UMAP with
       contrastive learning", *International Conference on Learning Representations* (2023).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import NegativeSamplingTSNE
    >>> X = load_digits().data
    >>> NegativeSamplingTSNE(spectrum=0.5, max_iter=100).fit_transform(X[:600]).shape
    (600, 2)
    """

    traits = replace(
        LargeVis.traits,
        paper="Damrich, Böhm, Hamprecht and Kobak 2023",
        when="you want to slide from the picture of t-SNE to that of UMAP, with one loss",
        live=("spectrum", "negative_sample_rate", "learning_rate"),
    )

    _: KW_ONLY
    perplexity: Any = 30.0
    spectrum: float = 0.0

    def _force_options(self, n: int) -> dict[str, Any]:
        """Options of the layout: w / (w + c) is 1 / (1 + c) of 1 / (1 + a d^2), a = c / (1 + c)."""
        rate = checks.real(self.learning_rate, "learning_rate", 0, LARGEST)
        samples = checks.real(self.negative_sample_rate, "negative_sample_rate", 0, LARGEST)
        spectrum = checks.real(self.spectrum, "spectrum", 0, 5)
        c = float(power((TSNE_MEAN + TSNE_OWN / n) * max(samples, 1e-3), 1 - spectrum))
        return {
            "curve": (c / (1 + c), 1.0, 1 / (1 + c)),
            "learning_rate": rate,
            "repulsion": 2.0,  # each random pair repels both ends
            "negative_sample_rate": samples,
        }
