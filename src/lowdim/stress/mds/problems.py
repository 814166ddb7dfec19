"""The stress of known pairs, with the solver of each kind of input.

Dissimilarities of all pairs without weights are fitted as a matrix (`FullStress`), known or
weighted pairs as a list (`PairStress`). Each problem gives starts, minimises from them and measures
a solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from lowdim.backends import backend
from lowdim.backends.native.dense import dot
from lowdim.checks import Array, is_sparse
from lowdim.neighbor_graphs.geodesics import shortest_path_lengths
from lowdim.numerics.starts import random_start
from lowdim.objects.objects import Objects
from lowdim.objects.pairs import Pairs, dense_pairs, sparse_pairs
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks, run
from lowdim.spectral.starts import classical_start, landmark_start
from lowdim.stress.disparities import curve, disparities, order_pairs
from lowdim.stress.majorization import (
    Majorized,
    PairSolver,
    smacof_matrix,
    smacof_pairs,
    sum_of_squares,
)

VALUES_AT_ONCE = 2**20  # dissimilarities of which a sum is computed at once
METRIC_STEPS = 5  # of a random start, whose order of distances is no information yet
FILL_IN_UP_TO = 1500  # objects up to which all unknown pairs are filled in by shortest paths

Random = np.random.RandomState
NewMonitor = Callable[[], Monitor]
WeighPairs = Callable[[Pairs], Pairs]


class Solution(NamedTuple):
    """The disparities at a configuration and the sums that stress is made of."""

    disparities: Any  # array or CSR matrix of shape (n, n)
    transformation: Array | None  # where they differ from dissimilarities; see `curve`
    raw: float  # sum of w (disparity - d)^2
    squares: float  # sum of w d^2
    total: float  # sum of w disparity^2

    def stresses(self) -> dict[str, float]:
        """Stress in its usual units."""
        one = float(np.sqrt(self.raw / self.squares)) if self.squares > 0 else np.inf
        return {"raw": self.raw, "stress-1": one, "normalized": self.raw / self.total}


class FullStress:
    """sum_{i<j} (D_ij - |x_i - x_j|)^2 of a full matrix."""

    def __init__(self, D: Array) -> None:
        self.values = D

    def classical_start(self, k: int, random: Random) -> Array:
        return classical_start(self.values, k)

    def random_start(self, k: int, random: Random) -> Array:
        return random_like(self.values, len(self.values), k, random)

    def minimize(self, starts: list[Array], new_monitor: NewMonitor, eps: float) -> list[Majorized]:
        # Monitors are made in the order of the starts: a checkpoint tells them apart by it.
        tasks = [(start, new_monitor()) for start in starts]
        return run(lambda task: smacof_matrix(self.values, *task, eps=eps), tasks)

    def solution(self, minimum: Majorized) -> Solution:
        X = minimum.embedding
        centered = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
        squares = float(len(X) * np.square(centered).sum())  # of the distances of all pairs
        return Solution(self.values, None, minimum.stress, squares, sum_of_squares(self.values))


class PairStress:
    """sum_{i<j} w_ij (disparity_ij - |x_i - x_j|)^2 over listed pairs.

    `kind` and `ties` are the admissible transformation of the dissimilarities; `sparse` is whether
    disparities are returned as a sparse matrix, `solver` what minimises the stress.
    """

    def __init__(
        self, pairs: Pairs, kind: str, ties: str, *, sparse: bool, solver: PairSolver = smacof_pairs
    ) -> None:
        self.pairs, self.kind, self.ties = order_pairs(pairs, kind), kind, ties
        self.sparse, self.solver = sparse, solver
        self.values = self.pairs.values
        self.fit = disparities(self.pairs, kind, ties)

    def classical_start(self, k: int, random: Random) -> Array:
        return start_from_pairs(self.pairs, k, random)

    def random_start(self, k: int, random: Random) -> Array:
        start = random_like(self.values, self.pairs.n, k, random)
        if self.kind == "ratio":
            return start
        return smacof_pairs(self.pairs, None, start, Monitor(METRIC_STEPS)).embedding

    def minimize(self, starts: list[Array], new_monitor: NewMonitor, eps: float) -> list[Majorized]:
        fit = None if self.kind == "ratio" else self.fit
        tasks = [(start, new_monitor()) for start in starts]
        return run(lambda task: self.solver(self.pairs, fit, *task, eps=eps), tasks)

    def solution(self, minimum: Majorized) -> Solution:
        d = pair_distances(self.pairs, minimum.embedding)
        fitted = self.fit(d)
        sums = [self.pairs.sum_of_squares(part) for part in (fitted - d, d, fitted)]
        del d  # each array of all pairs counts: n x n numbers are what limits n
        transformation = curve(self.values, fitted)
        matrix = self.pairs.graph(fitted) if self.sparse else self.pairs.matrix(fitted)
        return Solution(matrix, transformation, *sums)


def start_from_pairs(pairs: Pairs, k: int, random: np.random.RandomState) -> Array:
    """Classical scaling of listed pairs; unknown pairs are filled in by shortest paths."""
    if pairs.complete:
        return classical_start(pairs.matrix(pairs.values), k)
    graph = pairs.graph(pairs.values)
    if pairs.n > FILL_IN_UP_TO:
        return landmark_start(
            lambda sources: shortest_path_lengths(graph, sources), pairs.n, k, random
        )
    D = shortest_path_lengths(graph)
    return classical_start(np.maximum(D, D.T), k)


def pair_distances(pairs: Pairs, X: Array) -> Array:
    """The distance of each pair in a configuration."""
    return backend().pair_distances(pairs.first, pairs.second, X)


def random_like(values: Array, n: int, k: int, random: Random) -> Array:
    """Random coordinates whose distances have the root mean square of dissimilarities."""
    flat = values.ravel()
    # in blocks, without a copy of all values in float64
    squares = sum(dot(flat[part], flat[part]) for part in blocks(flat.size, VALUES_AT_ONCE))
    return random_start(n, k, float(np.sqrt(squares / flat.size)), random, values.dtype)


def known_stress(
    objects: Objects,
    kind: str,
    ties: str,
    weigh: WeighPairs | None,
    solver: PairSolver = smacof_pairs,
) -> tuple[Any, FullStress | PairStress]:
    """The matrix of dissimilarities, dense or sparse, and the stress of all known pairs.

    `weigh` gives pairs their weights; None: all weights are equal.
    """
    free = kind == "ratio" and solver is smacof_pairs
    if objects.complete:
        D = objects.all_pairs()
        if free and weigh is None and not np.isnan(backend().extremes(D)[0]):
            return D, FullStress(check_not_all_zero(D))
        pairs = dense_pairs(D)
    else:
        pairs = objects.pairs()
        D = pairs.graph(pairs.values)
    check_not_all_zero(pairs.values)
    pairs = pairs if weigh is None else weigh(pairs)
    require_connected(pairs)
    if free and pairs.complete and pairs.weights is None:
        return D, FullStress(pairs.matrix(pairs.values))
    sparse = not objects.complete
    return D, PairStress(pairs, kind, ties, sparse=sparse, solver=solver)


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


class Shepard(NamedTuple):
    """Data of a Shepard diagram: one entry per known pair, by ascending dissimilarity."""

    dissimilarities: Array
    distances: Array
    disparities: Array


def shepard_pairs(D: Any, disparities: Any, embedding: Array) -> Shepard:
    """The pairs that have a disparity, by ascending dissimilarity."""
    pairs = sparse_pairs(disparities) if is_sparse(disparities) else dense_pairs(disparities)
    dissimilarities = np.asarray(D[pairs.first, pairs.second])
    order = np.argsort(dissimilarities, kind="stable")
    pairs = pairs.take(order)
    return Shepard(dissimilarities[order], pair_distances(pairs, embedding), pairs.values)


def require_connected(pairs: Pairs) -> None:
    """Raise ValueError unless the pairs connect all objects; the message names those outside."""
    if pairs.complete:
        return
    count, labels = connected_components(pairs.graph(np.ones(len(pairs.first))), directed=False)
    if count == 1:
        return
    sizes = np.bincount(labels)
    outside = np.flatnonzero(labels != sizes.argmax())
    listed = ", ".join(map(str, outside[:10])) + (", ..." if len(outside) > 10 else "")
    raise ValueError(
        f"X: the known pairs (not missing, weight above 0) leave {count} groups of objects with no "
        f"link between them, so objects {listed} ({len(outside)} in all) cannot be placed relative "
        "to the others. Give at least one dissimilarity between each two groups, or embed the "
        "groups separately."
    )
