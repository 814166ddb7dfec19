"""Symmetric stochastic neighbour embedding (Cook, Sutskever, Mnih and Hinton 2007)."""

from __future__ import annotations

from lowdim.backends.similarity import Similarity
from lowdim.matrices.affinities import conditional_matrix, joint
from lowdim.methods.stochastic_neighbors import StochasticNeighborEmbedder
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.objects import Objects
from lowdim.solvers.divergence import PairDivergence


class SymmetricSNE(StochasticNeighborEmbedder):
    """A map on which pairs of neighbours are as probable as in the data, by Gaussian similarity.

    perplexity affinities -> descend(attract P, repel Gaussian kernel)

    Minimises KL(P || Q) with p_ij = (p_{j|i} + p_{i|j}) / 2n Gaussian affinities of a given
    perplexity and q_ij proportional to exp(-|y_i - y_j|^2): t-SNE without the heavy tail that gives
    clusters room, so that they crowd.

    Parameters
    ----------
    n_components : dimension of the map.
    perplexity : effective number of neighbours; a list of them is averaged, which keeps both small
        and large neighbourhoods (Kobak and Berens 2019).
    early_exaggeration : factor on the attraction in the first 250 iterations.
    learning_rate : "auto", n / exaggeration / 4 in each of the two phases; or a number.
    max_iter : most iterations, those of the early exaggeration included.
    n_iter_without_progress : stop after so many iterations without a lower divergence (looked at
        every 50); -1 never stops.
    min_grad_norm : stop where the gradient's norm is below this.
    metric : a SciPy metric name, "gower", "nan_euclidean", a callable, or "precomputed".
    metric_params : further arguments of the metric.
    init : "pca" (for dissimilarities classical scaling), "spectral", "random", or an array.
    verbose : show the progress.
    random_state : seed of init="random", and of approximate neighbours.
    method : how the repulsion is computed. "exact" over all pairs, with affinities of all pairs;
        "barnes_hut", a tree, for up to three dimensions; "fft", a field on a grid, for one or two;
        "auto" takes all pairs of few points, then the tree, and the grid for many.
    angle : of method="barnes_hut": a cell acts as a whole where its size is less than this share of
        its distance.
    exaggeration : factor on the attraction after the first 250 iterations; above one clusters
        contract.
    n_jobs : threads; the result does not depend on it.
    callback : called after every iteration; a true answer stops.

    Attributes
    ----------
    embedding_
    kl_divergence_ : the divergence at the end.
    affinities_ : P, a sparse matrix.
    history_ : (iteration, divergence) every 50 iterations.
    n_iter_, learning_rate_

    `transform` places a new object so that the probabilities of its own nearest training objects
    (perplexity 5, or less if that was asked for) are best kept while the map stands still; a
    training object gets its own coordinates. Sizes of clusters and gaps between them mean little on
    such a map. More than 1,000 points descend in float32 unless method="exact". Time n log n beside
    the neighbour search; method="exact" takes n^2 time and memory.
    """

    @property
    def _similarity(self) -> Similarity:
        return Similarity("gaussian")

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        perplexities = self._perplexities(graph.n_objects)
        P = joint(conditional_matrix(graph, perplexities))
        self._descend(objects, graph, P, PairDivergence)
