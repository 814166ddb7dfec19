"""Parametric t-SNE (van der Maaten 2009)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Problem, Traits, declare_parameters
from lowdim.learned.networks.network_embedder import NetworkEmbedder
from lowdim.learned.parametric import parametric
from lowdim.neighbor_embedding.affinities import conditional_matrix, joint
from lowdim.neighbor_embedding.tsne import TSNE, joint_affinities
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.objects import Objects


@declare_parameters
class ParametricTSNE(parametric.Parameters, NetworkEmbedder):
    """Parametric t-SNE: a network whose outputs have the neighbours of the data.

    perplexity affinities -> network -> gradient descent on KL(P || Q), in samples of pairs

    Requires PyTorch: ``pip install 'lowdim[torch]'``.

    Parameters
    ----------
    $n_components
    perplexity : float, default=30.0
        Effective number of neighbours of each object.
    dof : float, default=None
        Degrees of freedom of Student's kernel of the map; None is n_components - 1, at least 1.
    $layers
    $training

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

    $transform

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
        keeps="neighbours, by a network that maps new data at once",
        when="as t-SNE, where much new data must be placed quickly on the same map",
        cost="n w per epoch for w weights, neighbours aside",
        extends="the network; a decoder if asked for, else the general decoder",
        paper="van der Maaten 2009",
        power=0.6,
        local_only=True,
    )

    fit = parametric.fit_to_pairs

    n_components: int = 2
    _: KW_ONLY
    perplexity: float = 30.0
    dof: float | None = None

    def _memory(self, fit: Problem) -> float:
        return (52 + 2 * fit.size) * fit.arcs

    def _fit(
        self, objects: Objects, graph: NeighborGraph | None = None, affinities: Any = None
    ) -> None:
        from lowdim.learned.parametric.pairs import student_divergence

        n, perplexity = objects.n, checks.real(self.perplexity, "perplexity", 1e-12)
        if perplexity >= n and affinities is None:
            raise checks.too_many_neighbors("perplexity", perplexity, n)
        network, rows, settings = parametric.prepare(self, objects)
        dof = max(self.n_components - 1, 1) if self.dof is None else self.dof
        loss = student_divergence(checks.real(dof, "dof", 0, open_low=True))
        if affinities is None:
            k = min(n - 1, max(1, int(3 * perplexity)))
            near = parametric.euclidean_graph(rows.rows, graph, k)
            P = joint(conditional_matrix(near, perplexity))
        else:
            P = joint_affinities(affinities, objects)

        def free_map() -> Array:
            tsne = TSNE(
                int(self.n_components),
                perplexity=perplexity,
                dof=self.dof,
                random_state=settings.seed,
                verbose=self.verbose,
            )
            return tsne.fit_transform(rows.rows, affinities=P)

        parametric.train_on_pairs(self, network, rows, settings, P, loss, free_map)
