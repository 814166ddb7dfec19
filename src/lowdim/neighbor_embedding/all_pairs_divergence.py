"""What NeRV and multi-scale SNE share: start, stages of a descent, transform, update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, check_random_state
from lowdim.distances.matrices import finite_rows
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import any_number, number
from lowdim.estimator.footprint import Problem, claim_memory
from lowdim.estimator.growth import join_objects
from lowdim.estimator.updating import NOVELTY_NEIGHBORS, Growth
from lowdim.messages import argument
from lowdim.neighbor_embedding.affinities import listed_precisions, log_conditional_of_pairs
from lowdim.neighbor_embedding.divergence import AllPairsDivergence, ListedDivergence
from lowdim.neighbor_embedding.divergence_placement import place_by_divergence
from lowdim.neighbor_embedding.docs import ALL_PAIRS_PASSAGES
from lowdim.neighbor_embedding.starts import layout_start
from lowdim.numerics.objective import Objective
from lowdim.numerics.procrustes import align_to_old
from lowdim.numerics.quasi_newton import lbfgs
from lowdim.numerics.starts import check_start, random_start, separate_points
from lowdim.objects.identical import merge_identical, zero_up_to
from lowdim.objects.new_objects import MeasuredNewObjects, NewObjects
from lowdim.objects.objects import Objects, relative_dissimilarities
from lowdim.objects.samples import SampledObjects, can_sample, sample_of_new, sample_size
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.runtime.scheduling import blocks
from lowdim.spectral.starts import classical_start

INITS = ("pca", "random")
METHODS = ("auto", "exact", "sampled")
ALL_PAIRS_UP_TO = 1000  # objects up to which method="auto" is "exact"
COARSE_ITERATIONS = 30  # iterations of each stage but the last
UPDATE_ITERATIONS = 50  # of `update`, which runs the last stage alone
FARTHEST = 1e60  # in units of the training data's largest dissimilarity
NEW_ROWS = 256  # new objects placed at once

Divergence = AllPairsDivergence | ListedDivergence
Stage = Callable[[int, Array], Divergence]  # from a number of a stage and coordinates


class AllPairsDivergenceEmbedder(Embedder):
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
    _squares: int  # n x n arrays of a fit to all pairs, beside the distances

    kl_divergence_: float
    n_iter_: int
    history_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        init: Any = "pca",
        method: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.method = method
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

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
        """Whether a fit takes a sample of the pairs."""
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
        if self._uses_sample(objects):
            return self._prepare_sample(objects, placed, k)
        D, self._fitted_largest = relative_dissimilarities(objects)
        first, groups = merge_identical(D, zero_up_to(D))
        if placed is not None or not isinstance(self.init, str):
            init = self.init if placed is None else placed
            start = check_start(init, (n, k), INITS) / self._fitted_largest
        elif checks.choice(self.init, "init", INITS) == "random":
            size = float(D.mean(dtype=np.float64)) or 1.0
            random = check_random_state(self.random_state)
            start = random_start(n, k, size, random, np.dtype(np.float64))
        else:
            scaling = classical_start(D, k)
            start = np.zeros((n, k))
            start[:, : scaling.shape[1]] = scaling
        return D, separate_points(np.array(start[first], dtype=np.float64))[groups], groups

    def _prepare_sample(
        self, objects: Objects, placed: Array | None, k: int
    ) -> tuple[SampledObjects, Array, Array]:
        if not can_sample(objects):
            raise ValueError(
                f"{argument('method', 'sampled')} needs vectors under a metric such as 'euclidean' "
                "or 'cityblock', or a matrix of dissimilarities. Use "
                f"{argument('method', 'exact')}."
            )
        sample = SampledObjects(objects)
        self._fitted_largest = sample.largest
        if placed is not None or not isinstance(self.init, str):
            init = self.init if placed is None else placed
            start = check_start(init, (objects.n, k), INITS) / sample.largest
        else:
            checks.choice(self.init, "init", INITS)
            start = layout_start(self.init, k, objects, None, check_random_state(self.random_state))
            start = start * (0.5 / np.sqrt(start.var(axis=0).mean()))
        return sample, np.array(start, dtype=np.float64), np.arange(objects.n)

    def _descend(
        self,
        stage: Stage,
        n_stages: int,
        start: Array,
        groups: Array,
        dtype: Any,
        refine: bool,
    ) -> Divergence:
        """Minimise the objectives in turn, each from the result of the one before, to `embedding_`,
        whose scale is `_fitted_unit`; some iterations of the last one alone to `refine` a map.
        Returns the last objective."""

        def show(Z: Array) -> Array:
            return np.asarray(Z[groups] * self._fitted_unit, dtype=dtype)

        max_iter = min(self.max_iter, UPDATE_ITERATIONS) if refine else self.max_iter
        monitor = self._monitor(max_iter)
        coarse = min(COARSE_ITERATIONS, max_iter // (2 * n_stages))
        Z, done, history = start[np.unique(groups, return_index=True)[1]], 0, [np.empty(0)]
        for i in range(n_stages - 1 if refine else 0, n_stages):
            objective = stage(i, Z[groups])
            most = max_iter - done if i == n_stages - 1 else coarse
            minimum = lbfgs(
                _of_groups(objective, groups),
                Z,
                monitor,
                tol=self.tol,
                show=show,
                after=done,
                most=most,
            )
            Z, done = minimum.x, done + len(minimum.history) - 1
            history.append(minimum.history[1:])
            if monitor.stopped:
                break
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
            if self._samples(len(places)):
                self._place_by_sample(new.subset(part), places, out[part])
                continue
            D = finite_rows(new.subset(part).distances(), part.start)
            nearest = D.argmin(axis=1)
            unknown = D[np.arange(len(D)), nearest] > 0
            D = np.minimum(D[unknown].astype(np.float64) / self._fitted_largest, FARTHEST)
            out[part] = self.embedding_[nearest]
            if unknown.any():
                coordinates = place_by_divergence(D, *self._row_to_new(D, None), places)
                out[part][unknown] = coordinates * self._fitted_unit
        return out

    def _place_by_sample(self, new: NewObjects, places: Array, out: Array) -> None:
        ids, D, weights = sample_of_new(new, len(places))
        out[:] = self.embedding_[ids[:, 0]]
        unknown = D[:, 0] > 0
        D = np.minimum(D[unknown] / self._fitted_largest, FARTHEST)
        ids, weights = ids[unknown], weights[unknown]
        if unknown.any():
            setting = self._row_to_new(D, weights)
            coordinates = place_by_divergence(D, *setting, places, (ids, weights))
            out[unknown] = coordinates * self._fitted_unit


def precisions_of(pairs: Array | SampledObjects, perplexities: Any) -> Array:
    """The precisions (n, n_scales) at which probabilities in the data have some perplexities."""
    if isinstance(pairs, SampledObjects):
        indptr, _, squared, weights = pairs.lists()
        return listed_precisions(indptr, squared, weights, perplexities)
    betas = [log_conditional_of_pairs(pairs, K)[1] for K in perplexities]
    return np.array(betas).T


def listed_costs(D: Array, weights: Array, perplexities: Any) -> tuple[Array, Array]:
    """-log p of weighted training objects at distances D from new objects, and the precisions."""
    m, width = D.shape
    indptr = np.arange(0, (m + 1) * width, width, dtype=np.int64)
    squared, repeats = np.square(D).ravel(), np.ascontiguousarray(weights).ravel()
    widths = listed_precisions(indptr, squared, repeats, perplexities)
    return backend().mixture_costs(indptr, squared, repeats, widths).reshape(D.shape), widths


def _of_groups(objective: Divergence, groups: Array) -> Objective:
    """The objective as a function of the coordinates of the groups of identical objects."""

    def group_objective(Z: Array, /) -> tuple[float, Array]:
        value, gradient = objective(Z[groups])
        sums = np.zeros_like(Z)
        np.add.at(sums, groups, gradient)
        return value, sums

    return group_objective
