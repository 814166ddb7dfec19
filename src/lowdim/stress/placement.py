"""Out-of-sample extension of stress methods: least stress against a fixed embedding."""

from __future__ import annotations

import numpy as np

from lowdim.backends.native.dense import symmetric_eigen
from lowdim.checks import Array
from lowdim.runtime.scheduling import blocks, run
from lowdim.stress.mds.sphere import directions

BLOCK_ROWS = 32  # new objects handled at once
STARTS = 8  # number of nearest objects whose coordinates are tried as a start
MAX_ITER = 200
TOLERANCE = 1e-12  # relative decrease of the stress at which a row stops


def place_by_stress(D: Array, W: Array, Y: Array, *, on_sphere: bool = False) -> Array:
    """Points x_i that minimise sum_j W_ij (D_ij - |x_i - y_j|)^2 for fixed points y_j.

    With `on_sphere` they are on the sphere around the origin that holds the points y_j.

    The start is the best of the nearest objects' coordinates and their mean. A Newton step is
    taken if it lowers the stress, else a step of majorization, which never raises it. The rows do
    not depend on each other. A weight of 0 marks an unknown dissimilarity.
    """
    unknown = ~(W > 0).any(axis=1)
    if unknown.any():
        raise ValueError(
            f"X: row {int(unknown.argmax())} has no known dissimilarity to a training object, so "
            "it cannot be placed."
        )
    Y = np.ascontiguousarray(Y, dtype=np.float64)
    out = np.empty((D.shape[0], Y.shape[1]))
    radius = float(np.sqrt(np.square(Y).sum(axis=1).mean())) if on_sphere else None

    def place(rows: slice) -> None:
        values, weights = (np.asarray(one[rows], dtype=np.float64) for one in (D, W))
        part = _Rows(values, weights, Y, radius)
        out[rows] = part.descend(part.start())

    run(place, blocks(D.shape[0], BLOCK_ROWS))
    return out


class _Rows:
    """The stresses of several new points as functions of their coordinates x."""

    def __init__(self, D: Array, W: Array, Y: Array, radius: float | None) -> None:
        self.D, self.W, self.Y, self.radius = D, W, Y, radius
        self.total = W.sum(axis=1)

    def start(self) -> Array:
        """The best of the nearest objects' coordinates and their mean."""
        k = min(STARTS, self.D.shape[1])
        known = np.where(self.W > 0, self.D, np.inf)
        nearest = np.argsort(known, axis=1, kind="stable")[:, :k]
        places = self.Y[nearest]
        tried = np.concatenate([places.mean(axis=1, keepdims=True), places], axis=1)
        tried = self._admissible(tried)
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
            moved = now._admissible(at + newton)
            after = now.stress(moved)
            worse = ~(after < value[left])
            if worse.any():
                moved[worse] = now._admissible(at + guttman)[worse]
                after = np.where(worse, now.stress(moved), after)
            lower = after < value[left]
            moved[~lower] = at[~lower]
            going = lower & (value[left] - after > TOLERANCE * value[left])
            x[left], value[left] = moved, np.minimum(after, value[left])
            if not going.any():
                break
            left, now = left[going], _Rows(now.D[going], now.W[going], self.Y, self.radius)
        return x

    def _admissible(self, x: Array) -> Array:
        """The nearest points of the sphere: majorization with equal weights stays best there."""
        return x if self.radius is None else self.radius * directions(x)

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
        guttman = -gradient / self.total[:, None]
        if self.radius is not None:
            gradient, H = self._along_sphere(x / self.radius, gradient, H)
        values, vectors = symmetric_eigen(H)
        curvature = np.maximum(np.abs(values), 1e-3 * self.total[:, None])
        along = (vectors * gradient[:, :, None]).sum(axis=1) / curvature
        newton = -(vectors * along[:, None, :]).sum(axis=2)
        return newton, guttman

    def _along_sphere(self, u: Array, gradient: Array, H: Array) -> tuple[Array, Array]:
        """The gradient and the Hessian on the sphere, at the points in the directions u.

        With P = I - u u' they are P g and P (H - (g'u / radius) I) P.
        """
        assert self.radius is not None
        up = (gradient * u).sum(axis=1)
        diagonal = np.arange(u.shape[1])
        H[:, diagonal, diagonal] -= up[:, None] / self.radius
        Hu = (H * u[:, None, :]).sum(axis=2)
        mixed = Hu - 0.5 * (Hu * u).sum(axis=1)[:, None] * u
        H -= u[:, :, None] * mixed[:, None, :] + mixed[:, :, None] * u[:, None, :]
        return gradient - up[:, None] * u, H
