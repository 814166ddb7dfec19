"""Measures by distances: closed forms, SciPy, and the library's own stress."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score

from lowdim import MDS, quality


@pytest.fixture(scope="module")
def pair():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 5))
    return X, X[:, :2]


def test_a_scaled_copy_is_perfect():
    X = np.random.default_rng(1).normal(size=(50, 2))
    for measure in (quality.stress_1, quality.sammon_stress, quality.residual_variance):
        assert measure(X, 7 * X) == pytest.approx(0, abs=1e-7)
    assert quality.spearman(X, 7 * X) == pytest.approx(1)
    assert quality.distance_correlation(X, 7 * X) == pytest.approx(1)


def test_against_definitions(pair):
    X, Y = pair
    given, found = pdist(X), pdist(Y)
    scale = (given @ found) / (found @ found)
    stress = np.sqrt(((given - scale * found) ** 2).sum() / (given**2).sum())
    assert quality.stress_1(X, Y) == pytest.approx(stress)
    best = min(
        ((given - s * found) ** 2 / given).sum() / given.sum() for s in np.linspace(0.5, 3, 2001)
    )
    assert quality.sammon_stress(X, Y) == pytest.approx(best, rel=1e-5)
    assert quality.spearman(X, Y) == pytest.approx(spearmanr(given, found).statistic)
    far = given >= np.median(given)
    assert quality.spearman_far(X, Y) == pytest.approx(spearmanr(given[far], found[far]).statistic)
    assert quality.residual_variance(X, Y) == pytest.approx(
        1 - pearsonr(given, found).statistic ** 2
    )


def test_distance_correlation_of_independent_and_dependent_columns():
    random = np.random.default_rng(2)
    x = random.normal(size=(600, 1))
    assert quality.distance_correlation(x, random.normal(size=(600, 1))) < 0.15
    # Székely, Rizzo and Bakirov 2007: uncorrelated, and yet dependent
    assert quality.distance_correlation(x, x**2) > 0.4
    n = 40
    a = np.abs(x[:n] - x[:n].T)
    b = np.abs(x[:n] ** 2 - x[:n].T ** 2)
    H = np.eye(n) - 1 / n
    A, B = H @ a @ H, H @ b @ H
    expected = np.sqrt((A * B).mean() / np.sqrt((A**2).mean() * (B**2).mean()))
    assert quality.distance_correlation(x[:n], x[:n] ** 2) == pytest.approx(expected)


def test_the_shepard_diagram_is_that_of_an_estimator(pair):
    X, _ = pair
    model = MDS(metric_mds=False, random_state=0).fit(X)
    ours = quality.shepard(X, model.embedding_)
    theirs = model.shepard()
    np.testing.assert_allclose(np.sort(ours.dissimilarities), np.sort(theirs[0]), rtol=1e-6)
    assert (np.diff(ours.dissimilarities) >= 0).all()
    assert (np.diff(ours.disparities) >= -1e-12).all()
    assert ours.disparities.mean() == pytest.approx(ours.distances.mean())


def test_measures_are_exact_up_to_some_thousands():
    X, y = load_digits(return_X_y=True)
    Y = X[:, 20:22]
    exact = quality.spearman(X, Y)
    assert exact == pytest.approx(spearmanr(pdist(X), pdist(Y)).statistic, abs=1e-9)
    assert exact.margin == 0
    assert quality.silhouette(X, y) == pytest.approx(silhouette_score(X, y), abs=1e-9)
    some = quality.spearman(X, Y, n_objects=600)
    assert 0 < some.margin < 0.1
    assert some.low <= exact <= some.high
    assert quality.silhouette(X, y, n_objects=600).margin > 0
    assert quality.compare_distances(np.zeros((4100, 1)), np.zeros((4100, 1))).n == 4100


def test_intervals_of_a_sample_hold_the_exact_value():
    X = np.random.default_rng(8).normal(size=(1500, 4))
    Y = X[:, :2]
    exact = quality.spearman(X, Y)
    samples = [quality.spearman(X, Y, n_objects=400, random_state=i) for i in range(40)]
    assert np.mean([one.low <= exact <= one.high for one in samples]) >= 0.85


def test_many_objects_are_sampled():
    X = np.random.default_rng(3).normal(size=(4000, 3))
    found = quality.compare_distances(X, X[:, :2], n_objects=1000)
    assert found.data.shape == (1000, 1000)
    every = quality.compare_distances(X[:1500], X[:1500, :2], n_objects=1500)
    assert found.stress_1 == pytest.approx(every.stress_1, abs=0.02)
    again = quality.compare_distances(X, X[:, :2], n_objects=1000)
    np.testing.assert_array_equal(again.objects, found.objects)


def test_degenerate_maps():
    X = np.random.default_rng(4).normal(size=(30, 3))
    point = np.zeros((30, 2))
    assert quality.stress_1(X, point) == 1
    assert quality.sammon_stress(X, point) == 1
    assert quality.spearman(X, point) == 0
    assert quality.distance_correlation(X, point) == 0
    assert quality.stress_1(np.zeros((30, 3)), X) == 0
