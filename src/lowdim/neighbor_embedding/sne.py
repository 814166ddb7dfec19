"""Stochastic neighbour embedding (Hinton and Roweis 2002)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from lowdim.checks import Array
from lowdim.estimator import Embedder, neighbors
from lowdim.estimator.traits import Traits
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.divergence import RowDivergence
from lowdim.neighbor_embedding.docs import SNE_PASSAGES
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile


class SNE(Embedder):
    """Stochastic neighbour embedding (SNE).

    perplexity affinities, row by row -> descend(attract P, repel Gaussian kernel)

    Gives each object the same neighbours, with the same probabilities, as in the data. Minimises
    the mean over i of `KL(P_i || Q_i)`, where ::

        q_{j|i} ~ exp(-|y_i - y_j|^2)

    and `p_{j|i}` are Gaussian affinities of a given perplexity; each row has the sum 1
    [Hinton2002]_.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    $attributes

    See Also
    --------
    SymmetricSNE : The same with one probability for each pair.
    TSNE : A heavy-tailed kernel in the embedding, which separates clusters.

    Notes
    -----
    $notes

    References
    ----------
    .. [Hinton2002] G. E. Hinton and S. T. Roweis, "Stochastic neighbor embedding", *Advances in
       Neural Information Processing Systems* 15 (2002) 857-864.
    $references

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import SNE
    >>> X = load_digits().data[:200]
    >>> SNE(perplexity=20, max_iter=300, random_state=0).fit_transform(X).shape
    (200, 2)
    """

    traits = Traits(
        sentence="perplexity affinities, row by row -> descend(attract P, repel Gaussian kernel)",
        keeps="each object's neighbours; crowds them",
        when="to study what t-SNE changed; each object's own row of probabilities is to be kept",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="Hinton and Roweis 2002",
        power=1.4,
        local_only=True,
        live=(
            "perplexity",
            "early_exaggeration",
            "exaggeration",
            "learning_rate",
        ),
        grows=True,
    )

    _attributes = shared.STATE
    _units: ClassVar = {"embedding_": 0}
    _passages = SNE_PASSAGES
    _memory = shared.memory

    fit = neighbors.fit_with_graph
    _n_wanted = shared.n_for_perplexity
    _affinities = shared.row_affinities
    _update = shared.grow

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: Any = 30.0,
        early_exaggeration: float = 12.0,
        learning_rate: Any = "auto",
        max_iter: int = 1000,
        n_iter_without_progress: int = 300,
        min_grad_norm: float = 1e-7,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        random_state: Any = None,
        method: str = "auto",
        angle: float = 0.5,
        exaggeration: float = 1.0,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.early_exaggeration = early_exaggeration
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.n_iter_without_progress = n_iter_without_progress
        self.min_grad_norm = min_grad_norm
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.exaggeration = exaggeration
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        shared.check_parameters(self, objects.n)
        neighbors = shared.perplexity_graph(self, objects, graph)
        if objects.in_memory:
            self._fitted_neighbors = neighbors
        P = self.affinities_ = self._affinities(neighbors)
        objective = self._objective(P)
        start = shared.start_of(self, objects, neighbors, shared.working_dtype(self, P))
        wider = partial(shared.wider_graph, self, objects, neighbors, graph)
        shared.minimize(self, objective, start, wider)

    def _objective(self, P: Any) -> ForceField:
        """KL(P_i || Q_i) of the rows of the affinities."""
        return shared.divergence(self, RowDivergence, P, shared.GAUSSIAN)

    def _transform(self, new: NewObjects) -> Array:
        wanted = shared.perplexities(self, len(self.embedding_))
        return shared.place_new(new, self.embedding_, wanted, shared.GAUSSIAN)
