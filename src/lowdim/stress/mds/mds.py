"""Multidimensional scaling by stress: metric, weighted and non-metric (Kruskal 1964; SMACOF)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from lowdim import checks
from lowdim.checks import Array, check_random_state
from lowdim.estimator.fitted_state import Numbers, Sizes, any_number, number, table
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.messages import argument
from lowdim.objects import pairs as known
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects, SparseDissimilarities
from lowdim.objects.pairs import Pairs
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks
from lowdim.stress.disparities import apply_curve
from lowdim.stress.majorization import Majorized
from lowdim.stress.mds.parameters import MDSParameters
from lowdim.stress.mds.problems import Random, StressProblem
from lowdim.stress.mds.setup import (
    check_range,
    known_stress,
    minimize_until_repeated,
    sampled_stress,
    stress_starts,
)
from lowdim.stress.mds.shepard import Shepard, shepard_pairs
from lowdim.stress.placement import place_by_stress

LARGE = 10_000  # vectors above which method="auto" samples pairs
NEW_ROWS = 256  # new objects placed at once


SQUARE = Numbers("n n", least=0, finite=False, sparse=None)  # NaN: an unknown pair


def _ascending_curve(name: str, value: Any, sizes: Sizes) -> None:
    """A piecewise linear function: ascending abscissae and their values."""
    Numbers("2 *", least=0)(name, value, {**sizes, "2": 2})
    if value.shape[1] == 0 or (np.diff(value[0]) < 0).any():
        raise ValueError(f"{name} does not ascend.")


class MDS(MDSParameters):
    """Multidimensional scaling: distances on the map fit dissimilarities, or their order.

    D -> disparities (identity, linear, monotone) -> majorize

    The map minimises the stress `sum_{i<j} w_ij (disparity_ij - |x_i - x_j|)^2`, where disparities
    are the dissimilarities themselves or an admissible transformation of them that fits best.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    metric_mds : bool, default=True
        True stands for disparities="ratio", False for "ordinal"; ignored if disparities is given.
    disparities : {"ratio", "interval", "spline", "ordinal"}, default=None
        Admissible transformation of the dissimilarities d: "ratio", d itself; "interval", a + b d;
        "spline", a monotone quadratic I-spline with three knots; "ordinal", any that keeps the
        order. All but "ratio" are scaled to mean square 1, and the map with them.
    ties : {"primary", "secondary"}, default="primary"
        Whether equal dissimilarities may get different disparities ("primary") or not.
    weights : str, default=None
        Weights w = d^-alpha by name, such as "d^-1" or "d^-2.5". None stands for equal weights. A
        matrix of weights is an argument of `fit`.
    method : {"auto", "smacof", "sampled"}, default="auto"
        "smacof" fits all known pairs. "sampled" measures random pairs of vectors, new ones in each
        of max_iter rounds, in memory proportional to n_samples; it needs disparities="ratio" and
        no weights matrix. "auto" is "sampled" for more than 10,000 vectors.
    n_init : int or "auto", default=1
        Number of starts, which run in parallel; the solution of lowest stress is kept. "auto": as
        many as are needed to find the best solution twice, at most 20 [4]_.
    init : str or array of shape (n_samples, n_components), default="classical"
        The first start: "classical", classical scaling, with missing pairs filled in by shortest
        paths; "random"; or given coordinates. Further starts are random.
    max_iter : int, default=300
        Largest number of iterations from a start.
    $verbose
    eps : float, default=1e-6
        Iterations end when the stress decreases by less than eps times the sum of squared
        disparities.
    $n_jobs
    random_state : int, RandomState or None, default=None
        Seed of random starts and sampled pairs; None stands for 0.
    dissimilarity : str, default="deprecated"
        Old name of metric.
    metric : str or callable, default="euclidean"
        Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or
        "precomputed": X is a matrix in which NaN off the diagonal means missing, or a sparse
        matrix whose stored entries are the known pairs.
    $metric_params
    normalized_stress : bool or "auto", default="auto"
        Whether `stress_` is Stress-1 instead of the raw stress; "auto": for all disparities but
        "ratio".
    $callback
    $checkpoint

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects.
    stress_ : float
        Stress of the map; see normalized_stress.
    stresses_ : dict
        Stress in all units: "raw"; "stress-1", Kruskal's sqrt(raw / sum w d^2); "normalized", raw
        / sum w disparity^2.
    history_ : array of shape (n_iter + 1,)
        Raw stress of the start and after each iteration; it never increases.
    n_iter_ : int
        Number of iterations.
    n_starts_ : int
        Number of starts.
    dissimilarity_matrix_ : array or sparse matrix of shape (n_samples, n_samples)
        The dissimilarities: dense, NaN if missing; sparse for sparse X and method="sampled".
    disparities_ : array or sparse matrix of shape (n_samples, n_samples)
        The disparities, in the same form.

    See Also
    --------
    ClassicalMDS : fits inner products, in closed form.
    Sammon : stress with weights 1/d.
    lowdim.plot.shepard : draws the result of the method `shepard`.

    Notes
    -----
    Time is n^2 per iteration and memory n^2; weights or missing pairs cost n^3 once, less if few
    pairs are known. method="sampled" takes time and memory proportional to n, and estimates
    stresses from pairs that were not fitted.

    `transform` places each new object by majorization of its own stress against the map, with the
    fitted disparities interpolated. An object at distance zero from a training object gets its
    coordinates, so ``transform(X_train)`` equals `embedding_` where no two objects are the same.

    Unlike in scikit-learn, a zero dissimilarity is not a missing one.

    Majorization is described in chapters 8 and 9 of [3]_; quasi-Newton steps accelerate it.

    References
    ----------
    .. [1] J. B. Kruskal, "Nonmetric multidimensional scaling: a numerical method", Psychometrika
       29, 1964.
    .. [2] J. de Leeuw, W. J. Heiser, "Multidimensional scaling with restrictions on the
       configuration", Multivariate Analysis V, 1980.
    .. [3] I. Borg, P. J. F. Groenen, "Modern Multidimensional Scaling", 2nd edition, 2005.
    .. [4] P. R. Minchin, "An evaluation of the relative robustness of techniques for ecological
       ordination", Vegetatio 69, 1987; the rule is that of metaMDS in the R package vegan.

    Examples
    --------
    Distances between the corners of a square are fitted exactly.

    >>> import numpy as np
    >>> import lowdim
    >>> D = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]) ** 0.5
    >>> scaling = lowdim.MDS(metric="precomputed").fit(D)
    >>> bool(scaling.stress_ < 1e-6)
    True
    """

    traits = Traits(
        sentence="D -> disparities (identity, linear, monotone) -> majorize",
        keeps="distances, all alike, or only their order; weighted, or with pairs missing",
        when="all distances matter alike, or only their order can be trusted, or some are missing",
        cost="n^2 per iteration, n^2 memory; n per iteration with sampled pairs",
        extends="majorization against the map; barycentric inverse",
        paper="Kruskal 1964; de Leeuw and Heiser 1980; Borg and Groenen 2005",
        power=2.5,
        samples=True,
    )

    _attributes: ClassVar = {
        "stress_": any_number,
        "stresses_": table(dict.fromkeys(("raw", "stress-1", "normalized"), any_number)),
        "disparities_": SQUARE,
        "dissimilarity_matrix_": SQUARE,
        "transformation_": _ascending_curve,
        "smallest_": number(positive=True),
        "n_starts_": number(0),
    }

    def _memory(self, fit: Problem) -> float:
        if isinstance(fit.objects, MeasuredObjects) and self._uses_sample(fit.objects):
            return 10_000.0 * fit.n
        if isinstance(fit.objects, SparseDissimilarities):
            return 145.0 * int(fit.objects.matrix.nnz)
        weighted = self.weights is not None or fit.arguments.get("weights") is not None
        if self._kind == "ratio" and not weighted:
            return fit.distances
        by_kind = {"ratio": 1.7, "ordinal": 2.7, "interval": 3.7, "spline": 5.7}
        by_weight = {"ratio": 1.5, "ordinal": 1.5, "interval": 2.5, "spline": 4.5}
        copies = by_kind.get(self._kind, 0) + weighted * by_weight.get(self._kind, 0)
        return copies * fit.square + fit.distances

    def fit(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> Self:
        """Compute `embedding_` from vectors, dissimilarities or known pairs.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix
            One object per row, or dissimilarities if metric="precomputed".
        y : None
            Ignored.
        init : array of shape (n_samples, n_components), default=None
            A start, instead of the parameter init.
        weights : array or sparse matrix of shape (n_samples, n_samples), default=None
            Symmetric weights of the pairs, instead of the parameter weights; a weight of 0 leaves
            a pair out.

        Returns
        -------
        self
        """
        return self._fit_to(X, init=init, weights=weights)

    def fit_transform(  # type: ignore[override]  # positional, as in scikit-learn
        self, X: Any, y: Any = None, init: Any = None, weights: Any = None
    ) -> Array:
        """Fit to X and return `embedding_`; the parameters are those of `fit`."""
        return self.fit(X, y, init, weights).embedding_

    def _fit(self, objects: Objects, init: Any = None, weights: Any = None) -> None:
        self._check_n_components(objects.n)
        random = check_random_state(0 if self.random_state is None else self.random_state)
        init = self.init if init is None else init
        problem = self._problem(objects, init, weights, random)
        best = self._minimize(problem, objects, init, random)
        self.embedding_, self.history_ = best.embedding, best.history
        self.n_iter_ = max(1, len(best.history) - 1)
        solution = problem.solution(best)
        self.disparities_ = solution.disparities
        if solution.transformation is not None:
            self.transformation_ = solution.transformation
        self.stresses_ = solution.stresses()
        wanted = self.normalized_stress
        normalized = self._kind != "ratio" if isinstance(wanted, str) else wanted
        self.stress_ = self.stresses_["stress-1" if normalized else "raw"]

    def _problem(self, objects: Objects, init: Any, weights: Any, random: Random) -> StressProblem:
        """The stress of all known pairs, or of a sample of the pairs of many vectors."""
        equal = self.weights is None and weights is None
        weigh = None if equal else partial(self._weigh, weights=weights)
        if not self._uses_sample(objects):
            self.dissimilarity_matrix_, problem = known_stress(
                objects, self._kind, self.ties, weigh
            )
            return problem
        if self._kind != "ratio" or weights is not None:
            raise ValueError(
                f"{argument('method', 'sampled')} fits {argument('disparities', 'ratio')}, with "
                "weights by name or none; got "
                f"{argument('disparities', self._kind)}"
                f"{'' if weights is None else ' and a weights matrix'}. "
                f"Set {argument('method', 'smacof')}, or fit some of the vectors and transform the "
                "others."
            )
        assert isinstance(objects, MeasuredObjects)  # see _sampled
        good_start = not (isinstance(init, str) and init == "random")
        weights_of = None if equal else self._weights_of
        self.dissimilarity_matrix_, problem = sampled_stress(
            objects, weigh, weights_of, random, good_start=good_start
        )
        return problem

    def _weigh(self, pairs: Pairs, weights: Any) -> Pairs:
        """Pairs with the given matrix of weights, or with those of the parameter `weights`."""
        if weights is not None:
            return pairs.with_weights(known.pair_weights(weights, pairs))
        positive = pairs.values > 0
        self.smallest_ = float(np.min(pairs.values, where=positive, initial=np.inf))
        return pairs.with_weights(self._weights_of(pairs.values))

    def _weights_of(self, values: Array) -> Array:
        return known.power_weights(values, known.power_of(self.weights), self.smallest_)

    def _uses_sample(self, objects: Objects) -> bool:
        """Whether pairs are sampled, as `method` says."""
        if not objects.measured and self.method == "sampled":
            raise ValueError(
                f"{argument('method', 'sampled')} measures pairs itself and needs vectors, but "
                f"{argument('metric', 'precomputed')}. Give the known pairs as a sparse matrix "
                "instead."
            )
        large = objects.measured and objects.n > LARGE
        return self.method == "sampled" or (self.method == "auto" and large)

    def _minimize(
        self, problem: StressProblem, objects: Objects, init: Any, random: Random
    ) -> Majorized:
        """The best minimum from several starts."""
        auto, dim = self.n_init == "auto", self.n_components
        starts = stress_starts(problem, objects, init, dim, 0 if auto else int(self.n_init), random)
        if not auto:
            self.n_starts_ = len(starts)
            minima = problem.minimize(starts, self._new_monitor, self.eps)
            return min(minima, key=lambda one: one.stress)
        best, self.n_starts_, repeated = minimize_until_repeated(
            problem,
            starts,
            lambda: problem.random_start(dim, random),
            self._new_monitor,
            self.eps,
        )
        if not repeated:
            checks.warn(
                f"{argument('n_init', 'auto')}: no two of {self.n_starts_} starts led to the best "
                "solution, which may not be the global minimum. Lower {argument('eps')}, raise "
                f"{argument('max_iter')} or {argument('n_components')}."
            )
        return best

    def _new_monitor(self) -> Monitor:
        return self._monitor(self.max_iter)

    # --- new objects and the fitted pairs -----------------------------------------------------

    def _transform(self, new: NewObjects) -> Array:
        X = self.embedding_
        out = np.empty((new.n, X.shape[1]), dtype=X.dtype)
        for part in blocks(new.n, NEW_ROWS):
            D = np.asarray(new.subset(part).distances(), dtype=X.dtype)
            measured = ~np.isnan(D)
            D = check_range(np.where(measured, D, 0))
            weights = measured.astype(X.dtype)
            if self.weights is not None:
                weights *= self._weights_of(D)
            fitted = hasattr(self, "transformation_")
            targets = apply_curve(self.transformation_, D) if fitted else D
            out[part] = place_by_stress(targets, weights, X)
            same = measured & (D == 0)
            known = same.any(axis=1)
            out[part][known] = X[same.argmax(axis=1)[known]]
        return out

    def shepard(self) -> Shepard:
        """Dissimilarities, distances on the map and disparities of the fitted pairs.

        Returns
        -------
        Shepard
            Three arrays, by ascending dissimilarity; `lowdim.plot.shepard` draws them.
        """
        return shepard_pairs(self.dissimilarity_matrix_, self.disparities_, self.embedding_)
