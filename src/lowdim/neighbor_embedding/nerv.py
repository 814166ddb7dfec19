"""The neighbour retrieval visualizer (Venna, Peltonen, Nybo, Aidos and Kaski 2010)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Traits, declare_parameters
from lowdim.estimator.fitted_state import any_number
from lowdim.neighbor_embedding.affinities import log_conditional, log_conditional_of_pairs
from lowdim.neighbor_embedding.all_pairs_divergence import (
    AllPairsDivergenceEmbedder,
    listed_costs,
    precisions_of,
)
from lowdim.neighbor_embedding.divergence import AllPairsDivergence, ListedDivergence
from lowdim.neighbor_embedding.samples import SampledObjects
from lowdim.objects.objects import Objects


@declare_parameters
class NeRV(AllPairsDivergenceEmbedder):
    """Neighbour retrieval visualizer (NeRV): a trade-off between missed and false neighbours.

    perplexity affinities -> quasi-Newton on lambda KL(p || q) + (1 - lambda) KL(q || p)

    Minimises the mean over the objects i of ::

        lambda KL(p_i || q_i) + (1 - lambda) KL(q_i || p_i),
        p_ij ~ exp(-d(x_i, x_j)^2 / sigma_i^2),   q_ij ~ exp(-|y_i - y_j|^2 / sigma_i^2),

    both with sum 1 over j. The width `sigma_i`, which gives `p_i` the chosen perplexity, is the
    same in both. The first divergence generalises recall: it is large if a neighbour in the data is
    missed in the embedding. The second generalises precision: it is large if the embedding shows a
    false neighbour [Venna2010]_.

    Parameters
    ----------
    $n_components
    perplexity : float, default=20.0
        Effective number of neighbours to be retrieved.
    trade_off : float, default=0.5
        The weight lambda, from 0 (only false neighbours count, so that a closed surface is torn) to
        1 (only missed neighbours count, as in SNE, so that it is flattened).
    $parameters
    tol : float, default=1e-5
        Stop when five iterations together reduce the objective by less than this fraction.
    $settings

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the training objects, in the unit of the dissimilarities.
    kl_divergence_ : float
        The objective at the end.
    missed_ : float
        The mean of `KL(p_i || q_i)`: missed neighbours.
    false_ : float
        The mean of `KL(q_i || p_i)`: false neighbours.
    $attributes

    See Also
    --------
    SNE : The case lambda = 1.
    lowdim.quality.trustworthiness : How many neighbours are false.
    lowdim.quality.continuity : How many neighbours are missed.

    Notes
    -----
    As in the paper, neighbourhoods are large at first: the perplexity starts at about half the
    number of objects and is halved in stages until it is the chosen one. With method="exact", an
    iteration takes n^2 time; memory is 2 n^2. With method="sampled", both are n log n.

    $sample

    $transform

    References
    ----------
    $references
    .. [Venna2010] J. Venna, J. Peltonen, K. Nybo, H. Aidos and S. Kaski, "Information retrieval
       perspective to nonlinear dimensionality reduction for data visualization", *Journal of
       Machine Learning Research* 11 (2010) 451-490.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(100, random_state=0)
    >>> precise = lowdim.NeRV(perplexity=10, trade_off=0.1).fit(X)
    >>> complete = lowdim.NeRV(perplexity=10, trade_off=0.9).fit(X)
    >>> precise.false_ < complete.false_
    True
    """

    traits = Traits(
        keeps="neighbours: few false ones, or few missed ones, as chosen",
        when="neighbours are looked up on the map, and you know which error is worse",
        cost="n log n per iteration (n^2 with method='exact')",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="Venna, Peltonen, Nybo, Aidos and Kaski 2010",
        power=2.2,
        samples=True,
        local_only=True,
        grows=True,
    )

    _attributes: ClassVar = {"missed_": any_number, "false_": any_number}
    _squares = 2

    _units: ClassVar = {"embedding_": 1, "init": 1}

    _: KW_ONLY
    perplexity: float = 20.0
    trade_off: float = 0.5
    tol: float = 1e-5

    def _fit(self, objects: Objects, placed: Array | None = None) -> None:
        wanted = checks.real(self.perplexity, "perplexity", 1)
        if wanted >= objects.n:
            raise checks.too_many_neighbors("perplexity", wanted, objects.n)
        checks.real(self.trade_off, "trade_off", 0, 1)
        pairs, start, groups = self._prepare(objects, placed)
        beta = precisions_of(pairs, [wanted])[:, 0]
        typical = float(np.median(beta[beta > 0])) if beta.any() else 1.0
        self._fitted_unit = self._fitted_largest / np.sqrt(typical)
        perplexities = [wanted]
        while 2 * perplexities[0] <= objects.n / 2:
            perplexities.insert(0, 2 * perplexities[0])

        def stage(number: int, Y: Array) -> AllPairsDivergence:
            if isinstance(pairs, SampledObjects):
                beta = precisions_of(pairs, [perplexities[number]])
                return ListedDivergence(pairs.lists(Y), beta, beta / typical, self.trade_off)
            costs, width = log_conditional_of_pairs(pairs, perplexities[number])
            return AllPairsDivergence(costs, width[:, None] / typical, self.trade_off)

        scaled, refine = start * np.sqrt(typical), placed is not None
        last = self._descend(stage, len(perplexities), scaled, groups, objects.dtype, refine)
        self.missed_, self.false_ = last.divergences(self.embedding_ / self._fitted_unit)

    def _row_to_new(self, D: Array, weights: Array | None) -> tuple[Array, Array, float]:
        if weights is None:
            costs, beta = log_conditional(D, self.perplexity)
            beta = beta[:, None]
        else:
            costs, beta = listed_costs(D, weights, [self.perplexity])
        return costs, beta * np.square(self._fitted_unit / self._fitted_largest), self.trade_off
