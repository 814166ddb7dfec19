"""Jackknife, bootstrap and permutation test: a plane is stable and significant, noise is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import chi2

from helpers import with_threads
from lowdim import MDS, data, procrustes, quality


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


# --- bootstrap ----------------------------------------------------------------------------------

PLACES = np.random.default_rng(3).normal(size=(8, 2))


def judgements(random, count=150, noise=1.0):
    """Judges who weigh two properties of eight objects differently, with errors."""
    return PLACES @ random.normal(size=(2, count)) + noise * random.normal(size=(8, count))


def test_confidence_regions_hold_the_places_of_the_population():
    """Regions of 95 %, of maps of 40 samples, against the map of the expected dissimilarities."""
    random = np.random.default_rng(0)
    squares = cdist(PLACES, PLACES, "sqeuclidean") + 2 * (1 - np.eye(8))
    truth = MDS(metric="precomputed").fit_transform(np.sqrt(squares))
    inside = []
    for _ in range(40):
        found = quality.bootstrap(MDS(), judgements(random), n_samples=60)
        gaps = procrustes(found.base, truth).aligned - found.base
        inverse = np.linalg.inv(found.covariances)
        inside.append(np.einsum("ia,iab,ib->i", gaps, inverse, gaps) < chi2.ppf(0.95, 2))
    assert 0.9 < np.mean(inside) < 0.99


def test_the_covariance_is_that_of_new_samples():
    random = np.random.default_rng(1)
    found = quality.bootstrap(MDS(), judgements(random, 1000, 0.3), n_samples=150)
    fresh = [MDS().fit_transform(judgements(random, 1000, 0.3)) for _ in range(150)]
    maps = np.array([procrustes(found.base, one).aligned for one in fresh])
    own = np.sqrt(np.trace(found.covariances, axis1=1, axis2=2))
    expected = np.sqrt(maps.var(axis=0, ddof=1).sum(axis=1))
    np.testing.assert_allclose(own, expected, rtol=0.3)
    assert np.mean(own / expected) == pytest.approx(1, abs=0.1)


def test_a_bootstrap_is_more_stable_with_more_judges_and_has_the_same_bits():
    random = np.random.default_rng(2)
    few, many = (
        quality.bootstrap(MDS(), judgements(random, count), n_samples=20) for count in (20, 500)
    )
    assert few.stability < many.stability < 1
    assert "n_samples=20" in repr(few)
    X = judgements(random)
    one, three = (
        with_threads(n, quality.bootstrap, MDS(metric="correlation"), X, n_samples=10)
        for n in (1, 3)
    )
    np.testing.assert_array_equal(one.replications, three.replications)
    again = quality.bootstrap(MDS(metric="correlation"), X, n_samples=10, random_state=1)
    assert not np.array_equal(one.replications, again.replications)
    assert one.replications.mean(axis=(0, 1)) == pytest.approx([0, 0], abs=1e-12)


def test_a_bootstrap_needs_columns(plane):
    with pytest.raises(ValueError, match="draws columns of vectors"):
        quality.bootstrap(MDS(metric="precomputed"), plane)
