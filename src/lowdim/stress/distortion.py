"""Minimum-distortion embedding (Agrawal, Ali and Boyd 2021)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.backends.native.algebra import gram
from lowdim.backends.native.dense import product, symmetric_eigen
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.neighbor_embedding.anchors import pins, start_at_pins
from lowdim.neighbor_graphs.graph import NeighborGraph, row_of_entries
from lowdim.numerics.objective import Objective
from lowdim.numerics.quasi_newton import lbfgs
from lowdim.runtime.callbacks import Callback, Monitor
from lowdim.runtime.elementary import exp, log, normal_numbers, power
from lowdim.spectral.starts import spectral_start

Penalty = Callable[[Array], tuple[Array, Array]]  # from distances to values and derivatives

HUBER_THRESHOLD = 0.5  # distance up to which the penalty is quadratic
LOGISTIC_SLOPE = 3.0
LOG1P_POWER = 1.5  # the constants are the defaults of pymde
NEAREST = 1e-6  # distance below which repulsion does not grow
JITTER = 1e-3  # of a start, relative to its size, so that no objects coincide
TINY = float(np.finfo(np.float64).tiny)
CONSTRAINTS = ("standardized", "centered")


def _huber(d: Array) -> tuple[Array, Array]:
    near, t = np.minimum(d, HUBER_THRESHOLD), HUBER_THRESHOLD
    return near * near / 2 + t * (d - near), near


def _logistic(d: Array) -> tuple[Array, Array]:
    decay = exp(-LOGISTIC_SLOPE * d)
    return LOGISTIC_SLOPE * d + log(1 + decay), LOGISTIC_SLOPE / (1 + decay)


def _log1p(d: Array) -> tuple[Array, Array]:
    powers = power(d, LOG1P_POWER)
    return log(1 + powers), LOG1P_POWER * power(d, LOG1P_POWER - 1) / (1 + powers)


def _log(d: Array) -> tuple[Array, Array]:
    rest = 1 - exp(-np.maximum(d, NEAREST))
    return log(rest), np.where(d > NEAREST, (1 - rest) / rest, 0.0)


def _log_ratio(d: Array) -> tuple[Array, Array]:
    kept = np.maximum(d, NEAREST)
    squares = kept * kept
    return log(squares / (1 + squares)), np.where(d > NEAREST, 2 / (kept * (1 + squares)), 0.0)


def _inverse(d: Array) -> tuple[Array, Array]:
    kept = np.maximum(d, NEAREST)
    return -1 / kept, np.where(d > NEAREST, 1 / kept**2, 0.0)


PENALTIES: dict[str, Penalty] = {
    "linear": lambda d: (d, np.ones_like(d)),
    "quadratic": lambda d: (d * d, 2 * d),
    "cubic": lambda d: (d**3, 3 * d * d),
    "huber": _huber,
    "logistic": _logistic,
    "log1p": _log1p,
    "log": _log,
    "log-ratio": _log_ratio,
    "inverse": _inverse,
}


class MinimumDistortion(NamedTuple):
    """An embedding of least average distortion, with the distortion of each edge."""

    embedding: Array
    distortion: float
    edges: Array
    distortions: Array
    n_iter: int


def embed(
    edges: Any,
    penalty: str | Penalty = "quadratic",
    constraint: Any = "standardized",
    *,
    n_components: int = 2,
    weights: Any = None,
    lengths: Any = None,
    repulsion: str | Penalty = "log-ratio",
    negative_sample_rate: int = 0,
    init: Any = "spectral",
    max_iter: int = 300,
    tol: float = 1e-6,
    random_state: Any = None,
    callback: Callback | None = None,
    verbose: int = 0,
) -> MinimumDistortion:
    """Minimum-distortion embedding: place the vertices of a graph by penalties that you choose.

    Minimises the average over the edges of `w f(d)`, where w is the weight of an edge, d its length
    on the map and f the penalty [1]_. Laplacian eigenmaps, metric scaling, force-directed drawings
    and many methods of this library are such problems.

    Parameters
    ----------
    edges : NeighborGraph or array of int of shape (n_edges, 2)
        The pairs of objects that count. A graph of `lowdim.neighbors` has one edge for each pair of
        neighbours, in one direction or both.
    penalty : str or callable, default="quadratic"
        f of edges of positive weight: "linear", d; "quadratic", d^2; "cubic", d^3; "huber", d^2 / 2
        up to d = 0.5 and linear beyond; "logistic", log(1 + exp(3 d)); "log1p", log(1 + d^1.5). A
        function takes an array of distances and returns two: the values, and their derivatives.
    constraint : {"standardized", "centered"} or array of shape (n_objects, n_components), \
