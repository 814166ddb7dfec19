"""Curvilinear component analysis (Demartines and Herault 1997)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowdim.checks import Array, check_random_state
from lowdim.estimator import Embedder
from lowdim.estimator.fitted_state import Numbers, any_number
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.numerics.svd import principal_scores
from lowdim.objects.new_objects import NewObjects, as_new
from lowdim.objects.objects import LARGEST_KEPT_MATRIX, Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.spectral.starts import classical_start, landmark_start
from lowdim.stress.curvilinear.placement import place_among
from lowdim.stress.curvilinear.prototypes import choose_prototypes
from lowdim.stress.curvilinear.rule import Distances, apply_rule, seed_of


class CurvilinearComponentAnalysis(Embedder):
    """Curvilinear component analysis: a map that keeps short distances and may unfold or tear.

    D -> stress weighted by the distances on the map -> one object pins, others move

    The error of a pair counts by a decreasing function F of its distance on the map, with a width
    lambda that shrinks during the fit. In each epoch every object is pinned once, and all others
    move along the line to it, towards the distance that they should have.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the map.
    n_prototypes : int, default=None
        Map this many objects only and place the others by interpolation: for Euclidean vectors
        those nearest to the centres of k-means, otherwise objects far from each other.
    max_iter : int, default=50
        Number of epochs.
    alpha : tuple of float, default=(0.5, 0.01)
        First and last step size of the rule.
    lambda_range : tuple of float or "auto", default="auto"
        First and last width of F, in units of the distances; "auto" goes from 3 to 0.1 standard
        deviations of the start along its widest axis.
    neighborhood : {"exponential", "step"}, default="exponential"
        F: exp(-Y / lambda), or 1 up to lambda and 0 beyond. A step tears more easily.
    init : str or array of shape (n_samples, n_components), default="auto"
        Start: "auto", principal components of Euclidean vectors and otherwise classical scaling;
        "random"; or given coordinates.
    metric : str or callable, default="euclidean"
        Name of a SciPy metric, "gower", "nan_euclidean", a function of two objects, or
        "precomputed".
    $metric_params
    random_state : int, RandomState or None, default=None
        Seed of the order of the pins, of the prototypes and of init="random"; None stands for 0.
    $n_jobs
    callback : callable, default=None
        Called after every epoch with its error and map; a true return value stops.
    $verbose
    $checkpoint

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Coordinates of the objects.
    error_ : float
        sum_{i<j} F(Y_ij) (X_ij - Y_ij)^2 at the last lambda, for distances X_ij in the data and
        Y_ij on the map.
    history_ : array of shape (n_iter,)
        The same during each epoch, at its own lambda.
    stress_ : float
        (sum (X - Y)^2 / sum X^2)^(1/2) over all pairs: the cost of tearing and folding.
    prototypes_ : array of int
        Row numbers of the prototypes; with n_prototypes only.
    n_iter_ : int
        Number of epochs.

    See Also
    --------
    CurvilinearDistanceAnalysis : the same for distances along the data's manifold.
    Sammon : weights by the distances in the data instead.

    Notes
    -----
    An epoch takes time n^2. From vectors no n x n matrix of more than 1 GB is kept: the distances
    to the pins are then measured again in every epoch, except by a callable metric.

    `transform` moves a new object by the same rule among its nearest neighbours, with the map
    fixed. ``transform(X_train)`` equals `embedding_`.

    The error is that of equation 1 in [1]_.

    References
    ----------
    .. [1] P. Demartines, J. Herault, "Curvilinear component analysis: a self-organizing neural
       network for nonlinear mapping of data sets", IEEE Transactions on Neural Networks 8, 1997.

    Examples
    --------
    Points of a plane in three dimensions keep their distances.

    >>> import numpy as np
    >>> import lowdim
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) @ np.array([[1, 0, 1], [0, 1, 0]])
    >>> analysis = lowdim.CurvilinearComponentAnalysis(random_state=0).fit(X)
    >>> bool(analysis.stress_ < 1e-6)
    True
    """

    traits = Traits(
        sentence="D -> stress weighted by the distances on the map -> one object pins, others move",
        keeps="short distances; unfolds or tears what cannot lie flat",
        when="the data must be torn to lie flat: spheres, boxes, knots",
        cost="n^2 per epoch; memory n beyond 1 GB of distances; m^2 per epoch with m prototypes",
        extends="the same rule against the fixed map; barycentric inverse",
        paper="Demartines and Herault 1997",
        power=2.5,
        reduced_by="n_prototypes",
    )

    _attributes: ClassVar = {
        "prototypes_": Numbers("m", "iu", 0, "n"),
        "stress_": any_number,
        "error_": any_number,
    }

    _units: ClassVar = {"embedding_": 1, "init": 1, "lambda_range": 1, "error_": 2, "history_": 2}

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
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
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
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _memory(self, fit: Problem) -> float:
        if m := fit.object_count("n_prototypes"):
            return 8.0 * m * m + fit.n * 8.0
        return fit.distances if fit.n * fit.n * 8 <= LARGEST_KEPT_MATRIX else 0.0

    def _fit(self, objects: Objects) -> None:
        k, mapped = self._check_n_components(objects.n), objects
        if self.n_prototypes is not None:
            self.prototypes_ = choose_prototypes(
                objects, self.n_prototypes, k + 1, self.random_state
            )
            mapped = objects.subset(self.prototypes_)
        distances = mapped.distances_from()

        def auto() -> Array:
            return self._start(mapped, distances).astype(objects.dtype, copy=False)

        apply_rule(self, distances, mapped.n, objects.dtype, auto)
        if self.n_prototypes is not None:
            known = as_new(objects).among(self.prototypes_)
            self.embedding_ = place_among(self.embedding_, known.nearest)

    def _start(self, objects: Objects, distances: Distances) -> Array:
        if objects.euclidean:
            rows = objects.vectors("init='auto'")
            return principal_scores(rows, self.n_components)
        if isinstance(distances, np.ndarray):
            return classical_start(distances, self.n_components)
        random = check_random_state(seed_of(self.random_state))
        return landmark_start(distances, objects.n, self.n_components, random)

    def _transform(self, new: NewObjects) -> Array:
        if not hasattr(self, "prototypes_"):
            return place_among(self.embedding_, new.nearest)
        known = new.among(self.prototypes_)
        return place_among(self.embedding_[self.prototypes_], known.nearest)
