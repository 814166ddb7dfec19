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

from lowdim.backends import native
from lowdim.callbacks import Callback, Watch
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
        n_jobs: int | None = None,
    ) -> None:
        n = len(start)
        # Along the first axis, which keeps neighbours near in memory, and makes random numbers
        # independent of the order of the rows.
        self.order = np.argsort(start[:, 0], kind="stable")
        self.rank = np.empty(n, dtype=np.int32)
        self.rank[self.order] = np.arange(n, dtype=np.int32)
        indptr, indices = native.csr_indices(graph)
        weights = graph.data.astype(start.dtype, copy=False)
        self.arcs = native.abreast(indptr, indices, weights, self.rank)
        self.total = float(weights.sum(dtype=np.float64))
        self.Y = np.ascontiguousarray(start[self.order])
        self.velocity = np.zeros_like(self.Y)
        self.curve, self.n_epochs, self.epoch = curve, n_epochs, 0
        self.learning_rate = learning_rate
        self.repulsion = repulsion * negative_sample_rate
        self.draws = drawn(n, negative_sample_rate)
        self.seed, self.n_jobs = seed, n_jobs
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
            found = native.layout_epochs(
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
                n_jobs=self.n_jobs,
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
        mass, spread = native.layout_radii(self.arcs, self.Y, self.curve, self.n_jobs)
        mass = np.maximum(mass.astype(np.float64), 1e-12)
        radii = np.log(1e-8 + spread / mass)
        n = len(radii)
        variance = float(radii.var()) + self.density.shift
        covariance = float(radii @ self.wanted) / max(n - 1, 1)
        gain = self.wanted - covariance * (radii - radii.mean()) / variance
        gain *= 4 * self.density.weight * self.total / (np.sqrt(variance) * n)
        kind = self.Y.dtype
        return (gain / (mass * np.exp(radii))).astype(kind), (gain / mass).astype(kind)


def lay_out(
    layout: Layout, *, callback: Callback | None = None, verbose: int = 0
) -> tuple[Array, int]:
    """Run a layout to its end, or until the callback or Ctrl-C stops it; the map, the epochs."""
    watched = callback is not None or bool(verbose)
    size = max(len(layout.arcs.weights), 1)
    at_once = 1 if watched else int(np.clip(AT_ONCE / size, 1, 50))
    with Watch("UMAP", layout.n_epochs, callback, verbose) as watch:
        while layout.epoch < layout.n_epochs:
            loss = layout.run(at_once, loss=watched)
            if watched and watch(layout.epoch, loss, layout.embedding):
                break
    return layout.embedding, layout.epoch


def place_among(
    nearest: Array,
    weights: Array,
    embedding: Array,
    *,
    curve: tuple[float, float],
    n_epochs: int,
    learning_rate: float = 1.0,
    repulsion: float = 1.0,
    negative_sample_rate: float = 5,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Array:
    """New points on a map that stands still, by their memberships to some of its points.

    Each row on its own: all meet the same points of the map, drawn by (seed, epoch).
    """
    m, k = nearest.shape
    share = weights.astype(np.float64)
    share = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    Y = np.einsum("mk,mkd->md", share, embedding[nearest].astype(np.float64))
    Y = np.ascontiguousarray(Y, dtype=embedding.dtype)
    indptr = np.arange(m + 1, dtype=np.int64) * k
    arcs = native.abreast(
        indptr,
        np.ascontiguousarray(nearest.ravel(), dtype=np.int32),
        np.ascontiguousarray(weights.ravel(), dtype=embedding.dtype),
        np.arange(m, dtype=np.int32),
        len(embedding),
    )
    native.layout_epochs(
        arcs,
        Y,
        np.zeros_like(Y),
        curve=curve,
        rate=learning_rate,
        momentum=0.0,
        repulsion=repulsion * negative_sample_rate,
        draws=drawn(len(embedding), negative_sample_rate),
        epochs=(0, n_epochs, max(n_epochs, 1)),
        seed=seed,
        fixed=np.ascontiguousarray(embedding),
        n_jobs=n_jobs,
    )
    return Y


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
