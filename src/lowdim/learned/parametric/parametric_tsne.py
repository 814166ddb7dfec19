"""Parametric t-SNE (van der Maaten 2009)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.learned.networks.device import require_torch
from lowdim.learned.parametric.parametric import ParametricEmbedder
from lowdim.neighbor_embedding.affinities import conditional_matrix, joint
from lowdim.neighbor_embedding.tsne import TSNE
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.runtime.callbacks import Callback, CheckpointFile

if TYPE_CHECKING:
    from lowdim.learned.parametric.pairs import PairLoss


class ParametricTSNE(ParametricEmbedder):
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
    layers : sequence of int or "auto", default="auto"
        Sizes of the hidden layers, from the data to the coordinates; with `image_shape`, numbers of
        channels of convolutions. "auto" is (256, 256, 256), and (32, 64) for images.
    decoder_layers : sequence of int, default=None
        The same of the decoder, from the coordinates to the data; None is `layers` in reverse.
    image_shape : tuple of int, default=None
        Height and width, or height, width and channels, of images that are rows of X: the network
        is then convolutional.
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

    def _n_neighbors(self, n: int) -> int:
        return min(n - 1, max(1, int(3 * self._perplexity(n))))

    def _perplexity(self, n: int) -> float:
        perplexity = checks.real(self.perplexity, "perplexity", 1e-12)
        if perplexity >= n:
            raise ValueError(
                f"perplexity ({perplexity:g}) must be less than n_samples ({n}): it is a number of "
                "neighbours."
            )
        return perplexity

    def _weights(self, graph: NeighborGraph) -> Any:
        return joint(conditional_matrix(graph, self._perplexity(graph.n_objects)))

    def _pair_loss(self) -> PairLoss:
        from lowdim.learned.parametric.pairs import student_divergence

        dof = max(self.n_components - 1, 1) if self.dof is None else self.dof
        return student_divergence(checks.real(dof, "dof", 0, open_low=True))

    def _free_map(self, vectors: Any, weights: Any, seed: int) -> Array:
        free = TSNE(
            int(self.n_components),
            perplexity=self.perplexity,
            dof=self.dof,
            random_state=seed,
            verbose=self.verbose,
        )
        return free.fit_transform(vectors, affinities=weights)
