"""Neighbourhood components analysis (Goldberger, Hinton, Roweis and Salakhutdinov 2005)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from inspect import signature
from itertools import count
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.affinities import sum_buffers
from lowdim.checks import Array
from lowdim.estimator import Problem, Traits, declare_parameters
from lowdim.learned.metric_learning.metric_learning import LearnedMetric
from lowdim.messages import argument
from lowdim.numerics.quasi_newton import CORRECTIONS, lbfgs
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, State
from lowdim.runtime.context import current

FLAT = 1e-9  # slope per object below which the objective is flat, relative to the map
# Arrays of the map's size: the solver's past, twice while it finds a direction, and its trials.
MAPS = 4 * CORRECTIONS + 2


@declare_parameters
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
    $attributes
    loss_ : float
        Expected share of wrong labels.
    history_ : array of shape (n_iter + 1,)
        The loss at the start and after each iteration.

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

    Distances are those of the vectors as they are: at the start with vectors times c they are c
    times as long, and the map may be another one. One class, or one object of each, teaches
    nothing: the first map is kept, with a warning.

    With `warm_start` a fit to other vectors starts from the map of the fit before, instead of
    `init`.

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
        keeps="which features tell the labels apart, as a linear map",
        when="objects have labels and a picture of them or a classifier by neighbours is wanted",
        cost="n^2 k per iteration for k components",
        extends="linear both ways",
        paper="Goldberger, Hinton, Roweis and Salakhutdinov 2005",
        power=2.3,
        objects="labelled",
        scales_axes=True,
    )

    n_components: int | None = None
    _: KW_ONLY
    init: Any = "auto"
    max_iter: int = 50
    tol: float = 1e-5

    def _memory(self, fit: Problem) -> float:
        """Sums of the parts of all rows, pairs by thread; maps of the solver; the metric."""
        d = int(fit.objects.vectors("stochastic neighbours").shape[1])
        k = self.n_components
        k = min(k, d) if isinstance(k, int) else d
        sums = 8.0 * fit.n * ((sum_buffers(fit.n) + 4) * (k + 5) + d + 22 * current().threads)
        side = float(min(fit.n, d))  # of the smaller matrix of products, at the start
        start = 8.0 * (5 * fit.n * d + 3 * side * side) if k < d else 0.0
        return sums + MAPS * 8.0 * k * d + start

    def _fit(self, objects: Objects, y: Any = None) -> None:
        X = self._vectors(objects)
        codes, k = self._codes(y, len(X), any_classes=True), self._dimension(X.shape[1])
        checks.integer(self.max_iter, "max_iter", 1)
        tol = checks.real(self.tol, "tol", 0)
        monitor = self._monitor(self.max_iter)
        start = self._first_map(X, codes, k, begun=monitor.begun)
        objective = StochasticNeighbors(X, codes, accuracy=tol)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = objective.map(start)
            if not np.isfinite(np.vdot(Z, Z)):
                raise ValueError("X: squared distances overflow. Rescale the columns.")
        if maps_alone := _takes_two(self.callback):
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
        if self.verbose and self.n_iter_ == self.max_iter and not monitor.stopped:
            checks.warn(
                f"[{type(self).__name__}] NCA did not converge: "
                f"{argument('max_iter', self.max_iter)} was reached.",
                ConvergenceWarning,
            )
        learns = 1 < len(self.classes_) < len(X)
        if learns and self.n_iter_ == 0 and self.loss_ > tol and _is_flat(objective, minimum.x):
            checks.warn(
                "X: the objects are so far apart that the objective is flat at the start, which is "
                "kept: each object has one neighbour. Divide X by its standard deviation."
            )
        self._keep(X, minimum.x)


class StochasticNeighbors:
    """The loss of neighbourhood components analysis and its gradient.

    The value is the expected number of errors of leave-one-out classification by a stochastic
    neighbour: ``n - sum_i p_i`` with ``p_i = sum_{j: y_j = y_i} p_ij`` and p_ij the softmax of
    ``-|L x_i - L x_j|^2`` over all j other than i (Goldberger et al. 2005, equations 1 to 5).

    Squared distances may have errors of about the size of `accuracy`.
    """

    def __init__(self, X: Array, codes: Array, accuracy: float) -> None:
        order = np.argsort(codes, kind="stable")
        self.X, self.codes = X[order], codes[order].astype(np.int32)
        self.X -= X.mean(axis=0, dtype=np.float64).astype(X.dtype)  # far from 0, L x loses digits
        self.accuracy = accuracy
        self.errors = backend().stochastic_neighbor_errors

    def map(self, L: Array) -> Array:
        """The coordinates L x of all objects, of mean 0, in the order of their classes."""
        return np.asarray(self.X @ self._in(L).T, dtype=np.float64)

    def __call__(self, L: Array) -> tuple[float, Array]:
        value, slope = self.errors(self.map(L), self.codes, self.accuracy)
        return value, np.asarray(self._in(slope).T @ self.X, dtype=np.float64)

    def _in(self, A: Array) -> Array:
        """An array in the precision of the vectors."""
        return A if A.dtype == self.X.dtype else A.astype(self.X.dtype)


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
