"""Multi-scale stochastic neighbour embedding (Lee, Peluffo-Ordonez and Verleysen 2015)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from lowdim.checks import Array
from lowdim.estimator import Traits
from lowdim.estimator.fitted_state import Numbers, any_number
from lowdim.neighbor_embedding.affinities import log_conditional, log_conditional_of_pairs, mix_logs
from lowdim.neighbor_embedding.all_pairs_divergence import (
    AllPairsDivergenceEmbedder,
    Stage,
    listed_costs,
    precisions_of,
)
from lowdim.neighbor_embedding.divergence import AllPairsDivergence, ListedDivergence
from lowdim.neighbor_embedding.samples import Lists, SampledObjects
from lowdim.objects.objects import Objects
from lowdim.runtime.elementary import log2, power

# Objects up to which each stage, and each of N_DRAWS parts of the last one, has other groups of the
# sample. The groups of a single draw would show on the map: members attract and repel each other
# more than they do others. Of more objects, the sample gets what is near on the map then after
# every second stage, and has only the levels that the scales of the stage need.
REDRAWN, N_DRAWS = 5000, 4


class MultiscaleSNE(AllPairsDivergenceEmbedder):
    """Multi-scale stochastic neighbour embedding: neighbourhoods of all sizes, no perplexity.

    affinities of perplexities 2, 4, 8, ... averaged -> quasi-Newton on KL(p || q), coarse to fine

    The method to take if one map must serve near and far, neighbours as well as the arrangement of
    clusters. Minimises the mean over the objects i of `KL(p_i || q_i)`, where both are means over L
    scales h [Lee2015]_::

        p_ij = 1/L sum_h exp(-pi_hi d(x_i, x_j)^2 / 2) / Z_hi,
        q_ij = 1/L sum_h exp(-p_h |y_i - y_j|^2 / 2) / z_hi.

    The precisions `pi_hi` give each row the perplexity `K_h = 2^h`, for h = 1 to L, with `K_L`
    about half the number of objects. Those of the embedding are `p_h ~ K_h^(-2 U / n_components)`,
    in the unit of the variance of the start. `U = min(2, max(1, D / n_components))` narrows the
    finer scales if the intrinsic dimension D of the data is larger than that of the embedding; D is
    estimated from the growth of `pi` from scale to scale.

    Parameters
    ----------
    $n_components
    $parameters
    tol : float, default=1e-4
        Stop when five iterations together reduce the divergence by less than this fraction.
    $settings

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the training objects. Their scale is that of the start, which has variance 1
        unless `init` is an array.
    kl_divergence_ : float
        The divergence at the end.
    perplexities_ : array of shape (n_scales,)
        The perplexities `K_h`, the largest first.
    precisions_ : array of shape (n_scales,)
        The precisions `p_h` of the embedding.
    intrinsic_dim_ : float
        The estimate D of the intrinsic dimension.
    $attributes

    See Also
    --------
    TSNE : One perplexity or a few, for neighbours alone.

    Notes
    -----
    The coarsest scale is fitted first; the others are added one by one, each from the result of the
    scales before. With method="exact", an iteration takes n^2 log n time; memory is 3 n^2. With
    method="sampled", an iteration takes n log(n)^2 time; memory is n log n.

    $sample

    $transform

    References
    ----------
    $references
    .. [Lee2015] J. A. Lee, D. H. Peluffo-Ordóñez and M. Verleysen, "Multi-scale similarities in
       stochastic neighbour embedding: reducing dimensionality while preserving both local and
       global structure", *Neurocomputing* 169 (2015) 246-261.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(100, random_state=0)
    >>> model = lowdim.MultiscaleSNE().fit(X)
    >>> model.embedding_.shape
    (100, 2)
    >>> model.perplexities_
    array([64., 32., 16.,  8.,  4.,  2.])
    """

    traits = Traits(
        keeps="neighbourhoods of every size",
        when="near and far neighbourhoods are wanted in one map, without tuning",
        cost="n log(n)^2 per iteration (n^2 log n with method='exact')",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="Lee, Peluffo-Ordonez and Verleysen 2015",
        power=2.7,
        samples=True,
        local_only=True,
        suggested=True,
        grows=True,
    )

    _attributes: ClassVar = {
        "perplexities_": Numbers("scales", positive=True),
        "precisions_": Numbers("scales", positive=True),
        "intrinsic_dim_": any_number,
    }
    _needed = ("perplexities_", "precisions_")
    _squares = 3

    def _fit(self, objects: Objects, placed: Array | None = None) -> None:
        pairs, start, groups = self._prepare(objects, placed)
        n, k = start.shape
        if placed is None:
            size = float(np.sqrt(start.var(axis=0, ddof=1).mean())) or 1.0
            self._fitted_unit = 1.0 if isinstance(self.init, str) else size * self._fitted_largest
        else:
            size = self._fitted_unit / self._fitted_largest
        n_scales = max(1, round(log2(n / 2)))
        self.perplexities_ = 2.0 ** np.arange(n_scales, 0, -1)
        widths = precisions_of(pairs, self.perplexities_)
        self.intrinsic_dim_ = intrinsic_dimension(widths.T)
        U = min(2.0, max(1.0, self.intrinsic_dim_ / k))
        growth = power(self.perplexities_[0] / self.perplexities_, 2 * U / k)
        self.precisions_ = power(2.0, 1 + 2 / k) * growth
        stage = self._stage(pairs, widths)
        refine = placed is not None
        draws = isinstance(pairs, SampledObjects) and n <= REDRAWN
        n_parts = N_DRAWS if draws else 1
        self._descend(stage, n_scales, start / size, groups, objects.dtype, refine, n_parts)

    def _stage(self, pairs: Array | SampledObjects, widths: Array) -> Stage:
        """Stage k has the k + 1 coarsest scales."""
        n, n_scales = widths.shape
        lists: Lists | None = None
        costs, n_mixed = np.empty(0), 0

        def stage(number: int, Y: Array) -> AllPairsDivergence:
            nonlocal lists, costs, n_mixed
            precisions = np.tile(self.precisions_[: number + 1] / 2, (n, 1))
            if isinstance(pairs, SampledObjects):
                few = n <= REDRAWN
                if few and lists is not None:
                    pairs.redraw()
                if few or lists is None or (n_scales - 1 - number) % 2 == 0:
                    lists = pairs.lists(Y, 1 if few else self.perplexities_[number])
                return ListedDivergence(lists, widths[:, : number + 1], precisions)
            for K in self.perplexities_[n_mixed : number + 1]:
                more = log_conditional_of_pairs(pairs, K)[0]
                if n_mixed == 0:
                    costs = more
                else:
                    mix_logs(costs, n_mixed, more)
                n_mixed += 1
            return AllPairsDivergence(costs, precisions)

        return stage

    def _row_to_new(self, D: Array, weights: Array | None) -> tuple[Array, Array, float]:
        precisions = np.tile(self.precisions_ / 2, (len(D), 1))
        if weights is not None:
            return listed_costs(D, weights, self.perplexities_)[0], precisions, 1.0
        costs = log_conditional(D, self.perplexities_[0])[0]
        for count, K in enumerate(self.perplexities_[1:], 1):
            mix_logs(costs, count, log_conditional(D, K)[0])
        return costs, precisions, 1.0


def intrinsic_dimension(precisions: Array) -> float:
    """Estimate the dimension from precisions (scales, n) of perplexities that halve.

    The radius of a ball of r objects grows as r^(1 / dimension). Returns the mean over the objects
    at the scale where it is largest, or 1 if no scale has an estimate.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        estimates = 2 / np.diff(log2(precisions), axis=0)
    estimates[~(np.isfinite(estimates) & (estimates > 0))] = np.nan
    means = [float(np.nanmean(scale)) for scale in estimates if np.isfinite(scale).any()]
    return max(means, default=1.0)
