"""Jackknife and permutation test: stable and significant for a plane, neither for noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from lowdim import MDS, data, quality


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
    assert unsure.stability < 0.99
    assert sure.replications.shape == (15, 15, 2)
    assert np.isnan(sure.replications[4, 4]).all()
    assert np.isfinite(sure.mean).all()


def test_cities_are_stable_and_their_mean_is_the_map():
    D = data.cities()[0]
    found = quality.jackknife(MDS(metric="precomputed", random_state=0), D)
    assert found.stability > 0.95
    assert found.cross_validity > 0.99
    size = np.linalg.norm(found.base)
    assert np.linalg.norm(found.mean) == pytest.approx(size, rel=0.02)
    gap = np.linalg.norm(found.mean - found.base) / size
    assert found.cross_validity == pytest.approx(1 - gap**2, abs=0.01)


def test_the_jackknife_minimises_the_loss_of_de_leeuw_and_meulman():
    """Rotations, translations and the mean found by a general optimiser, from the same maps."""
    random = np.random.default_rng(4)
    D = cdist(*2 * [random.normal(size=(6, 3))])
    found = quality.jackknife(MDS(metric="precomputed", random_state=0), D)
    n = len(D)
    maps = found.replications
    own = np.nansum((maps - found.mean) ** 2)

    def loss(parameters):
        angles, shifts = parameters[:n], parameters[n : 3 * n].reshape(n, 1, 2)
        mean = parameters[3 * n :].reshape(n, 2)
        turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
        moved = np.einsum("ijk,kli->ijl", maps, turns) + shifts
        return np.nansum((moved - mean) ** 2)

    start = np.concatenate([np.zeros(3 * n), found.mean.ravel()])
    assert loss(start) == pytest.approx(own)
    best = minimize(loss, start + 1e-3 * random.normal(size=len(start)), tol=1e-12).fun
    # the optimiser may shrink nothing: rotations and translations keep the size of each map
    assert own == pytest.approx(best, rel=1e-4)
    total = np.nansum(maps**2) + (found.mean**2).sum()
    assert found.stability == pytest.approx(1 - own / total)


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
