"""Jackknife and permutation test: stable and significant for a plane, neither for noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowdim import MDS, quality


@pytest.fixture(scope="module")
def plane():
    points = np.random.default_rng(0).normal(size=(15, 2))
    return cdist(points, points)


@pytest.fixture(scope="module")
def noise():
    values = np.triu(np.random.default_rng(1).uniform(0.5, 1, size=(15, 15)), 1)
    return values + values.T


def test_a_plane_is_stable_and_noise_is_not(plane, noise):
    sure = quality.jackknife(MDS(metric="precomputed"), plane)
    unsure = quality.jackknife(MDS(metric="precomputed"), noise)
    assert sure.stability > 0.9999
    assert sure.cross_validity > 0.9999
    assert sure.dispersion < 1e-3
    assert unsure.stability < sure.stability
    assert sure.replications.shape == (15, 15, 2)
    assert np.isnan(sure.replications[4, 4]).all()
    assert np.isfinite(sure.mean).all()


def test_a_plane_is_better_than_chance_and_noise_is_not(plane, noise):
    model = MDS(metric="precomputed", max_iter=50)
    sure = quality.permutation_test(model, plane, n_permutations=30)
    assert sure.p_value == pytest.approx(1 / 31)
    assert len(sure.null) == 30
    unsure = quality.permutation_test(model, noise, n_permutations=30)
    assert unsure.p_value > 0.05
    again = quality.permutation_test(model.set_params(n_jobs=2), noise, n_permutations=30)
    np.testing.assert_array_equal(again.null, unsure.null)


def test_too_few_objects(plane):
    with pytest.raises(ValueError, match="at least 4 objects"):
        quality.jackknife(MDS(metric="precomputed"), plane[:3, :3])
