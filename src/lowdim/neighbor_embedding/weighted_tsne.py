"""Weighted symmetric t-SNE: points of different importance (Yang, Peltonen and Kaski 2014)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from lowdim.checks import Array
from lowdim.estimator.fitted_state import Numbers
from lowdim.neighbor_embedding import stochastic_neighbors as shared
from lowdim.neighbor_embedding.divergence import PairDivergence
from lowdim.neighbor_embedding.tsne import TSNE, student
from lowdim.numerics.objective import ForceField


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

    traits = replace(
        TSNE.traits,
        keeps="neighbours, with more room for important points",
        when="as t-SNE, where some objects matter more or hubs crowd the middle",
        paper="Yang, Peltonen and Kaski 2014",
        power=0.9,
        suggested=False,
        live=("early_exaggeration", "exaggeration", "learning_rate"),
        grows=False,
    )

    _attributes: ClassVar = {"importance_": Numbers("n", least=0)}

    def _set_weights(self, weights: Array) -> None:
        self.importance_ = weights / weights.mean()

    def _objective(self, P: Any) -> ForceField:
        """KL(P || Q) with masses."""
        if not hasattr(self, "importance_"):
            degrees = np.asarray(P.sum(axis=1), dtype=np.float64).ravel()
            self.importance_ = np.asarray(P.shape[0] * degrees)
        mass = None if (self.importance_ == 1).all() else self.importance_
        return shared.build_divergence(self, PairDivergence, P, student(self), mass=mass)
