"""The neighbour retrieval visualizer (Venna, Peltonen, Nybo, Aidos and Kaski 2010)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.matrices.affinities import log_conditional, log_conditional_of_pairs
from lowdim.methods.all_pairs_divergence import AllPairsDivergenceEmbedder
from lowdim.relations.objects import Objects
from lowdim.solvers.divergence import AllPairsDivergence


class NeRV(AllPairsDivergenceEmbedder):
    """A map to look up neighbours on, with a choice of which mistake is worse: to miss a neighbour,
    or to show a false one.

    perplexity affinities -> quasi-Newton on lambda KL(p || q) + (1 - lambda) KL(q || p)

    Minimises the mean over the objects i of

        lambda KL(p_i || q_i) + (1 - lambda) KL(q_i || p_i),
        p_ij ~ exp(-d(x_i, x_j)^2 / sigma_i^2),   q_ij ~ exp(-|y_i - y_j|^2 / sigma_i^2),

    both of sum one over j, with the same sigma_i, which gives p_i the perplexity asked for. The
    first divergence generalises recall: it is large where a neighbour is missing on the map. The
    second generalises precision: it is large where a point has a neighbour on the map that it has
    not in the data.

    Parameters
    ----------
    n_components : dimension of the map.
    perplexity : effective number of neighbours to be retrieved.
    trade_off : lambda, from 0 (only false neighbours count: the map tears rather than folds) to 1
        (only missed neighbours count: stochastic neighbour embedding, whose maps overlap).
    metric : a SciPy metric name, "gower", "nan_euclidean", a callable, or "precomputed".
    metric_params : further arguments of the metric.
    init : "pca", for other dissimilarities classical scaling; "random"; or an array.
    max_iter : most iterations in all.
    tol : iterations end when five of them together lower the objective by less than this share.
    random_state : seed of init="random".
    n_jobs : threads; the result does not depend on it.
    callback : called after every iteration; a true answer stops.
    verbose : show the progress.

    Attributes
    ----------
    embedding_ : in the unit of the dissimilarities.
    kl_divergence_ : the objective at the end.
    missed_, false_ : its two parts, the means of KL(p_i || q_i) and KL(q_i || p_i).
    history_ : the objective after each iteration.
    n_iter_

    As in the paper, neighbourhoods begin large and shrink: the perplexity starts at about half the
    number of objects and is halved until it is the one asked for, up to 30 iterations each.

    `transform` minimises the same divergences of a new object's own row against the map as it is; a
    training object gets its own coordinates. Time n^2 per iteration, memory 2 n^2.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 20.0,
        trade_off: float = 0.5,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.trade_off = trade_off
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
        wanted = checks.real(self.perplexity, "perplexity", 1)
        if wanted >= objects.n:
            raise ValueError(
                f"perplexity ({wanted:g}) must be less than n_samples ({objects.n}): it is a "
                "number of neighbours."
            )
        checks.real(self.trade_off, "trade_off", 0, 1)
        D, start, kinds = self._prepare(objects)
        beta = log_conditional_of_pairs(D, wanted)[1]
        typical = float(np.median(beta[beta > 0])) if beta.any() else 1.0
        self._fitted_unit = self._fitted_largest / np.sqrt(typical)
        perplexities = [wanted]
        while 2 * perplexities[0] <= len(D) / 2:
            perplexities.insert(0, 2 * perplexities[0])
        stages = self._stages(D, perplexities, typical)
        last = self._descend(stages, len(perplexities), start * np.sqrt(typical), kinds, D.dtype)
        self.missed_, self.false_ = last.divergences(self.embedding_ / self._fitted_unit)

    def _stages(
        self, D: Array, perplexities: list[float], typical: float
    ) -> Iterator[AllPairsDivergence]:
        for perplexity in perplexities:
            costs, beta = log_conditional_of_pairs(D, perplexity)
            yield AllPairsDivergence(costs, beta[:, None] / typical, self.trade_off)

    def _row_to_new(self, D: Array) -> tuple[Array, Array, float]:
        costs, beta = log_conditional(D, self.perplexity)
        return (
            costs,
            beta[:, None] * (self._fitted_unit / self._fitted_largest) ** 2,
            self.trade_off,
        )
