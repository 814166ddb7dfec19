"""Cyclic Bregman projections for bounds on Mahalanobis distances (Davis et al. 2007)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks

OPERATIONS = 50_000_000  # multiplications between two chances for Ctrl-C: some tens of ms


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
    M = np.eye(d)
    gaps, signs = np.ascontiguousarray(gaps, dtype=np.float64), np.where(similar, 1.0, -1.0)
    parts = blocks(m, max(1, OPERATIONS // (2 * d * d)))
    multipliers, targets = np.zeros(m), bounds.astype(np.float64)
    history: list[float] = []
    ended = False

    def state() -> dict[str, Any]:
        arrays = {"M": M, "multipliers": multipliers, "targets": targets}
        return {**arrays, "history": np.array(history), "ended": ended}

    with monitor:
        fresh = {"M": M, "multipliers": multipliers, "targets": targets}
        if (saved := monitor.load_state(fresh)) is not None:
            M, multipliers, targets = (saved[name] for name in fresh)
            history, ended = saved["history"].tolist(), saved["ended"]
        while len(history) < monitor.max_iter and not ended:
            old = multipliers.copy()
            for part in parts:
                backend().bregman_projections(
                    gaps[part], signs[part], slack, multipliers[part], targets[part], M
                )
            M = (M + M.T) / 2
            values = np.linalg.eigvalsh(M)
            history.append(float((values - np.log(np.maximum(values, 1e-300)) - 1).sum()))
            change = np.abs(multipliers - old).sum()
            size = np.abs(multipliers).sum() + np.abs(old).sum()
            seen = show @ np.linalg.cholesky(M) if monitor.wants_embedding else show
            if monitor(len(history), history[-1], seen):
                break
            ended = bool(change <= tol * size)
            monitor.keep(state)
    return Projected(M, np.array(history), targets)
