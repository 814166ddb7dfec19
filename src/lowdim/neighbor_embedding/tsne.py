"""t-distributed stochastic neighbour embedding (van der Maaten and Hinton 2008)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array
from lowdim.estimator import Embedder, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers
from lowdim.estimator.updating import Growth
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.anchors import pinned_start
from lowdim.neighbor_embedding.descent import Phase, step_size
from lowdim.neighbor_embedding.divergence import PairDivergence
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.scheduling import use_threads

NEW_PERPLEXITY = 5.0  # of new objects: a few near neighbours determine their position best
BALANCE = 0.1  # share of the pull towards a global map with global_weight=0.5
DOF_RANGE = (1e-3, 1e6)  # a heavier tail overflows, and a lighter one is a Gaussian


@declare_parameters
class TSNE(shared.Parameters, Embedder):
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

    traits = Traits(
        keeps="neighbours; not distances, densities or gaps",
        when="you look for clusters and close neighbours in the data, of any size",
        cost="n k per iteration (n^2 with method='exact')",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="van der Maaten and Hinton 2008; Barnes-Hut: van der Maaten 2014; FFT: Linderman et "
        "al. 2019",
        power=1.0,
        local_only=True,
        suggested=True,
        live=("perplexity", "early_exaggeration", "exaggeration", "learning_rate"),
        grows=True,
    )

    _reads_blocks = True
    _attributes: ClassVar = {"sample_weight_": Numbers("n", positive=True)}

    n_components: int = 2
    _: KW_ONLY
    perplexity: Any = 30.0
    dof: float | None = None
    global_weight: float = 0.0

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: NeighborGraph | None = None,
        affinities: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        sample_weight: Any = None,
    ) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        $objects
        y : None
            Ignored.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, with at least 3 * perplexity
            neighbours, to be used instead of computing it.
        affinities : array or sparse matrix of shape (n_samples, n_samples), default=None
            Symmetric affinities P of the objects, such as `affinities_` of another estimator, to
            be used instead of those of `perplexity`. They are divided by their sum.
        $pins
        sample_weight : array of shape (n_samples,), default=None
            How many equal objects each row stands for, at least 1. From the same start, which
            counts each row once, method="exact" computes the map of the repeated rows but for
            rounding errors; other methods drop some affinities to the farthest neighbours.
            Repetitions are neighbours: choose a perplexity above the usual weight. In
            `WeightedTSNE`, positive importances of the objects, of which only ratios count; by
            default an object counts by its total affinity to all others.

        Returns
        -------
        self
        """
        if X is None and affinities is not None:
            raise ValueError(
                "X is None, but the start of the map and `transform` need the objects. Give X "
                "beside affinities: they only replace those that are computed from X."
            )
        return self._check_and_fit(
            X,
            graph=graph,
            affinities=affinities,
            pinned=pinned,
            pin_strength=pin_strength,
            sample_weight=sample_weight,
        )

    def resume(
        self,
        max_iter: int = 250,
        *,
        exaggeration: float = 1.0,
        learning_rate: float | str = "auto",
        momentum: float = shared.MOMENTUM,
    ) -> Self:
        """Continue the descent from `embedding_`, with other settings.

        Parameters
        ----------
        max_iter : int, default=250
            Maximum number of further iterations.
        exaggeration : float, default=1.0
            Factor on the attraction.
        learning_rate : float or "auto", default="auto"
            Step size; "auto" is n / exaggeration / 4.
        momentum : float, default=0.8
            Share of the last step that is added to the next one.

        Returns
        -------
        self
            `embedding_` and `kl_divergence_` are replaced; `n_iter_` and `history_` go on.

        Notes
        -----
        Parameters that are set before, such as `dof`, `method` or `callback`, are used. The
        affinities are those of `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from lowdim import TSNE
        >>> X = load_digits().data[:200]
        >>> tsne = TSNE(perplexity=20, max_iter=250).fit(X)
        >>> tsne.resume(50, exaggeration=4.0).n_iter_
        300
        """
        check_is_fitted(self)
        checks.integer(max_iter, "max_iter", 1)
        checks.real(exaggeration, "exaggeration", 0, open_low=True)
        checks.real(momentum, "momentum", 0, 1)
        with use_threads(self._n_jobs):
            objective = self._objective(self.affinities_)
            n = shared.n_repeated(self, len(self.embedding_))
            rate = step_size(learning_rate, n, max(exaggeration, 1.0))
            dtype = shared.working_dtype(self, self.affinities_)
            start = np.array(self.embedding_, dtype=dtype, order="C")
            descent = shared.descent_from(self, objective, start)
            shared.go_on(self, descent, Phase(max_iter, rate, momentum, exaggeration))
        return self

    def _fit(
        self,
        objects: Objects,
        graph: NeighborGraph | None = None,
        affinities: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        sample_weight: Any = None,
    ) -> None:
        shared.check_parameters(self, objects.n)
        if sample_weight is not None:
            self._set_weights(checks.sample_weight(sample_weight, objects.n))
        neighbors: NeighborGraph | None = None
        if affinities is None:
            neighbors = shared.perplexity_graph(self, objects, graph)
            objective = self._objective_of(neighbors)
            if objects.in_memory and sample_weight is None and self.traits.grows:
                self._fitted_neighbors = neighbors
        else:
            self.affinities_ = joint_affinities(affinities, objects)
            objective = self._objective(self.affinities_)
        links = self.affinities_ if neighbors is None else neighbors
        dtype = shared.working_dtype(self, self.affinities_)
        start = shared.start_of(self, objects, links, dtype)
        weight = checks.real(self.global_weight, "global_weight", 0, 1)
        springs, start = pinned_start(start, pinned, pin_strength, self.init, weight, BALANCE)

        def changed_objective() -> ForceField:
            return self._objective_of(shared.graph_after_change(self, objects, neighbors, graph))

        shared.minimize(self, objective, start, changed_objective, springs)

    def _set_weights(self, weights: Array) -> None:
        if weights.min() < 1:
            raise ValueError(
                f"sample_weight must be at least 1, the number of objects that a row stands for; "
                f"found {weights.min():g}. WeightedTSNE takes importances of any size."
            )
        self.sample_weight_ = weights

    def _objective_of(self, neighbors: NeighborGraph) -> ForceField:
        """The objective of the affinities of neighbours, which become `affinities_`."""
        self.affinities_ = shared.pair_affinities(self, neighbors)
        return self._objective(self.affinities_)

    def _objective(self, P: Any) -> ForceField:
        """KL(P || Q)."""
        mass = getattr(self, "sample_weight_", None)
        repeated = mass is not None
        return shared.build_divergence(
            self, PairDivergence, P, student(self), mass=mass, repeated=repeated
        )

    def _update(self, new: NewObjects) -> Growth:
        return shared.grow(self, new, self._objective_of)

    def _transform(self, new: NewObjects) -> Array:
        wanted = min(NEW_PERPLEXITY, *shared.perplexities(self, len(self.embedding_)))
        return shared.place_new(new, self.embedding_, [wanted], student(self))


def student(estimator: Any) -> Similarity:
    """Student's kernel of the map."""
    dof = estimator.dof if estimator.dof is not None else max(estimator.n_components - 1, 1)
    return Similarity("student", checks.real(dof, "dof", *DOF_RANGE))


def joint_affinities(affinities: Any, objects: Objects) -> Any:
    """Affinities given by the user as a symmetric CSR matrix of sum 1."""
    P = csr_array(checks.vectors(affinities, name="affinities", sparse=True))
    n = objects.n
    if P.shape != (n, n):
        raise ValueError(f"affinities has shape {P.shape}, but X has {n} objects.")
    if P.nnz and P.data.min() < 0:
        raise ValueError(f"affinities must not be negative, found {P.data.min():g}.")
    total = float(P.data.sum(dtype=np.float64))
    if not total > 0:
        raise ValueError("affinities are all zero.")
    if abs(P - P.T).max() > 1e-6 * P.data.max():
        raise ValueError("affinities must be symmetric: give (P + P.T) / 2.")
    P = P.astype(objects.dtype)
    P.sort_indices()
    P.data /= P.dtype.type(total)
    return P
