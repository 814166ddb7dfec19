"""Curvilinear component analysis (Demartines and Herault 1997)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.base import Embedder
from lowdim.callbacks import Callback
from lowdim.checks import Array
from lowdim.extend.curvilinear import NEIGHBORS, place_by_curvilinear_rule
from lowdim.relations.new_objects import NewObjects, as_new
from lowdim.relations.objects import Objects
from lowdim.relations.prototypes import choose_prototypes
from lowdim.solvers.curvilinear import Distances, curvilinear, initial, seed_of
from lowdim.solvers.starts import classical_start, landmark_start
from lowdim.solvers.svd import principal_axes, scores


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

    def _fit(self, objects: Objects) -> None:
        self._check_n_components(objects.n)
        mapped = objects
        if self.n_prototypes is not None:
            least = self.n_components + 1
            self.prototypes_ = choose_prototypes(
                objects, self.n_prototypes, least, self.random_state
            )
            mapped = objects.subset(self.prototypes_)
        distances = mapped.distances_from()
        start = initial(
            self.init,
            distances,
            (mapped.n, self.n_components),
            objects.dtype,
            self.random_state,
            lambda: self._start(mapped, distances).astype(objects.dtype, copy=False),
        )
        found = curvilinear(
            distances,
            start,
            self._monitor(checks.integer(self.max_iter, "max_iter", 1)),
            alpha=self.alpha,
            lambda_range=self.lambda_range,
            neighborhood=self.neighborhood,
            random_state=self.random_state,
        )
        self.embedding_, self.error_, self.stress_, self.history_ = found
        self.n_iter_ = len(found.history)
        if self.n_prototypes is not None:
            self.embedding_ = self._place_among(found.embedding, as_new(objects))

    def _start(self, objects: Objects, distances: Distances) -> Array:
        if objects.euclidean:
            rows = objects.vectors("init='auto'")
            k = min(self.n_components, *rows.shape)
            axes = principal_axes(rows, k)
            start = scores(rows, axes.mean, axes.components)
            return np.pad(start, ((0, 0), (0, self.n_components - k)))
        if isinstance(distances, np.ndarray):
            return classical_start(distances, self.n_components)
        random = check_random_state(seed_of(self.random_state))
        return landmark_start(distances, objects.n, self.n_components, random)

    def _transform(self, new: NewObjects) -> Array:
        images = self.embedding_[getattr(self, "prototypes_", slice(None))]
        return self._place_among(images, new)

    def _place_among(self, images: Array, new: NewObjects) -> Array:
        """Objects placed by the rule among the images of the mapped ones."""
        mapped = new.among(self.prototypes_) if hasattr(self, "prototypes_") else new
        nearest, distances = mapped.nearest(min(NEIGHBORS, len(images)))
        return place_by_curvilinear_rule(images, nearest, distances)
