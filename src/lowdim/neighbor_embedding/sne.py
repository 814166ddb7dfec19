"""Stochastic neighbour embedding (Hinton and Roweis 2002), also of pairs (Cook et al. 2007)."""

from __future__ import annotations

from dataclasses import replace

from lowdim.checks import Array
from lowdim.estimator import Embedder, Traits, declare_parameters, neighbors
from lowdim.estimator.updating import Growth
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.divergence import PairDivergence, RowDivergence
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects


@declare_parameters
class SNE(shared.Parameters, Embedder):
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
        keeps="each object's neighbours; crowds them",
        when="to study what t-SNE changed; each object's own row of probabilities is to be kept",
        cost="n k per iteration (n^2 with method='exact')",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="Hinton and Roweis 2002",
        power=1.4,
        local_only=True,
        live=("perplexity", "early_exaggeration", "exaggeration", "learning_rate"),
        grows=True,
    )

    fit = neighbors.fit_with_graph
    _joint = False  # whether new objects are placed by probabilities of pairs

    n_components: int = 2

    def _fit(self, objects: Objects, graph: NeighborGraph | None = None) -> None:
        shared.check_parameters(self, objects.n)
        neighbors = shared.perplexity_graph(self, objects, graph)
        if objects.in_memory:
            self._fitted_neighbors = neighbors
        objective = self._objective_of(neighbors)
        dtype = shared.working_dtype(self, self.affinities_)
        start = shared.start_of(self, objects, neighbors, dtype)

        def changed_objective() -> ForceField:
            return self._objective_of(shared.graph_after_change(self, objects, neighbors, graph))

        shared.minimize(self, objective, start, changed_objective)

    def _objective_of(self, neighbors: NeighborGraph) -> ForceField:
        """The objective of the affinities of neighbours, which become `affinities_`."""
        P = self.affinities_ = shared.row_affinities(self, neighbors)
        return shared.build_divergence(self, RowDivergence, P, shared.GAUSSIAN)

    def _update(self, new: NewObjects) -> Growth:
        return shared.grow(self, new, self._objective_of)

    def _transform(self, new: NewObjects) -> Array:
        # The perplexity is that of the fit, unlike in t-SNE: a Gaussian kernel pulls the mean of an
        # object's neighbours towards the centre of the map, by more for a larger perplexity. A new
        # object whose few neighbours lie at the border would be placed far outside to match their
        # mean.
        wanted = shared.perplexities(self, len(self.embedding_))
        return shared.place_new(
            new, self.embedding_, wanted, shared.GAUSSIAN, joint_sum=self._joint
        )


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

    traits = replace(
        SNE.traits,
        keeps="pairs of neighbours; crowds them",
        when="to study what t-SNE changed; a milder map in which clusters are not forced apart",
        paper="Cook, Sutskever, Mnih and Hinton 2007",
        power=0.9,
    )

    _joint = True

    def _objective_of(self, neighbors: NeighborGraph) -> ForceField:
        P = self.affinities_ = shared.pair_affinities(self, neighbors)
        return shared.build_divergence(self, PairDivergence, P, shared.GAUSSIAN)
