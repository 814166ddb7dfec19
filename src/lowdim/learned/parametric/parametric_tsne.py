"""Parametric t-SNE (van der Maaten 2009)."""

from __future__ import annotations

from typing import Any

from lowdim import checks
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.learned.docs import PARAMETRIC_PASSAGES
from lowdim.learned.networks.device import require_torch
from lowdim.learned.networks.network_embedder import NetworkEmbedder
from lowdim.learned.parametric import parametric
from lowdim.neighbor_embedding.affinities import conditional_matrix, joint
from lowdim.neighbor_embedding.tsne import TSNE, joint_affinities
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile


class ParametricTSNE(NetworkEmbedder):
    """Parametric t-SNE: a network whose outputs have the neighbours of the data.

    perplexity affinities -> network -> gradient descent on KL(P || Q), in samples of pairs

    Requires PyTorch: ``pip install 'lowdim[torch]'``.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    perplexity : float, default=30.0
        Effective number of neighbours of each object.
    dof : float, default=None
        Degrees of freedom of Student's kernel of the map; None is n_components - 1, at least 1.
    $layers
    init : {"map", "random"}, default="map"
        "map" first trains the network to imitate the map of the same weights in which each object
        has a place of its own (that of `TSNE`), and then trains it on the objective; "random"
        leaves out the first part.
    $training
    random_state : int, RandomState or None, default=None
        Seed of weights and pairs; None stands for 0.
    $run

    Attributes
    ----------
    $weights
    $losses

    See Also
    --------
    TSNE : the same affinities, with a place for each object instead of a network.
    ParametricUMAP : the same network with UMAP's objective.

    Notes
    -----
    The affinities are those of `TSNE`, of all objects, where [1]_ computes them anew in each batch.
    Pairs are drawn from them. The normalisation of Q is estimated from all pairs of the batches, as
    a running mean.

    $places

    An epoch takes time n w for n objects and w weights, after the search of neighbours. On 5,000
    images of Fashion-MNIST a fit takes two minutes of CPU time, and the 10 nearest neighbours on
    the map classify 77.3 % of 10,000 other images correctly; on the map of `TSNE`, whose
    `transform` compares new images with the training images, 77.3 %. After 60,000 images (15
    minutes) it is 81.6 %, and 83.1 % on the map of `TSNE`. The map of the network keeps fewer of
    the nearest neighbours of new images there: 19 % of 15, and that of `TSNE` 28 %.

    ``transform(X_train)`` equals `embedding_`. Without `decoder`, `inverse_transform` interpolates
    between the training vectors.

    References
    ----------
    .. [1] L. van der Maaten, "Learning a parametric embedding by preserving local structure",
       AISTATS 2009.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:300]
    >>> tsne = lowdim.ParametricTSNE(layers=(64, 32), max_iter=10).fit(X[:200])
    >>> tsne.transform(X[200:]).shape
    (100, 2)
    """

    traits = Traits(
        sentence="perplexity affinities -> network -> gradient descent on KL(P || Q), by pairs",
        keeps="who is near whom, by a map that takes new data at once",
        when="as t-SNE, where much new data must be placed quickly on the same map",
        cost="n w per epoch for w weights, neighbours aside",
        extends="the network; a decoder if asked for, else the general decoder",
        paper="van der Maaten 2009",
        power=0.6,
        local_only=True,
    )

    _attributes = parametric.STATE
    _needed = ("n_places_",)
    _passages = PARAMETRIC_PASSAGES

    fit = parametric.fit_to_pairs
    _build = parametric.build_map_network
    _inverse = parametric.inverse_of_network

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        dof: float | None = None,
        layers: Any = "auto",
        decoder_layers: Any = None,
        image_shape: Any = None,
        activation: str = "relu",
        network: Any = None,
        decoder: bool = False,
        init: str = "map",
        noise: float = 0.5,
        max_iter: int | None = None,
        batch_size: int = 512,
        learning_rate: float | str = "auto",
        schedule: str = "cosine",
        weight_decay: float = 0.0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        require_torch("lowdim.ParametricTSNE")
        self.n_components = n_components
        self.perplexity = perplexity
        self.dof = dof
        self.layers = layers
        self.decoder_layers = decoder_layers
        self.image_shape = image_shape
        self.activation = activation
        self.network = network
        self.decoder = decoder
        self.init = init
        self.noise = noise
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.checkpoint = checkpoint
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def _memory(self, fit: Problem) -> float:
        return (52 + 2 * fit.size) * fit.arcs

    def _fit(
        self, objects: Objects, graph: NeighborGraph | None = None, affinities: Any = None
    ) -> None:
        from lowdim.learned.parametric.pairs import student_divergence

        n, perplexity = objects.n, checks.real(self.perplexity, "perplexity", 1e-12)
        if perplexity >= n and affinities is None:
            raise checks.too_many_neighbors("perplexity", perplexity, n)
        prepared = parametric.prepare(self, objects)
        dof = max(self.n_components - 1, 1) if self.dof is None else self.dof
        loss = student_divergence(checks.real(dof, "dof", 0, open_low=True))
        if affinities is None:
            k = min(n - 1, max(1, int(3 * perplexity)))
            P = joint(
                conditional_matrix(
                    parametric.euclidean_graph(prepared.vectors, graph, k), perplexity
                )
            )
        else:
            P = joint_affinities(affinities, objects)
        free = TSNE(
            int(self.n_components),
            perplexity=perplexity,
            dof=self.dof,
            random_state=prepared.settings.seed,
            verbose=self.verbose,
        )
        parametric.train_on_pairs(
            self, prepared, P, loss, lambda: free.fit_transform(prepared.vectors, affinities=P)
        )
