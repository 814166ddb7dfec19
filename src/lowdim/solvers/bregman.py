"""Cyclic Bregman projections for bounds on Mahalanobis distances (Davis et al. 2007)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.blas import dger

from lowdim.callbacks import Monitor
from lowdim.checks import Array


class Projected(NamedTuple):
    """The matrix, its LogDet divergence from the prior after each pass, and the bounds it meets."""

    M: Array
    history: Array
    bounds: Array


def project(
    gaps: Array,
    similar: Array,
    bounds: Array,
    monitor: Monitor,
    *,
    slack: float,
    tol: float,
    show: Array,
) -> Projected:
    """The matrix nearest to the identity that bounds the squared lengths of differences.

    Nearest by the LogDet divergence ``tr M - log det M - d``; bounds may be exceeded at a cost that
    grows with `slack`. This is algorithm 1 of the paper, with the step of its line 3.4 for any
    gamma: ``gamma / (gamma + 1) (1 / p - 1 / xi)``; the paper's is that of gamma = 1.

    Parameters
    ----------
    gaps : array of shape (m, d)
        Differences of the two objects of each pair.
    similar : bool array of shape (m,)
        Whether the bound of a pair is an upper or a lower one.
    bounds : array of shape (m,)
    monitor : Monitor
    slack : float
        gamma; small values allow more violations.
    tol : float
        Passes end when the multipliers change by less than this share.
    show : array of shape (n, d)
        The objects, whose coordinates under M the callback gets.
    """
    m, d = gaps.shape
    M = np.asfortranarray(np.eye(d))
    signs = np.where(similar, 1.0, -1.0).tolist()
    multipliers, targets = np.zeros(m), bounds.astype(np.float64)
    history: list[float] = []
    ended = False

    def state() -> dict[str, Any]:
        found = {"M": M, "multipliers": multipliers, "targets": targets}
        return {**found, "history": np.array(history), "ended": ended}

    with monitor:
        fresh = {"M": M, "multipliers": multipliers, "targets": targets}
        if (saved := monitor.saved(fresh)) is not None:
            M = np.asfortranarray(saved["M"])
            multipliers, targets = saved["multipliers"], saved["targets"]
            history, ended = saved["history"].tolist(), saved["ended"]
        while len(history) < monitor.max_iter and not ended:
            old = multipliers.copy()
            for c in range(m):
                M = _one(M, gaps[c], signs[c], c, multipliers, targets, slack)
            M = np.asfortranarray((M + M.T) / 2)
            values = np.linalg.eigvalsh(M)
            history.append(float((values - np.log(np.maximum(values, 1e-300)) - 1).sum()))
            change = np.abs(multipliers - old).sum()
            size = np.abs(multipliers).sum() + np.abs(old).sum()
            seen = show @ np.linalg.cholesky(M) if monitor.wants_embedding else show
            if monitor(len(history), history[-1], seen):
                break
            ended = bool(change <= tol * size)
            monitor.keep(state)
    return Projected(np.ascontiguousarray(M), np.array(history), targets)


def _one(
    M: Array, z: Array, sign: float, c: int, multipliers: Array, targets: Array, slack: float
) -> Array:
    """Project onto the constraint of one pair; changes its multiplier and target in place."""
    v = M @ z
    p = float(z @ v)
    if p <= 0:
        return M
    target = float(targets[c])
    alpha = min(float(multipliers[c]), sign * slack / (slack + 1) * (1 / p - 1 / target))
    if alpha == 0:
        return M
    multipliers[c] -= alpha
    targets[c] = slack * target / (slack + sign * alpha * target)
    beta = sign * alpha / (1 - sign * alpha * p)
    return np.asarray(dger(beta, v, v, a=M, overwrite_a=True))
