"""Weighted symmetric t-SNE: points of different importance (Yang, Peltonen and Kaski 2014)."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np

from lowdim import checks
from lowdim.backends.similarity import Similarity
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.matrices.affinities import conditional_matrix, joint
from lowdim.methods.stochastic_neighbors import StochasticNeighborEmbedder
from lowdim.relations.graph import NeighborGraph
from lowdim.relations.objects import Objects
from lowdim.solvers.divergence import PairDivergence


class WeightedTSNE(StochasticNeighborEmbedder):
    """A map by t-SNE on which important points claim more room and do not crowd the middle.

    perplexity affinities -> descend(attract P, repel Student kernel between masses)

    Minimises KL(P || Q) as t-SNE does, with q_ij proportional to m_i m_j (1 + |y_i - y_j|^2 /
    dof)^(-(dof + 1) / 2): a point that many others are similar to has a large mass m, and what it
    has to be near to no longer pulls everything into one ball.

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
    dof : degrees of freedom of Student's kernel; None is max(n_components - 1, 1). Less than one
        shows finer clusters (Kobak et al. 2020).
    importance : the masses where `fit` is given no sample_weight: "degree", the sum of a point's
        affinities, or "uniform", which is t-SNE.
    exaggeration : factor on the attraction after the first 250 iterations; above one clusters
        contract.
    n_jobs : threads; the result does not depend on it.
    callback : called after every iteration; a true answer stops.

    Attributes
    ----------
    embedding_
    kl_divergence_ : the divergence at the end.
    affinities_ : P, a sparse matrix.
    importance_ : the masses, of mean one.
    history_ : (iteration, divergence) every 50 iterations.
    n_iter_, learning_rate_

    `transform` places a new object so that the probabilities of its own nearest training objects
    (perplexity 5, or less if that was asked for) are best kept while the map stands still; a
    training object gets its own coordinates. Sizes of clusters and gaps between them mean little on
    such a map. More than 1,000 points descend in float32 unless method="exact". Time n log n beside
    the neighbour search; method="exact" takes n^2 time and memory.
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
        verbose: int = 0,
        random_state: Any = None,
        method: str = "auto",
        angle: float = 0.5,
        dof: float | None = None,
        importance: str = "degree",
        exaggeration: float = 1.0,
        n_jobs: int | None = None,
        callback: Callback | None = None,
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
        self.verbose = verbose
        self.random_state = random_state
        self.method = method
        self.angle = angle
        self.dof = dof
        self.importance = importance
        self.exaggeration = exaggeration
        self.n_jobs = n_jobs
        self.callback = callback

    @property
    def _similarity(self) -> Similarity:
        dof = self.dof if self.dof is not None else max(self.n_components - 1, 1)
        return Similarity("student", checks.real(dof, "dof", 0, open_low=True))

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        graph: NeighborGraph | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Compute `embedding_` from the objects X.

        Parameters
        ----------
        X, y, graph : as of every method on neighbours.
        sample_weight : positive importances of the objects, in place of `importance`.
        """
        return self._fit_to(X, graph=graph, sample_weight=sample_weight)

    def _fit_graph(self, objects: Objects, graph: NeighborGraph, sample_weight: Any = None) -> None:
        P = joint(conditional_matrix(graph, self._perplexities(objects.n)))
        self.importance_ = self._masses(P, sample_weight)
        mass = None if (self.importance_ == 1).all() else self.importance_
        self._descend(objects, graph, P, partial(PairDivergence, mass=mass))

    def _masses(self, P: Any, sample_weight: Any) -> Array:
        checks.choice(self.importance, "importance", ("degree", "uniform"))
        if sample_weight is not None:
            return checked_masses(sample_weight, P.shape[0])
        if self.importance == "uniform":
            return np.ones(P.shape[0])
        sums = np.asarray(P.sum(axis=1), dtype=np.float64).ravel()
        return np.asarray(P.shape[0] * sums)


def checked_masses(given: Any, n: int) -> Array:
    """Positive masses of n objects, scaled to mean one."""
    mass = checks.vectors(np.asarray(given)[:, None], name="sample_weight")[:, 0]
    if len(mass) != n:
        raise ValueError(f"sample_weight has {len(mass)} entries, but X has {n} objects.")
    if mass.min() <= 0:
        raise ValueError(
            f"sample_weight must be positive, found {mass.min():g} at [{int(mass.argmin())}]. "
            "Leave out objects of zero weight."
        )
    return np.asarray(mass / mass.mean(), dtype=np.float64)
