"""Curvilinear component analysis (Demartines and Herault 1997)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lowdim.base import Embedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.extend.curvilinear import NEIGHBORS, interpolate
from lowdim.relations.distances import distance_matrix
from lowdim.relations.prototypes import choose_prototypes
from lowdim.relations.search import query, smallest
from lowdim.relations.streams import distances_from
from lowdim.solvers.curvilinear import Distances, curvilinear, initial, seed_of
from lowdim.solvers.initialize import classical_start, landmark_start
from lowdim.solvers.svd import principal_axes, scores

KEPT = 256 * 1024**2  # bytes up to which all distances are kept rather than measured every epoch


class CurvilinearComponentAnalysis(Embedder):
    """A map that keeps short distances and may unfold or tear what cannot lie flat.

    D -> stress weighted by the distances on the map -> one object pins, all others move

    Parameters
    ----------
    n_components : dimension of the map.
    n_prototypes : vector quantisation first: map this many objects (those nearest to the centres
        of k-means for Euclidean vectors, otherwise objects far from each other) and place the
        others by interpolation.
    max_iter : epochs, in each of which every object pins once.
    alpha : (first, last) step size of the rule.
    lambda_range : (first, last) width of the neighbourhood F on the map, in units of the
        distances; "auto" goes from 3 to 0.1 standard deviations of the start's widest axis.
    neighborhood : F, "exponential" exp(-Y / lambda) or "step", 1 up to lambda and 0 beyond. A
        step tears more readily.
    init : "auto" (principal components for Euclidean vectors, else classical scaling), "random",
        or an array of coordinates.
    metric : a SciPy metric name, "gower", "nan_euclidean", a callable, or "precomputed".
    metric_params : further arguments of the metric.
    random_state : seed of the order of the pins, the prototypes, and init="random"; None is 0.
    n_jobs : threads; the result does not depend on it.
    callback : called after every epoch with its error and map; a true answer stops.
    verbose : show the progress.

    Attributes
    ----------
    embedding_, n_iter_
    error_ : sum_{i<j} F(Y_ij) (X_ij - Y_ij)^2 at the last lambda (equation 1 of the paper).
    history_ : the error that each epoch met, at its own lambda.
    stress_ : (sum (X - Y)^2 / sum X^2)^(1/2) over all pairs: what tearing and folding cost.
    prototypes_ : row numbers of the prototypes, with n_prototypes.

    `transform` moves a new object by the same rule against the map of its nearest neighbours,
    which stands still; a training object gets its own coordinates. An epoch costs n^2
    operations. From vectors no n x n matrix is kept beyond 256 MB: the distances of the pins are
    then measured anew in every epoch, except by a callable metric.
    """

    prototypes_: Array

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_prototypes: int | None = None,
        max_iter: int = 50,
        alpha: tuple[float, float] = (0.5, 0.01),
        lambda_range: Any = "auto",
        neighborhood: str = "exponential",
        init: Any = "auto",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.n_prototypes = n_prototypes
        self.max_iter = max_iter
        self.alpha = alpha
        self.lambda_range = lambda_range
        self.neighborhood = neighborhood
        self.init = init
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def _fit(self, rows: Any) -> None:
        if hasattr(self, "prototypes_"):
            del self.prototypes_
        if self._precomputed:
            self._dense(rows)
        self._check_n_components(rows.shape[0])
        mapped = rows
        if self.n_prototypes is not None:
            metric = None if self._precomputed else self._metric
            self.prototypes_ = choose_prototypes(
                rows,
                rows.shape[0],
                metric,
                self.n_prototypes,
                self.n_components + 1,
                self.random_state,
                self.n_jobs,
            )
            mapped = rows[self.prototypes_]
            if self._precomputed:
                mapped = np.ascontiguousarray(mapped[:, self.prototypes_])
        distances = self._distances(mapped)
        dtype = rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)
        start = initial(
            self.init,
            distances,
            (mapped.shape[0], self.n_components),
            dtype,
            self.random_state,
            lambda: self._start(mapped, distances).astype(dtype, copy=False),
        )
        found = curvilinear(
            distances,
            start,
            alpha=self.alpha,
            lambda_range=self.lambda_range,
            neighborhood=self.neighborhood,
            max_iter=self.max_iter,
            random_state=self.random_state,
            callback=self.callback,
            verbose=self.verbose,
            n_jobs=self.n_jobs,
        )
        self.embedding_, self.error_, self.stress_, self.history_ = found
        self.n_iter_ = len(found.history)
        if self.n_prototypes is not None:
            self.embedding_ = self._interpolated(rows, found.embedding)

    def _distances(self, rows: Any) -> Distances:
        """All distances where they are given or small, else a function of the pins."""
        if self._precomputed:
            return np.asarray(rows)
        n = rows.shape[0]
        if n * n * 8 <= KEPT or self._metric.name == "callable":
            return distance_matrix(rows, self._metric, self.n_jobs)
        return distances_from(rows, self._metric, self.n_jobs)

    def _start(self, rows: Any, distances: Distances) -> Array:
        if not self._precomputed and self._metric.euclidean:
            k = min(self.n_components, rows.shape[1], rows.shape[0])
            axes = principal_axes(rows, k, n_jobs=self.n_jobs)
            start = scores(rows, axes.mean, axes.components, self.n_jobs)
            return np.pad(start, ((0, 0), (0, self.n_components - k)))
        if isinstance(distances, np.ndarray):
            return classical_start(distances, self.n_components, self.n_jobs)
        random = check_random_state(seed_of(self.random_state))
        return landmark_start(distances, rows.shape[0], self.n_components, random, self.n_jobs)

    def _transform(self, rows: Any) -> Array:
        mapped = getattr(self, "prototypes_", slice(None))
        return self._interpolated(rows, self.embedding_[mapped])

    def _interpolated(self, rows: Any, images: Array) -> Array:
        """Objects placed by the rule among the images of the mapped ones."""
        mapped = getattr(self, "prototypes_", slice(None))
        k = min(NEIGHBORS, len(images))
        if self._precomputed:
            D = self._dense(rows)
            nearest, distances = smallest(D[:, mapped], k)
        else:
            nearest, distances = query(self.X_fit_[mapped], rows, k, self._metric, self.n_jobs)
        return interpolate(images, nearest, distances, self.n_jobs)

    def _dense(self, rows: Any) -> Array:
        if not isinstance(rows, np.ndarray):
            raise ValueError(
                f"X: {type(self).__name__} needs the dissimilarities of all pairs, got a "
                f"{type(rows).__name__}. Give a dense matrix, or use CurvilinearDistanceAnalysis, "
                "which measures through a graph."
            )
        return rows
