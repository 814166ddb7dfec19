"""The layout of a fuzzy graph: coordinates of least cross-entropy (McInnes, Healy, Melville 2018).

On the map two points at distance d are linked by 1 / (1 + a d^2b). Edges pull their ends together,
by their membership, and points drawn at random push a vertex away, by its total membership: the
expectations of the paper's algorithm 5. Here every vertex is moved by itself from where all stood
before the epoch, by all its edges at once, in a step that their own stiffness limits, and with
momentum. Random numbers are keyed by (seed, epoch, vertex), so threads change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.backends import backend
from lowdim.callbacks import Monitor
from lowdim.checks import Array

ALL = 512  # up to this many points all push each other, and nothing is drawn
DRAWS = 3.2  # points drawn a vertex and epoch, for each of the negative sample rate
MOMENTUM = 0.95  # at first; it falls with the rate,
SMOOTH = 0.8  # and without noise, less of it reaches as far and does not make the map chaotic
AT_ONCE = 2e7  # arcs visited between two looks for Ctrl-C


@dataclass(frozen=True)
class Density:
    """densMAP's wish (Narayan, Berger, Cho 2021): radii on the map correlated with given ones.

    radii : log radii of the objects in the data. weight : of the wish. share : of the epochs, the
    last ones, in which it counts. shift : added to the variance of the map's log radii.
    """

    radii: Array
    weight: float
    share: float
    shift: float


class Layout:
    """A layout that can go on: `run(n)` and then `run(m)` is `run(n + m)`."""

    def __init__(
        self,
        graph: Any,
        start: Array,
        *,
        curve: tuple[float, float],
        n_epochs: int,
        learning_rate: float = 1.0,
        repulsion: float = 1.0,
        negative_sample_rate: float = 5,
        density: Density | None = None,
        seed: int = 0,
    ) -> None:
        n = len(start)
        # Along the first axis, which keeps neighbours near in memory, and makes random numbers
        # independent of the order of the rows.
        self.order = np.argsort(start[:, 0], kind="stable")
        self.rank = np.empty(n, dtype=np.int32)
        self.rank[self.order] = np.arange(n, dtype=np.int32)
        weights = graph.astype(start.dtype, copy=False)
        self.arcs = backend().layout_arcs(weights, self.rank)
        self.n_arcs = int(weights.nnz)
        self.total = float(weights.data.sum(dtype=np.float64))
        self.Y = np.ascontiguousarray(start[self.order])
        self.velocity = np.zeros_like(self.Y)
        self.curve, self.n_epochs, self.epoch = curve, n_epochs, 0
        self.learning_rate = learning_rate
        self.repulsion = repulsion * negative_sample_rate
        self.draws = drawn(n, negative_sample_rate)
        self.seed = seed
        self.density = density
        if density is not None:
            radii = density.radii[self.order].astype(np.float64)
            spread = float(radii.std())
            self.wanted = (radii - radii.mean()) / (spread if spread > 0 else 1.0)

    @property
    def embedding(self) -> Array:
        return self.Y[self.rank]

    def run(self, epochs: int, *, loss: bool = False) -> float:
        """Go on for some epochs; the cross-entropy before the last of them, if asked for."""
        found, end = 0.0, min(self.epoch + epochs, self.n_epochs)
        while self.epoch < end:
            dense = self._dense(self.epoch)
            last = end
            if dense:
                last = self.epoch + 1
            elif self.density is not None:
                while last - 1 > self.epoch and self._dense(last - 1):
                    last -= 1
            found = backend().layout_epochs(
                self.arcs,
                self.Y,
                self.velocity,
                curve=self.curve,
                rate=self.learning_rate,
                momentum=MOMENTUM if self.draws else SMOOTH,
                repulsion=self.repulsion,
                draws=self.draws,
                epochs=(self.epoch, last, self.n_epochs),
                seed=self.seed,
                density=self._worth() if dense else None,
                loss=loss,
            )
            self.epoch = last
        return found

    def _dense(self, epoch: int) -> bool:
        wish = self.density
        return wish is not None and wish.weight > 0 and epoch + 1 > (1 - wish.share) * self.n_epochs

    def _worth(self) -> tuple[Array, Array]:
        """What a change of a vertex's log radius is worth, over its radius and over its mass.

        The derivative of the correlation of the log radii, weighted so that it compares with the
        cross-entropy: by the total membership over the number of vertices.
        """
        assert self.density is not None
        mass, spread = backend().layout_radii(self.arcs, self.Y, self.curve)
        mass = np.maximum(mass.astype(np.float64), 1e-12)
        radii = np.log(1e-8 + spread / mass)
        n = len(radii)
        variance = float(radii.var()) + self.density.shift
        covariance = float(radii @ self.wanted) / max(n - 1, 1)
        gain = self.wanted - covariance * (radii - radii.mean()) / variance
        gain *= 4 * self.density.weight * self.total / (np.sqrt(variance) * n)
        kind = self.Y.dtype
        return (gain / (mass * np.exp(radii))).astype(kind), (gain / mass).astype(kind)


def lay_out(layout: Layout, monitor: Monitor) -> tuple[Array, int]:
    """Run a layout to its end, or until the monitor stops it; the map, and the epochs done."""
    size = max(layout.n_arcs, 1)
    at_once = 1 if monitor.wants_loss else int(np.clip(AT_ONCE / size, 1, 50))
    with monitor:
        while layout.epoch < layout.n_epochs:
            loss = layout.run(at_once, loss=monitor.wants_loss)
            if monitor.wants_loss and monitor(layout.epoch, loss, layout.embedding):
                break
    return layout.embedding, layout.epoch


def drawn(n: int, negative_sample_rate: float) -> int:
    """How many points push a vertex in an epoch; 0: all of them."""
    return 0 if n <= ALL else max(1, round(DRAWS * negative_sample_rate))


def fit_curve(spread: float, min_dist: float) -> tuple[float, float]:
    """a and b of 1 / (1 + a d^2b) nearest to 1 up to min_dist and exp(-(d - min_dist) / spread).

    Least squares over 300 distances up to three spreads, by Levenberg and Marquardt's steps.
    """
    d = np.linspace(0, 3 * spread, 300)
    wanted = np.where(d < min_dist, 1.0, np.exp(-(d - min_dist) / spread))
    logs = np.log(np.maximum(d, 1e-300))

    def curve(log_a: float, b: float) -> Array:
        return np.asarray(1 / (1 + np.exp(np.minimum(log_a + 2 * b * logs, 700))))

    at, damping = np.array([-2 * np.log(spread), 1.0]), 1e-3
    error = curve(*at) - wanted
    for _ in range(500):
        value = error + wanted
        slope = -value * (1 - value)
        J = np.stack([slope, slope * 2 * logs], axis=1)
        J[0] = 0  # at distance 0 every curve is 1
        H, g = J.T @ J, J.T @ error
        step = np.linalg.solve(H + damping * np.diag(np.diag(H) + 1e-12), -g)
        after = curve(*(at + step)) - wanted
        if after @ after < error @ error:
            at, error, damping = at + step, after, max(damping / 5, 1e-12)
            if np.abs(step).max() < 1e-10:
                break
        else:
            damping *= 5
            if damping > 1e12:
                break
    return float(np.exp(at[0])), float(at[1])
