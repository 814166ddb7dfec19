"""Isotonic regression, disparities and accelerated majorization against plain references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, squareform
from sklearn.isotonic import IsotonicRegression

from lowdim.backends import backend
from lowdim.objects.pairs import Pairs, dense_pairs
from lowdim.runtime.callbacks import Monitor
from lowdim.stress.disparities import apply_curve, curve, disparities, order_pairs
from lowdim.stress.majorization import inverse_of_v, smacof_matrix


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_regression_is_scikit_learns(dtype, weighted):
    random = np.random.default_rng(0)
    y = (random.normal(size=70_000) + np.arange(70_000) / 1e4).astype(dtype)
    w = random.uniform(0.1, 2, size=len(y)).astype(dtype) if weighted else None
    found = backend().isotonic(y, w, None, True)
    expected = IsotonicRegression().fit_transform(np.arange(len(y)), y, sample_weight=w)
    np.testing.assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-10)


def test_secondary_ties_are_scikit_learns():
    random = np.random.default_rng(0)
    x = np.sort(random.integers(0, 40, size=500)).astype(float)
    d = random.uniform(size=500) + x / 40
    pairs = Pairs(1000, np.arange(500, dtype=np.int32), np.arange(500, 1000, dtype=np.int32), x)
    found = disparities(pairs, "ordinal", "secondary")(d)
    expected = IsotonicRegression().fit_transform(x, d)
    np.testing.assert_allclose(found, expected * np.sqrt(500 / np.sum(expected**2)))


def test_primary_ties_sort_by_distance_within_a_tie():
    random = np.random.default_rng(1)
    x = np.sort(random.integers(0, 40, size=500)).astype(float)
    d = random.uniform(size=500) + x / 40
    starts = np.append(np.unique(x, return_index=True)[1], 500).astype(np.int64)
    order = np.lexsort((d, x))
    expected = np.empty(500)
    expected[order] = IsotonicRegression().fit_transform(np.arange(500), d[order])
    np.testing.assert_allclose(backend().isotonic(d, None, starts, True), expected)


@pytest.mark.parametrize("kind", ["interval", "spline", "ordinal"])
def test_disparities_are_the_projection_on_their_cone(kind):
    """The residual is at right angles to the fit, and at an obtuse angle to other members."""
    random = np.random.default_rng(2)
    D = squareform(np.sort(random.uniform(1, 5, size=45)))
    pairs = order_pairs(dense_pairs(D), kind)
    d = np.sqrt(pairs.values) + 0.3 * random.normal(size=45)
    fit = disparities(pairs, kind, "primary")
    scaled = fit(d)
    projection = scaled * (scaled @ d) / (scaled @ scaled)
    assert (d - projection) @ projection == pytest.approx(0, abs=1e-9)
    for _ in range(20):
        other = fit(np.sort(random.uniform(size=45)))
        assert (d - projection) @ other < 1e-8
    assert np.mean(scaled**2) == pytest.approx(1)


def test_a_curve_interpolates_and_goes_on_in_proportion():
    points = curve(np.array([2.0, 1.0, 4.0]), np.array([3.0, 1.0, 5.0]))
    np.testing.assert_allclose(
        apply_curve(points, np.array([0, 0.5, 1, 1.5, 4, 8.0])), [0, 0.5, 1, 2, 5, 10]
    )


@pytest.mark.parametrize("share", [1.0, 0.5, 0.05])
def test_the_inverse_of_v(share):
    random = np.random.default_rng(0)
    W = np.triu(random.uniform(0.5, 2, (80, 80)) * (random.random((80, 80)) < share), 1)
    W[np.arange(79), np.arange(1, 80)] = 1
    known = np.where(W > 0, 1.0, np.nan)
    known = np.triu(known, 1) + np.triu(known, 1).T
    np.fill_diagonal(known, 0)
    pairs = dense_pairs(known)
    pairs = pairs.with_weights(W[pairs.first, pairs.second])
    V = np.diag((W + W.T).sum(axis=1)) - W - W.T
    g = random.normal(size=(80, 2))
    g -= g.mean(axis=0)
    found, expected = inverse_of_v(pairs)(g), np.linalg.pinv(V) @ g
    tol = 1e-9 if share > 0.1 else 0.02
    np.testing.assert_allclose(found, expected, atol=tol * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_iteration_is_the_guttman_transform(dtype):
    random = np.random.default_rng(0)
    points = random.normal(size=(300, 5))
    D, X = cdist(points, points), random.normal(size=(300, 2))
    d = cdist(X, X)
    B = -D / np.where(d > 0, d, 1)
    np.fill_diagonal(B, 0)
    np.fill_diagonal(B, -B.sum(axis=1))
    found = smacof_matrix(D.astype(dtype), X.astype(dtype), Monitor(1))
    expected = B @ X / 300 + X.mean(axis=0)
    np.testing.assert_allclose(
        found.embedding, expected, atol=1e-3 if dtype == np.float32 else 1e-10
    )
    assert found.history[0] == pytest.approx(np.sum((D - d) ** 2) / 2, rel=1e-4)
