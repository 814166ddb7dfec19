"""Symmetric stochastic neighbour embedding (Cook, Sutskever, Mnih and Hinton 2007)."""

from __future__ import annotations

from typing import Any

from lowdim.checks import Array
from lowdim.estimator.traits import Traits
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.divergence import PairDivergence
from lowdim.neighbor_embedding.sne import SNE
from lowdim.numerics.objective import ForceField
from lowdim.objects.new_objects import NewObjects


class SymmetricSNE(SNE):
    """Symmetric stochastic neighbour embedding.

    perplexity affinities -> descend(attract P, repel Gaussian kernel)

    Matches the probabilities of pairs of objects to be neighbours, with a Gaussian kernel in the
    embedding. Minimises `KL(P || Q)` with ::

        p_ij = (p_{j|i} + p_{i|j}) / 2n,
        q_ij ~ exp(-|y_i - y_j|^2),

    where `p_{j|i}` are Gaussian affinities of a given perplexity [Cook2007]_. It is t-SNE without
    the heavy tail of the kernel, so that clusters are less separated.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    $attributes

    See Also
    --------
    SNE : One distribution for each object instead of one for all pairs.
    TSNE : A heavy-tailed kernel in the embedding, which separates clusters.

    Notes
    -----
    $notes

    References
    ----------
    .. [Cook2007] J. Cook, I. Sutskever, A. Mnih and G. Hinton, "Visualizing similarity data with a
       mixture of maps", *Artificial Intelligence and Statistics* (2007) 67-74.
    $references

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import SymmetricSNE
    >>> X = load_digits().data[:200]
    >>> SymmetricSNE(perplexity=20, max_iter=300, random_state=0).fit_transform(X).shape
    (200, 2)
    """

    traits = Traits(
        sentence="perplexity affinities -> descend(attract P, repel Gaussian kernel)",
        keeps="pairs of neighbours; crowds them",
        when="to study what t-SNE changed; a milder map in which clusters are not forced apart",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="Cook, Sutskever, Mnih and Hinton 2007",
        power=0.9,
        local_only=True,
        live=(
            "perplexity",
            "early_exaggeration",
            "exaggeration",
            "learning_rate",
        ),
        grows=True,
    )

    _affinities = shared.pair_affinities

    def _objective(self, P: Any) -> ForceField:
        """KL(P || Q) of the affinities of pairs."""
        return shared.divergence(self, PairDivergence, P, shared.GAUSSIAN)

    def _transform(self, new: NewObjects) -> Array:
        wanted = shared.perplexities(self, len(self.embedding_))
        return shared.place_new(new, self.embedding_, wanted, shared.GAUSSIAN, joint=True)
