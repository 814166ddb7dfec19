"""Multidimensional scaling by stress: metric, weighted and non-metric (Kruskal 1964; SMACOF)."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.backends import backend
from lowdim.base import Embedder
from lowdim.callbacks import Callback, Monitor
from lowdim.checks import Array, is_sparse
from lowdim.extend.stress import place_by_stress
from lowdim.relations import pairs as known
from lowdim.relations.new_objects import NewObjects, as_new
from lowdim.relations.objects import MeasuredObjects, Objects
from lowdim.relations.pairs import Pairs
from lowdim.runtime.scheduling import blocks, run
from lowdim.solvers.disparities import DISPARITIES, TIES, apply_curve, curve, disparities, ordered
from lowdim.solvers.majorize import Majorized, smacof, smacof_pairs
from lowdim.solvers.sampled import FAR, LAST, NEAR, descend_sampled
from lowdim.solvers.starts import (
    classical_start,
    given_start,
    landmark_start,
    random_start,
    start_from_pairs,
)
from lowdim.solvers.svd import principal_axes, scores

INITS = ("classical", "classical_mds", "random")
NEW_ROWS = 256  # new objects placed at once
METHODS = ("auto", "smacof", "sampled")
SAMPLED_FROM = 10_000  # vectors from which on "auto" samples pairs
PARTNERS = 160  # objects that each object is measured against, in a sample


Random = np.random.RandomState


class Shepard(NamedTuple):
    """One entry a known pair, by ascending dissimilarity: the data of a Shepard diagram."""

    dissimilarities: Array
    distances: Array
    disparities: Array


class MDS(Embedder):
    """Coordinates whose distances come closest to given dissimilarities, or to their order.

    D -> disparities (identity, linear, monotone) -> majorize
    sum_{i<j} w_ij (disparity_ij - |x_i - x_j|)^2

    Parameters
    ----------
    n_components : dimension of the map.
    metric_mds : True for disparities="ratio", False for "ordinal", unless disparities is given.
    disparities : "ratio" (the dissimilarities themselves), "interval" (a + b d), "spline" (a
        monotone quadratic I-spline with three knots) or "ordinal" (any that keep the order).
        All but "ratio" are scaled to the mean square 1, and the map with them.
    ties : "primary": equal dissimilarities may get different disparities; "secondary": not.
    weights : w = d^-alpha by name, "d^-1" or "d^-2.5"; a matrix is given to fit.
    method : "smacof": all known pairs; "sampled": vectors measured against others
        drawn at random, anew in each of max_iter rounds, in memory proportional to n_samples
        (disparities="ratio", no weights matrix); "auto": "sampled" for more than 10,000 vectors.
    n_init : number of starts, run in parallel; the lowest stress is kept.
    init : the first start: "classical" (classical scaling; missing pairs filled in by shortest
        paths), "random", or an array. Further starts are random.
    max_iter, eps : iterations end when stress falls by less than eps times the sum of squared
        disparities.
    metric, metric_params : a SciPy metric name, "gower", "nan_euclidean", a callable, or
        "precomputed": a matrix in which NaN off the diagonal means missing, or a sparse matrix
        whose stored entries are the known pairs.
    normalized_stress : whether `stress_` is Stress-1 instead of raw; "auto": for all disparities
        but "ratio".
    dissimilarity : the old name of metric.
    random_state : seed of random starts and samples. n_jobs : threads; the result does not
        depend on it.
    callback : called after every iteration; a true answer stops. verbose : show progress.

    Attributes
    ----------
    embedding_, n_iter_
    stress_ : see normalized_stress. stresses_ : a dict of all: "raw", "stress-1" (Kruskal's
        sqrt(raw / sum w d^2)), "normalized" (raw / sum w disparity^2).
    history_ : raw stress of the start and after each iteration; it never increases.
    dissimilarity_matrix_, disparities_ : dense, NaN where unknown; sparse for sparse input and
        for method="sampled", where stresses are estimated from pairs that were not fitted.

    `transform` places each new object by majorization of its stress against the map, with the
    disparities of the fit interpolated. Training objects come back to where they are as closely as
    the fit has converged: within a tenth of the map for the default eps. Time n^2 per
    iteration and memory n^2; weights and missing pairs cost n^3 once, or what is sparse.

    Unlike scikit-learn, zero dissimilarities are not taken for missing ones.
    Paper: de Leeuw and Heiser 1980; Borg and Groenen 2005, chapters 8 and 9.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric_mds: bool = True,
        disparities: str | None = None,
        ties: str = "primary",
        weights: str | None = None,
        method: str = "auto",
        n_init: int = 1,
        init: Any = "classical",
        max_iter: int = 300,
        verbose: int = 0,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        dissimilarity: str = "deprecated",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        normalized_stress: Any = "auto",
        callback: Callback | None = None,
    ) -> None:
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.disparities = disparities
        self.ties = ties
        self.weights = weights
        self.method = method
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress
        self.callback = callback

    def fit(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> Self:
        """Compute `embedding_` from vectors, dissimilarities or known pairs X.

        Parameters
        ----------
        init : a start, (n_samples, n_components), in place of the parameter init.
        weights : a symmetric matrix, dense or sparse, of weights that are not negative; 0 leaves
            a pair out.
        """
        return self._fit_to(X, init=init, weights=weights)

    def _fit(self, objects: Objects, init: Any = None, weights: Any = None) -> None:
        self._check_n_components(objects.n)
        random = check_random_state(0 if self.random_state is None else self.random_state)
        init = self.init if init is None else init
        if self._sampled(objects):
            self._fit_sample(objects, init, weights, random)
        else:
            problem = self._problem(objects, weights)
            self._minimize(problem, self._starts(objects, problem, init, random))

    def fit_transform(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> Array:
        """Fit to X and return `embedding_`."""
        return self.fit(X, y, init, weights).embedding_

    def shepard(self) -> Shepard:
        """Dissimilarities, distances on the map and disparities of the known pairs."""
        D, fitted = self.dissimilarity_matrix_, self.disparities_
        if is_sparse(fitted):
            pairs, fits = known.sparse_pairs(D), known.sparse_pairs(fitted).values
        else:
            pairs = known.dense_pairs(np.where(np.isnan(fitted), np.nan, D))
            fits = fitted[pairs.first, pairs.second]
        order = np.argsort(pairs.values, kind="stable")
        pairs = pairs.take(order)
        return Shepard(pairs.values, self._distances(pairs), fits[order])

    # --- the problem: which pairs, which weights ----------------------------------------------

    def _problem(self, objects: Objects, weights: Any) -> Array | Pairs:
        """A full matrix to be fitted as it is, or a list of pairs."""
        if objects.complete:
            D = objects.all_pairs()
            self.dissimilarity_matrix_ = D
            plain = self._kind == "ratio" and self.weights is None and weights is None
            if plain and not np.isnan(D.sum()):
                return _spread(D)
            pairs = known.dense_pairs(D)
        else:
            pairs = objects.pairs()
            self.dissimilarity_matrix_ = pairs.graph(pairs.values)
        pairs = self._weighted(pairs, weights)
        known.require_connected(pairs)
        if self._kind == "ratio" and pairs.complete and pairs.weights is None:
            return pairs.matrix(pairs.values)
        return ordered(pairs, self._kind)

    def _weighted(self, pairs: Pairs, weights: Any) -> Pairs:
        _spread(pairs.values)
        if weights is not None:
            return pairs.weighted(known.given_weights(weights, pairs))
        if self.weights is None:
            return pairs
        self.smallest_ = float(pairs.values[pairs.values > 0].min())
        return pairs.weighted(self._power(pairs.values))

    def _power(self, values: Array) -> Array:
        return known.power_weights(values, known.power_of(self.weights), self.smallest_)

    def _sampled(self, objects: Objects) -> bool:
        if not objects.measured and self.method == "sampled":
            raise ValueError(
                "method='sampled' measures pairs itself and needs vectors, but "
                "metric='precomputed'. Give the known pairs as a sparse matrix instead."
            )
        large = objects.measured and objects.n > SAMPLED_FROM
        return self.method == "sampled" or (self.method == "auto" and large)

    # --- the solution ---------------------------------------------------------------------------

    def _minimize(self, problem: Array | Pairs, starts: list[Array]) -> None:
        if not isinstance(problem, Pairs):

            def fit_matrix(X: Array) -> Majorized:
                return smacof(problem, X, self._monitor(self.max_iter), eps=self.eps)

            found = run(fit_matrix, starts)
            self._keep(found)
            self.disparities_ = problem
            total = float(np.square(problem, dtype=np.float64).sum()) / 2
            self._measure(
                min(one.stress for one in found), _squared_distances(self.embedding_), total
            )
            return
        fit = disparities(problem, self._kind, self.ties)

        def fit_pairs(X: Array) -> Majorized:
            return smacof_pairs(problem, fit, X, self._monitor(self.max_iter), eps=self.eps)

        self._keep(run(fit_pairs, starts))
        d = self._distances(problem)
        fitted = fit(d)
        sparse = is_sparse(self.dissimilarity_matrix_)
        self.disparities_ = problem.graph(fitted) if sparse else problem.matrix(fitted)
        self.transformation_ = curve(problem.values, fitted)
        parts = (problem.sum_of_squares(part) for part in (fitted - d, d, fitted))
        self._measure(*parts)

    def _fit_sample(self, objects: Objects, init: Any, weights: Any, random: Random) -> None:
        """Pairs met at random; those that are kept, to measure the stress, were not fitted."""
        if self._kind != "ratio" or weights is not None:
            raise ValueError(
                "method='sampled' fits disparities='ratio', with weights by name or none; got "
                f"disparities={self._kind!r}{'' if weights is None else ' and a weights matrix'}. "
                "Set method='smacof', or fit some of the vectors and transform the others."
            )
        assert isinstance(objects, MeasuredObjects)  # see _sampled
        rows, metric = objects.rows, objects.metric
        pairs = known.sampled_pairs(rows, metric, PARTNERS, random)
        self.dissimilarity_matrix_ = self.disparities_ = pairs.graph(pairs.values)
        pairs = self._weighted(pairs, None)
        weigh = None if self.weights is None else self._power
        rate = FAR if isinstance(init, str) and init == "random" else NEAR
        rates = rate / pairs.mean_weight, LAST / self.max_iter / pairs.mean_weight
        starts = self._starts(objects, pairs, init, random)
        self._keep(
            [
                descend_sampled(
                    rows, metric, start, rates, weigh, random, self._monitor(self.max_iter)
                )
                for start in starts
            ]
        )
        d = self._distances(pairs)
        share = len(d) / (pairs.n * (pairs.n - 1) / 2)
        parts = (pairs.sum_of_squares(part) / share for part in (pairs.values - d, d, pairs.values))
        self._measure(*parts)

    def _keep(self, found: list[Majorized]) -> None:
        best = min(found, key=lambda one: one.stress)
        self.embedding_, self.history_ = best.embedding, best.history
        self.n_iter_ = max(1, len(best.history) - 1)

    def _distances(self, pairs: Pairs) -> Array:
        return backend().pair_distances(pairs.first, pairs.second, self.embedding_)

    def _measure(self, raw: float, squares: float, total: float) -> None:
        """Stress in all its units."""
        one = float(np.sqrt(raw / squares)) if squares > 0 else np.inf
        self.stresses_ = {"raw": raw, "stress-1": one, "normalized": raw / total}
        wanted = self.normalized_stress
        normalized = self._kind != "ratio" if isinstance(wanted, str) else wanted
        self.stress_ = one if normalized else raw

    def _starts(
        self, objects: Objects, problem: Array | Pairs, init: Any, random: Random
    ) -> list[Array]:
        n, k = objects.n, self.n_components
        values = problem.values if isinstance(problem, Pairs) else problem
        if not isinstance(init, str):
            starts = [given_start(init, (n, k), INITS).astype(values.dtype)]
        elif checks.choice(init, "init", INITS) == "random":
            starts = []
        else:
            starts = [self._classical(objects, problem, random)]
        size = float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))
        for _ in range(self.n_init - len(starts)):
            start = random_start(n, k, size, random, values.dtype)
            if isinstance(problem, Pairs) and self._kind != "ratio":
                # Metric steps first: of a random start, the order of distances tells little.
                plain = disparities(problem, "ratio", self.ties)
                start = smacof_pairs(problem, plain, start, Monitor(5))[0]
            starts.append(start)
        return starts

    def _classical(self, objects: Objects, problem: Array | Pairs, random: Random) -> Array:
        k = self.n_components
        if objects.euclidean:
            rows = objects.vectors("init='classical'")
            if k <= min(rows.shape):
                axes = principal_axes(rows, k)
                return scores(rows, axes.mean, axes.components)
        if not isinstance(problem, Pairs):
            return classical_start(problem, k)
        if not self._sampled(objects):
            return start_from_pairs(problem, k, random)

        def measured(chosen: Array) -> Array:
            return as_new(objects).subset(chosen).distances()

        return landmark_start(measured, objects.n, k, random)

    def _transform(self, new: NewObjects) -> Array:
        X = self.embedding_
        out = np.empty((new.n, X.shape[1]), dtype=X.dtype)
        for part in blocks(new.n, NEW_ROWS):
            D = np.asarray(new.subset(part).distances(), dtype=X.dtype)
            there = ~np.isnan(D)
            D = _in_range(np.where(there, D, 0))
            weights = there.astype(X.dtype)
            if self.weights is not None:
                weights *= self._power(D)
            targets = D if self._kind == "ratio" else apply_curve(self.transformation_, D)
            out[part] = place_by_stress(targets, weights, X)
        return out

    # --- parameters -----------------------------------------------------------------------------

    @property
    def _kind(self) -> str:
        metric = self.metric if isinstance(self.metric, bool) else self.metric_mds
        return self.disparities or ("ratio" if metric else "ordinal")

    def _check_parameters(self) -> None:
        checks.choice(self._kind, "disparities", DISPARITIES)
        checks.choice(self.ties, "ties", TIES)
        checks.choice(self.method, "method", METHODS)
        checks.choice(self.normalized_stress, "normalized_stress", ("auto", True, False))
        checks.integer(self.n_init, "n_init", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.eps, "eps", 0)
        known.power_of(self.weights)
        if self.dissimilarity != "deprecated":
            checks.choice(self.dissimilarity, "dissimilarity", ("euclidean", "precomputed"))
            if not isinstance(self.metric, bool) and self.metric != "euclidean":
                raise ValueError(
                    "You provided both `dissimilarity` and `metric`. Please use only `metric`."
                )
            _old("The `dissimilarity` parameter is the old name of metric. Use `metric` instead.")
        if isinstance(self.metric, bool):
            _old(f"Use metric_mds={self.metric} instead of metric={self.metric}.")

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        metric = self.metric
        if self.dissimilarity != "deprecated":
            metric = self.dissimilarity
        elif isinstance(metric, bool):  # scikit-learn's old name of metric_mds
            metric = "euclidean"
        return metric, dict(self.metric_params or {})

    _unknown_pairs = True

    def _objects(self, X: Any) -> Objects:
        self._check_parameters()
        return super()._objects(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan |= tags.input_tags.pairwise
        return tags


def _spread(values: Array) -> Array:
    """Dissimilarities that are not all zero, nor too large to be squared and added up."""
    if not (values.size and _in_range(values).max() > 0):
        raise ValueError(
            "X: all dissimilarities are zero, so all objects are in one place and there is no map "
            "to make. Check the metric and the scale of X."
        )
    return values


def _in_range(values: Array) -> Array:
    largest = float(values.max(initial=0))
    if not largest < np.sqrt(np.finfo(values.dtype).max) / 1e6:
        raise ValueError(
            f"X: squares of dissimilarities overflow {values.dtype}; the largest is {largest:g}. "
            "Rescale X."
        )
    return values


def _squared_distances(X: Array) -> float:
    """The sum of squared distances of all pairs: n times that of distances to the mean."""
    centered = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    return float(len(X) * np.square(centered).sum())


def _old(message: str) -> None:
    warnings.warn(message, FutureWarning, stacklevel=3)
