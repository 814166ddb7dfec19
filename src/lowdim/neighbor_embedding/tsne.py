"""t-distributed stochastic neighbour embedding (van der Maaten and Hinton 2008)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.checks import Array
from lowdim.estimator import Embedder
from lowdim.estimator.traits import Traits
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.descent import Phase
from lowdim.neighbor_embedding.descent import learning_rate as step_size
from lowdim.neighbor_embedding.divergence import PairDivergence
from lowdim.neighbor_embedding.docs import SNE_PASSAGES
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.runtime.scheduling import use_threads

NEW_PERPLEXITY = 5.0  # of new objects: a few near neighbours determine their position best
# A Gaussian kernel needs the perplexity of the fit: it pulls the mean of an object's neighbours
# towards the centre of the embedding, by more for a larger perplexity. A new object whose few
# neighbours lie at the border would be placed far outside to match their mean.
DOF_RANGE = (1e-3, 1e6)  # a heavier tail overflows, and a lighter one is a Gaussian


class TSNE(Embedder):
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
        sentence="perplexity affinities -> descend(attract P, repel Student kernel)",
        keeps="who is near whom; says little of distances, densities and gaps",
        when="you look for clusters and close neighbours in the data, of any size",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="van der Maaten and Hinton 2008; Barnes-Hut: van der Maaten 2014; FFT: Linderman et "
        "al. 2019",
        power=1.0,
        local_only=True,
        suggested=True,
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

    _n_wanted = shared.n_for_perplexity
    _affinities = shared.pair_affinities
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
        dof: float | None = None,
        global_weight: float = 0.0,
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
        self.dof = dof
        self.global_weight = global_weight

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: NeighborGraph | None = None,
        affinities: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
    ) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object per row; with metric="precomputed" a matrix of dissimilarities, a sparse
            graph of them, or a `NeighborGraph`.
        y : None
            Ignored.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, with at least 3 * perplexity
            neighbours, to be used instead of computing it.
        affinities : array or sparse matrix of shape (n_samples, n_samples), default=None
            Symmetric affinities P of the objects, such as `affinities_` of another estimator, to
            be used instead of those of `perplexity`. They are divided by their sum.
        pinned : array of shape (n_samples, n_components), default=None
            Coordinates at which objects are held; NaN for those that are free.
        pin_strength : float or array of shape (n_samples,), default=1.0
            1 keeps pinned objects in their places. A smaller number is a spring: the share of its
            distance by which an object returns to its place in each iteration.

        Returns
        -------
        self
        """
        if X is None and affinities is not None:
            raise ValueError(
                "X is None, but the start of the map and `transform` need the objects. Give X "
                "beside affinities: they only replace those that are computed from X."
            )
        return self._fit_to(
            X, graph=graph, affinities=affinities, pinned=pinned, pin_strength=pin_strength
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
            rate = step_size(learning_rate, len(self.embedding_), max(exaggeration, 1.0))
            dtype = shared.working_dtype(self, self.affinities_)
            start = np.array(self.embedding_, dtype=dtype, order="C")
            descent = shared.descent_from(self, objective, start)
            shared.go_on(self, descent, Phase(max_iter, rate, momentum, exaggeration))
        return self

    def _reads_blocks(self) -> bool:
        return True

    def _fit(
        self,
        objects: Objects,
        graph: NeighborGraph | None = None,
        affinities: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
    ) -> None:
        shared.check_parameters(self, objects.n)
        neighbors, P = graph_and_affinities(self, objects, graph, affinities)
        self.affinities_ = P
        if neighbors is not None and objects.in_memory:
            self._fitted_neighbors = neighbors
        objective = self._objective(P)
        known = P if neighbors is None else neighbors
        start, springs = shared.start_with_springs(self, objects, known, P, pinned, pin_strength)
        wider = partial(shared.wider_graph, self, objects, neighbors, graph)
        shared.minimize(self, objective, start, wider, springs)

    def _objective(self, P: Any) -> ForceField:
        """KL(P || Q)."""
        return shared.divergence(self, PairDivergence, P, student(self))

    def _transform(self, new: NewObjects) -> Array:
        wanted = min(NEW_PERPLEXITY, *shared.perplexities(self, len(self.embedding_)))
        return shared.place_new(new, self.embedding_, [wanted], student(self))


def student(estimator: Any) -> Similarity:
    """Student's kernel of the map."""
    dof = estimator.dof if estimator.dof is not None else max(estimator.n_components - 1, 1)
    return Similarity("student", checks.real(dof, "dof", *DOF_RANGE))


def graph_and_affinities(
    estimator: Any, objects: Objects, graph: NeighborGraph | None, affinities: Any
) -> tuple[NeighborGraph | None, Any]:
    """The neighbour graph of a fit and its affinities P; None and P if `affinities` are given."""
    if affinities is not None:
        return None, joint_affinities(affinities, objects)
    neighbors = shared.perplexity_graph(estimator, objects, graph)
    return neighbors, shared.pair_affinities(estimator, neighbors)


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
