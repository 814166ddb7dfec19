"""Multi-scale stochastic neighbour embedding (Lee, Peluffo-Ordonez and Verleysen 2015)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.matrices.affinities import log_conditional, log_conditional_of_pairs, mix_logs
from lowdim.methods.all_pairs_divergence import AllPairsDivergenceEmbedder
from lowdim.relations.objects import Objects
from lowdim.solvers.divergence import AllPairsDivergence


class MultiscaleSNE(AllPairsDivergenceEmbedder):
    """A map that keeps neighbourhoods of every size, with no perplexity to choose.

    affinities of perplexities 2, 4, 8, ... averaged -> quasi-Newton on KL(p || q), coarse to fine

    Minimises the mean over the objects i of KL(p_i || q_i), where both are means over scales h:

        p_ij = 1/L sum_h exp(-pi_hi d(x_i, x_j)^2 / 2) / Z_hi,
        q_ij = 1/L sum_h exp(-p_h |y_i - y_j|^2 / 2) / z_hi.

    The precisions pi_hi of the data give each row the perplexity K_h = 2^h, for h = 1 to L with K_L
    about half the number of objects; those of the map are p_h ~ K_h^(-2 U / n_components), in the
    unit of the start's variance. U = min(2, max(1, D / n_components)) narrows the finer ones where
    the data's intrinsic dimension D is larger than the map's; D is estimated from how pi grows from
    scale to scale. The coarsest scale comes first, the others join one after the other, each from
    the map found before.

    Parameters
    ----------
    n_components : dimension of the map.
    metric : a SciPy metric name, "gower", "nan_euclidean", a callable, or "precomputed".
    metric_params : further arguments of the metric.
    init : "pca", for other dissimilarities classical scaling; "random"; or an array.
    max_iter : most iterations in all; every scale but the last takes up to 30.
    tol : iterations end when five of them together lower the divergence by less than this share.
    random_state : seed of init="random".
    n_jobs : threads; the result does not depend on it.
    callback : called after every iteration; a true answer stops.
    verbose : show the progress.

    Attributes
    ----------
    embedding_ : of about the size of its start, which has variance one unless it is an array.
    kl_divergence_ : the divergence at the end.
    perplexities_, precisions_ : K_h, from the largest, and p_h of the map.
    intrinsic_dim_ : the estimate D.
    history_ : the divergence after each iteration, of the scales in use.
    n_iter_

    `transform` minimises the divergence of a new object's own row, over all scales, against the map
    as it is; a training object gets its own coordinates. Time n^2 log n per iteration, memory
    3 n^2.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def _fit(self, objects: Objects) -> None:
        D, start, kinds = self._prepare(objects)
        n, k = start.shape
        size = float(np.sqrt(start.var(axis=0, ddof=1).mean())) or 1.0
        self._fitted_unit = 1.0 if isinstance(self.init, str) else size * self._fitted_largest
        n_scales = max(1, round(np.log2(n / 2)))
        self.perplexities_ = 2.0 ** np.arange(n_scales, 0, -1)
        betas = [log_conditional_of_pairs(D, K)[1] for K in self.perplexities_]
        self.intrinsic_dim_ = intrinsic_dimension(np.array(betas))
        U = min(2.0, max(1.0, self.intrinsic_dim_ / k))
        growth = (self.perplexities_[0] / self.perplexities_) ** (2 * U / k)
        self.precisions_ = 2 ** (1 + 2 / k) * growth
        self._descend(self._stages(D), n_scales, start / size, kinds, D.dtype)

    def _stages(self, D: Array) -> Iterator[AllPairsDivergence]:
        for count, K in enumerate(self.perplexities_):
            more = log_conditional_of_pairs(D, K)[0]
            if count == 0:
                costs = more
            else:
                mix_logs(costs, count, more)
            precisions = np.tile(self.precisions_[: count + 1] / 2, (len(D), 1))
            yield AllPairsDivergence(costs, precisions)

    def _row_to_new(self, D: Array) -> tuple[Array, Array, float]:
        costs = log_conditional(D, self.perplexities_[0])[0]
        for count, K in enumerate(self.perplexities_[1:], 1):
            mix_logs(costs, count, log_conditional(D, K)[0])
        return costs, np.tile(self.precisions_ / 2, (len(D), 1)), 1.0


def intrinsic_dimension(precisions: Array) -> float:
    """From precisions (scales, n) of perplexities that halve: a ball of r objects has a radius that
    grows as r^(1 / dimension). The mean over the objects at the scale where it is largest; one
    where no scale tells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 2 / np.diff(np.log2(precisions), axis=0)
    found[~(np.isfinite(found) & (found > 0))] = np.nan
    told = [float(np.nanmean(scale)) for scale in found if np.isfinite(scale).any()]
    return max(told, default=1.0)
