"""New points by the rule of curvilinear component analysis."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from lowdim.stress.curvilinear.placement import place_by_curvilinear_rule


def test_new_points_of_a_plane_land_in_their_place():
    random = np.random.RandomState(0)
    images, truth = random.uniform(size=(200, 2)), random.uniform(0.1, 0.9, size=(30, 2))
    D = cdist(truth, images)
    nearest = np.argsort(D, axis=1)[:, :12]
    placed = place_by_curvilinear_rule(images, nearest, np.take_along_axis(D, nearest, axis=1))
    np.testing.assert_allclose(placed, truth, atol=1e-6)


def test_a_known_point_gets_its_image_and_a_near_one_nearly():
    random = np.random.RandomState(0)
    images = random.uniform(size=(40, 2))
    X = random.uniform(size=(40, 5))  # a map that keeps nothing
    nearest = np.argsort(cdist(X, X), axis=1)[:, :10]
    distances = np.take_along_axis(cdist(X, X), nearest, axis=1)
    np.testing.assert_array_equal(place_by_curvilinear_rule(images, nearest, distances), images)
    distances[:, 0] = 1e-6
    np.testing.assert_allclose(
        place_by_curvilinear_rule(images, nearest, distances), images, atol=1e-5
    )


def test_neighbours_across_a_tear_do_not_pull():
    random = np.random.RandomState(0)
    images = random.uniform(size=(20, 2))
    truth = np.array([[0.5, 0.5]])
    D = cdist(truth, images)
    torn = images.copy()
    order = np.argsort(D, axis=1)[0, :10]
    torn[order[6:]] += 50.0
    placed = place_by_curvilinear_rule(torn, order[None], D[:, order])
    np.testing.assert_allclose(placed, truth, atol=1e-4)
