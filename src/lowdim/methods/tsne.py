"""t-distributed stochastic neighbour embedding (van der Maaten and Hinton 2008)."""

from __future__ import annotations

from typing import Any

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.callbacks import Callback
from lowdim.matrices.affinities import conditional_matrix, joint
from lowdim.methods.shared_docs import SNE_PASSAGES, fill
from lowdim.methods.stochastic_neighbors import StochasticNeighborEmbedder
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.objects import Objects
from lowdim.solvers.divergence import PairDivergence

DOF_RANGE = (1e-3, 1e6)  # a heavier tail overflows, and a lighter one is a Gaussian


@fill(**SNE_PASSAGES)
class TSNE(StochasticNeighborEmbedder):
    """t-distributed stochastic neighbour embedding (t-SNE).

    perplexity affinities -> descend(attract P, repel Student kernel)

    Places near neighbours near each other, by matching the probabilities of pairs of objects to be
    neighbours in the data (P) and in the embedding (Q). Minimises `KL(P || Q)` with ::

        p_ij = (p_{j|i} + p_{i|j}) / 2n,
        q_ij ~ (1 + |y_i - y_j|^2 / dof)^(-(dof + 1) / 2),

    where `p_{j|i}` are Gaussian affinities of a given perplexity [Maaten2008]_.

    Parameters
    ----------
    $parameters
    $dof

    Attributes
    ----------
    $attributes

    See Also
    --------
    WeightedTSNE : t-SNE with an importance of each object.
    MultiscaleSNE : Neighbourhoods of all sizes, without a perplexity.
    UMAP : A faster layout with similar results.

    Notes
    -----
    $notes

    The repulsion by a tree is that of [Maaten2014]_, by interpolation on a grid that of
    [Linderman2019]_; `dof` below 1 is described in [Kobak2020]_.

    References
    ----------
    .. [Maaten2008] L. van der Maaten and G. Hinton, "Visualizing data using t-SNE", *Journal of
       Machine Learning Research* 9 (2008) 2579-2605.
    .. [Maaten2014] L. van der Maaten, "Accelerating t-SNE using tree-based algorithms", *Journal of
       Machine Learning Research* 15 (2014) 3221-3245.
    .. [Linderman2019] G. C. Linderman et al., "Fast interpolation-based t-SNE for improved
       visualization of single-cell RNA-seq data", *Nature Methods* 16 (2019) 243-245.
    .. [Kobak2020] D. Kobak et al., "Heavy-tailed kernels reveal a finer cluster structure in t-SNE
       visualisations", *Machine Learning and Knowledge Discovery in Databases* (2020) 124-139.
    $references

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import TSNE
    >>> X = load_digits().data[:200]
    >>> tsne = TSNE(perplexity=20, max_iter=300, random_state=0).fit(X)
    >>> tsne.embedding_.shape
    (200, 2)
    >>> tsne.transform(X[:3]).shape
    (3, 2)
    """

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
        dof: float | None = None,
    ) -> None:
        super().__init__(
            n_components,
            perplexity=perplexity,
            early_exaggeration=early_exaggeration,
            learning_rate=learning_rate,
            max_iter=max_iter,
            n_iter_without_progress=n_iter_without_progress,
            min_grad_norm=min_grad_norm,
            metric=metric,
            metric_params=metric_params,
            init=init,
            random_state=random_state,
            method=method,
            angle=angle,
            exaggeration=exaggeration,
            n_jobs=n_jobs,
            callback=callback,
            verbose=verbose,
        )
        self.dof = dof

    @property
    def _similarity(self) -> Similarity:
        dof = self.dof if self.dof is not None else max(self.n_components - 1, 1)
        return Similarity("student", checks.real(dof, "dof", *DOF_RANGE))

    def _fit_graph(self, objects: Objects, graph: NeighborGraph) -> None:
        P = joint(conditional_matrix(graph, self._perplexities(objects.n)))
        divergence = self._divergence(PairDivergence, P)
        self._descend(divergence, self._start(objects, graph))
