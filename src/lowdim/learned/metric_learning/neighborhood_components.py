"""Neighbourhood components analysis (Goldberger, Hinton, Roweis and Salakhutdinov 2005)."""

from __future__ import annotations

from inspect import signature
from itertools import count
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends.native.stochastic import sum_buffers
from lowdim.checks import Array, check_random_state
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.learned.metric_learning.discriminants import discriminant_axes
from lowdim.learned.metric_learning.leave_one_out import StochasticNeighbors
from lowdim.learned.metric_learning.metric_learning import LearnedMetric
from lowdim.messages import argument
from lowdim.numerics.quasi_newton import lbfgs
from lowdim.numerics.svd import principal_axes
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile, State
from lowdim.runtime.context import current

FLAT = 1e-9  # slope per object below which the objective is flat, relative to the map
MAPS = 16  # steps and gradients that the solver remembers, with the map and its copies
STARTS = ("auto", "pca", "lda", "identity", "random")


class NeighborhoodComponentsAnalysis(LearnedMetric):
    """Neighbourhood components analysis: the linear map in which neighbours share their label.

    labels + softmax of distances -> quasi-Newton on the expected leave-one-out errors

    Each object chooses another one as its neighbour, with probabilities that decrease with the
    squared distance after the map, and takes its label. The map minimises the expected number of
    wrong labels.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the map; None is the number of features.
    init : {"auto", "pca", "lda", "identity", "random"} or array, default="auto"
        First map. "auto" is linear discriminant analysis if n_components is less than the number of
        classes, otherwise principal components if it is less than the number of features, and
        otherwise the identity. An array has shape (n_components, n_features).
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-5
        Stop when an iteration lowers the expected share of errors by less than this, or when that
        share is less than this: then only the scale of the map would still grow. Squared distances
        may be computed with errors of this size.
    random_state : int, RandomState or None, default=None
        Seed of init="random"; None stands for 0.
    $run

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The linear map.
    $attributes
    classes_ : array of shape (n_classes,)
        The labels.
    mean_ : array of shape (n_features,)
        Mean of X.
    loss_ : float
        Expected share of wrong labels.
    history_ : array of shape (n_iter + 1,)
        The loss at the start and after each iteration.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    LargeMarginNearestNeighbor : a convex problem instead.
    PCA : without labels.

    Notes
    -----
    An iteration takes time n^2 k + n k d for n objects, d features and k components. Pairs
    whose probabilities are less than 1e-9 of the largest one of their row, and add up to less than
    a tenth of tol, are left out (less than 1e-13 for tol=0). The objective has local minima, so the
    result depends on `init`.

    A `callback` of two arguments is called as in scikit-learn, with the map as one row of numbers
    and the number of the iteration, and cannot stop the fit.

    $transform

    References
    ----------
    .. [1] J. Goldberger, G. Hinton, S. Roweis, R. Salakhutdinov, "Neighbourhood components
       analysis", NIPS 17, 2005.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = lowdim.NeighborhoodComponentsAnalysis(2).fit(X, y)
    >>> nca.transform(X[:3]).shape, bool(nca.loss_ < 0.05)
    ((3, 2), True)
    >>> learned = lowdim.neighbors(X, 5, metric=nca)
    """

    traits = Traits(
        sentence="labels + softmax of distances -> quasi-Newton on the leave-one-out errors",
        keeps="which features tell the labels apart, as a linear map",
        when="objects have labels and a picture of them or a classifier by neighbours is wanted",
        cost="n^2 k per iteration for k components",
        extends="linear both ways",
        paper="Goldberger, Hinton, Roweis and Salakhutdinov 2005",
        power=2.3,
        objects="labelled",
        scales_axes=True,
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: Any = "auto",
        max_iter: int = 50,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _memory(self, fit: Problem) -> float:
        """Sums of the parts of all rows, pairs by thread; maps of the solver; the metric."""
        d = int(fit.objects.vectors("stochastic neighbours").shape[1])
        k = self.n_components
        k = min(k, d) if isinstance(k, int) else d
        sums = 8.0 * fit.n * ((sum_buffers(fit.n) + 4) * (k + 5) + d + 22 * current().threads)
        metric = 8.0 * d * d  # and at the start a covariance of the features, with eigenvectors
        return sums + MAPS * 8.0 * k * d + (4 if k < d else 1) * metric

    def _fit(self, objects: Objects, y: Any = None) -> None:
        X = self._vectors(objects)
        codes, k = self._codes(y, len(X)), self._dimension(X.shape[1])
        checks.integer(self.max_iter, "max_iter", 1)
        tol = checks.real(self.tol, "tol", 0)
        start = self._start(X, codes, k)
        objective = StochasticNeighbors(X, codes, accuracy=tol)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = objective.map(start)
            if not np.isfinite(np.vdot(Z, Z)):
                raise ValueError("X: squared distances overflow. Rescale the columns.")
        monitor, maps_alone = self._monitor(self.max_iter), _takes_two(self.callback)
        if maps_alone:
            monitor.callback = _with_map(self.callback)
        minimum = lbfgs(
            objective,
            start,
            monitor,
            tol=tol,
            show=lambda L: L if maps_alone else X @ L.astype(X.dtype).T,
            floor=len(X),
            span=1,  # as scikit-learn stops
            enough=tol * len(X),  # beyond it only the scale of the map would grow
        )
        self.history_ = minimum.history / len(X)
        self.n_iter_ = len(minimum.history) - 1
        self.loss_ = float(minimum.value / len(X))
        if self.n_iter_ == 0 and self.loss_ > tol and _is_flat(objective, minimum.x):
            checks.warn(
                "X: the objects are so far apart that the objective is flat at the start, which is "
                "kept: each object has one neighbour. Divide X by its standard deviation."
            )
        self._keep(X, minimum.x)

    def _start(self, X: Array, codes: Array, k: int) -> Array:
        n, d = X.shape
        init = self.init
        if not isinstance(init, str):
            shape = np.shape(init) if hasattr(init, "__len__") else repr(init)
            if shape != (k, d):
                raise ValueError(
                    f"{argument('init')} must "
                    f"be one of {', '.join(map(repr, STARTS))} or an array of shape "
                    f"{(k, d)}; got {shape}."
                )
            return np.asarray(checks.vectors(init, name="init"), dtype=np.float64)
        checks.choice(init, "init", STARTS)
        if init == "auto":
            n_classes = int(codes.max()) + 1
            init = "lda" if k <= min(d, n_classes - 1) else "pca" if k < min(d, n) else "identity"
        if init == "identity":
            return np.eye(k, d)
        if init == "random":
            random = check_random_state(0 if self.random_state is None else self.random_state)
            return np.asarray(random.standard_normal((k, d)))
        start = discriminant_axes(X, codes, k) if init == "lda" else np.empty((0, d))
        missing = min(k, n, d) - len(start)
        if missing:
            axes = principal_axes(X, missing).components.astype(np.float64)
            start = np.concatenate([start, axes])
        return np.pad(start, ((0, k - len(start)), (0, 0)))


def _is_flat(objective: StochasticNeighbors, L: Array) -> bool:
    """Whether another scale or direction of the map changes nothing, although objects differ."""
    Z, slope = objective.map(L), objective(L)[1] * np.abs(L).max()
    return bool(np.ptp(Z) > 0 and np.abs(slope).max() <= FLAT * len(Z))


def _takes_two(callback: Any) -> bool:
    """Whether this is a callback of scikit-learn: of the map and the number of the iteration."""
    try:
        required = [p for p in signature(callback).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        return False
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in required) == 2


def _with_map(callback: Any) -> Callback:
    """A callback of the map and the number of the iteration, from 0, as one of the state."""
    numbers = count()

    def call(state: State) -> None:
        callback(np.array(state.embedding, dtype=np.float64).ravel(), next(numbers))

    return call
