"""The starts of a minimisation of stress, and how many of them are enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.native.dense import product, singular_vectors
from lowdim.checks import Array
from lowdim.numerics.starts import check_start
from lowdim.numerics.svd import principal_scores
from lowdim.objects.objects import Objects
from lowdim.stress.majorization import Majorized
from lowdim.stress.mds.problems import FullStress, NewMonitor, PairStress, Random
from lowdim.stress.mds.sampled import SampledStress

INITS = ("classical", "classical_mds", "random")
MAX_STARTS = 20  # of n_init="auto", as in vegan's metaMDS
STARTS_AT_ONCE = 4  # starts that run in parallel; fixed, so that the result is that of one thread
SAME_SHAPE = 0.01  # rms difference of equal solutions, relative to their size, as in metaMDS

StressProblem = FullStress | PairStress | SampledStress


def stress_starts(
    problem: StressProblem, objects: Objects, init: Any, k: int, n_init: int, random: Random
) -> list[Array]:
    """The start that `init` asks for, and random ones to make up the number n_init."""
    if not isinstance(init, str):
        starts = [check_start(init, (objects.n, k), INITS).astype(problem.values.dtype)]
    elif checks.choice(init, "init", INITS) == "random":
        starts = []
    else:
        starts = [_classical(problem, objects, k, random)]
    return starts + [problem.random_start(k, random) for _ in range(n_init - len(starts))]


def _classical(problem: StressProblem, objects: Objects, k: int, random: Random) -> Array:
    """Classical scaling; of Euclidean vectors, their principal components."""
    if objects.euclidean:
        rows = objects.vectors("init='classical'")
        if k <= min(rows.shape):
            return principal_scores(rows, k)
    return problem.classical_start(k, random)


def minimize_until_repeated(
    problem: StressProblem,
    starts: list[Array],
    draw: Callable[[], Array],
    new_monitor: NewMonitor,
    eps: float,
) -> tuple[Majorized, int, bool]:
    """Minimise from the given starts and from random ones until the best minimum is found twice.

    `draw` returns a random start. Returns the minimum of lowest stress, the number of starts, and
    whether another start led to the same minimum; it is False after `MAX_STARTS` starts without it.
    """
    best, count, repeated = None, 0, False
    while not repeated and count < MAX_STARTS:
        batch = starts[count : count + STARTS_AT_ONCE]
        batch += [draw() for _ in range(STARTS_AT_ONCE - len(batch))]
        for minimum in problem.minimize(batch, new_monitor, eps):
            if best is not None and same_shape(best.embedding, minimum.embedding):
                repeated = True
            elif best is not None and minimum.stress < best.stress:
                repeated = False
            if best is None or minimum.stress < best.stress:
                best = minimum
        count += len(batch)
    assert best is not None
    return best, count, repeated


def same_shape(X: Array, Y: Array) -> bool:
    """Whether two configurations are equal after translation and rotation, up to `SAME_SHAPE`."""
    X, Y = (np.asarray(Z - Z.mean(axis=0), dtype=np.float64) for Z in (X, Y))
    size = float((X**2).sum())
    overlap = float(singular_vectors(product(X.T, Y.T))[1].sum())
    return size + float((Y**2).sum()) - 2 * overlap <= SAME_SHAPE**2 * size
