"""Multidimensional scaling by stress: metric, weighted and non-metric (Kruskal 1964; SMACOF)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from lowdim import checks
from lowdim.checks import Array, fixed_random_state
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Numbers, Sizes, any_number, number, table
from lowdim.messages import argument
from lowdim.neighbor_embedding.anchors import pins
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import MeasuredObjects, Objects, SparseDissimilarities
from lowdim.objects.pairs import Pairs, pair_weights, power_of, power_weights
from lowdim.runtime.scheduling import blocks
from lowdim.stress.disparities import DISPARITIES, TIES, apply_curve
from lowdim.stress.majorization import Majorized, PairSolver, Restriction, smacof_pairs
from lowdim.stress.mds.problems import Random, Shepard, check_range, known_stress, shepard_pairs
from lowdim.stress.mds.restrictions import Covariates, Pinned
from lowdim.stress.mds.sampled import SampledStress
from lowdim.stress.mds.sphere import smacof_on_sphere
from lowdim.stress.mds.starts import StressProblem, minimize_until_repeated, stress_starts
from lowdim.stress.placement import place_by_stress

METHODS = ("auto", "smacof", "sampled")
SURFACES = (None, "sphere")
LARGE = 10_000  # vectors above which method="auto" samples pairs
NEW_ROWS = 256  # new objects placed at once


SQUARE = Numbers("n n", least=0, finite=False, sparse=None)  # NaN: an unknown pair


def _ascending_curve(name: str, value: Any, sizes: Sizes) -> None:
    """A piecewise linear function: ascending abscissae and their values."""
    Numbers("2 *", least=0)(name, value, {**sizes, "2": 2})
    if value.shape[1] == 0 or (np.diff(value[0]) < 0).any():
        raise ValueError(f"{name} does not ascend.")


@declare_parameters
class MDS(Iterative, Embedder):
    """Multidimensional scaling: distances on the map fit dissimilarities, or their order.

    D -> disparities (identity, linear, monotone) -> majorize

    The map minimises the stress `sum_{i<j} w_ij (disparity_ij - |x_i - x_j|)^2`, where disparities
    are the dissimilarities themselves or an admissible transformation of them that fits best.

    Parameters
    ----------
    $n_components
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
    surface : {None, "sphere"}, default=None
        "sphere": all objects lie on a sphere around the origin, for n_components=2 on a circle, of
        the radius that fits best [5]_. Distances are straight lines.
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
    $embedding
    stress_ : float
        Stress of the map; see normalized_stress.
    stresses_ : dict
        Stress in all units: "raw"; "stress-1", Kruskal's sqrt(raw / sum w d^2); "normalized", raw
        / sum w disparity^2.
    history_ : array of shape (n_iter + 1,)
        Raw stress of the start and after each iteration; it never increases.
    $n_iter
    n_starts_ : int
        Number of starts.
    dissimilarity_matrix_ : array or sparse matrix of shape (n_samples, n_samples)
        The dissimilarities: dense, NaN if missing; sparse for sparse X and method="sampled".
    disparities_ : array or sparse matrix of shape (n_samples, n_samples)
        The disparities, in the same form.
    coefficients_ : array of shape (n_covariates, n_components)
        The map as combinations of the centred covariates; only if `fit` was given covariates.

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
    .. [5] J. de Leeuw, P. Mair, "Multidimensional scaling using majorization: SMACOF in R", Journal
       of Statistical Software 31(3), 2009, section 6.

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
        keeps="distances, or only their order; weighted, or with missing pairs",
        when="all distances matter alike, or only their order can be trusted, or some are missing",
        cost="n^2 per iteration, n^2 memory; n per iteration with sampled pairs",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="Kruskal 1964; de Leeuw and Heiser 1980; Borg and Groenen 2005",
        power=2.5,
        samples=True,
    )

    _unknown_pairs = True
    _attributes: ClassVar = {
        "stress_": any_number,
        "stresses_": table(dict.fromkeys(("raw", "stress-1", "normalized"), any_number)),
        "disparities_": SQUARE,
        "dissimilarity_matrix_": SQUARE,
        "transformation_": _ascending_curve,
        "smallest_": number(positive=True),
        "n_starts_": number(0),
        "coefficients_": Numbers("* c"),
        "_fitted_masses": Numbers("n", positive=True),
    }

    n_components: int = 2
    _: KW_ONLY
    metric_mds: bool = True
    disparities: str | None = None
    ties: str = "primary"
    weights: str | None = None
    method: str = "auto"
    surface: str | None = None
    n_init: int | str = 1
    init: Any = "classical"
    max_iter: int = 300
    eps: float = 1e-6
    dissimilarity: str = "deprecated"
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    normalized_stress: Any = "auto"

    def _memory(self, fit: Problem) -> float:
        if isinstance(fit.objects, MeasuredObjects) and self._uses_sample(fit.objects):
            return 10_000.0 * fit.n
        if isinstance(fit.objects, SparseDissimilarities):
            return 145.0 * int(fit.objects.matrix.nnz)
        weighted = self.weights is not None or self.surface is not None
        for name in ("weights", "sample_weight", "pinned", "covariates"):
            weighted = weighted or fit.arguments.get(name) is not None
        if self._kind == "ratio" and not weighted:
            return fit.distances
        by_kind = {"ratio": 1.7, "ordinal": 2.7, "interval": 3.7, "spline": 5.7}
        by_weight = {"ratio": 1.5, "ordinal": 1.5, "interval": 2.5, "spline": 4.5}
        copies = by_kind.get(self._kind, 0) + weighted * by_weight.get(self._kind, 0)
        return copies * fit.square + fit.distances

    def fit(
        self,
        X: Any,
        y: Any = None,
        init: Any = None,
        weights: Any = None,
        *,
        sample_weight: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        covariates: Any = None,
    ) -> Self:
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
        sample_weight : array of shape (n_samples,), default=None
            Positive weight of each object, such as how often it was observed: that of a pair is
            multiplied by both.
        pinned : array of shape (n_samples, n_components), default=None
            Places of objects, in units of the dissimilarities; NaN for a coordinate that is free.
            Needs disparities="ratio".
        pin_strength : float or array of shape (n_samples,), default=1.0
            1 keeps pinned objects in their places. A smaller number is a spring: the share of its
            distance by which an object returns in each step.
        covariates : array of shape (n_samples, n_covariates), default=None
            The axes of the map are linear combinations of these columns, which are centred, with
            `coefficients_`; see de Leeuw and Heiser in the references of the class.

        Returns
        -------
        self
        """
        return self._check_and_fit(
            X,
            init=init,
            weights=weights,
            sample_weight=sample_weight,
            pinned=pinned,
            pin_strength=pin_strength,
            covariates=covariates,
        )

    def fit_transform(  # positional, as in scikit-learn
        self, X: Any, y: Any = None, init: Any = None, weights: Any = None, **restrictions: Any
    ) -> Array:
        """Fit to X and return `embedding_`; the parameters are those of `fit`."""
        return self.fit(X, y, init, weights, **restrictions).embedding_

    def _fit(
        self,
        objects: Objects,
        init: Any = None,
        weights: Any = None,
        sample_weight: Any = None,
        pinned: Any = None,
        pin_strength: Any = 1.0,
        covariates: Any = None,
    ) -> None:
        self._check_n_components(objects.n)
        random = fixed_random_state(self.random_state)
        init = self.init if init is None else init
        if sample_weight is not None:
            masses = checks.sample_weight(sample_weight, objects.n)
            self._fitted_masses = masses.astype(objects.dtype)
        restriction = self._restriction(objects, init, pinned, pin_strength, covariates)
        solver: PairSolver = smacof_pairs if self.surface is None else smacof_on_sphere
        if restriction is not None:
            solver = partial(smacof_pairs, restriction=restriction)
        problem = self._problem(objects, init, weights, solver, random)
        best = self._minimize(problem, objects, init, random)
        self.embedding_, self.history_ = best.embedding, best.history
        self.n_iter_ = max(1, len(best.history) - 1)
        if isinstance(restriction, Covariates):
            self.coefficients_ = restriction.coefficients(best.embedding)
        solution = problem.solution(best)
        self.disparities_ = solution.disparities
        if solution.transformation is not None:
            self.transformation_ = solution.transformation
        self.stresses_ = solution.stresses()
        wanted = self.normalized_stress
        normalized = self._kind != "ratio" if isinstance(wanted, str) else wanted
        self.stress_ = self.stresses_["stress-1" if normalized else "raw"]

    def _restriction(
        self, objects: Objects, init: Any, pinned: Any, strength: Any, covariates: Any
    ) -> Restriction | None:
        anchors = pins(pinned, strength, objects.n, self.n_components, objects.dtype)
        if self.surface is not None and not (anchors is None and covariates is None):
            raise ValueError(
                f"{argument('surface', self.surface)} leaves no room for {argument('pinned')} and "
                f"{argument('covariates')}: give one of them."
            )
        if anchors is None:
            if covariates is None:
                return None
            return Covariates(covariates, objects.n, self.n_components)
        if covariates is not None or self._kind != "ratio":
            raise ValueError(
                f"{argument('pinned')} needs {argument('disparities', 'ratio')} and no "
                f"{argument('covariates')}: other maps have a size of their own."
            )
        return Pinned(anchors, init)

    def _problem(
        self, objects: Objects, init: Any, weights: Any, solver: PairSolver, random: Random
    ) -> StressProblem:
        """The stress of all known pairs, or of a sample of the pairs of many vectors."""
        weighted = hasattr(self, "_fitted_masses")
        equal = self.weights is None and weights is None and not weighted
        weigh = None if equal else partial(self._weigh, weights=weights)
        if not self._uses_sample(objects):
            self.dissimilarity_matrix_, problem = known_stress(
                objects, self._kind, self.ties, weigh, solver
            )
            return problem
        free = weights is None and solver is smacof_pairs and not weighted
        if self._kind != "ratio" or not free:
            raise ValueError(
                f"{argument('method', 'sampled')} fits {argument('disparities', 'ratio')}, with "
                "weights by name or none; got "
                f"{argument('disparities', self._kind)}"
                f"{'' if free else ' and a weights matrix, or weighted or restricted objects'}. "
                f"Set {argument('method', 'smacof')}, or fit some of the vectors and transform the "
                "others."
            )
        assert isinstance(objects, MeasuredObjects)  # see _uses_sample
        good_start = not (isinstance(init, str) and init == "random")
        weights_of = None if equal else self._weights_of
        sampled = SampledStress(objects, weigh, weights_of, random, good_start=good_start)
        self.dissimilarity_matrix_ = sampled.dissimilarities
        return sampled

    def _weigh(self, pairs: Pairs, weights: Any) -> Pairs:
        """Pairs with the weights given to `fit`, or with those of the parameter `weights`."""
        w = np.ones_like(pairs.values)
        if weights is not None:
            w = pair_weights(weights, pairs)
        elif self.weights is not None:
            positive = pairs.values > 0
            self.smallest_ = float(np.min(pairs.values, where=positive, initial=np.inf))
            w = self._weights_of(pairs.values)
        if hasattr(self, "_fitted_masses"):
            mass = self._fitted_masses
            w = w * mass[pairs.first] * mass[pairs.second]
        return pairs.with_weights(w)

    def _weights_of(self, values: Array) -> Array:
        return power_weights(values, power_of(self.weights), self.smallest_)

    def _uses_sample(self, objects: Objects) -> bool:
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
        new_monitor = partial(self._monitor, self.max_iter)
        starts = stress_starts(problem, objects, init, dim, 0 if auto else int(self.n_init), random)
        if not auto:
            self.n_starts_ = len(starts)
            minima = problem.minimize(starts, new_monitor, self.eps)
            return min(minima, key=lambda one: one.stress)
        best, self.n_starts_, repeated = minimize_until_repeated(
            problem, starts, lambda: problem.random_start(dim, random), new_monitor, self.eps
        )
        if not repeated:
            checks.warn(
                f"{argument('n_init', 'auto')}: no two of {self.n_starts_} starts led to the best "
                f"solution, which may not be the global minimum. Lower {argument('eps')}, raise "
                f"{argument('max_iter')} or {argument('n_components')}."
            )
        return best

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
            if hasattr(self, "_fitted_masses"):
                weights *= self._fitted_masses
            fitted = hasattr(self, "transformation_")
            targets = apply_curve(self.transformation_, D) if fitted else D
            out[part] = place_by_stress(targets, weights, X, on_sphere=self.surface is not None)
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

    # --- parameters ---------------------------------------------------------------------------

    @property
    def _kind(self) -> str:
        """The admissible transformation of the dissimilarities, a name in `DISPARITIES`."""
        metric = self.metric if isinstance(self.metric, bool) else self.metric_mds
        return self.disparities or ("ratio" if metric else "ordinal")

    def _check_parameters(self) -> None:
        checks.choice(self._kind, "disparities", DISPARITIES)
        checks.choice(self.ties, "ties", TIES)
        checks.choice(self.method, "method", METHODS)
        checks.choice(self.surface, "surface", SURFACES)
        if self.surface is not None and self.n_components == 1:
            raise ValueError(
                f"{argument('surface', self.surface)} needs {argument('n_components')} of at least "
                "2, for a circle."
            )
        checks.choice(self.normalized_stress, "normalized_stress", ("auto", True, False))
        if isinstance(self.n_init, str):
            checks.choice(self.n_init, "n_init", ("auto",))
        else:
            checks.integer(self.n_init, "n_init", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.eps, "eps", 0)
        power_of(self.weights)
        if self.dissimilarity != "deprecated":
            checks.choice(self.dissimilarity, "dissimilarity", ("euclidean", "precomputed"))
            if not isinstance(self.metric, bool) and self.metric != "euclidean":
                raise ValueError(
                    "You provided both `dissimilarity` and `metric`. Please use only `metric`."
                )
            checks.warn(
                "The `dissimilarity` parameter is the old name of metric. Use `metric` instead.",
                FutureWarning,
            )
        if isinstance(self.metric, bool):
            old, new = f"metric={self.metric}", f"metric_mds={self.metric}"
            checks.warn(f"Use {new} instead of {old}.", FutureWarning)

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        metric = self.metric
        if self.dissimilarity != "deprecated":
            metric = self.dissimilarity
        elif isinstance(metric, bool):  # scikit-learn's old name of metric_mds
            metric = "euclidean"
        return metric, checks.keywords(self.metric_params, "metric_params")

    def _unit_of(self, name: str) -> float:
        if name == "dissimilarity_matrix_":
            return 1
        if self._kind != "ratio":  # the map has a size of its own
            return 0
        if name in ("embedding_", "disparities_", "init", "pinned", "coefficients_"):
            return 1
        raw = name in ("stresses_.raw", "history_")
        raw |= name == "stress_" and self.normalized_stress is not True
        return 2 - power_of(self.weights) if raw else 0

    def _objects(self, X: Any) -> Objects:
        self._check_parameters()
        return super()._objects(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan |= tags.input_tags.pairwise
        return tags
