"""The layout of a fuzzy graph on the sphere and in the hyperbolic plane.

The forces are those of `layout`, along geodesics. Points are vectors of a space with one more
dimension, in which the surface is given by <x, x> = 1 (sphere) or <x, x> = -1 (hyperboloid, with
the product x'y - x0 y0); there is no pole or seam. Every vertex is moved independently by the
forces of all its edges and of some random points, from the coordinates before the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.callbacks import Monitor
from lowdim.checks import Array
from lowdim.relations.lists import row_of_entries
from lowdim.runtime.checkpoint import random_state_of
from lowdim.solvers.layout import negatives_per_epoch

MAX_STEP = 0.25  # of a vertex in an epoch, as a geodesic distance
SOFTENING = 1e-3  # added to squared distances in the repulsion, as in umap-learn
ROUNDING = 1e-12


@dataclass(frozen=True)
class Surface:
    """A surface of constant curvature: +1 for the sphere, -1 for the hyperboloid."""

    curvature: int

    def product(self, x: Array, y: Array) -> Array:
        """The product <x, y> of rows; the last coordinate counts with the sign of curvature."""
        return np.asarray(
            (x[:, :-1] * y[:, :-1]).sum(axis=1) + self.curvature * x[:, -1] * y[:, -1]
        )

    def towards(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Geodesic distances from x to y, and the unit tangents at x in their direction."""
        cosine = self.curvature * self.product(x, y)
        tangents = y - cosine[:, None] * x
        lengths = np.sqrt(np.maximum(self.product(tangents, tangents), 0))
        distances = np.arctan2(lengths, cosine) if self.curvature > 0 else np.arcsinh(lengths)
        return distances, tangents / np.maximum(lengths, ROUNDING)[:, None]

    def move(self, x: Array, steps: Array) -> Array:
        """The points reached from x along tangent vectors."""
        lengths = np.sqrt(np.maximum(self.product(steps, steps), 0))[:, None]
        units = steps / np.maximum(lengths, ROUNDING)
        if self.curvature > 0:
            return self.project(np.cos(lengths) * x + np.sin(lengths) * units)
        return self.project(np.cosh(lengths) * x + np.sinh(lengths) * units)

    def project(self, x: Array) -> Array:
        """The nearest points of the surface, against the accumulation of rounding errors."""
        if self.curvature > 0:
            return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
        return self.points(x[:, :-1])

    def points(self, coordinates: Array) -> Array:
        """Points from coordinates: colatitude and longitude, or the hyperboloid's first ones."""
        if self.curvature < 0:
            height = np.sqrt(1 + (coordinates**2).sum(axis=1, keepdims=True))
            return np.hstack([coordinates, height])
        polar, azimuth = coordinates.T
        flat = np.sin(polar)
        return np.column_stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.cos(polar)])

    def coordinates(self, points: Array) -> Array:
        """The inverse of `points`."""
        if self.curvature < 0:
            return np.ascontiguousarray(points[:, :-1])
        polar = np.arctan2(np.hypot(points[:, 0], points[:, 1]), points[:, 2])
        return np.column_stack([polar, np.arctan2(points[:, 1], points[:, 0])])

    def start(self, flat: Array) -> Array:
        """Points from coordinates in space, or in the plane, which is wrapped around a half sphere.

        On the hyperboloid they are the first coordinates, scaled to the unit circle.
        """
        if self.curvature < 0:
            return self.points(flat / max(float(np.abs(flat).max()), ROUNDING))
        flat = flat - flat.mean(axis=0)
        if flat.shape[1] == 3:
            return self.project(flat / np.maximum(flat.std(axis=0), ROUNDING))
        flat = flat / max(float(np.linalg.norm(flat, axis=1).max()), ROUNDING) * np.pi / 2
        polar = np.linalg.norm(flat, axis=1)
        return self.points(np.column_stack([polar, np.arctan2(flat[:, 1], flat[:, 0])]))

    def means(self, nearest: Array, weights: Array, coordinates: Array) -> Array:
        """Weighted means of points, one for each row of indices, as coordinates."""
        points = self.points(coordinates.astype(np.float64))
        share = weights / np.maximum(weights.sum(axis=1, keepdims=True), ROUNDING)
        sums = np.einsum("mk,mkd->md", share, points[nearest])
        return self.coordinates(self.project(sums))


SURFACES = {"haversine": Surface(1), "hyperboloid": Surface(-1)}


