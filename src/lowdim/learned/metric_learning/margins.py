"""Large margin nearest neighbours: a convex problem over Mahalanobis matrices.

The loss is ``(1 - mu) sum_ij d_ij + mu sum_ijl max(0, 1 + d_ij - d_il)``, where d are squared
distances ``(x_i - x_j)' M (x_i - x_j)``, j runs over the target neighbours of i and l over the
objects with another label (Weinberger and Saul 2009, equations 11 to 13).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from lowdim.backends import backend
from lowdim.checks import Array
from lowdim.messages import argument
from lowdim.runtime import memory
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.scheduling import blocks, run

MARGIN = 1.0
REFRESH = 5  # iterations between two searches of all impostors
SEARCH_ROWS = 256  # objects whose distances to all others are held at once by a thread
PAIR_ROWS = 8192  # pairs that are handled at once by a thread
PAIR_ENTRIES = 2**19  # of the vectors of pairs that a thread holds at once; 4 MB
IMPOSTOR_BYTES = 95  # of memory for each impostor that is found
BLOCK_BYTES = 25 * 10**6  # of memory for blocks of pairs
LAST_FAILURES = 20  # failed steps in a row, after which the step is too small to matter
FASTER, SLOWER = 1.3, 0.4  # factors of the step size after a better and after a worse iterate


class Solution(NamedTuple):
    """The best matrix, its loss, and the loss after each iteration."""

    M: Array
    value: float
    history: Array


class LargeMargin:
    """The problem with its target neighbours and the impostors that have been found so far.

    Parameters
    ----------
    X : array of shape (n, d)
    codes : array of int of shape (n,)
        Classes.
    targets : array of int of shape (n, k)
        The nearest objects of the same class; -1 where there are fewer than k.
    push : float
        mu, the weight of the impostors.
    """

    def __init__(self, X: Array, codes: Array, targets: Array, push: float) -> None:
        self.X, self.codes, self.targets, self.push = X, codes, targets, push
        self.known = targets >= 0
        self.i, place = np.nonzero(self.known)
        self.j = targets[self.i, place]
        self.impostors = np.empty((0, 2), dtype=np.int64)

    def search(self, M: Array) -> None:
        """Find all impostors at M and add them to the known ones."""
        Z = self.X @ _root(M)
        norms = np.einsum("ij,ij->i", Z, Z)
        reach = np.full(len(Z), -np.inf)
        np.maximum.at(reach, self.i, squared_lengths(Z, self.i, self.j) + MARGIN)

        def part(rows: slice) -> Array:
            squares = Z[rows] @ Z.T  # in place: the claim of memory counts one such array
            squares *= -2
            squares += norms
            near = squares < (reach - norms)[rows, None]
            near &= self.codes[rows, None] != self.codes
            places = np.argwhere(near)
            places[:, 0] += rows.start
            return places

        parts = run(part, blocks(len(Z), SEARCH_ROWS))
        count = len(self.impostors) + sum(map(len, parts))
        memory.claim(
            BLOCK_BYTES + count * IMPOSTOR_BYTES,
            f"LargeMarginNearestNeighbor with {count} impostors",
            f"Set a smaller {argument('n_neighbors')}, or take a sample of the objects.",
        )
        triples = np.concatenate(parts)
        n = len(Z)
        keys = np.union1d(self._keys(), triples[:, 0] * n + triples[:, 1])
        self.impostors = np.column_stack(np.divmod(keys, n))

    def prune(self, M: Array) -> None:
        """Forget the impostors that are beyond all margins at M."""
        Z = self.X @ _root(M)
        reach = np.full(len(Z), -np.inf)
        np.maximum.at(reach, self.i, squared_lengths(Z, self.i, self.j) + MARGIN)
        i, far = self.impostors.T
        self.impostors = self.impostors[squared_lengths(Z, i, far) < reach[i]]

    def _keys(self) -> Array:
        return np.asarray(self.impostors[:, 0] * len(self.X) + self.impostors[:, 1])

    def __call__(self, M: Array) -> tuple[float, Array]:
        """The loss over the known impostors, and its gradient with respect to M."""
        n, k = self.targets.shape
        Z = self.X @ _root(M)
        pulls = squared_lengths(Z, self.i, self.j)
        edges = np.full((n, k), -np.inf)
        edges[self.known] = pulls + MARGIN
        i, far = self.impostors.T  # in ascending order
        lengths = squared_lengths(Z, i, far)
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
        pull = (1 - self.push) + self.push * weight[self.known]
        return value, self._scatter(
            np.concatenate([self.i, i]),
            np.concatenate([self.j, far]),
            np.concatenate([pull, -self.push * violated]),
        )

    def _scatter(self, i: Array, j: Array, weights: Array) -> Array:
        """sum w (x_i - x_j)(x_i - x_j)' = X' (D - W - W') X."""
        n = len(self.X)
        W = csr_array((weights, (i, j)), shape=(n, n))
        both = csr_array(W + W.T)
        both.sum_duplicates()
        total = np.asarray(both.sum(axis=1))
        rest = total[:, None] * self.X - backend().spmm(both, self.X)
        parts = run(lambda rows: self.X[rows].T @ rest[rows], blocks(n, 1024))
        G = np.sum(parts, axis=0)
        return np.asarray((G + G.T) / 2)


def minimize(problem: LargeMargin, start: Array, monitor: Monitor, tol: float) -> Solution:
    """Accelerated projected gradient with restarts, on the cone of positive semidefinite matrices.

    A step that raises the loss is taken back; the next one is shorter and without momentum. In
    between two searches of all impostors only those found so far count. If a search finds that the
    loss over all of them has increased, the steps since the search before are taken back too.

    Parameters
    ----------
    problem : LargeMargin
    start : array of shape (d, d)
    monitor : Monitor
    tol : float
        Iterations end when those between two searches lower the loss by less than tol times it.
    """
    M = before = best = start
    problem.search(M)
    value, gradient = problem(M)
    least = value
    step = 0.1 * np.linalg.norm(M) / max(float(np.linalg.norm(gradient)), 1e-300)
    history, age, failures, done = [value], 0, 0, False

    def state() -> dict[str, Any]:
        return {
            "M": M,
            "before": before,
            "best": best,
            "gradient": gradient,
            "value": value,
            "least": least,
            "step": float(step),
            "age": age,
            "failures": failures,
            "history": np.array(history),
            "impostors": problem.impostors,
            "done": done,
        }

    with monitor:
        fresh = {"M": M, "before": before, "best": best, "gradient": gradient}
        if (saved := monitor.load_state(fresh)) is not None:
            M, before, best, gradient = (saved[name] for name in fresh)
            value, least, step = saved["value"], saved["least"], saved["step"]
            age, failures, done = saved["age"], saved["failures"], saved["done"]
            history, problem.impostors = saved["history"].tolist(), saved["impostors"]
        while len(history) <= monitor.max_iter and not done:
            t = len(history)
            ahead = M + age / (age + 3) * (M - before) if age else M
            slope = problem(ahead)[1] if age else gradient
            new = _project(ahead - step * slope)
            new_value, new_gradient = problem(new)
            if new_value < value:
                before, M, value, gradient = M, new, new_value, new_gradient
                age, failures, step = age + 1, 0, step * FASTER
            else:
                age, failures, step = 0, failures + 1, step * SLOWER
            done = failures > LAST_FAILURES
            if t % REFRESH == 0 or done or t == monitor.max_iter:
                problem.search(M)
                value, gradient = problem(M)
                if value > least:
                    before = M = best
                    age, step = 0, step * SLOWER
                    value, gradient = problem(M)
                else:
                    done |= age > 0 and least - value <= tol * value
                    best, least = M, value
                    problem.prune(M)
            history.append(value)
            places = problem.X @ _root(M) if monitor.wants_embedding else problem.X
            if monitor(t, value, places):
                break
            monitor.keep(state)
    problem.search(best)
    return Solution(best, problem(best)[0], np.array(history))


def _root(M: Array) -> Array:
    """R with ``R R' = M``."""
    values, vectors = np.linalg.eigh(M)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def _project(M: Array) -> Array:
    """The nearest positive semidefinite matrix."""
    root = _root(M)
    return root @ root.T


def squared_lengths(Z: Array, i: Array, j: Array) -> Array:
    """Squared distances of the pairs of rows i and j."""
    out = np.empty(len(i))

    def fill(part: slice) -> None:
        gap = Z[i[part]] - Z[j[part]]
        out[part] = np.einsum("ij,ij->i", gap, gap)

    run(fill, blocks(len(i), min(PAIR_ROWS, max(1, PAIR_ENTRIES // Z.shape[1]))))
    return out
