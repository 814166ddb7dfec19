"""Information-theoretic metric learning (Davis, Kulis, Jain, Sra and Dhillon 2007)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, fixed_random_state
from lowdim.estimator import Problem, Traits, declare_parameters
from lowdim.estimator.fitted_state import Sizes, number
from lowdim.learned.metric_learning.metric_learning import LearnedMetric, principal_factor
from lowdim.messages import argument
from lowdim.objects.objects import Objects
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks

PRIORS = ("identity", "covariance")
SAMPLED_PAIRS = 10_000  # random pairs whose distances give the bounds
MATRICES, COPIES = 9, 3  # of d x d numbers and of X that a fit holds at its peak
OPERATIONS = 50_000_000  # multiplications between two chances for Ctrl-C: some tens of ms
PAIRS_PER_CLASSES = 20  # constraints per squared number of classes, as in the paper


def _two_numbers(name: str, value: Any, sizes: Sizes) -> None:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError(f"{name} is not a tuple of 2 numbers.")
    for item in value:
        number()(name, item, sizes)


@declare_parameters
class InformationTheoreticMetricLearning(LearnedMetric):
    """Information-theoretic metric learning: the metric nearest to a prior that separates pairs.

    pairs + bounds -> Bregman projections of a Mahalanobis matrix

    Pairs of similar objects must be nearer than an upper bound and pairs of dissimilar ones farther
    than a lower bound. Of all metrics that fulfil this, with some slack, the one with the smallest
    LogDet divergence from the prior is learned.

    Parameters
    ----------
    $principal
    prior : {"identity", "covariance"}, default="identity"
        The prior metric: Euclidean, or that of the inverse covariance matrix.
    slack : float, default=1.0
        Cost of a violated bound (gamma in the paper); small values stay near the prior.
    bounds : tuple of float, default=None
        Upper bound of similar and lower bound of dissimilar pairs, for squared distances under the
        prior. None takes the 5th and the 95th percentile of the squared distances of all pairs.
    n_constraints : int, default=None
        Number of random pairs that are made from labels, half of them similar. None is 20 times the
        squared number of classes.
    max_iter : int, default=1000
        Maximum number of passes over the pairs.
    tol : float, default=1e-3
        Stop when a pass changes the multipliers of the constraints by less than this share.
    random_state : int, RandomState or None, default=None
        Seed of the pairs that are made from labels; None stands for 0.
    $n_jobs
    callback : callable, default=None
        Called after every pass with the divergence and the map; a true return value stops.
    $verbose
    $checkpoint

    Attributes
    ----------
    $attributes
    bounds_ : tuple of float
        The two bounds.
    history_ : array of shape (n_iter,)
        LogDet divergence from the prior after each pass, which is an iteration.

    See Also
    --------
    LargeMarginNearestNeighbor : constraints of neighbours rather than of random pairs.

    Notes
    -----
    A pass takes time m d^2 for m pairs.

    $transform

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric
       learning", ICML, 2007.

    Examples
    --------
    >>> import lowdim
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> itml = lowdim.InformationTheoreticMetricLearning(2).fit(X, y)
    >>> itml.metric_.shape
    (4, 4)
    >>> pairs = {"similar": [[0, 1], [60, 70]], "dissimilar": [[0, 60]]}
    >>> itml = lowdim.InformationTheoreticMetricLearning(2).fit(X, **pairs)
    """

    traits = Traits(
        keeps="similar pairs near, dissimilar pairs far, else the prior metric, as a linear map",
        when="you know of pairs of objects that are similar or dissimilar rather than labels",
        cost="m d^2 per pass over m pairs",
        extends="linear both ways",
        paper="Davis, Kulis, Jain, Sra and Dhillon 2007",
        power=0.0,
        objects="labelled",
        scales_axes=True,
    )

    _attributes: ClassVar = {"bounds_": _two_numbers}

    n_components: int | None = None
    _: KW_ONLY
    prior: str = "identity"
    slack: float = 1.0
    bounds: tuple[float, float] | None = None
    n_constraints: int | None = None
    max_iter: int = 1000
    tol: float = 1e-3

    def _memory(self, fit: Problem) -> float:
        """Pairs; matrices of the metric; copies of the vectors."""
        count = self.n_constraints
        d = int(fit.objects.vectors("constraints").shape[1])
        pairs = (16.0 * d + 90) * (count if isinstance(count, int) else 0)
        return pairs + MATRICES * 8.0 * d * d + COPIES * 8.0 * fit.n * d

    def _unit_of(self, name: str) -> float:
        if self.prior == "covariance":  # distances have no unit
            return super()._unit_of(name)
        return {"embedding_": 1, "mean_": 1, "bounds": 2, "bounds_": 2}.get(name, 0)

    def fit(self, X: Any, y: Any = None, *, similar: Any = None, dissimilar: Any = None) -> Self:
        """Learn the map from vectors and labels or pairs.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)
            One object per row.
        y : array of shape (n_samples,), default=None
            Labels of the objects, from which pairs are drawn; not needed if pairs are given.
        similar, dissimilar : array of int of shape (n_pairs, 2), default=None
            Row numbers of pairs of objects, in place of labels, which are then ignored; there is no
            `classes_` then.

        Returns
        -------
        self
        """
        return self._check_and_fit(X, y=y, similar=similar, dissimilar=dissimilar)

    def _fit(
        self, objects: Objects, y: Any = None, similar: Any = None, dissimilar: Any = None
    ) -> None:
        X = self._vectors(objects)
        random = fixed_random_state(self.random_state)
        if similar is None and dissimilar is None:
            near, far = self._draw(self._codes(y, len(X)), random)
        else:
            similar, dissimilar = (
                np.empty((0, 2), int) if pairs is None else pairs for pairs in (similar, dissimilar)
            )
            near = checks.pairs(similar, "similar", len(X)).astype(np.int64)
            far = checks.pairs(dissimilar, "dissimilar", len(X)).astype(np.int64)
            if len(alone := far[far[:, 0] == far[:, 1]]):
                raise ValueError(
                    f"dissimilar has the pair {alone[0].tolist()}: an object has the distance 0 to "
                    "itself under every metric."
                )
        k = self._dimension(X.shape[1])
        checks.choice(self.prior, "prior", PRIORS)
        checks.integer(self.max_iter, "max_iter", 1)
        slack = checks.real(self.slack, "slack", 0, open_low=True)
        tol = checks.real(self.tol, "tol", 0)
        prior = self._prior(X)
        Z = (X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)) @ prior.T
        upper, lower = self._bounds(Z, random)
        unit = np.sqrt(lower)  # so that numbers are of order 1, whatever the units of X
        pairs = np.concatenate([near, far])
        alike = np.arange(len(pairs)) < len(near)
        M, self.history_ = project(
            (Z[pairs[:, 0]] - Z[pairs[:, 1]]) / unit,
            alike,
            np.where(alike, upper / lower, 1.0),
            self._monitor(self.max_iter),
            slack=slack,
            tol=tol,
            show=Z,
        )
        self.bounds_ = (upper, lower)
        self.n_iter_ = len(self.history_)
        self._keep(X, principal_factor(M, Z, k) @ prior)

    def _prior(self, X: Array) -> Array:
        """P such that the prior distance is the Euclidean one of the rows of X P'."""
        if self.prior == "identity":
            return np.eye(X.shape[1])
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(X.astype(np.float64), rowvar=False)))
        some = values > 1e-10 * max(float(values.max()), 1e-300)
        scale = np.where(some, 1 / np.sqrt(np.where(some, values, 1)), 0)
        return np.asarray(scale[:, None] * vectors.T)

    def _bounds(self, Z: Array, random: np.random.RandomState) -> tuple[float, float]:
        if self.bounds is not None:
            if np.shape(self.bounds) != (2,):
                raise ValueError(f"{argument('bounds')} must be two numbers, got {self.bounds!r}.")
            upper, lower = (checks.real(b, "bounds", 0, open_low=True) for b in self.bounds)
            return upper, lower
        n = len(Z)
        i, j = random.randint(n, size=(2, SAMPLED_PAIRS))
        i, j = i[i != j], j[i != j]
        with np.errstate(over="ignore"):
            gaps = (Z[i[part]] - Z[j[part]] for part in blocks(len(i)))
            squares = np.concatenate([np.einsum("ij,ij->i", gap, gap) for gap in gaps])
        if not np.isfinite(squares).all():
            raise ValueError("X: squared distances overflow. Rescale the columns.")
        upper, lower = (float(q) for q in np.percentile(squares, (5, 95)))
        lower = lower if lower > 0 else 1.0
        return max(upper, 1e-9 * lower), lower

    def _draw(self, codes: Array, random: np.random.RandomState) -> tuple[Array, Array]:
        """Random pairs of equal and of different labels, as many of both."""
        count = self.n_constraints
        if count is None:
            count = PAIRS_PER_CLASSES * len(self.classes_) ** 2
        half = max(1, checks.integer(count, "n_constraints", 2) // 2)
        n = len(codes)
        near: list[Array] = []
        far: list[Array] = []
        for _ in range(1000):  # rounds; each finds some pairs of both kinds, if there are any
            pairs = random.randint(n, size=(4 * half, 2))
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
            same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
            near.append(pairs[same])
            far.append(pairs[~same])
            if min(sum(map(len, near)), sum(map(len, far))) >= half:
                break
        return np.concatenate(near)[:half], np.concatenate(far)[:half]


def project(
    gaps: Array,
    similar: Array,
    bounds: Array,
    monitor: Monitor,
    *,
    slack: float,
    tol: float,
    show: Array,
) -> tuple[Array, Array]:
    """The matrix nearest to the identity that bounds the squared lengths of differences.

    Nearest by the LogDet divergence ``tr M - log det M - d``; bounds may be exceeded at a cost that
    grows with `slack`. This is algorithm 1 of the paper, with the step of its line 3.4 for any
    gamma: ``gamma / (gamma + 1) (1 / p - 1 / xi)``; the paper's is that of gamma = 1.

    `gaps` are the differences of the objects of each pair, `similar` whether its bound is an upper
    one, and `show` the objects, whose coordinates under M the callback gets. Returns M, and its
    divergence from the prior after each pass.
    """
    m, d = gaps.shape
    M = np.eye(d)
    gaps, signs = np.ascontiguousarray(gaps, dtype=np.float64), np.where(similar, 1.0, -1.0)
    parts = blocks(m, max(1, OPERATIONS // (2 * d * d)))
    multipliers, targets = np.zeros(m), bounds.astype(np.float64)
    history: list[float] = []
    ended = False

    def state() -> dict[str, Any]:
        arrays = {"M": M, "multipliers": multipliers, "targets": targets}
        return {**arrays, "history": np.array(history), "ended": ended}

    with monitor:
        fresh = {"M": M, "multipliers": multipliers, "targets": targets}
        if (saved := monitor.load_state(fresh)) is not None:
            M, multipliers, targets = (saved[name] for name in fresh)
            history, ended = saved["history"].tolist(), saved["ended"]
        while len(history) < monitor.max_iter and not ended:
            old = multipliers.copy()
            for part in parts:
                backend().bregman_projections(
                    gaps[part], signs[part], slack, multipliers[part], targets[part], M
                )
            M = (M + M.T) / 2
            values = np.linalg.eigvalsh(M)
            history.append(float((values - np.log(np.maximum(values, 1e-300)) - 1).sum()))
            change = np.abs(multipliers - old).sum()
            size = np.abs(multipliers).sum() + np.abs(old).sum()
            seen = show @ np.linalg.cholesky(M) if monitor.wants_embedding else show
            if monitor(len(history), history[-1], seen):
                break
            ended = bool(change <= tol * size)
            monitor.keep(state)
    return M, np.array(history)
