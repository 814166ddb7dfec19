"""What NeRV and multi-scale SNE share: start, stages of a descent, transform, update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.dense import product
from lowdim.checks import Array, check_random_state
from lowdim.distances.matrices import finite_rows
from lowdim.estimator import Embedder, Iterative, Problem, declare_parameters
from lowdim.estimator.fitted_state import any_number, number
from lowdim.estimator.footprint import claim_memory
from lowdim.estimator.growth import join_objects
from lowdim.estimator.updating import NOVELTY_NEIGHBORS, Growth
from lowdim.messages import argument
from lowdim.neighbor_embedding.affinities import listed_precisions, log_conditional_of_pairs
from lowdim.neighbor_embedding.divergence import AllPairsDivergence
from lowdim.neighbor_embedding.docs import ALL_PAIRS_PASSAGES
from lowdim.neighbor_embedding.samples import (
    Lists,
    SampledObjects,
    can_sample,
    sample_of_new,
    sample_size,
)
from lowdim.neighbor_embedding.starts import sne_start
from lowdim.numerics.objective import Objective
from lowdim.numerics.procrustes import align_to_old
from lowdim.numerics.quasi_newton import lbfgs
from lowdim.numerics.starts import check_start, random_start, separate_points
from lowdim.objects.identical import merge_identical, zero_up_to
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import Objects, relative_dissimilarities
from lowdim.runtime.elementary import exp
from lowdim.runtime.scheduling import blocks
from lowdim.spectral.starts import classical_start

INITS = ("pca", "random")
METHODS = ("auto", "exact", "sampled")
ALL_PAIRS_UP_TO = 1000  # objects up to which method="auto" is "exact"
COARSE_ITERATIONS = 30  # iterations of each stage but the last
PART_ITERATIONS = 15  # iterations of a part of the last stage, if it has several
UPDATE_ITERATIONS = 50  # of `update`, which runs the last stage alone
FARTHEST = 1e60  # in units of the training data's largest dissimilarity
NEW_ROWS = 256  # new objects placed at once
NEW_STARTS = 3  # number of nearest objects whose coordinates are tried as a start of a new one
NEW_MAX_ITER = 100
NEW_TOLERANCE = 1e-7  # smallest step, in units of the width of the narrowest Gaussian

Stage = Callable[[int, Array], AllPairsDivergence]  # from a number of a stage and coordinates


@declare_parameters
class AllPairsDivergenceEmbedder(Iterative, Embedder):
    """An embedder that matches, for each object, the probabilities of all others as neighbours.

    A method computes dissimilarities and a start with `_prepare`, minimises one or more objectives
    in turn with `_descend`, and defines in `_row_to_new` the probabilities of a new object.
    """

    _attributes: ClassVar = {
        "kl_divergence_": any_number,
        "_fitted_unit": number(positive=True),
        "_fitted_largest": number(positive=True),
    }
    _needed: ClassVar[tuple[str, ...]] = ("_fitted_unit", "_fitted_largest")
    _passages = ALL_PAIRS_PASSAGES
    _units: ClassVar = {"embedding_": 0}
    _squares: ClassVar[int]  # n x n arrays of a fit to all pairs, beside the distances

    n_components: int = 2
    _: KW_ONLY
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    init: Any = "pca"
    method: str = "auto"
    max_iter: int = 500
    tol: float = 1e-4

    def _row_to_new(self, D: Array, weights: Array | None) -> tuple[Array, Array, float]:
        """Negative log probabilities of training objects, for new objects at relative distances D,
        the precisions of the embedding, and the weight of KL(p || q)."""
        raise NotImplementedError

    def _memory(self, fit: Problem) -> float:
        if not self._uses_sample(fit.objects):
            return self._squares * fit.square + fit.distances
        return (56 + 2 * fit.size) * fit.n * sample_size(fit.n)

    def _samples(self, n: int) -> bool:
        return self.method == "sampled" or (self.method == "auto" and n > ALL_PAIRS_UP_TO)

    def _uses_sample(self, objects: Objects) -> bool:
        return self._samples(objects.n) and (can_sample(objects) or self.method == "sampled")

    def _prepare(
        self, objects: Objects, placed: Array | None
    ) -> tuple[Array | SampledObjects, Array, Array]:
        """All distances or those of a sample of pairs, and a start, both relative to the largest
        distance; and for each object the number of its group of identical objects, which get the
        same coordinates. A sample does not look for identical objects. The start is `placed`, if
        that is not None."""
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.tol, "tol", 0)
        n, k = objects.n, self._check_n_components(objects.n)
        checks.choice(self.method, "method", METHODS)
        init = self.init if placed is None else placed
        named, random = isinstance(init, str), check_random_state(self.random_state)
        if self._uses_sample(objects):
            if not can_sample(objects):
                raise ValueError(
                    f"{argument('method', 'sampled')} needs vectors under a metric such as "
                    "'euclidean' or 'cityblock', or a matrix of dissimilarities. Use "
                    f"{argument('method', 'exact')}."
                )
            sample = SampledObjects(objects)
            self._fitted_largest = sample.largest
            if named:
                start = sne_start(checks.choice(init, "init", INITS), k, objects, None, random)
                start = start * (0.5 / np.sqrt(start.var(axis=0).mean()))
            else:
                start = check_start(init, (n, k), INITS) / sample.largest
            return sample, np.array(start, dtype=np.float64), np.arange(n)
        D, self._fitted_largest = relative_dissimilarities(objects)
        first, groups = merge_identical(D, zero_up_to(D))
        if not named:
            start = check_start(init, (n, k), INITS) / self._fitted_largest
        elif checks.choice(init, "init", INITS) == "random":
            size = float(D.mean(dtype=np.float64)) or 1.0
            start = random_start(n, k, size, random, np.dtype(np.float64))
        else:
            scaling = classical_start(D, k)
            start = np.pad(scaling, ((0, 0), (0, k - scaling.shape[1])))
        return D, separate_points(np.array(start[first], dtype=np.float64))[groups], groups

    def _descend(
        self,
        stage: Stage,
        n_stages: int,
        start: Array,
        groups: Array,
        dtype: Any,
        refine: bool,
        n_parts: int = 1,
    ) -> AllPairsDivergence:
        """Minimise the objectives in turn, each from the result of the one before, to `embedding_`,
        whose scale is `_fitted_unit`; some iterations of the last one alone to `refine` a map. With
        several parts, the last objective is made anew after some iterations, until so many of them
        have converged. Returns the last objective."""

        def show(Z: Array) -> Array:
            return np.asarray(Z[groups] * self._fitted_unit, dtype=dtype)

        max_iter = min(self.max_iter, UPDATE_ITERATIONS) if refine else self.max_iter
        monitor = self._monitor(max_iter)
        coarse = min(COARSE_ITERATIONS, max_iter // (2 * n_stages))
        Z, done, history = start[np.unique(groups, return_index=True)[1]], 0, [np.empty(0)]
        number, converged = n_stages - 1 if refine else 0, 0
        while converged < n_parts:
            last, rest = number == n_stages - 1, max_iter - done
            objective = stage(number, Z[groups])
            most = (rest if n_parts == 1 else min(rest, PART_ITERATIONS)) if last else coarse
            minimum = lbfgs(
                _of_groups(objective, groups),
                Z,
                monitor,
                tol=self.tol,
                show=show,
                after=done,
                most=most,
            )
            iterations = len(minimum.history) - 1
            Z, done = minimum.x, done + iterations
            history.append(minimum.history[1:])
            if monitor.stopped or done >= max_iter:
                break
            converged += last and iterations < most
            number = min(number + 1, n_stages - 1)
        self.kl_divergence_, self.history_ = float(minimum.value), np.concatenate(history)
        self.n_iter_ = max(1, done)
        self.embedding_ = show(Z)
        return objective

    def _update(self, new: NewObjects) -> Growth:
        assert isinstance(new, MeasuredNewObjects)  # `update` refuses other kinds
        old, before, history = self.embedding_, self.n_iter_, self.history_
        placed = np.concatenate([old, self._transform(new)])
        objects = join_objects(new)
        claim_memory(self, objects, {})
        self._remember(objects)
        self._fit(objects, placed)
        self.embedding_ = align_to_old(old, self.embedding_)
        self.n_iter_, self.history_ = before + self.n_iter_, np.append(history, self.history_)
        graph = objects.neighbor_graph(min(NOVELTY_NEIGHBORS, objects.n - 1), method="auto")
        return Growth(graph, refined=True)

    def _fit(self, objects: Objects, placed: Array | None = None) -> None:
        """Fit to objects, or refine their map from the coordinates `placed`."""
        raise NotImplementedError

    def _transform(self, new: NewObjects) -> Array:
        out = np.empty((new.n, self.embedding_.shape[1]), dtype=self.embedding_.dtype)
        places = self.embedding_.astype(np.float64) / self._fitted_unit
        for part in blocks(new.n, NEW_ROWS):
            lists, rows = None, new.subset(part)
            if self._samples(len(places)):
                ids, D, weights = sample_of_new(rows, len(places))
                nearest, least = ids[:, 0], D[:, 0]
            else:
                D = finite_rows(rows.distances(), part.start)
                nearest, least = D.argmin(axis=1), D.min(axis=1)
            out[part] = self.embedding_[nearest]
            unknown = least > 0
            if not unknown.any():
                continue
            D = np.minimum(D[unknown].astype(np.float64) / self._fitted_largest, FARTHEST)
            if self._samples(len(places)):
                lists = ids[unknown], weights[unknown]
            probabilities = self._row_to_new(D, None if lists is None else lists[1])
            out[part][unknown] = self._fitted_unit * place_by_divergence(
                D, *probabilities, places, lists
            )
        return out


def place_by_divergence(
    D: Array,
    costs: Array,
    precisions: Array,
    trade_off: float,
    embedding: Array,
    lists: tuple[Array, Array] | None = None,
) -> Array:
    """Coordinates y that minimise trade_off KL(p || q) + (1 - trade_off) KL(q || p).

    q is the mean over scales of Gaussian probabilities of all training objects around y. `D` and
    `costs`, of shape (m, n), are distances of new objects to the training objects and -log p; with
    `lists`, the indices and weights of some training objects, they have the columns of these. The
    start is the best of the mean of the embedding weighted by p and the coordinates of the nearest
    objects. The rows do not depend on each other.
    """
    nearest = np.argsort(D, axis=1, kind="stable")[:, :NEW_STARTS]
    if lists is None:
        mean = product(exp(-costs), embedding.T)
    else:
        p = lists[1] * exp(-costs)
        mean = (p[:, :, None] * embedding[lists[0]]).sum(axis=1)
        nearest = np.take_along_axis(lists[0], nearest, axis=1)
    starts = np.concatenate([mean[:, None, :], embedding[nearest]], axis=1)
    precisions = np.ascontiguousarray(precisions)
    return backend().place_by_divergence(
        costs, precisions, trade_off, embedding, starts, NEW_MAX_ITER, NEW_TOLERANCE, lists
    )


def precisions_of(pairs: Array | SampledObjects, perplexities: Any) -> Array:
    """The precisions (n, n_scales) at which probabilities in the data have some perplexities."""
    if isinstance(pairs, SampledObjects):
        return listed_precisions(pairs.lists(), perplexities)
    betas = [log_conditional_of_pairs(pairs, K)[1] for K in perplexities]
    return np.array(betas).T


def listed_costs(D: Array, weights: Array, perplexities: Any) -> tuple[Array, Array]:
    """-log p of weighted training objects at distances D from new objects, and the precisions."""
    m, width = D.shape
    indptr = np.arange(0, (m + 1) * width, width, dtype=np.int64)
    squared, repeats = np.square(D).ravel(), np.ascontiguousarray(weights).ravel()
    lists = Lists(indptr, np.empty(0, np.int32), squared, repeats)
    widths = listed_precisions(lists, perplexities)
    return backend().mixture_costs(indptr, squared, repeats, widths).reshape(D.shape), widths


def _of_groups(objective: AllPairsDivergence, groups: Array) -> Objective:
    """The objective as a function of the coordinates of the groups of identical objects."""
    if np.array_equal(groups, np.arange(len(groups))):
        return objective

    def group_objective(Z: Array, /) -> tuple[float, Array]:
        value, gradient = objective(Z[groups])
        sums = np.zeros_like(Z)
        np.add.at(sums, groups, gradient)
        return value, sums

    return group_objective
