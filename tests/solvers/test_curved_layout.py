"""Geodesics of the sphere and the hyperboloid against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.solvers.curved_layout import SURFACES, _pushes, _pushes_of_all


@pytest.fixture(params=["haversine", "hyperboloid"])
def case(request):
    surface = SURFACES[request.param]
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


def test_the_repulsion_by_all_points_is_the_sum_over_pairs(case):
    surface, x = case
    others = (np.arange(50) + np.arange(1, 50)[:, None]) % 50
    curve = (1.5, 0.9)
    expected = _pushes(surface, x, others, curve)
    np.testing.assert_allclose(_pushes_of_all(surface, x, curve), expected, atol=1e-8)
