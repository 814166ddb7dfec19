"""Weighted symmetric t-SNE: points of different importance (Yang, Peltonen and Kaski 2014)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator.fitted_state import Numbers
from lowdim.estimator.traits import Traits
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.divergence import PairDivergence
from lowdim.neighbor_embedding.tsne import TSNE, graph_and_affinities, student
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.numerics.objective import ForceField
from lowdim.objects.objects import Objects


class WeightedTSNE(TSNE):
    """t-SNE in which important objects get more space.

    perplexity affinities -> descend(attract P, repel Student kernel between masses)

    Minimises `KL(P || Q)` as t-SNE does, with ::

        q_ij ~ m_i m_j (1 + |y_i - y_j|^2 / dof)^(-(dof + 1) / 2)

    The mass `m_i` of an object is its total affinity to all others, or the `sample_weight` given to
    `fit`. Objects of large mass repel more strongly, so that objects with many neighbours (hubs) do
    not pull all others into the centre [Yang2014]_. With equal masses the result is that of t-SNE.

    Parameters
    ----------
    $parameters
    $dof

    Attributes
    ----------
    $attributes
    importance_ : array of shape (n_samples,)
        The masses, scaled to mean 1.

    See Also
    --------
    TSNE : The same with equal masses.

    Notes
    -----
    $notes

    References
    ----------
    .. [Yang2014] Z. Yang, J. Peltonen and S. Kaski, "Optimization equivalence of divergences
       improves neighbor embedding", *International Conference on Machine Learning* (2014) 460-468.
    $references

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from lowdim import WeightedTSNE
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = X[:200], y[:200]
    >>> model = WeightedTSNE(perplexity=20, max_iter=300, random_state=0)
    >>> model.fit(X, sample_weight=np.where(y == 0, 4.0, 1.0)).embedding_.shape
    (200, 2)
    """

    traits = Traits(
        sentence="perplexity affinities -> descend(attract P, repel Student kernel between masses)",
        keeps="who is near whom, important points with more room",
        when="as t-SNE, where some objects matter more or hubs crowd the middle",
        cost="n k per iteration (n^2 with method='exact')",
        extends="own neighbours' probabilities kept on the frozen map; barycentric inverse",
        paper="Yang, Peltonen and Kaski 2014",
        power=0.9,
        local_only=True,
        live=(
            "early_exaggeration",
            "exaggeration",
            "learning_rate",
        ),
    )

    _attributes: ClassVar = {"importance_": Numbers("n", least=0)}

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
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            One object a row; with metric="precomputed" a matrix of dissimilarities, a sparse graph
            of them, or a `NeighborGraph`.
        y : None
            Ignored.
        graph : NeighborGraph, default=None
            The neighbour graph of X from `lowdim.neighbors`, with at least 3 * perplexity
            neighbours, to be used instead of computing it.
        affinities, pinned, pin_strength
            See `TSNE.fit`.
        sample_weight : array of shape (n_samples,), default=None
            Positive importances of the objects. By default an object counts by its total affinity
            to all others.

        Returns
        -------
        self
        """
        return self._fit_to(
            X,
            graph=graph,
            affinities=affinities,
            pinned=pinned,
            pin_strength=pin_strength,
            sample_weight=sample_weight,
        )

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
        neighbors, P = graph_and_affinities(self, objects, graph, affinities)
        weighted = sample_weight is not None
        self.affinities_ = P
        self.importance_ = _masses(sample_weight, objects.n) if weighted else _degrees(P)
        objective = self._objective(P)
        known = P if neighbors is None else neighbors
        start, springs = shared.start_with_springs(self, objects, known, P, pinned, pin_strength)
        shared.minimize(self, objective, start, springs=springs)

    def _objective(self, P: Any) -> ForceField:
        """KL(P || Q) with masses."""
        mass = None if (self.importance_ == 1).all() else self.importance_
        return shared.divergence(self, PairDivergence, P, student(self), mass=mass)


def _degrees(P: Any) -> Array:
    """The total affinity of each object, of mean 1."""
    return np.asarray(P.shape[0] * np.asarray(P.sum(axis=1), dtype=np.float64).ravel())


def _masses(sample_weight: Any, n: int) -> Array:
    """Positive weights of n objects, scaled to mean 1."""
    mass = checks.vectors(np.asarray(sample_weight)[:, None], name="sample_weight")[:, 0]
    if len(mass) != n:
        raise ValueError(f"sample_weight has {len(mass)} entries, but X has {n} objects.")
    if mass.min() <= 0:
        raise ValueError(
            f"sample_weight must be positive, found {mass.min():g} at [{int(mass.argmin())}]. "
            "Leave out objects of zero weight."
        )
    return np.asarray(mass / mass.mean(), dtype=np.float64)
