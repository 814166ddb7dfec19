"""Sammon's mapping (Sammon 1969)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.base import Embedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.extend.stress import place_by_stress
from lowdim.relations.distances import finite_rows
from lowdim.relations.identical import merge_identical, zero_up_to
from lowdim.relations.new_objects import NewObjects
from lowdim.relations.objects import Objects, relative_dissimilarities
from lowdim.runtime.scheduling import blocks
from lowdim.solvers.quasi_newton import Minimum, lbfgs
from lowdim.solvers.sammon import SammonStress, majorize
from lowdim.solvers.spectral import fix_signs
from lowdim.solvers.starts import classical_start, given_start, random_start, separated

METHODS: dict[str, Callable[..., Minimum]] = {"lbfgs": lbfgs, "majorize": majorize}
INITS = ("classical", "random")
FARTHEST = 1e60  # in units of the training data's largest dissimilarity
NEW_ROWS = 1024  # new objects placed at once


class Sammon(Embedder):
    """Coordinates that keep distances, each to its own scale.

    stress with w = 1/delta -> quasi-Newton or majorization

    Minimises Sammon's stress

        E = 1 / sum_{i<j} delta_ij * sum_{i<j} (delta_ij - |y_i - y_j|)^2 / delta_ij,

    in which an error counts in proportion to the distance it is made in, so that small distances
    are kept as carefully as large ones.

    Parameters
    ----------
    n_components : dimension of the map.
    metric : a SciPy metric name, "gower", "nan_euclidean", a callable, or "precomputed".
    metric_params : further arguments of the metric.
    method : "lbfgs", quasi-Newton steps; or "majorize", Guttman transforms with weights 1/delta,
        which take more iterations.
    init : "classical" scaling, "random", or an array (n_samples, n_components).
    epsilon : 0, or the radius of a ball as a share of the largest dissimilarity: the weights are
        1/max(delta, epsilon), so that errors inside of the ball all count alike.
    max_iter : most iterations.
    tol : iterations end when five of them together lower the stress by less than this share of it.
    n_jobs : threads; the result does not depend on it.
    random_state : seed of init="random".
    callback : called after every iteration; a true answer stops.
    verbose : show the progress.

    Attributes
    ----------
    embedding_ : turned to its principal axes, unless init is an array.
    stress_ : Sammon's stress, between 0 and 1 from the classical start.
    history_ : the stress at the start and after each iteration; it never increases.
    n_iter_

    The original stress divides by zero where two objects are alike. Here objects that no
    dissimilarity tells apart are one point of the map, with the weight of all of them; a zero
    between objects that do differ (as no metric has) is left out of the sum, or counts with weight
    1/epsilon where epsilon > 0. What is below rounding, 1e-12 of the largest dissimilarity or 1e-6
    for float32, counts as zero.

    `transform` minimises each new object's own stress against the map as it is. On the training
    objects it gives `embedding_` exactly. Time n^2 per iteration and n^3/3 once, memory 2 n^2.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        method: str = "lbfgs",
        init: Any = "classical",
        epsilon: float = 0.0,
        max_iter: int = 500,
        tol: float = 1e-9,
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.method = method
        self.init = init
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

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
        found = METHODS[self.method](stress, stress.encode(start), monitor, tol=self.tol, show=show)
        Y = stress.decode(found.x)[kinds]
        Y = Y - Y.mean(axis=0) if isinstance(self.init, str) else Y
        self.embedding_ = np.asarray(self._turned(Y) * unit, dtype=D.dtype)
        self.stress_, self.history_ = float(found.value), found.history
        self.n_iter_ = max(1, len(found.history) - 1)

    def _start(self, D: Array, first: Array, kinds: Array, unit: float) -> Array:
        """Coordinates of the objects that differ, in units of the largest dissimilarity."""
        n, k = len(D), self.n_components
        if not isinstance(self.init, str):
            given = given_start(self.init, (n, k), INITS).astype(np.float64) / unit
            sums = np.zeros((len(first), k))
            np.add.at(sums, kinds, given)
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
            found = classical_start(inside, most)
            start[:, : found.shape[1]] = found
        return separated(start)

    def _turned(self, Y: Array) -> Array:
        if not isinstance(self.init, str):
            return Y
        axes = np.linalg.eigh(Y.T @ Y)[1][:, ::-1]
        return fix_signs(Y @ axes)

    def _transform(self, new: NewObjects) -> Array:
        out = np.empty((new.n, self.embedding_.shape[1]), dtype=self.embedding_.dtype)
        places = self.embedding_.astype(np.float64) / self._fitted_unit
        floor = zero_up_to(self.embedding_)
        for part in blocks(new.n, NEW_ROWS):
            D = finite_rows(new.subset(part).distances(), part.start)
            D = np.minimum(D.astype(np.float64) / self._fitted_unit, FARTHEST)
            nearest = D.argmin(axis=1)
            found = places[nearest]
            elsewhere = D[np.arange(len(D)), nearest] > floor
            W = 1 / np.maximum(D[elsewhere], max(self.epsilon, floor))
            found[elsewhere] = place_by_stress(D[elsewhere], W, places)
            out[part] = found * self._fitted_unit
            out[part][~elsewhere] = self.embedding_[nearest[~elsewhere]]
        return out
