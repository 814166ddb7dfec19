"""Distances and their gradients in spaces that are not Euclidean, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.neighbor_embedding.umap.output_spaces import SPACES


@pytest.fixture(params=["haversine", "hyperboloid"])
def case(request):
    surface = SPACES[request.param]
    random = np.random.RandomState(0)
    return surface, surface.start(random.standard_normal((50, 2)))


def test_coordinates_and_points_are_inverse(case):
    surface, x = case
    np.testing.assert_allclose(surface.points(surface.coordinates(x)), x, atol=1e-12)


def test_distances_are_those_of_the_surface(case):
    surface, x = case
    d, _ = surface.towards(x[:25], x[25:])
    inner = (x[:25, :-1] * x[25:, :-1]).sum(axis=1)
    last = x[:25, -1] * x[25:, -1]
    expected = np.arccos(inner + last) if surface.curvature > 0 else np.arccosh(last - inner)
    np.testing.assert_allclose(d, expected, atol=1e-7)


def test_a_step_along_the_tangent_reaches_the_other_point(case):
    surface, x = case
    d, tangents = surface.towards(x[:25], x[25:])
    np.testing.assert_allclose(surface.move(x[:25], d[:, None] * tangents), x[25:], atol=1e-9)


def test_the_tangent_is_the_gradient_of_the_distance(case):
    surface, x = case
    _, tangents = surface.towards(x[:25], x[25:])
    step = 1e-5
    nearer, _ = surface.towards(surface.move(x[:25], step * tangents), x[25:])
    farther, _ = surface.towards(surface.move(x[:25], -step * tangents), x[25:])
    np.testing.assert_allclose((farther - nearer) / (2 * step), 1, atol=1e-6)


def gaussians(n):
    """Normal distributions with random means, variances and angles."""
    random = np.random.RandomState(0)
    points = random.standard_normal((n, 5))
    points[:, :2] *= 3  # far enough apart that no distance is cut off at zero
    return points


def matrices(points):
    """The means and covariance matrices of points, which hold logarithms of variances."""
    cosine, sine = np.cos(points[:, 4]), np.sin(points[:, 4])
    turn = np.moveaxis(np.array([[cosine, -sine], [sine, cosine]]), 2, 0)
    scale = np.exp(points[:, 2:4])[:, :, None] * np.eye(2)
    return points[:, :2], turn @ scale @ turn.transpose(0, 2, 1)


def test_the_distance_of_normal_distributions():
    x, y = gaussians(40)[:20], gaussians(40)[20:]
    (mx, Cx), (my, Cy) = matrices(x), matrices(y)
    m, S = mx - my, Cx + Cy
    inside = np.einsum("ni,ni->n", m, np.linalg.solve(S, m[:, :, None])[:, :, 0])
    expected = inside + np.log(np.linalg.det(S)) + np.log(2 * np.pi)
    assert (expected > 0).sum() > 15
    np.testing.assert_allclose(
        SPACES["gaussian_energy"].towards(x, y)[0], np.maximum(expected, 0), atol=1e-9
    )


def test_the_gradient_of_the_distance_of_normal_distributions():
    space, (x, y) = SPACES["gaussian_energy"], np.split(gaussians(40), 2)
    d, directions = space.towards(x, y)
    for parameter in range(5):
        step = np.zeros(5)
        step[parameter] = 1e-5
        slope = (space.towards(x + step, y)[0] - space.towards(x - step, y)[0]) / 2e-5
        np.testing.assert_allclose(
            directions[d > 0, parameter], -slope[d > 0], rtol=1e-5, atol=1e-6
        )


def test_the_mean_of_equal_normal_distributions_is_each_of_them():
    space = SPACES["gaussian_energy"]
    coordinates = space.coordinates(gaussians(6))
    near, weights = np.repeat(np.arange(6)[:, None], 3, axis=1), np.full((6, 3), 0.5)
    found = space.means(near, weights, coordinates)
    np.testing.assert_allclose(found[:, :2], coordinates[:, :2])
    as_points = [
        np.column_stack([c[:, :2], np.log(c[:, 2:4]), c[:, 4]]) for c in (found, coordinates)
    ]
    np.testing.assert_allclose(matrices(as_points[0])[1], matrices(as_points[1])[1])


@pytest.mark.parametrize("name", SPACES)
def test_the_push_of_all_points_is_the_sum_over_pairs(name):
    space = SPACES[name]
    x = gaussians(30) if name == "gaussian_energy" else space.start(gaussians(30)[:, :2])
    total = np.zeros_like(x)
    for i in range(30):
        others = np.delete(x, i, axis=0)
        d, directions = space.towards(np.repeat(x[i : i + 1], 29, axis=0), others)
        total[i] = (1 / (1 + d)) @ directions
    np.testing.assert_allclose(space.push_of_all(x, lambda d: 1 / (1 + d)), total, atol=1e-8)
