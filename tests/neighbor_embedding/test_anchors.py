"""Springs towards the places of points, and the registration of a map to an old one."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.neighbor_embedding.anchors import Anchors, hold
from lowdim.numerics.procrustes import align_to_old, axis_signs, rotation_to


def test_a_point_under_a_constant_force_comes_to_rest():
    """At force * (1 - share) / share from its place; a free point moves on."""
    anchors = Anchors(np.zeros((2, 2)), np.array([[0.25, 0.25], [0.0, 0.0]]))
    Y = np.zeros((2, 2))
    for _ in range(200):
        Y += [1.0, 2.0]
        anchors.pull(Y)
    np.testing.assert_allclose(Y[0], [3.0, 6.0])
    np.testing.assert_allclose(Y[1], [200.0, 400.0])


def test_old_points_are_held_and_points_without_coordinates_are_not():
    old = np.array([[0.0, 0.0], [4.0, 2.0], [np.nan, np.nan]])
    anchors = hold(old, np.array([[2.0, 1.0], [np.nan, np.nan]]), 0.1, np.dtype(np.float32))
    np.testing.assert_allclose(anchors.shares, np.outer([0.1, 0.1, 0, 0, 0], [1, 1]))
    np.testing.assert_allclose(anchors.places[[2, 4]], [[2, 1], [2, 1]])
    assert anchors.places.dtype == anchors.shares.dtype == np.float32
    order = np.array([4, 1, 0, 2, 3])
    np.testing.assert_array_equal(anchors.renumber(order).places, anchors.places[order])
    np.testing.assert_array_equal(anchors.renumber(order).shares, anchors.shares[order])


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_map_that_was_moved_is_moved_back(dim):
    random = np.random.default_rng(0)
    Y = random.normal(size=(30, dim))
    turn = np.linalg.qr(random.normal(size=(dim, dim)))[0]
    np.testing.assert_allclose(align_to_old(Y[:20], Y @ turn + 5), Y, atol=1e-12)
    gap = Y.copy()
    gap[[3, 25]] = np.nan
    back = align_to_old(gap[:20], gap @ turn + 5)
    np.testing.assert_allclose(back, gap, atol=1e-12)
    np.testing.assert_allclose(Y @ turn @ rotation_to(Y, Y @ turn), Y, atol=1e-12)
    np.testing.assert_array_equal(axis_signs(Y, -Y), -np.ones(dim))


def test_registration_does_not_scale():
    Y = np.random.default_rng(0).normal(size=(30, 2))
    back = align_to_old(Y, 3 * Y)
    np.testing.assert_allclose(np.ptp(back, axis=0), 3 * np.ptp(Y, axis=0))
