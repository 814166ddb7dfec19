"""Distances and their gradients in spaces that are not Euclidean, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.neighbor_embedding.umap.curved import SPACES


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


def test_the_push_of_all_points_is_the_sum_over_pairs(case):
    space, x = case[0], case[1][:30]
    total = np.zeros_like(x)
    for i in range(30):
        others = np.delete(x, i, axis=0)
        d, directions = space.towards(np.repeat(x[i : i + 1], 29, axis=0), others)
        total[i] = (1 / (1 + d)) @ directions
    np.testing.assert_allclose(space.push_of_all(x, lambda d: 1 / (1 + d)), total, atol=1e-8)