def start_dim(metric: str, n_components: int) -> int:
    """Number of coordinates of a start: on the sphere, those of the space around it."""
    return n_components + (metric == "haversine")


def lay_out_on(
    surface: Surface,
    graph: Any,
    start: Array,
    monitor: Monitor,
    *,
    curve: tuple[float, float],
    n_epochs: int,
    learning_rate: float = 1.0,
    repulsion: float = 1.0,
    negative_sample_rate: float = 5,
    seed: int = 0,
) -> tuple[Array, int]:
    """Coordinates of least cross-entropy on a surface, and the number of epochs.

    Parameters
    ----------
    surface : Surface
    graph : symmetric CSR matrix
        Memberships.
    start : array of shape (n, 2) or (n, 3)
        See `Surface.start`.
    monitor : Monitor
    curve, n_epochs, learning_rate, repulsion, negative_sample_rate, seed
        As in `lowdim.solvers.layout.Layout`.
    """
    n, (a, b) = len(start), curve
    random = np.random.RandomState(seed)
    heads, tails, weights = row_of_entries(graph.indptr), graph.indices, graph.data
    mass = np.bincount(heads, weights, minlength=n)
    n_negatives = negatives_per_epoch(n, negative_sample_rate)
    strength = repulsion * negative_sample_rate * mass
    x, done = surface.start(start.astype(np.float64)), 0

    def state() -> dict[str, Any]:
        return {"x": x, "done": done, "random": random_state_of(random)}

    with monitor:
        if (saved := monitor.saved({"x": x}, scheduled=True)) is not None:
            x, done = saved["x"], saved["done"]
            random.set_state(saved["random"])
        for epoch in range(done, n_epochs):
            d, tangents = surface.towards(x[heads], x[tails])
            power = np.maximum(d, ROUNDING) ** (2 * b - 1)
            pull = weights * 2 * a * b * power / (1 + a * power * d)
            force = _sums(heads, pull[:, None] * tangents, n)
            loss = float(weights @ np.log1p(a * power * d))
            if n_negatives:
                push = (
                    _pushes(surface, x, random.randint(n, size=(n_negatives, n)), curve)
                    / n_negatives
                )
            else:
                push = _pushes_of_all(surface, x, curve) / (n - 1)
            force -= strength[:, None] * push
            rate = learning_rate * (1 - epoch / n_epochs) / np.maximum(mass, ROUNDING)
            steps = rate[:, None] * force
            lengths = np.sqrt(np.maximum(surface.product(steps, steps), 0))
            steps *= np.minimum(1, MAX_STEP / np.maximum(lengths, ROUNDING))[:, None]
            x, done = surface.move(x, steps), epoch + 1
            if monitor(done, loss, surface.coordinates(x) if monitor.wants_embedding else x):
                break
            monitor.keep(state)
    return surface.coordinates(x).astype(start.dtype), done


def _pushes(surface: Surface, x: Array, others: Array, curve: tuple[float, float]) -> Array:
    """The sum of the repulsive forces on each point, negated; `others` has a column for each."""
    total = np.zeros_like(x)
    for partners in others:
        d, tangents = surface.towards(x, x[partners])
        total += _repulsion(d, curve)[:, None] * tangents
    return total


def _pushes_of_all(surface: Surface, x: Array, curve: tuple[float, float]) -> Array:
    """The same for the repulsion by all other points."""
    signs = np.append(np.full(x.shape[1] - 1, surface.curvature), 1)
    cosine = (x * signs) @ x.T
    lengths = np.sqrt(np.maximum(surface.curvature * (1 - cosine**2), 0))
    d = np.arctan2(lengths, cosine) if surface.curvature > 0 else np.arcsinh(lengths)
    factors = _repulsion(d, curve) / np.maximum(lengths, ROUNDING)
    np.fill_diagonal(factors, 0)
    return np.asarray(factors @ x - (factors * cosine).sum(axis=1)[:, None] * x)


def _repulsion(d: Array, curve: tuple[float, float]) -> Array:
    a, b = curve
    return np.asarray(2 * b * d / ((SOFTENING + d**2) * (1 + a * d ** (2 * b))))


def _sums(groups: Array, rows: Array, n: int) -> Array:
    """Sums of the rows of each group."""
    return np.column_stack([np.bincount(groups, column, minlength=n) for column in rows.T])
