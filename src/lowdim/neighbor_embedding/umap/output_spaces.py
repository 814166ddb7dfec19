"""The spaces, other than Euclidean ones, in which a fuzzy graph can be laid out.

A space knows the distances of its points and the directions in which they shrink. The sphere and
the hyperboloid are surfaces in a space with one more dimension, given by <x, x> = 1 (sphere) or
<x, x> = -1 (hyperboloid, with the product x'y - x0 y0), so that there is no pole or seam.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lowdim.checks import Array

ROUNDING = 1e-12


class Space(Protocol):
    """A space of embeddings. Points are rows of numbers, which need not be the coordinates."""

    @property
    def n_components(self) -> int | None:
        """The number of coordinates; None: any."""

    @property
    def n_start(self) -> int | None:
        """The number of columns of a start; None: as many as there are coordinates."""

    def towards(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Distances d from x to y, and their negative gradients with respect to x."""
        ...

    def product(self, x: Array, y: Array) -> Array:
        """The scalar products of steps, row by row."""
        ...

    def push_of_all(self, x: Array, force: Callable[[Array], Array]) -> Array:
        """For each point, the sum of force(d) times the directions towards all other points."""
        ...

    def move(self, x: Array, steps: Array) -> Array:
        """The points reached from x by steps in such directions."""
        ...

    def start(self, flat: Array) -> Array:
        """Points from coordinates in the plane or in space."""
        ...

    def coordinates(self, points: Array) -> Array:
        """The coordinates of points, which users see."""
        ...

    def means(self, nearest: Array, weights: Array, coordinates: Array) -> Array:
        """Weighted means of points, one for each row of indices, as coordinates."""
        ...


@dataclass(frozen=True)
class Surface:
    """A surface of constant curvature: +1 for the sphere, -1 for the hyperboloid."""

    curvature: int
    n_components: int | None = None
    n_start: int | None = None

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


@dataclass(frozen=True)
class Gaussians:
    """Normal distributions in the plane, as in umap-learn's "gaussian_energy".

    The coordinates are the mean, the variances along the two axes of the ellipse, and the angle of
    the first axis. The distance of two distributions is m'S^-1 m + log det S + log 2 pi, or 0 where
    this is negative; m is the difference of the means and S the sum of the covariances. Points are
    coordinates with the logarithms of the variances.
    """

    n_components: int | None = 5
    n_start: int | None = 2

    def product(self, x: Array, y: Array) -> Array:
        return np.asarray((x * y).sum(axis=1))

    def towards(self, x: Array, y: Array) -> tuple[Array, Array]:
        m = (x - y)[:, :2]
        (a, b, c), (cosine, sine, wide, high) = _covariances(x), _axes(x)
        others = _covariances(y)
        a, b, c = a + others[0], b + others[1], c + others[2]
        determinant = np.maximum(a * c - b * b, ROUNDING)
        u = np.stack([c * m[:, 0] - b * m[:, 1], a * m[:, 1] - b * m[:, 0]], axis=1)
        u /= determinant[:, None]  # S^-1 m
        d = (m * u).sum(axis=1) + np.log(determinant) + np.log(2 * np.pi)
        # G, the derivative of d by the covariance matrix: S^-1 - u u'.
        g11 = c / determinant - u[:, 0] ** 2
        g12 = -b / determinant - u[:, 0] * u[:, 1]
        g22 = a / determinant - u[:, 1] ** 2
        first = cosine**2 * g11 + 2 * cosine * sine * g12 + sine**2 * g22
        second = sine**2 * g11 - 2 * cosine * sine * g12 + cosine**2 * g22
        mixed = (cosine**2 - sine**2) * g12 + cosine * sine * (g22 - g11)
        turn = 2 * (wide - high) * mixed
        gradient = np.column_stack([2 * u, wide * first, high * second, turn])
        return np.maximum(d, 0), -gradient

    def push_of_all(self, x: Array, force: Callable[[Array], Array]) -> Array:
        total = np.zeros_like(x)
        for shift in range(1, len(x)):
            d, directions = self.towards(x, np.roll(x, shift, axis=0))
            total += force(d)[:, None] * directions
        return total

    def move(self, x: Array, steps: Array) -> Array:
        return x + steps

    def start(self, flat: Array) -> Array:
        """Circles of variance 1 around the first two coordinates."""
        return np.hstack([flat[:, :2], np.zeros((len(flat), 3))])

    def coordinates(self, points: Array) -> Array:
        angle = np.mod(points[:, 4] + np.pi / 2, np.pi) - np.pi / 2
        return np.column_stack([points[:, :2], np.exp(points[:, 2:4]), angle])

    def means(self, nearest: Array, weights: Array, coordinates: Array) -> Array:
        """Distributions with the weighted means of the means and of the covariances."""
        points = coordinates.astype(np.float64)
        points[:, 2:4] = np.log(points[:, 2:4])
        share = weights / np.maximum(weights.sum(axis=1, keepdims=True), ROUNDING)
        centres = np.einsum("mk,mkd->md", share, points[nearest, :2])
        a, b, c = ((share * entry[nearest]).sum(axis=1) for entry in _covariances(points))
        middle, radius = (a + c) / 2, np.hypot((a - c) / 2, b)
        angle = np.arctan2(2 * b, a - c) / 2
        low = np.maximum(middle - radius, ROUNDING)
        return np.column_stack([centres, middle + radius, low, angle])


def _axes(points: Array) -> tuple[Array, Array, Array, Array]:
    """Cosine and sine of the angle of the first axis, and the variances along both."""
    wide, high = np.exp(points[:, 2:4].T)
    return np.cos(points[:, 4]), np.sin(points[:, 4]), wide, high


def _covariances(points: Array) -> tuple[Array, Array, Array]:
    """The entries 11, 12 and 22 of the covariance matrices."""
    cosine, sine, wide, high = _axes(points)
    return (
        wide * cosine**2 + high * sine**2,
        (wide - high) * sine * cosine,
        high * cosine**2 + wide * sine**2,
    )


SPACES: dict[str, Space] = {
    "haversine": Surface(1, n_components=2, n_start=3),
    "hyperboloid": Surface(-1),
    "gaussian_energy": Gaussians(),
}
"""The spaces by the name of `output_metric`."""


def start_dim(metric: str, n_components: int) -> int:
    """The number of columns of a start that is not given."""
    space = SPACES.get(metric)
    return int((space and space.n_start) or n_components)
