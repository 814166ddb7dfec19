"""Large margin nearest neighbours (Weinberger and Saul 2009)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.estimator.footprint import Problem
from lowdim.estimator.traits import Traits
from lowdim.learned.metric_learning.margins import (
    PAIR_ENTRIES,
    SEARCH_ROWS,
    LargeMargin,
    minimize,
)
from lowdim.learned.metric_learning.metric_learning import LearnedMetric, principal_factor
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.runtime.context import current

MATRICES = 14  # of d x d numbers that a fit holds at its peak


class LargeMarginNearestNeighbor(LearnedMetric):
    """Large margin nearest neighbours: neighbours of the own class near, other classes beyond them.

    labels -> target neighbours and impostors -> accelerated gradient over Mahalanobis matrices

    Each object has some target neighbours, the nearest ones with its label. They are pulled near,
    and objects with other labels are pushed out of a margin around them. The problem is convex.

    Parameters
    ----------
    n_components : int, default=None
        Dimension of the map: the leading principal components after the map. None is the number of
        features.
    n_neighbors : int, default=3
        Number of target neighbours of each object, by the Euclidean distance; in smaller classes
        all objects of the class.
    push : float, default=0.5
        Weight of the margins against that of the distances to the target neighbours, in (0, 1).
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop when 5 iterations together, between two searches of impostors, lower the loss by less
        than this share of it.
    $run

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The linear map, rotated to the principal axes of the mapped data.
    $attributes
    classes_ : array of shape (n_classes,)
        The labels.
    mean_ : array of shape (n_features,)
        Mean of X.
    loss_ : float
        The loss per object.
    history_ : array of shape (n_iter + 1,)
        The loss per object, at the start and after each iteration, over the impostors known then.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    NeighborhoodComponentsAnalysis : stochastic neighbours instead of margins.

    Notes
    -----
    A search of impostors takes time n^2 d, every fifth iteration. An iteration takes time
    m d + n d^2 + d^3 for m active impostors.

    $transform

    References
    ----------
    .. [1] K. Q. Weinberger, L. K. Saul, "Distance metric learning for large margin nearest neighbor
       classification", Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lmnn = lowdim.LargeMarginNearestNeighbor(2).fit(X, y)
    >>> lmnn.transform(X[:3]).shape, bool(lmnn.history_[-1] < lmnn.history_[0])
    ((3, 2), True)
    """

    traits = Traits(
        sentence="labels -> target neighbours and impostors -> accelerated gradient over metrics",
        keeps="neighbours of the same label, with a margin around them, as a linear map",
        when="a nearest-neighbour classifier needs a metric, found by a convex problem",
        cost="n^2 d per search of impostors; n d^2 + d^3 per iteration",
        extends="linear both ways",
        paper="Weinberger and Saul 2009",
        power=1.3,
        objects="labelled",
        scales_axes=True,
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        push: float = 0.5,
        max_iter: int = 200,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.push = push
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _memory(self, fit: Problem) -> float:
        """The search of impostors, which claims those that it finds; vectors, matrices, pairs."""
        rows = float(current().threads) * min(SEARCH_ROWS, fit.n)
        d = int(fit.objects.vectors("the search of impostors").shape[1])
        pairs = 24.0 * PAIR_ENTRIES * current().threads
        return 10.0 * rows * fit.n + 40.0 * fit.n * d + MATRICES * 8.0 * d * d + pairs

    def _fit(self, objects: Objects, y: Any = None) -> None:
        X = self._vectors(objects)
        codes, k = self._codes(y, len(X)), self._dimension(X.shape[1])
        checks.integer(self.n_neighbors, "n_neighbors", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        tol = checks.real(self.tol, "tol", 0)
        push = checks.real(self.push, "push", 0, 1, open_low=True)
        centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
        largest = float(np.abs(centred).max()) or 1.0
        centred /= largest
        targets = target_neighbors(centred, codes, self.n_neighbors)
        i, place = np.nonzero(targets >= 0)
        gaps = centred[i] - centred[targets[i, place]]
        unit = float(np.sqrt((gaps**2).sum() / max(len(i), 1))) or 1.0  # the margin is of this size
        problem = LargeMargin(centred / unit, codes, targets, push)
        solution = minimize(problem, np.eye(X.shape[1]), self._monitor(self.max_iter), tol)
        self.history_ = solution.history / len(X)
        self.n_iter_ = len(solution.history) - 1
        self.loss_ = float(solution.value / len(X))
        self._keep(X, principal_factor(solution.M, problem.X, k) / (unit * largest))


def target_neighbors(X: Array, codes: Array, k: int) -> Array:
    """The k nearest rows of the same class; -1 where a class has too few."""
    k = min(k, len(X) - 1)
    targets = np.full((len(X), k), -1, dtype=np.int64)
    for code in np.unique(codes):
        mine = np.flatnonzero(codes == code)
        few = min(k, len(mine) - 1)
        if few > 0:
            targets[mine, :few] = mine[backend().nearest(X[mine], few, False)[0]]
    return targets