default="standardized"
        "standardized": the columns of the map have mean 0 and variance 1 and are uncorrelated.
        "centered": they have mean 0. An array pins objects to its rows; NaN is a free coordinate.
    $n_components
    weights : array of shape (n_edges,), default=None
        Weights of the edges, by default 1. The ends of an edge of negative weight repel each other.
    lengths : array of shape (n_edges,) or True, default=None
        Wanted lengths of the edges; f is then a function of the deviation from them, \
`\\|d - length\\|`. True: the distances in a `NeighborGraph`.
    repulsion : str or callable, default="log-ratio"
        f of edges of negative weight: "log", log(1 - exp(-d)); "log-ratio", log(d^2 / (1 + d^2));
        "inverse", -1/d; or any other penalty.
    negative_sample_rate : int, default=0
        Number of random pairs, of weight -1, that are added for each edge.
    init : {"spectral", "random"} or array of shape (n_objects, n_components), default="spectral"
        The start: eigenvectors of the graph, random, or given coordinates.
    max_iter : int, default=300
        Largest number of iterations.
    tol : float, default=1e-6
        Iterations end when five of them lower the average distortion by less than this share.
    random_state : int, RandomState or None, default=None
        Seed of random pairs and starts; None stands for 0.
    callback : callable, default=None
        Called after each iteration with its state; True ends the fit.
    verbose : int, default=0
        Whether to show a progress bar.

    Returns
    -------
    MinimumDistortion
        A tuple of `embedding`, `distortion` (the average), `edges` (also the random ones),
        `distortions` of each edge, and `n_iter`.

    See Also
    --------
    MDS, LaplacianEigenmaps, UMAP : Special cases, with new objects, and for more objects.

    Notes
    -----
    The solver is a quasi-Newton method. A standardized map is the projection of free coordinates Z
    onto the constraint, ``sqrt(n) Z (Z'Z)^(-1/2)``, as in the paper, so that each step stays on
    it. Penalties have the constants of pymde. Time of an iteration is proportional to the edges.

    References
    ----------
    .. [1] A. Agrawal, A. Ali and S. Boyd, "Minimum-distortion embedding", *Foundations and Trends
       in Machine Learning* 14 (2021) 211-378.

    Examples
    --------
    >>> import lowdim
    >>> X, _ = lowdim.data.swiss_roll(300, random_state=0)
    >>> graph = lowdim.neighbors(X, k=8)
    >>> result = lowdim.embed(graph, "log1p", negative_sample_rate=1)
    >>> result.embedding.shape
    (300, 2)
    """
    held = None
    if not isinstance(constraint, str):
        held = checks.vectors(constraint, name="constraint", allow_nan=True)
    size = next((len(given) for given in (held, init) if isinstance(given, np.ndarray)), 0)
    pairs, w, wanted, n = _check_edges(edges, weights, lengths, size)
    dim = checks.integer(n_components, "n_components", 1, n - 1)
    random = checks.fixed_random_state(random_state)
    X = _start(init, pairs[w > 0], n, dim, random)
    extra = checks.integer(negative_sample_rate, "negative_sample_rate", 0) * len(pairs)
    drawn = random.randint(n, size=extra)
    others = (drawn + 1 + random.randint(n - 1, size=extra)) % n
    pairs = np.concatenate([pairs, np.stack([drawn, others], axis=1)]).astype(np.int32)
    w = np.concatenate([w, np.full(extra, -1.0)])
    laws = [_law(penalty, "penalty"), _law(repulsion, "repulsion")]
    average = Distortion(pairs, n, w, wanted, *laws)
    if wanted is not None:
        if w.min() < 0:
            raise ValueError(f"{argument('lengths')} needs weights that are not negative.")
        if isinstance(init, str):
            d = average.distances(X)
            X *= float((w * wanted * d).sum() / max((w * d * d).sum(), TINY))
    elif held is None and constraint == "centered" and w.min() >= 0:
        raise ValueError(
            "Edges that only attract draw all objects to one place. Set "
            f"{argument('constraint', 'standardized')}, give {argument('lengths')}, or raise "
            f"{argument('negative_sample_rate')}."
        )
    objective: Objective = average
    show: Callable[[Array], Array] = _center
    if held is not None:
        if held.shape != (n, dim) or np.isnan(held).all():
            raise ValueError(
                f"{argument('constraint')} has shape {held.shape} and {np.isfinite(held).sum()} "
                f"coordinates: give a row for each of {n} objects and {dim} columns, NaN for "
                "coordinates that are free, but not for all."
            )
        X = start_at_pins(X, pins(held, 1.0, n, dim, np.float64), init)
        free = np.isnan(held)
        objective, show = _at_free(average, X, free), partial(_fill, X, free)
        X = X[free]
    elif checks.choice(constraint, "constraint", CONSTRAINTS) == "standardized":
        objective, show, X = _at_projection(average), _standardize, _standardize(X)
    monitor = Monitor(checks.integer(max_iter, "max_iter", 1), "embed", callback, verbose)
    tol = checks.real(tol, "tol", 0)
    best = lbfgs(objective, X, monitor, tol=tol, show=show, enough=-np.inf)
    Y = show(best.x)
    distortions = average.of_edges(average.distances(Y))[0]
    n_iter = len(best.history) - 1
    return MinimumDistortion(Y, float(distortions.mean()), pairs, distortions, n_iter)


class Distortion:
    """The average distortion of a map, and its gradient."""

    def __init__(
        self,
        pairs: Array,
        n: int,
        weights: Array,
        lengths: Array | None,
        attraction: Penalty,
        repulsion: Penalty,
    ) -> None:
        self.pairs, self.weights, self.lengths = pairs, weights, lengths
        self.laws = [
            (attraction, np.flatnonzero(weights >= 0)),
            (repulsion, np.flatnonzero(weights < 0)),
        ]
        signs = np.tile([1.0, -1.0], len(pairs))
        edges = np.repeat(np.arange(len(pairs)), 2)
        self.to_objects = csr_array((signs, (pairs.ravel(), edges)), shape=(n, len(pairs)))

    def distances(self, Y: Array) -> Array:
        """The length of each edge on the map."""
        return np.asarray(np.sqrt(np.square(self._differences(Y)).sum(axis=1)))

    def of_edges(self, d: Array) -> tuple[Array, Array]:
        """The distortion of each edge, and its derivative by the length of the edge."""
        gaps = d if self.lengths is None else d - self.lengths
        values, slopes = np.empty_like(d), np.empty_like(d)
        for law, part in self.laws:
            values[part], slopes[part] = law(np.abs(gaps[part]))
        return self.weights * values, self.weights * slopes * np.sign(gaps)

    def __call__(self, Y: Array) -> tuple[float, Array]:
        d = self.distances(Y)
        values, slopes = self.of_edges(d)
        forces = slopes / (np.where(d > 0, d, np.inf) * len(d))
        gradient = backend().spmm(self.to_objects, forces[:, None] * self._differences(Y))
        return float(values.mean()), gradient

    def _differences(self, Y: Array) -> Array:
        return Y[self.pairs[:, 0]] - Y[self.pairs[:, 1]]


# --- constraints ----------------------------------------------------------------------------------


def _center(Y: Array) -> Array:
    return np.asarray(Y - Y.mean(axis=0))


def _standardize(Z: Array) -> Array:
    """The nearest map of mean 0 and covariance I: sqrt(n) Z (Z'Z)^(-1/2)."""
    Z = _center(Z)
    return product(Z, _inverse_root(Z))


def _inverse_root(Z: Array) -> Array:
    """sqrt(n) (Z'Z)^(-1/2)."""
    values, vectors = symmetric_eigen(gram(Z, Z))
    scaled = vectors * np.sqrt(len(Z) / np.maximum(values, TINY))
    return product(scaled, vectors)


def _at_projection(objective: Objective) -> Objective:
    """An objective of free coordinates, at their projection onto the standardized maps.

    Because distances do not change if a map is turned, Y' times the gradient G is symmetric, and
    the gradient with respect to Z is (I - Y Y' / n) G times the factor of the projection.
    """

    def at(Z: Array) -> tuple[float, Array]:
        Y = _standardize(Z)
        value, G = objective(Y)
        G = G - product(Y, gram(Y, G).T) / len(Y)
        return value, product(G, _inverse_root(_center(Z)))

    return at


def _fill(Y: Array, free: Array, coordinates: Array) -> Array:
    Y = Y.copy()
    Y[free] = coordinates
    return Y


def _at_free(objective: Objective, held: Array, free: Array) -> Objective:
    def at(coordinates: Array) -> tuple[float, Array]:
        value, G = objective(_fill(held, free, coordinates))
        return value, G[free]

    return at


# --- arguments ------------------------------------------------------------------------------------


def _law(penalty: str | Penalty, name: str) -> Penalty:
    if isinstance(penalty, str) or not callable(penalty):
        return PENALTIES[checks.choice(penalty, name, PENALTIES)]
    return penalty


def _check_edges(
    edges: Any, weights: Any, lengths: Any, size: int
) -> tuple[Array, Array, Array | None, int]:
    """The pairs, their weights and wanted lengths, and the number of objects."""
    if isinstance(edges, NeighborGraph):
        csr = edges.check("edges").adjacency("union")
        pairs = np.stack([row_of_entries(csr.indptr), csr.indices], axis=1)
        once = pairs[:, 0] < pairs[:, 1]
        pairs, n = pairs[once], edges.n_objects
        lengths = csr.data[once] if lengths is True else lengths
    else:
        pairs = checks.pairs(edges, "edges", size or np.inf)
        n = size or int(pairs.max(initial=-1)) + 1
        if (pairs[:, 0] == pairs[:, 1]).any():
            same = int(pairs[pairs[:, 0] == pairs[:, 1]][0, 0])
            raise ValueError(f"edges must join two objects; found one from {same} to itself.")
    if not len(pairs):
        raise ValueError("edges are empty.")
    w = np.ones(len(pairs)) if weights is None else _of_edges(weights, "weights", pairs)
    wanted = None if lengths is None else _of_edges(lengths, "lengths", pairs)
    if wanted is not None and wanted.min() < 0:
        raise ValueError(f"lengths must not be negative, found {wanted.min():g}.")
    return pairs, w, wanted, n


def _of_edges(values: Any, name: str, pairs: Array) -> Array:
    numbers = np.asarray(values)
    if numbers.shape != (len(pairs),):
        raise ValueError(
            f"{name} has shape {numbers.shape}, but there are {len(pairs)} edges: give a number "
            "for each."
        )
    return np.asarray(checks.vectors(numbers[:, None], name=name)[:, 0], dtype=np.float64)


def _start(init: Any, pairs: Array, n: int, dim: int, random: np.random.RandomState) -> Array:
    """The start, with mean 0 and, unless it is given, mean square 1 of each object's coordinates.

    No two objects are at the same place unless they are so in a start that is given.
    """
    if not isinstance(init, str):
        given = checks.vectors(init, name="init").astype(np.float64)
        if given.shape != (n, dim):
            raise ValueError(f"init has shape {given.shape}, but the map has shape {(n, dim)}.")
        return np.asarray(given)
    checks.choice(init, "init", ("spectral", "random"))
    noise = normal_numbers(random, (n, dim))
    if init == "random" or not len(pairs):
        return noise
    ones = np.ones(2 * len(pairs))
    both = np.concatenate([pairs, pairs[:, ::-1]])
    graph = csr_array((ones, (both[:, 0], both[:, 1])), shape=(n, n))
    graph.data = np.minimum(graph.data, 1.0)  # pairs that were given twice
    X = _center(spectral_start(graph, dim, random))
    size = np.sqrt(np.square(X).mean(axis=0))
    return np.asarray(X / np.where(size > 0, size, 1) + JITTER * noise)
