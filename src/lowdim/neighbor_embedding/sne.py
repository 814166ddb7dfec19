"""Stochastic neighbour embedding (Hinton and Roweis 2002)."""

from __future__ import annotations

from typing import Any

from lowdim.estimator.traits import Traits
from lowdim.neighbor_embedding.affinities import conditional_matrix
from lowdim.neighbor_embedding.divergence import RowDivergence
from lowdim.neighbor_embedding.stochastic_neighbors import StochasticNeighborEmbedder
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField


class SNE(StochasticNeighborEmbedder):
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

    def _affinities(self, graph: NeighborGraph) -> Any:
        return conditional_matrix(graph, self._perplexities(graph.n_objects))

    def _objective(self, P: Any) -> ForceField:
        return self._divergence(RowDivergence, P)
