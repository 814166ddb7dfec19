"""The rule of curvilinear component analysis (Demartines and Herault 1997).

One object i after the other is fixed (the pin), and all others move along the line to it, towards
the given distance: y_j += alpha F(Y_ij) (X_ij - Y_ij) / Y_ij (y_j - y_i), with X the given
distances and Y those in the embedding. F decreases with Y at a scale lambda that decreases over the
epochs, so that large distances that cannot be kept are ignored in the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array, check_random_state
from lowdim.estimator import Embedder, Iterative, declare_parameters
from lowdim.estimator.fitted_state import Numbers, any_number
from lowdim.numerics.kmeans import fit_kmeans
from lowdim.numerics.starts import check_start, random_start
from lowdim.objects.landmarks import choose_landmarks
from lowdim.objects.objects import MeasuredObjects, Objects
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.elementary import power
from lowdim.runtime.scheduling import blocks

NEIGHBORHOODS = ("exponential", "step")
WIDEST, NARROWEST = 3.0, 0.1  # lambda="auto", in standard deviations of the start's widest axis
BLOCK_PINS = 64  # distances are computed for a multiple of this number of pins
PAIRS_AT_ONCE = 2**21  # and for about this number of pairs at once: 16 MB in float64

Distances = Array | Callable[[Array], Array]
"""The matrix of all distances, or a function from some objects to their rows of it."""


class CurvilinearMap(NamedTuple):
    """The result of `curvilinear`."""

    embedding: Array
    error: float  # equation 1 of the paper: sum_{i<j} F(Y_ij) (X_ij - Y_ij)^2, at the last lambda
    stress: float  # (sum (X - Y)^2 / sum X^2)^(1/2) over all pairs
    history: Array  # the error of each epoch, summed before each point moved


class Decrease(NamedTuple):
    """A geometric decrease over the epochs."""

    first: float
    last: float

    def at(self, epoch: int, epochs: int) -> float:
        """The value in an epoch."""
        done = epoch / max(epochs - 1, 1)
        return float(power(self.first, 1 - done) * power(self.last, done))


def curvilinear(
    distances: Distances,
    start: Array,
    monitor: Monitor,
    *,
    alpha: Any = (0.5, 0.01),
    lambda_range: Any = "auto",
    neighborhood: str = "exponential",
    random_state: Any = None,
) -> CurvilinearMap:
    """Apply the rule for `monitor.max_iter` epochs; in each, every object is the pin once.

    The order of the pins in an epoch is a permutation drawn by (seed, epoch) of the objects sorted
    by their distance from the centre of the start, so that the result does not depend on the order
    of the rows. `alpha` is the learning rate, and `lambda_range` the scale of F.
    """
    checks.choice(neighborhood, "neighborhood", NEIGHBORHOODS)
    rate = Decrease(*checks.decreasing(alpha, "alpha", 1.0))
    unit = _unit(start)
    Y = np.ascontiguousarray(start.T, dtype=np.float64) * unit
    Y -= Y.mean(axis=1, keepdims=True)
    spread = max(float(Y.std(axis=1).max(initial=0.0)), 1e-6)
    reach = Decrease(WIDEST * spread, NARROWEST * spread)
    if not (isinstance(lambda_range, str) and lambda_range == "auto"):
        first, last = checks.decreasing(lambda_range, "lambda_range", np.inf, " or 'auto'")
        reach = Decrease(first * unit, last * unit)
    n = len(start)
    seed, step = checks.fixed_seed(random_state), neighborhood == "step"
    ranked = np.argsort((Y * Y).sum(axis=0), kind="stable").astype(np.int32)

    def sweep(pins: Array, Y: Array, alpha: float, reach: float, step: bool) -> float:
        """One epoch with the given pins; the error before each move, each pair counted once."""
        total, whole = 0.0, isinstance(distances, np.ndarray)
        some = BLOCK_PINS * max(1, PAIRS_AT_ONCE // (BLOCK_PINS * n))
        for part in blocks(n, n if whole else some):
            own = pins[part]
            rows = own if whole else np.arange(len(own), dtype=np.int32)
            D = distances if isinstance(distances, np.ndarray) else distances(own)
            total += backend().curvilinear_sweep(
                D, rows, own, Y, unit=unit, alpha=alpha, reach=reach, step=step
            )
        error = total / 2 / unit / unit
        if not np.isfinite(error):
            raise ValueError(
                "X: the distances are too large, their squares overflow. Divide X by a constant."
            )
        return error

    def coordinates() -> Array:
        centered = Y - Y.mean(axis=1, keepdims=True)
        return np.ascontiguousarray(centered.T / unit, dtype=start.dtype)

    history: list[float] = []
    width = reach.first

    def state() -> dict[str, Any]:
        return {"Y": Y, "width": width, "history": np.array(history)}

    with monitor:
        if (saved := monitor.load_state({"Y": Y}, scheduled=True)) is not None:
            Y, width, history = saved["Y"], saved["width"], saved["history"].tolist()
        for epoch in range(len(history), monitor.max_iter):
            pins = ranked[np.random.default_rng([seed, epoch]).permutation(n)]
            width = reach.at(epoch, monitor.max_iter)
            history.append(sweep(pins, Y, rate.at(epoch, monitor.max_iter), width, step))
            if monitor(epoch + 1, history[-1], coordinates() if monitor.wants_embedding else Y.T):
                break
            monitor.keep(state)
    error = sweep(ranked, Y, 0.0, width, step)
    apart = sweep(ranked, Y, 0.0, np.inf, True)
    total = sweep(ranked, np.zeros_like(Y), 0.0, np.inf, True)
    stress = float(np.sqrt(apart / total)) if total > 0 else 0.0
    return CurvilinearMap(coordinates(), error, stress, np.asarray(history, dtype=np.float64))


@declare_parameters
class CurvilinearAnalysis(Iterative, Embedder):
    """The parameters of both methods, and the map of their distances."""

    _passages: ClassVar = {
        "rule": """n_prototypes : int, default=None
    Map this many objects only and place the others by interpolation: for Euclidean vectors
    those nearest to the centres of k-means, otherwise objects far from each other.
