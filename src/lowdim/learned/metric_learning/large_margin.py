"""Large margin nearest neighbours (Weinberger and Saul 2009)."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from lowdim import checks
from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.estimator import Problem, Traits, declare_parameters
from lowdim.learned.metric_learning.metric_learning import LearnedMetric, principal_factor
from lowdim.messages import argument
from lowdim.objects.objects import Objects
from lowdim.runtime import memory
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.context import current
from lowdim.runtime.scheduling import blocks, run

MATRICES = 14  # of d x d numbers that a fit holds at its peak
MARGIN = 1.0
REFRESH = 5  # iterations between two searches of all impostors
SEARCH_ROWS = 256  # objects whose distances to all others are held at once by a thread
PAIR_ROWS = 8192  # pairs that are handled at once by a thread
PAIR_ENTRIES = 2**19  # of the vectors of pairs that a thread holds at once; 4 MB
IMPOSTOR_BYTES = 95  # of memory for each impostor that is found
BLOCK_BYTES = 25 * 10**6  # of memory for blocks of pairs
LAST_FAILURES = 20  # failed steps in a row, after which the step is too small to matter
FASTER, SLOWER = 1.3, 0.4  # factors of the step size after a better and after a worse iterate


@declare_parameters
class LargeMarginNearestNeighbor(LearnedMetric):
    """Large margin nearest neighbours: neighbours of the own class near, other classes beyond them.

    labels -> target neighbours and impostors -> accelerated gradient over Mahalanobis matrices

    Each object has some target neighbours, the nearest ones with its label. They are pulled near,
    and objects with other labels are pushed out of a margin around them. The problem is convex.

    Parameters
    ----------
    $principal
    n_neighbors : int, default=3
        Number of target neighbours of each object, by the Euclidean distance; in smaller classes
        all objects of the class.
    push : float, default=0.5
        Weight of the margins against that of the distances to the target neighbours, in (0, 1).
    regularization : float, default=None
        The same as `push`, which it replaces if given: its name in metric-learn.
    init : {"identity", "auto", "pca", "lda", "random"} or array, default="identity"
        First map, as in `NeighborhoodComponentsAnalysis`. As the problem is convex, it only changes
        the time and what is within `tol`.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-3
        Stop when 5 iterations together, between two searches of impostors, lower the loss by less
        than this share of it.
    random_state : int, RandomState or None, default=None
        Seed of init="random"; None stands for 0.
    $run

    Attributes
    ----------
    $attributes
    loss_ : float
        The loss per object.
    history_ : array of shape (n_iter + 1,)
        The loss per object, at the start and after each iteration, over the impostors known then.

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
        keeps="neighbours of the same label, with a margin around them, as a linear map",
        when="a nearest-neighbour classifier needs a metric, found by a convex problem",
        cost="n^2 d per search of impostors; n d^2 + d^3 per iteration",
        extends="linear both ways",
        paper="Weinberger and Saul 2009",
        power=1.3,
        objects="labelled",
        scales_axes=True,
    )

    n_components: int | None = None
    _: KW_ONLY
    n_neighbors: int = 3
    push: float = 0.5
    regularization: float | None = None
    init: Any = "identity"
    max_iter: int = 200
    tol: float = 1e-3

    def _memory(self, fit: Problem) -> float:
        """The search of impostors, which claims those that it finds; vectors, matrices, pairs."""
        rows = float(current().threads) * min(SEARCH_ROWS, fit.n)
        d = int(fit.objects.vectors("the search of impostors").shape[1])
        pairs = 32.0 * PAIR_ENTRIES * current().threads
        return 10.0 * rows * fit.n + 48.0 * fit.n * d + MATRICES * 8.0 * d * d + pairs

    def _fit(self, objects: Objects, y: Any = None) -> None:
        X = self._vectors(objects)
        codes, k = self._codes(y, len(X)), self._dimension(X.shape[1])
        checks.integer(self.n_neighbors, "n_neighbors", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        tol = checks.real(self.tol, "tol", 0)
        name = "push" if self.regularization is None else "regularization"
        push = checks.real(getattr(self, name), name, 0, 1, open_low=True)
        centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
        largest = float(np.abs(centred).max()) or 1.0
        centred /= largest
        targets = target_neighbors(centred, codes, self.n_neighbors)
        i, place = np.nonzero(targets >= 0)
        gaps = centred[i] - centred[targets[i, place]]
        unit = float(np.sqrt((gaps**2).sum() / max(len(i), 1))) or 1.0  # the margin is of this size
        problem = LargeMargin(centred / unit, codes, targets, push)
        monitor = self._monitor(self.max_iter)
        first = self._first_map(problem.X, codes, k, begun=monitor.begun, given=unit * largest)
        plain = np.array_equal(first, np.eye(*first.shape))  # the whole identity, whatever k is
        start = np.eye(X.shape[1]) if plain else first.T @ first
        M, value, history = minimize(problem, start, monitor, tol)
        self.history_, self.n_iter_ = history / len(X), len(history) - 1
        self.loss_ = value / len(X)
        self._keep(X, principal_factor(M, problem.X, k) / (unit * largest))


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


class LargeMargin:
    """The problem with its target neighbours and the impostors that have been found so far.

    The loss is ``(1 - mu) sum_ij d_ij + mu sum_ijl max(0, 1 + d_ij - d_il)``, where mu is `push`, d
    are squared distances ``(x_i - x_j)' M (x_i - x_j)``, j runs over the target neighbours of i (-1
    where there are fewer than k) and l over the objects with another label (Weinberger and Saul
    2009, equations 11 to 13). Value and gradient are functions of the distances, which are linear
    in M.
    """

    def __init__(self, X: Array, codes: Array, targets: Array, push: float) -> None:
        self.X, self.codes, self.targets, self.push = X, codes, targets, push
        self.known = targets >= 0
        self.i, place = np.nonzero(self.known)
        self.j = targets[self.i, place]
        self.impostors = np.empty((0, 2), dtype=np.int64)

    def distances(self, M: Array) -> Array:
        """Squared distances to the target neighbours and, after them, to the known impostors."""
        i, j = self._pairs()
        return self._lengths(self.X @ M, i, j)

    def _lengths(self, Y: Array, i: Array, j: Array) -> Array:
        """The squared distances of pairs of objects under M, where Y is X M."""
        X, out = self.X, np.empty(len(i))
        norms = np.einsum("ij,ij->i", X, Y)

        def fill(part: slice) -> None:
            out[part] = np.einsum("ij,ij->i", X[i[part]], Y[j[part]])

        run(fill, blocks(len(i), min(PAIR_ROWS, max(1, PAIR_ENTRIES // X.shape[1]))))
        return np.asarray(norms[i] + norms[j] - 2 * out)

    def _pairs(self) -> tuple[Array, Array]:
        i, far = self.impostors.T  # in ascending order
        return np.concatenate([self.i, i]), np.concatenate([self.j, far])

    def _reach(self, pulls: Array) -> Array:
        """The distance from each object within which others are impostors."""
        reach = np.full(len(self.X), -np.inf)
        np.maximum.at(reach, self.i, pulls + MARGIN)
        return reach

    def search(self, M: Array) -> None:
        """Find all impostors at M and add them to the known ones."""
        X, Y, n = self.X, self.X @ M, len(self.X)
        norms = np.einsum("ij,ij->i", X, Y)
        reach = self._reach(self._lengths(Y, self.i, self.j))

        def part(rows: slice) -> Array:
            squares = Y[rows] @ X.T  # in place: the claim of memory counts one such array
            squares *= -2
            squares += norms
            near = squares < (reach - norms)[rows, None]
            near &= self.codes[rows, None] != self.codes
            places = np.argwhere(near)
            return np.asarray((places[:, 0] + rows.start) * n + places[:, 1])

        parts = run(part, blocks(n, SEARCH_ROWS))
        count = len(self.impostors) + sum(map(len, parts))
        memory.claim(
            BLOCK_BYTES + count * IMPOSTOR_BYTES,
            f"LargeMarginNearestNeighbor with {count} impostors",
            f"Set a smaller {argument('n_neighbors')}, or take a sample of the objects.",
        )
        known = self.impostors[:, 0] * n + self.impostors[:, 1]
        self.impostors = np.column_stack(np.divmod(np.union1d(known, np.concatenate(parts)), n))

    def prune(self, distances: Array) -> Array:
        """Forget the impostors that are beyond all margins; returns the distances of the others."""
        pulls, lengths = np.split(distances, [len(self.i)])
        kept = lengths < self._reach(pulls)[self.impostors[:, 0]]
        self.impostors = self.impostors[kept]
        return np.concatenate([pulls, lengths[kept]])

    def value(self, distances: Array) -> float:
        """The loss over the known impostors."""
        return self._violations(distances)[0]

    def gradient(self, distances: Array) -> Array:
        """The gradient of the loss with respect to M: sum w (x_i - x_j)(x_i - x_j)'."""
        _, pulled, pushed = self._violations(distances)
        weights = (1 - self.push) + self.push * pulled, -self.push * pushed
        n = len(self.X)
        W = csr_array((np.concatenate(weights), self._pairs()), shape=(n, n))
        both = csr_array(W + W.T)
        both.sum_duplicates()
        total: Array = np.asarray(both.sum(axis=1))
        rest = total[:, None] * self.X - backend().spmm(both, self.X)  # the sum is X' rest
        G = np.sum(run(lambda rows: self.X[rows].T @ rest[rows], blocks(n, 1024)), axis=0)
        return np.asarray((G + G.T) / 2)

    def _violations(self, distances: Array) -> tuple[float, Array, Array]:
        """The loss, and of how many violated margins each target and each impostor is a part."""
        n, k = self.targets.shape
        pulls, lengths = np.split(distances, [len(self.i)])
        edges = np.full((n, k), -np.inf)
        edges[self.known] = pulls + MARGIN
        i = self.impostors[:, 0]
        violated = np.empty(len(i))

        def part(some: slice) -> tuple[float, slice, Array]:
            """The loss of some impostors, and the violated margins of the objects they are at."""
            gaps = edges[i[some]] - lengths[some, None]
            active = gaps > 0
            violated[some] = active.sum(axis=1)
            first = i[some.start]
            begins = np.flatnonzero(np.diff(i[some], prepend=-1))
            counts = np.zeros((i[some.stop - 1] + 1 - first, k))
            counts[i[some][begins] - first] = np.add.reduceat(active, begins, axis=0, dtype=float)
            return float(gaps[active].sum()), slice(first, first + len(counts)), counts

        weight, hinge = np.zeros((n, k)), 0.0
        for loss, rows, counts in run(part, blocks(len(i), PAIR_ROWS)):
            hinge += loss
            weight[rows] += counts
        value = (1 - self.push) * float(pulls.sum()) + self.push * hinge
        return value, weight[self.known], violated


def minimize(
    problem: LargeMargin, start: Array, monitor: Monitor, tol: float
) -> tuple[Array, float, Array]:
    """Accelerated projected gradient with restarts, on the cone of positive semidefinite matrices.

    A step that raises the loss is taken back; the next one is shorter and without momentum. In
    between two searches of all impostors only those found so far count. If a search finds that the
    loss over all of them has increased, the steps since the search before are taken back too.

    Iterations end when those between two searches lower the loss by less than `tol` times it.
    Returns the best matrix, its loss, and the loss after each iteration.
    """
    M = before = best = start
    problem.search(M)
    now = earlier = problem.distances(M)  # at M and at `before`
    value = least = problem.value(now)
    slope = float(np.linalg.norm(problem.gradient(now)))
    step = 0.1 * float(np.linalg.norm(M)) / max(slope, 1e-300)
    history, age, failures, done = [value], 0, 0, False

    def state() -> dict[str, Any]:
        matrices = {"M": M, "before": before, "best": best, "impostors": problem.impostors}
        numbers = {"value": value, "least": least, "step": step, "age": age, "failures": failures}
        return {**matrices, **numbers, "history": np.array(history), "done": done}

    with monitor:
        fresh = {"M": M, "before": before, "best": best}
        if (saved := monitor.load_state(fresh)) is not None:
            M, before, best = (saved[name] for name in fresh)
            value, least, step = saved["value"], saved["least"], saved["step"]
            age, failures, done = saved["age"], saved["failures"], saved["done"]
            history, problem.impostors = saved["history"].tolist(), saved["impostors"]
            now, earlier = problem.distances(M), problem.distances(before)
        while len(history) <= monitor.max_iter and not done:
            t = len(history)
            momentum = age / (age + 3)
            gradient = problem.gradient(now + momentum * (now - earlier))
            new = _project(M + momentum * (M - before) - step * gradient)
            distances = problem.distances(new)
            new_value = problem.value(distances)
            if new_value < value:
                before, M, earlier, now, value = M, new, now, distances, new_value
                age, failures, step = age + 1, 0, step * FASTER
            else:
                age, failures, step = 0, failures + 1, step * SLOWER
            done = failures > LAST_FAILURES
            if t % REFRESH == 0 or done or t == monitor.max_iter:
                problem.search(M)
                now = problem.distances(M)
                value = problem.value(now)
                if value > least:
                    before = M = best
                    age, step = 0, step * SLOWER
                    now = problem.distances(M)
                    value = problem.value(now)
                else:
                    done |= age > 0 and least - value <= tol * value
                    best, least = M, value
                    now = problem.prune(now)
                earlier = problem.distances(before) if age else now
            history.append(value)
            places = problem.X @ _root(M) if monitor.wants_embedding else problem.X
            if monitor(t, value, places):
                break
            monitor.keep(state)
    problem.search(best)
    return best, problem.value(problem.distances(best)), np.array(history)


def _root(M: Array) -> Array:
    """R with ``R R' = M``, or the nearest positive semidefinite matrix to M."""
    values, vectors = np.linalg.eigh(M)
    some = values > 0
    return np.asarray(vectors[:, some] * np.sqrt(values[some]))


def _project(M: Array) -> Array:
    root = _root(M)
    return root @ root.T
