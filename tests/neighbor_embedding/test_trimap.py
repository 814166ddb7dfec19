"""TriMap: triplets, weights, the loss and its gradient, and maps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import lowdim
from lowdim.neighbor_embedding.trimap.triplets import (
    TripletLayout,
    choose_triplets,
    tempered_log,
)
from lowdim.objects.objects import objects_of

X = np.random.default_rng(0).normal(size=(200, 4))
ORDER = np.random.default_rng(1).permutation(200)


def chosen(counts=(6, 4, 5), temperature=0.5):
    graph = lowdim.neighbors(X, 199)
    objects = objects_of(X, "euclidean", {})
    return choose_triplets(graph, objects, X[:, :2], ORDER, counts, temperature, 3)


def scaled_distances():
    D = cdist(X, X)
    scale = np.sort(D, axis=1)[:, 4:7].mean(axis=1)
    return D**2 / np.outer(scale, scale)


def test_inliers_are_nearest_and_outliers_are_random():
    triplets, _ = chosen()
    scaled = scaled_distances()
    np.fill_diagonal(scaled, np.inf)
    near = np.argsort(scaled, axis=1)[:, :6]
    np.testing.assert_array_equal(triplets.near[:, :24], np.repeat(near, 4, axis=1))
    for i in range(200):
        for j in range(6):
            outliers = triplets.far[i, 4 * j : 4 * j + 4]
            assert len(set(outliers)) == 4
            assert not set(outliers) & {i, *near[i, : j + 1]}
    counts = np.bincount(triplets.far[:, :24].ravel(), minlength=200)
    assert ((counts - 24) ** 2 / 24).sum() < 290  # chi-squared, about 199 degrees


def test_random_triplets_are_in_the_order_of_the_distances():
    triplets, _ = chosen()
    scaled, own = scaled_distances(), np.arange(200)[:, None]
    near, far = scaled[own, triplets.near[:, 24:]], scaled[own, triplets.far[:, 24:]]
    assert (near <= far).all()


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_weights(temperature):
    triplets, _ = chosen(temperature=temperature)
    scaled, own = scaled_distances(), np.arange(200)[:, None]
    gain = scaled[own, triplets.far] - scaled[own, triplets.near]
    gain[:, 24:] *= 0.1
    gain -= min(gain.min(), 0)
    expected = {0.0: gain, 0.5: 2 * (np.sqrt(1 + gain) - 1), 1.0: np.log1p(gain)}[temperature]
    np.testing.assert_allclose(triplets.weights, expected, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(tempered_log(1 + gain, temperature), expected, atol=1e-12)


def test_the_gradient_is_that_of_the_loss():
    triplets, _ = chosen()
    start = 2 * np.random.default_rng(2).normal(size=(200, 3))

    def loss(Y):
        gaps = Y[:, None] - Y[triplets.near], Y[:, None] - Y[triplets.far]
        near, far = (1 + (gap**2).sum(axis=2) for gap in gaps)
        return (triplets.weights / (1 + far / near)).sum()  # as in the paper

    layout = TripletLayout(triplets, start, ORDER, n_epochs=9, rate=1e-9)
    assert layout.run(1) == pytest.approx(loss(start))
    gradient = -layout.velocity[layout.rank] / (1e-9 * layout.gains[layout.rank])
    for i, c in ((0, 0), (17, 2), (199, 1)):
        ends = []
        for sign in (1, -1):
            moved = start.copy()
            moved[i, c] += sign * 1e-6
            ends.append(loss(moved))
        assert gradient[i, c] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4)


def test_maps_of_digits_and_new_ones():
    digits, y = load_digits(return_X_y=True)
    model = lowdim.TriMap(random_state=0).fit(digits[:1500])
    right = cross_val_score(KNeighborsClassifier(5), model.embedding_, y[:1500]).mean()
    assert right > 0.955  # 0.968 by the authors' package, of all digits
    known = KNeighborsClassifier(5).fit(model.embedding_, y[:1500])
    assert known.score(model.transform(digits[1500:]), y[1500:]) > 0.9


def test_few_objects():
    for n in (2, 3, 5):
        assert np.isfinite(lowdim.TriMap(n_components=1, max_iter=20).fit_transform(X[:n])).all()