max_iter : int, default=50
    Number of epochs, in each of which every object is pinned once.
alpha : tuple of float, default=(0.5, 0.01)
    First and last step size of the rule.
lambda_range : tuple of float or "auto", default="auto"
    First and last width of the neighbourhood F on the map, in units of the distances; "auto"
    goes from 3 to 0.1 standard deviations of the start along its widest axis.
neighborhood : {"exponential", "step"}, default="exponential"
    F: exp(-Y / lambda), or 1 up to lambda and 0 beyond. A step tears more easily.""",
        "settings": """random_state : int, RandomState or None, default=None
    Seed of the order of the pins, of the prototypes and of init="random"; None stands for 0.
$n_jobs
callback : callable, default=None
    Called after every epoch with its error and map; a true return value stops.
$verbose
$checkpoint""",
        "results": """error_ : float
    sum_{i<j} F(Y_ij) (X_ij - Y_ij)^2 at the last lambda, for distances X_ij in the data (geodesics
    in curvilinear distance analysis) and Y_ij on the map.
history_ : array of shape (n_iter,)
    The same during each epoch, at its own lambda.
stress_ : float
    (sum (X - Y)^2 / sum X^2)^(1/2) over all pairs: the cost of tearing and folding.
prototypes_ : array of int
    Row numbers of the prototypes; with n_prototypes only.
