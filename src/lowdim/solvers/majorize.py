"""Stress by majorization: SMACOF (de Leeuw 1977; de Leeuw and Heiser 1980)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lowdim.backends import native
from lowdim.callbacks import Callback, Watch
from lowdim.checks import Array


class Majorized(NamedTuple):
    """A configuration, its raw stress, and the stress before each iteration."""

    embedding: Array
    stress: float
    history: Array


def smacof(
    D: Array,
    start: Array,
    *,
    max_iter: int = 300,
    eps: float = 1e-6,
    callback: Callback | None = None,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> Majorized:
    """Minimise sum_{i<j} (d_ij - |x_i - x_j|)^2 by Guttman transforms X <- B(X) X / n.

    Stress never increases. Iterations end when it falls by less than eps times the sum of
    squared dissimilarities, so the criterion does not depend on their scale.
    """
    X = np.ascontiguousarray(start, dtype=D.dtype)
    total = float(native.matmul(D, np.ones((len(D), 1), D.dtype), n_jobs, squared=True).sum()) / 2
    history: list[float] = []
    best = X
    with Watch("SMACOF", max_iter, callback, verbose) as watch:
        for iteration in range(1, max_iter + 1):
            following, stress = native.guttman(D, X, n_jobs)
            history.append(stress)
            best = X
            small = iteration > 1 and history[-2] - stress <= eps * total
            if watch(iteration, stress, X) or small:
                break
            X = following
    return Majorized(best, history[-1] if history else np.inf, np.array(history))
