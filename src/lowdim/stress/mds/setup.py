"""From objects to a stress problem and the starts of its minimisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.dense import product, singular_vectors
from lowdim.checks import Array
from lowdim.numerics.starts import check_start
from lowdim.numerics.svd import principal_scores
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.objects.pairs import Pairs, dense_pairs, require_connected, sampled_pairs
from lowdim.stress.majorization import Majorized
from lowdim.stress.mds.problems import (
    FullStress,
    NewMonitor,
    PairStress,
    Random,
    SampledStress,
    StressProblem,
)

INITS = ("classical", "classical_mds", "random")
MAX_STARTS = 20  # of n_init="auto", as in vegan's metaMDS
STARTS_AT_ONCE = 4  # starts that run in parallel; fixed, so that the result is that of one thread
SAME_SHAPE = 0.01  # rms difference of equal solutions, relative to their size, as in metaMDS
PARTNERS = 160  # objects that each object is measured against, to estimate a sampled stress

WeighPairs = Callable[[Pairs], Pairs]


def known_stress(
    objects: Objects, kind: str, ties: str, weigh: WeighPairs | None
) -> tuple[Any, StressProblem]:
    """The matrix of dissimilarities, dense or sparse, and the stress of all known pairs.

    Parameters
    ----------
    objects : Objects
    kind, ties : str
        The admissible transformation of the dissimilarities; see `disparities.disparities`.
    weigh : callable or None
        Gives pairs their weights; None: all weights are equal.
    """
    if objects.complete:
        D = objects.all_pairs()
        if kind == "ratio" and weigh is None and not np.isnan(backend().extremes(D)[0]):
            return D, FullStress(check_not_all_zero(D))
        pairs = dense_pairs(D)
    else:
        pairs = objects.pairs()
        D = pairs.graph(pairs.values)
    check_not_all_zero(pairs.values)
    pairs = pairs if weigh is None else weigh(pairs)
    require_connected(pairs)
    if kind == "ratio" and pairs.complete and pairs.weights is None:
        return D, FullStress(pairs.matrix(pairs.values))
    return D, PairStress(pairs, kind, ties, sparse=not objects.complete)


def sampled_stress(
    objects: MeasuredObjects,
    weigh: WeighPairs | None,
    weights_of: Callable[[Array], Array] | None,
    random: Random,
    *,
    good_start: bool,
) -> tuple[Any, StressProblem]:
    """The sparse matrix of a sample of dissimilarities, and the stress of all pairs of vectors.

    The sample is not fitted: it measures the stress. `weights_of` gives the weights of
    dissimilarities that are fitted, `weigh` those of the pairs in the sample.
    """
    pairs = sampled_pairs(objects.rows, objects.metric, PARTNERS, random)
    D = pairs.graph(pairs.values)
    check_not_all_zero(pairs.values)
    pairs = pairs if weigh is None else weigh(pairs)
    return D, SampledStress(objects, pairs, weights_of, random, good_start=good_start)


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


def check_not_all_zero(values: Array) -> Array:
    """Dissimilarities that are not all zero, nor too large to be squared and added up."""
    if not (values.size and backend().extremes(check_range(values))[1] > 0):
        raise ValueError(
            "X: all dissimilarities are zero, so all objects are in one place and there is no map "
            "to make. Check the metric and the scale of X."
        )
    return values


def check_range(values: Array) -> Array:
    """Dissimilarities whose squares can be added up without overflow."""
    largest = backend().extremes(values)[1] if values.size else 0.0
    if not largest < np.sqrt(np.finfo(values.dtype).max) / 1e6:
        raise ValueError(
            f"X: squares of dissimilarities overflow {values.dtype}; the largest is {largest:g}. "
            "Rescale X."
        )
    return values


def minimize_until_repeated(
    problem: StressProblem,
    starts: list[Array],
    draw: Callable[[], Array],
    new_monitor: NewMonitor,
    eps: float,
) -> tuple[Majorized, int, bool]:
    """Minimise from the given starts and from random ones until the best minimum is found twice.

    Parameters
    ----------
    problem : StressProblem
    starts : list of arrays
        The first starts.
    draw : callable
        Returns a random start.
    new_monitor, eps
        As in `StressProblem.minimize`.

    Returns
    -------
    best : Majorized
        The minimum of lowest stress.
    count : int
        Number of starts.
    repeated : bool
        Whether another start led to the same minimum; False after `MAX_STARTS` starts without it.
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
