"""Sammon's mapping (Sammon 1969)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from lowdim import checks
from lowdim.backends.native.dense import product, symmetric_eigen
from lowdim.checks import Array, check_random_state
from lowdim.distances.matrices import finite_rows
from lowdim.estimator import Embedder, Iterative, Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import any_number, number
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.numerics.quasi_newton import Minimum, lbfgs
from lowdim.numerics.starts import check_start, random_start, separate_points
from lowdim.objects.identical import merge_identical, zero_up_to
from lowdim.objects.new_objects import NewObjects
from lowdim.objects.objects import Objects, relative_dissimilarities
from lowdim.runtime.scheduling import blocks
from lowdim.spectral.starts import classical_start
from lowdim.stress.placement import place_by_stress
from lowdim.stress.sammon_stress import SammonStress, majorize

METHODS: dict[str, Callable[..., Minimum]] = {"lbfgs": lbfgs, "majorize": majorize}
INITS = ("classical", "random")
FARTHEST = 1e60  # in units of the training data's largest dissimilarity
NEW_ROWS = 1024  # new objects placed at once


@declare_parameters
class Sammon(Iterative, Embedder):
    """Sammon's mapping: distances on the map fit dissimilarities, relative to their size.

    stress with w = 1/delta -> quasi-Newton or majorization

    The map minimises Sammon's stress ::

        E = 1 / sum_{i<j} delta_ij * sum_{i<j} (delta_ij - |y_i - y_j|)^2 / delta_ij,

    in which small distances are kept as carefully as large ones.

    Parameters
    ----------
    $n_components
    $named_metric
    method : {"lbfgs", "majorize"}, default="lbfgs"
        Quasi-Newton steps, or Guttman transforms with weights 1/delta, which need more iterations.
    init : str or array of shape (n_samples, n_components), default="classical"
        Start: "classical" scaling, "random", or given coordinates.
    epsilon : float, default=0.0
        Share of the largest dissimilarity below which dissimilarities have equal weights:
        1/max(delta, epsilon).
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-9
        Iterations end when five of them together decrease the stress by less than this share of it.
    $n_jobs
    random_state : int, RandomState or None, default=None
        Seed of init="random".
    $callback
    $verbose
    $checkpoint

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects, along their principal axes unless init is an array.
    stress_ : float
        Sammon's stress, between 0 and 1 from the classical start.
    history_ : array of shape (n_iter + 1,)
        The stress at the start and after each iteration; it never increases.
    $n_iter

    See Also
    --------
    MDS : stress with other weights, missing pairs, or dissimilarities of which only the order is
        known.

    Notes
    -----
    Time is n^2 per iteration and n^3/3 once, memory 2 n^2.

    The original stress divides by zero for identical objects. Here objects that no dissimilarity
    distinguishes are one point of the map, which has the weight of all of them. A zero
    dissimilarity between objects that differ in others is left out of the sum, or has weight
    1/epsilon if epsilon > 0. A share of the largest dissimilarity up to 1e-12 (1e-6 for float32)
    counts as zero.

    `transform` minimises the stress of each new object against the map, which is fixed.
    ``transform(X_train)`` equals `embedding_`.

    References
    ----------
    .. [1] J. W. Sammon, "A nonlinear mapping for data structure analysis", IEEE Transactions on
       Computers 18, 1969.

    Examples
    --------
    The corners of a square are mapped without error.

    >>> import lowdim
    >>> X = [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    >>> bool(lowdim.Sammon().fit(X).stress_ < 1e-9)
    True
    """

    traits = Traits(
        keeps="distances, each to its own scale: the small ones as carefully as the large",
        when="some hundreds or thousands of objects whose small distances matter too",
        cost="n^2 per iteration, n^3 once, n^2 memory",
        extends="the same loss against the fixed map; barycentric inverse",
        paper="Sammon 1969; majorization: de Leeuw and Heiser 1980",
        power=2.2,
    )

    _attributes: ClassVar = {"stress_": any_number, "_fitted_unit": number(positive=True)}
    _needed = ("_fitted_unit",)

    _units: ClassVar = {"embedding_": 1, "init": 1}

    n_components: int = 2
    _: KW_ONLY
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    method: str = "lbfgs"
    init: Any = "classical"
    epsilon: float = 0.0
    max_iter: int = 500
    tol: float = 1e-9

    def _memory(self, fit: Problem) -> float:
        return 2 * fit.square + fit.distances

    def _fit(self, objects: Objects) -> None:
        checks.choice(self.method, "method", METHODS)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.tol, "tol", 0)
        checks.real(self.epsilon, "epsilon", 0, 1)
        self._check_n_components(objects.n)
        D, unit = relative_dissimilarities(objects)
        first, kinds = merge_identical(D, zero_up_to(D))
        start = self._start(D, first, kinds, unit)
        self._fitted_unit = unit
        if len(first) < len(D):
            D = np.ascontiguousarray(D[np.ix_(first, first)])
        stress = SammonStress(D, np.bincount(kinds), zero_up_to(D), self.epsilon)

        def show(Z: Array) -> Array:
            return np.asarray(stress.decode(Z)[kinds] * unit, dtype=D.dtype)

        monitor = self._monitor(self.max_iter)
        solve, x = METHODS[self.method], stress.encode(start)
        minimum = solve(stress, x, monitor, tol=self.tol, show=show)
        Y = stress.decode(minimum.x)[kinds]
        if isinstance(self.init, str):  # else the coordinates stay those of the start
            Y = Y - Y.mean(axis=0)
            axes = symmetric_eigen(product(Y.T, Y.T))[1][:, ::-1]
            Y = fix_signs(product(Y, axes.T))
        self.embedding_ = np.asarray(Y * unit, dtype=D.dtype)
        self.stress_, self.history_ = float(minimum.value), minimum.history
        self.n_iter_ = max(1, len(minimum.history) - 1)

    def _start(self, D: Array, first: Array, kinds: Array, unit: float) -> Array:
        """Coordinates of the objects that differ, in units of the largest dissimilarity."""
        n, k = len(D), self.n_components
        if not isinstance(self.init, str):
            user_start = check_start(self.init, (n, k), INITS).astype(np.float64) / unit
            sums = np.zeros((len(first), k))
            np.add.at(sums, kinds, user_start)
            return sums / np.bincount(kinds)[:, None]
        checks.choice(self.init, "init", INITS)
        if self.init == "random":
            size = float(D.mean(dtype=np.float64))
            random = check_random_state(self.random_state)
            return random_start(n, k, size, random, np.dtype(np.float64))[first]
        start = np.zeros((len(first), k))
        if len(first) > 1:
            inside = D if len(first) == n else np.ascontiguousarray(D[np.ix_(first, first)])
            most = min(k, len(first) - 1)
            scaling = classical_start(inside, most)
            start[:, : scaling.shape[1]] = scaling
        return separate_points(start)

    def _transform(self, new: NewObjects) -> Array:
        out = np.empty((new.n, self.embedding_.shape[1]), dtype=self.embedding_.dtype)
        places = self.embedding_.astype(np.float64) / self._fitted_unit
        floor = zero_up_to(self.embedding_)
        for part in blocks(new.n, NEW_ROWS):
            D = finite_rows(new.subset(part).distances(), part.start)
            D = np.minimum(D.astype(np.float64) / self._fitted_unit, FARTHEST)
            nearest = D.argmin(axis=1)
            coordinates = places[nearest]
            elsewhere = D[np.arange(len(D)), nearest] > floor
            W = 1 / np.maximum(D[elsewhere], max(self.epsilon, floor))
            coordinates[elsewhere] = place_by_stress(D[elsewhere], W, places)
            out[part] = coordinates * self._fitted_unit
            out[part][~elsewhere] = self.embedding_[nearest[~elsewhere]]
        return out
