"""Out-of-sample extension of stress methods: least stress against a fixed embedding."""

from __future__ import annotations

import numpy as np

from lowdim.backends.native.dense import symmetric_eigen
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run

BLOCK_ROWS = 32  # new objects handled at once
STARTS = 8  # number of nearest objects whose coordinates are tried as a start
MAX_ITER = 200
TOLERANCE = 1e-12  # relative decrease of the stress at which a row stops


def place_by_stress(D: Array, W: Array, Y: Array) -> Array:
    """Points x_i that minimise sum_j W_ij (D_ij - |x_i - y_j|)^2 for fixed points y_j.

    The start is the best of the nearest objects' coordinates and their mean. A Newton step is
    taken if it lowers the stress, else a step of majorization, which never raises it. The rows do
    not depend on each other.

    Parameters
    ----------
    D : array of shape (m, n)
        Dissimilarities to the training objects.
    W : array of shape (m, n)
        Weights; 0 marks an unknown dissimilarity.
    Y : array of shape (n, dim)
        Coordinates of the training objects.

    Returns
    -------
    float64 array of shape (m, dim)
    """
    unknown = ~(W > 0).any(axis=1)
    if unknown.any():
        raise ValueError(
            f"X: row {int(unknown.argmax())} has no known dissimilarity to a training object, so "
            "it cannot be placed."
        )
    Y = np.ascontiguousarray(Y, dtype=np.float64)
    out = np.empty((D.shape[0], Y.shape[1]))

    def place(rows: slice) -> None:
        part = _Rows(np.asarray(D[rows], dtype=np.float64), np.asarray(W[rows], np.float64), Y)
        out[rows] = part.descend(part.start())

    run(place, blocks(D.shape[0], BLOCK_ROWS))
    return out


class _Rows:
    """The stresses of several new points as functions of their coordinates x."""

    def __init__(self, D: Array, W: Array, Y: Array) -> None:
        self.D, self.W, self.Y = D, W, Y
        self.total = W.sum(axis=1)

    def start(self) -> Array:
        """The best of the nearest objects' coordinates and their mean."""
        k = min(STARTS, self.D.shape[1])
        known = np.where(self.W > 0, self.D, np.inf)
        nearest = np.argsort(known, axis=1, kind="stable")[:, :k]
        places = self.Y[nearest]
        tried = np.concatenate([places.mean(axis=1, keepdims=True), places], axis=1)
        losses = np.stack([self.stress(tried[:, t]) for t in range(k + 1)], axis=1)
        return np.asarray(tried[np.arange(len(tried)), losses.argmin(axis=1)])

    def stress(self, x: Array) -> Array:
        """The stress of each point."""
        return np.asarray((self.W * (self.D - self._distances(x)[1]) ** 2).sum(axis=1))

    def descend(self, x: Array) -> Array:
        """Minimise the stress of each point from x, which is overwritten."""
        left = np.arange(len(x))
        now = self
        value = now.stress(x)
        for _ in range(MAX_ITER):
            at = x[left]
            newton, guttman = now._steps(at)
            moved = at + newton
            after = now.stress(moved)
            worse = ~(after < value[left])
            if worse.any():
                moved[worse] = (at + guttman)[worse]
                after = np.where(worse, now.stress(moved), after)
            lower = after < value[left]
            moved[~lower] = at[~lower]
            going = lower & (value[left] - after > TOLERANCE * value[left])
            x[left], value[left] = moved, np.minimum(after, value[left])
            if not going.any():
                break
            left, now = left[going], _Rows(now.D[going], now.W[going], self.Y)
        return x

    def _distances(self, x: Array) -> tuple[list[Array], Array]:
        """Differences to all fixed points, one array per coordinate, and distances."""
        gaps = [x[:, c, None] - self.Y[None, :, c] for c in range(self.Y.shape[1])]
        squares = gaps[0] ** 2
        for gap in gaps[1:]:
            squares += gap**2
        return gaps, np.sqrt(squares)

    def _steps(self, x: Array) -> tuple[Array, Array]:
        """The step of Newton's method, with absolute eigenvalues, and that of majorization.

        With r = D/d and u the unit vector from y_j to x, half of the gradient is
        sum_j w (1 - r) (x - y_j) and half of the Hessian sum_j w ((1 - r) I + r u u').
        """
        gaps, d = self._distances(x)
        safe = np.where(d > 0, d, 1.0)
        ratio = np.where(d > 0, self.D / safe, 0.0)
        pull = self.W * (1 - ratio)
        gradient = np.stack([(pull * gap).sum(axis=1) for gap in gaps], axis=1)
        bend = self.W * ratio / safe**2
        H = np.empty((len(x), len(gaps), len(gaps)))
        for a, left in enumerate(gaps):
            for b, right in enumerate(gaps[: a + 1]):
                H[:, a, b] = H[:, b, a] = (bend * left * right).sum(axis=1)
        diagonal = np.arange(len(gaps))
        H[:, diagonal, diagonal] += pull.sum(axis=1)[:, None]
        values, vectors = symmetric_eigen(H)
        curvature = np.maximum(np.abs(values), 1e-3 * self.total[:, None])
        along = (vectors * gradient[:, :, None]).sum(axis=1) / curvature
        newton = -(vectors * along[:, None, :]).sum(axis=2)
        return newton, -gradient / self.total[:, None]
