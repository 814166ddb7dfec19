"""Maps made again: the same where the data say so, different where only chance does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from lowdim import MDS, PCA, quality


class Random(BaseEstimator):
    """Places objects at random."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        self.embedding_ = np.random.default_rng(self.random_state).normal(size=(len(X), 2))
        return self


class Turned(Random):
    """The first two columns, turned, mirrored and scaled by the seed, the first object moved."""

    def fit(self, X):
        random = np.random.default_rng(self.random_state)
        turn = np.linalg.qr(random.normal(size=(2, 2)))[0] * random.uniform(0.1, 10)
        Y = X[:, :2].copy()
        Y[0] = 3 * random.normal(size=2)
        self.embedding_ = Y @ turn + random.normal(size=2)
        return self


@pytest.fixture(scope="module")
def strip():
    random = np.random.default_rng(0)
    X = 0.1 * random.normal(size=(150, 8))
    X[:, :2] += random.uniform(size=(150, 2)) * [6, 3]
    return X


def test_turns_and_scales_do_not_count_and_movers_are_found(strip):
    found = quality.stability(Turned(), strip, n_runs=6)
    assert found.score > 0.95
    assert found.spread.argmax() == 0
    assert found.spread[1:].max() < 0.2
    assert found.maps.shape == (6, 150, 2)
    assert "1 objects have no stable place" in str(found)


def test_random_places_have_no_stability(strip):
    found = quality.stability(Random(), strip, n_runs=8)
    assert found.score < 0.3
    assert found.null_score == pytest.approx(found.score, abs=0.1)
    assert "no evidence of structure" in str(found)


def test_bootstrap_tells_structure_from_noise(strip):
    random = np.random.default_rng(1)
    found = quality.stability(PCA(2), strip, how="bootstrap", n_runs=6)
    assert found.score > 0.99
    noise = quality.stability(PCA(2), random.normal(size=(150, 20)), how="bootstrap", n_runs=6)
    assert noise.score < 0.9
    assert noise.score == pytest.approx(noise.null_score, abs=0.15)
    assert np.isfinite(found.mean).any(axis=1).mean() > 0.9
    assert np.isnan(found.maps).any()


def test_dissimilarities_have_no_columns_to_shuffle(strip):
    model = MDS(metric="precomputed", n_init=1, random_state=0)
    found = quality.stability(model, cdist(strip[:40], strip[:40]), how="bootstrap", n_runs=3)
    assert found.null_score is None
    assert found.score > 0.9


def test_a_seed_that_changes_nothing_is_no_evidence(strip):
    model = MDS(n_init=1)  # starts from classical scaling
    found = quality.stability(model, strip[:50], n_runs=2, null=False)
    assert found.score == pytest.approx(1)
    assert "The seed changes nothing" in str(found)


def test_the_same_seed_the_same_answer(strip):
    one, two = (quality.stability(Random(), strip, n_runs=3, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.maps, two.maps)


def test_seeds_need_a_seed(strip):
    class Fixed(BaseEstimator):
        pass

    with pytest.raises(ValueError, match="no random_state"):
        quality.stability(Fixed(), strip)
    with pytest.raises(ValueError, match="how must be one of"):
        quality.stability(PCA(2), strip, how="both")
    with pytest.raises(ValueError, match="n_runs must be at least 2"):
        quality.stability(PCA(2), strip, n_runs=1)
