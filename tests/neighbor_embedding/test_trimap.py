"""TriMap: triplets, weights, the loss and its gradient, and maps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import lowdim
from lowdim.neighbor_embedding.trimap.triplets import (
    TripletLayout,
    choose_triplets,
    far_objects,
    tempered_log,
)
from lowdim.objects.objects import objects_of

X = np.random.default_rng(0).normal(size=(200, 4))
ORDER = np.random.default_rng(1).permutation(200)


def chosen(counts=(6, 4, 5), temperature=0.5):
    graph = lowdim.neighbors(X, 199)
    objects = objects_of(X, "euclidean", {})
    return choose_triplets(graph, objects, X[:, :2], ORDER, counts, temperature, 3)[0]


def scaled_distances():
    D = cdist(X, X)
    scale = np.sort(D, axis=1)[:, 4:7].mean(axis=1)
    return D**2 / np.outer(scale, scale)


def test_inliers_are_nearest_and_outliers_are_random():
    inliers, _ = chosen()
    scaled = scaled_distances()
    np.fill_diagonal(scaled, np.inf)
    near, far = np.argsort(scaled, axis=1)[:, :6], far_objects(ORDER, inliers.shifts)
    np.testing.assert_array_equal(inliers.near, near)
    place = int(np.flatnonzero(ORDER == 50)[0])
    assert far[50, 2, 3] == ORDER[(place + inliers.shifts[2, 3, place // 16]) % 200]
    counts = np.bincount(far.ravel(), minlength=200)
    assert ((counts - 24) ** 2 / 24).sum() < 290  # chi-squared, about 199 degrees
    for i in range(200):
        for j in range(6):
            assert len({*far[i, j], i}) == 5
            nearer = np.isin(far[i, j], near[i, : j + 1])
            np.testing.assert_array_equal(inliers.weights[i, j] == 0, nearer)


def test_a_random_triplet_is_in_the_order_of_its_distances_by_its_sign():
    _, random = chosen()
    scaled, own = scaled_distances(), np.arange(200)[:, None]
    near, far = scaled[own, random.near], scaled[own, far_objects(ORDER, random.shifts)[:, :, 0]]
    np.testing.assert_array_equal(random.weights[:, :, 0] < 0, near > far)
    assert (random.near != np.arange(200)[:, None]).all()


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_weights(temperature):
    inliers, random = chosen(temperature=temperature)
    scaled, own = scaled_distances(), np.arange(200)[:, None, None]
    counts = inliers.weights > 0
    gains = [
        scaled[own, far_objects(ORDER, kind.shifts)] - scaled[own, kind.near[:, :, None]]
        for kind in (inliers, random)
    ]
    least = min(gains[0][counts].min(), 0)
    x = np.concatenate([gains[0][counts], 0.1 * np.abs(gains[1]).ravel()]) - least
    found = np.concatenate([inliers.weights[counts], np.abs(random.weights).ravel()])
    expected = {0.0: x, 0.5: 2 * (np.sqrt(1 + x) - 1), 1.0: np.log1p(x)}[temperature]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(tempered_log(1 + x, temperature), expected, atol=1e-12)


def test_the_gradient_is_that_of_the_loss():
    triplets = chosen()
    start = 2 * np.random.default_rng(2).normal(size=(200, 3))

    def loss(Y):
        total = 0.0
        for kind in triplets:
            gaps = Y[:, None] - Y[kind.near], Y[:, None, None] - Y[far_objects(ORDER, kind.shifts)]
            near, far = 1 + (gaps[0] ** 2).sum(axis=2)[:, :, None], 1 + (gaps[1] ** 2).sum(axis=3)
            near, far = np.where(kind.weights < 0, [far, near + 0 * far], [near + 0 * far, far])
            total += (np.abs(kind.weights) / (1 + far / near)).sum()  # as in the paper
        return total

    layout = TripletLayout(triplets, start, ORDER, n_epochs=9)
    layout.rate = 1e-9
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


def test_many_random_triplets_of_few_objects():
    params = {"n_components": 1, "max_iter": 5}
    many, all_pairs = (lowdim.TriMap(n_random=k, **params).fit(X[:6]) for k in (2**40, 36))
    np.testing.assert_array_equal(many.embedding_, all_pairs.embedding_)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("dtype", "far"), [("f4", 1e30), ("f8", 1e300)])
def test_a_distance_whose_square_overflows(dtype, far, temperature):
    D = squareform(pdist(X[:30])).astype(dtype)
    D[3, 7] = D[7, 3] = far
    model = lowdim.TriMap(metric="precomputed", weight_temp=temperature, max_iter=50)
    assert np.isfinite(model.fit_transform(D)).all()
