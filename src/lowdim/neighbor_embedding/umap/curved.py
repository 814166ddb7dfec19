"""Layouts of fuzzy graphs on the sphere and in the hyperbolic space.

The sphere and the hyperboloid are surfaces in a space with one more dimension, given by <x, x> = 1
(sphere) or <x, x> = -1 (hyperboloid, with the product x'y - x0 y0), so that there is no pole or
seam. Points are rows of numbers, which need not be the coordinates that users see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.neighbor_embedding.umap.layout import negatives_per_epoch
from lowdim.neighbor_graphs.graph import row_of_entries
from lowdim.runtime.callbacks import Monitor
from lowdim.runtime.checkpoint import random_state_of

MAX_STEP = 0.25  # of a vertex in an epoch
SOFTENING = 1e-3  # added to squared distances in the repulsion, as in umap-learn
SHORT = 1e-3  # distance up to which the attraction is taken as proportional to the distance
ROUNDING = 1e-12


@dataclass(frozen=True)
class Surface:
    """A surface of constant curvature: +1 for the sphere, -1 for the hyperboloid."""

    curvature: int
    n_components: int | None = None  # number of coordinates; None: any
    n_start: int | None = None  # number of columns of a start; None: as many as coordinates

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

    def push_of_all(self, x: Array, force: Callable[[Array], Array]) -> Array:
        """For each point, the sum of force(d) times the unit tangents towards all other points."""
        signs = np.append(np.full(x.shape[1] - 1, self.curvature), 1)
        cosine = (x * signs) @ x.T
        lengths = np.sqrt(np.maximum(self.curvature * (1 - cosine**2), 0))
        d = np.arctan2(lengths, cosine) if self.curvature > 0 else np.arcsinh(lengths)
        factors = force(d) / np.maximum(lengths, ROUNDING)
        np.fill_diagonal(factors, 0)
        return np.asarray(factors @ x - (factors * cosine).sum(axis=1)[:, None] * x)

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


SPACES = {"haversine": Surface(1, n_components=2, n_start=3), "hyperboloid": Surface(-1)}
"""The spaces by the name of `output_metric`."""


def start_dim(metric: str, n_components: int) -> int:
    """The number of columns of a start that is not given."""
    space = SPACES.get(metric)
    return int((space and space.n_start) or n_components)


def lay_out_on(
    space: Surface,
    graph: Any,
    start: Array,
    monitor: Monitor,
    *,
    curve: tuple[float, float],
    n_epochs: int,
    learning_rate: float,
    repulsion: float,
    negative_sample_rate: float,
    seed: int,
) -> tuple[Array, int]:
    """Coordinates of least cross-entropy on a space, and the number of epochs.

    The arguments and the forces are those of `lowdim.neighbor_embedding.umap.layout.Layout`, along
    the gradients of the distances. Every vertex is moved independently by the forces of all its
    edges and of some random points, from the coordinates before the epoch.
    """
    n, (a, b) = len(start), curve

    def law(d: Array) -> Array:
        return np.asarray(2 * b * d / ((SOFTENING + d**2) * (1 + a * d ** (2 * b))))

    random = np.random.RandomState(seed)
    heads, tails, weights = row_of_entries(graph.indptr), graph.indices, graph.data
    mass = np.bincount(heads, weights, minlength=n)
    n_negatives = negatives_per_epoch(n, negative_sample_rate)
    strength = repulsion * negative_sample_rate * mass
    x, done = space.start(start.astype(np.float64)), 0

    def state() -> dict[str, Any]:
        return {"x": x, "done": done, "random": random_state_of(random)}

    with monitor:
        if (saved := monitor.load_state({"x": x}, scheduled=True)) is not None:
            x, done = saved["x"], saved["done"]
            random.set_state(saved["random"])
        for epoch in range(done, n_epochs):
            d, directions = space.towards(x[heads], x[tails])
            power = np.maximum(d, ROUNDING) ** (2 * b - 1)
            # An edge is stored twice, and each of the two attracts both ends.
            pull = 2 * weights * 2 * a * b * power / (1 + a * power * d)
            pulls = (pull[:, None] * directions).T
            force: Array = np.column_stack(
                [np.bincount(heads, part, minlength=n) for part in pulls]
            )
            # A step does not overshoot if it is divided by the curvature of the attraction.
            bend = pull * space.product(directions, directions) / np.maximum(d, SHORT)
            stiffness = 1 + np.bincount(heads, bend, minlength=n)
            loss = float(weights @ np.log1p(a * power * d))
            if n_negatives:
                push = np.zeros_like(x)
                for others in random.randint(n, size=(n_negatives, n)):
                    d, directions = space.towards(x, x[others])
                    push += law(d)[:, None] * directions
                push /= n_negatives
            else:
                push = space.push_of_all(x, law) / (n - 1)
            force -= strength[:, None] * push
            steps = (learning_rate * (1 - epoch / n_epochs) / stiffness)[:, None] * force
            lengths = np.sqrt(np.maximum(space.product(steps, steps), 0))
            steps *= np.minimum(1, MAX_STEP / np.maximum(lengths, ROUNDING))[:, None]
            x, done = space.move(x, steps), epoch + 1
            if monitor(done, loss, space.coordinates(x) if monitor.wants_embedding else x):
                break
            monitor.keep(state)
    return space.coordinates(x).astype(start.dtype), done