n_iter_ : int
    Number of epochs.""",
    }

    _attributes: ClassVar = {
        "prototypes_": Numbers("m", "iu", 0, "n"),
        "stress_": any_number,
        "error_": any_number,
    }
    _units: ClassVar = {
        **dict.fromkeys(("embedding_", "dist_matrix_", "init", "radius", "lambda_range"), 1),
        **dict.fromkeys(("error_", "history_"), 2),
    }

    n_components: int = 2
    _: KW_ONLY
    n_prototypes: int | None = None
    max_iter: int = 50
    alpha: tuple[float, float] = (0.5, 0.01)
    lambda_range: Any = "auto"
    neighborhood: str = "exponential"
    init: Any = "auto"
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None

    def _map(self, distances: Distances, n: int, dtype: Any, auto: Callable[[], Array]) -> Array:
        """A map of n objects, and its errors; `auto` gives the start for init="auto"."""
        shape, seed = (n, self.n_components), self.random_state
        solution = curvilinear(
            distances,
            initial(self.init, distances, shape, dtype, seed, auto),
            self._monitor(checks.integer(self.max_iter, "max_iter", 1)),
            alpha=self.alpha,
            lambda_range=self.lambda_range,
            neighborhood=self.neighborhood,
            random_state=seed,
        )
        Y, self.error_, self.stress_, self.history_ = solution
        self.n_iter_ = len(self.history_)
        return Y


def initial(
    init: Any,
    distances: Distances,
    shape: tuple[int, int],
    dtype: Any,
    random_state: Any,
    auto: Callable[[], Array],
) -> Array:
    """The start that `init` names: auto(), random of the size of the distances, or an array."""
    n, dim = shape
    if isinstance(init, str):
        checks.choice(init, "init", ("auto", "random"))
        if init == "auto":
            return auto()
        some = np.arange(min(n, BLOCK_PINS), dtype=np.int32)
        D = distances[some] if isinstance(distances, np.ndarray) else distances(some)
        size = float(np.sqrt(np.mean(D.astype(np.float64) ** 2)))
        random = np.random.RandomState(checks.fixed_seed(random_state))
        return random_start(n, dim, size, random, np.dtype(dtype))
    return check_start(init, shape, ("auto", "random")).astype(dtype)


def _unit(start: Array) -> float:
    """A power of two that scales the start to about 1, so that squares do not overflow."""
    size = float(np.abs(start).max(initial=0.0))
    if not np.isfinite(size):
        raise ValueError("X: the numbers are too large, their squares overflow. Divide X first.")
    twos = int(np.clip(1 - np.frexp(size)[1], -1000, 1000))
    return float(np.ldexp(1.0, twos)) if size > 0 else 1.0


def choose_prototypes(objects: Objects, count: Any, least: int, seed: Any) -> Array:
    """Indices of at most `count` prototypes, ascending.

    For Euclidean vectors these are the objects nearest to the centres of k-means; two centres may
    have the same nearest object. For other metrics and dissimilarities the first is random and
    each of the others is the object farthest from those before (Gonzalez 1985). In a graph they are
    random.
    """
    count = checks.integer(count, "n_prototypes", least, objects.n, " (n_samples)")
    seed = 0 if seed is None else seed
    if isinstance(objects, MeasuredObjects) and objects.euclidean:
        return _near_centers(objects, count, seed)
    if not objects.complete:
        return choose_landmarks(objects.n, count, least, seed)
    chosen = [int(check_random_state(seed).randint(objects.n))]
    gap = np.full(objects.n, np.inf)
    while len(chosen) < count:
        gap = np.minimum(gap, objects.row(chosen[-1]))
        farthest = int(gap.argmax())
        if gap[farthest] == 0 and len(chosen) >= least:
            break  # all other objects are duplicates of prototypes
        chosen.append(farthest)
    return np.unique(chosen).astype(np.int32)


def _near_centers(objects: MeasuredObjects, count: int, seed: Any) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there may be fewer distinct objects than centres
        kmeans = fit_kmeans(objects.rows, count, n_init=1, random_state=seed)
    centers = kmeans.cluster_centers_
    nearest, _ = objects.search(1)(centers.astype(objects.rows.dtype, copy=False))
    return np.unique(nearest).astype(np.int32)
