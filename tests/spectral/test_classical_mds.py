"""Classical MDS: exact where distances are Euclidean, honest where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist, squareform

from helpers import aligned, axis_signs
from lowdim import PCA, ClassicalMDS, data, is_euclidean


def points(n=50, d=5, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d)) * (1 + np.arange(d)[::-1])


@settings(max_examples=15)
@given(
    n=st.integers(6, 40),
    d=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    scale=st.floats(1e-3, 1e3),
)
def test_a_configuration_is_recovered_from_its_distances(n, d, seed, scale):
    X = scale * points(n, d, seed)
    D = squareform(pdist(X))
    for params in ({}, {"n_landmarks": d + 2}):
        estimator = ClassicalMDS(d, metric="precomputed", **params).fit(D)
        np.testing.assert_allclose(
            cdist(estimator.embedding_, estimator.embedding_), D, atol=1e-8 * scale * 10
        )
        if d > 1:
            assert procrustes(X, estimator.embedding_)[2] < 1e-12
        assert estimator.negative_share_ == pytest.approx(0, abs=1e-9)


@pytest.mark.filterwarnings("ignore:The dissimilarities are not Euclidean")
def test_solvers_agree():
    D = squareform(pdist(points(400, 6), "cityblock"))
    dense, iterative = (
        ClassicalMDS(2, metric="precomputed", eigen_solver=solver).fit(D)
        for solver in ("dense", "arpack")
    )
    np.testing.assert_allclose(
        aligned(iterative.embedding_, dense.embedding_), dense.embedding_, atol=1e-7
    )
    assert iterative.negative_share_ == pytest.approx(dense.negative_share_, abs=1e-6)


def test_a_share_of_the_spectrum():
    X = points(60, 5)
    values = PCA().fit(X).explained_variance_ratio_.cumsum()
    for share in (0.4, 0.7, 0.95):
        wanted = int(np.searchsorted(values, share)) + 1
        D = squareform(pdist(X))
        assert ClassicalMDS(share).fit(X).embedding_.shape[1] == wanted
        assert ClassicalMDS(share, metric="precomputed").fit(D).embedding_.shape[1] == wanted


def test_landmarks_are_exact_on_euclidean_data():
    X = points(200, 3)
    for metric, rows in (("euclidean", X), ("precomputed", squareform(pdist(X)))):
        estimator = ClassicalMDS(3, metric=metric, n_landmarks=12, random_state=1).fit(rows)
        assert len(np.unique(estimator.landmarks_)) == 12
        np.testing.assert_allclose(pdist(estimator.embedding_), pdist(X), atol=1e-8, err_msg=metric)
        assert estimator.dissimilarity_matrix_.shape == (12, 12)


@pytest.mark.parametrize("n_landmarks", [2, 0, 51, 2.5])
def test_bad_numbers_of_landmarks(n_landmarks):
    with pytest.raises((TypeError, ValueError), match="n_landmarks"):
        ClassicalMDS(2, n_landmarks=n_landmarks).fit(points())


@pytest.mark.parametrize("params", [{}, {"n_landmarks": 9}])
def test_gower_places_a_point_of_the_span_exactly(params):
    X, new = points(50, 3), points(10, 3, seed=1)
    estimator = ClassicalMDS(3, metric="precomputed", **params).fit(squareform(pdist(X)))
    placed = estimator.transform(cdist(new, X))
    np.testing.assert_allclose(cdist(placed, estimator.embedding_), cdist(new, X), atol=1e-7)


def test_gower_places_a_point_outside_the_span_at_its_foot():
    """A point above the plane lands where its perpendicular meets the plane."""
    plane = np.column_stack([points(40, 2), np.zeros(40)])
    new = np.column_stack([points(5, 2, seed=2), np.full(5, 3.0)])
    estimator = ClassicalMDS(2, metric="precomputed").fit(squareform(pdist(plane)))
    foot = new * [1, 1, 0]
    placed = estimator.transform(cdist(new, plane))
    np.testing.assert_allclose(cdist(placed, estimator.embedding_), cdist(foot, plane), atol=1e-7)


def test_vectors_are_scaled_without_their_distances():
    X, new = points(300, 4), points(10, 4, seed=3)
    vectors = ClassicalMDS(2).fit(X)
    given_ = ClassicalMDS(2, metric="precomputed").fit(cdist(X, X))
    signs = axis_signs(vectors.embedding_, given_.embedding_)
    np.testing.assert_allclose(vectors.embedding_ * signs, given_.embedding_, atol=1e-8)
    np.testing.assert_allclose(
        vectors.transform(new) * signs, given_.transform(cdist(new, X)), atol=1e-8
    )
    np.testing.assert_allclose(vectors.eigenvalues_, given_.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(vectors.dissimilarity_matrix_, cdist(X, X), atol=1e-10)


def test_more_dimensions_than_the_vectors_have_are_zero():
    Y = ClassicalMDS(4).fit_transform(points(30, 2))
    assert Y.shape == (30, 4)
    np.testing.assert_array_equal(Y[:, 2:], 0)


# --- dissimilarities that are not Euclidean -------------------------------------------------


def test_the_share_of_negative_eigenvalues():
    D, _ = data.cities()
    with pytest.warns(UserWarning, match=r"not Euclidean.*negative eigenvalues hold"):
        estimator = ClassicalMDS(2, metric="precomputed").fit(D)
    J = np.eye(len(D)) - 1 / len(D)
    values = np.linalg.eigvalsh(-0.5 * J @ D**2 @ J)
    share = -values[values < 0].sum() / np.abs(values).sum()
    assert share > 0.05
    assert estimator.negative_share_ == pytest.approx(share, rel=1e-9)
    assert is_euclidean(D).negative_share == pytest.approx(share, rel=1e-9)


def test_a_small_share_is_reported_and_not_warned_of():
    D = squareform(pdist(points(40, 3))) + 0.02 * (1 - np.eye(40))
    D[3, 4] = D[4, 3] = D[3, 4] + 0.3
    estimator = ClassicalMDS(2, metric="precomputed").fit(D)
    assert 0 < estimator.negative_share_ < 0.05


def test_the_estimated_share_of_a_large_matrix():
    random = np.random.RandomState(0)
    D = squareform(pdist(random.uniform(size=(1100, 3)), "chebyshev"))
    J = D**2 - (D**2).mean(axis=0)
    values = np.linalg.eigvalsh(-0.5 * (J - J.mean(axis=1, keepdims=True)))
    share = -values[values < 0].sum() / np.abs(values).sum()
    with pytest.warns(UserWarning, match="not Euclidean"):
        estimator = ClassicalMDS(2, metric="precomputed").fit(D)
    assert estimator.negative_share_ == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
def test_corrections_make_distances_euclidean(correction):
    D, names = data.cities()
    n = len(names)
    estimator = ClassicalMDS(n - 1, metric="precomputed", correction=correction).fit(D)
    assert estimator.negative_share_ < 1e-6
    c = estimator.correction_constant_
    assert c > 0
    expected = np.sqrt(D**2 + 2 * c) if correction == "lingoes" else D + c
    np.fill_diagonal(expected, 0)
    found = cdist(estimator.embedding_, estimator.embedding_)
    np.testing.assert_allclose(found, expected, atol=1e-6 * D.max())
    assert is_euclidean(expected, tol=1e-8)
    less = np.sqrt(D**2 + 1.98 * c) if correction == "lingoes" else D + 0.99 * c
    np.fill_diagonal(less, 0)
    assert not is_euclidean(less)  # the constant is the least one
    np.testing.assert_allclose(estimator.transform(D), estimator.embedding_, atol=1e-6 * D.max())


@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
def test_a_correction_leaves_euclidean_distances_alone(correction):
    D = squareform(pdist(points(30, 3)))
    estimator = ClassicalMDS(3, metric="precomputed", correction=correction).fit(D)
    assert estimator.correction_constant_ == 0
    np.testing.assert_allclose(cdist(estimator.embedding_, estimator.embedding_), D, atol=1e-8)


@pytest.mark.parametrize("n", [8, 60, 400])
def test_equidistant_objects_have_as_many_coordinates_as_asked_for(n):
    D = 1 - np.eye(n)  # a regular simplex: all eigenvalues but one are equal
    with pytest.warns(UserWarning, match="exchangeable, and axis 1 is left out"):
        found = ClassicalMDS(1, metric="precomputed").fit(D)
    assert found.embedding_.shape == (n, 1)
    np.testing.assert_allclose(found.eigenvalues_, 0.5)
