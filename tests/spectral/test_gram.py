"""Centred Gram matrices, tests for Euclidean distances, and additive constants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from helpers import with_threads
from lowdim.spectral.scaling import (
    cailliez_constant,
    correct_dissimilarities,
    double_center,
    gram_eigenvalues,
    gram_operator,
    is_euclidean,
    lingoes_constant,
    negative_share,
    squared_means,
)

# Four points, three of them at distance 2 from each other and all at distance 1 from the fourth:
# a tree metric, which no Euclidean space holds (the centre would be the midpoint of each pair).
STAR = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])
# The corners of a square in the plane under cityblock, with its centre.
CITY = cdist(
    [[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0.0]],
    [[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0.0]],
    "cityblock",
)


def random_dissimilarities(n, seed):
    half = np.triu(np.random.default_rng(seed).uniform(0.1, 1, (n, n)), 1)
    return half + half.T


def explicit(D):
    n = len(D)
    J = np.eye(n) - 1 / n
    return -0.5 * J @ (D.astype(np.float64) ** 2) @ J


def test_double_center_is_the_definition():
    D = random_dissimilarities(30, 0)
    before = D.copy()
    B = double_center(D**2)
    np.testing.assert_allclose(B, explicit(D), atol=1e-14)
    np.testing.assert_allclose(B.sum(axis=0), 0, atol=1e-13)
    assert np.array_equal(D, before)


def test_double_center_gives_the_inner_products_of_centred_points():
    X = np.random.default_rng(0).normal(size=(25, 4)) + 7
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(
        double_center(cdist(X, X, "sqeuclidean")), centred @ centred.T, atol=1e-11
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 5, 20])
def test_gram_operator_multiplies_without_the_matrix(dtype, columns):
    D = random_dissimilarities(90, 1).astype(dtype)
    V = np.random.default_rng(2).normal(size=(90, columns)).astype(dtype)
    operator = gram_operator(D)
    assert operator.shape == (90, 90)
    assert operator.dense
    found = with_threads(2, operator.matmat, V)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, explicit(D) @ V, atol=1e-3 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(found, with_threads(3, operator.matmat, V))


def test_squared_means():
    D = random_dissimilarities(40, 3)
    np.testing.assert_allclose(squared_means(D), (D**2).mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(squared_means(D[:7]), (D[:7] ** 2).mean(axis=1), rtol=1e-13)


# --- which distances are Euclidean ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_distances_of_points_are_euclidean_with_their_dimension(dtype, dimension, scale):
    X = scale * np.random.default_rng(dimension).normal(size=(40, dimension))
    X = np.hstack([X, X[:, :1]])  # a column more, but no dimension more
    D = cdist(X, X).astype(dtype)
    test = is_euclidean(D)
    assert test
    assert test.dimension == dimension
    assert test.negative_share < (1e-5 if dtype == np.float32 else 1e-12)
    assert (np.diff(test.eigenvalues) <= 0).all()
    assert len(test.eigenvalues) == 40


def test_a_simplex_needs_all_dimensions():
    test = is_euclidean(np.ones((6, 6)) - np.eye(6))
    assert test
    assert test.dimension == 5
    np.testing.assert_allclose(test.eigenvalues, [0.5] * 5 + [0], atol=1e-12)


@pytest.mark.parametrize("D", [STAR, CITY], ids=["star", "cityblock"])
def test_metrics_that_no_euclidean_space_holds(D):
    test = is_euclidean(D)
    assert not test
    assert test.eigenvalues[-1] < -0.01
    assert test.negative_share > 0.01
    assert is_euclidean(np.sqrt(D))  # their square roots are Euclidean


def test_the_star_has_the_eigenvalues_of_its_closed_form():
    # B is invariant under the permutations of the three leaves.
    np.testing.assert_allclose(is_euclidean(STAR).eigenvalues, [2, 2, 0, -0.25], atol=1e-12)


def test_cityblock_distances_in_one_dimension_are_euclidean():
    X = np.random.default_rng(0).normal(size=(20, 1))
    assert is_euclidean(cdist(X, X, "cityblock")).dimension == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_distances_are_a_single_point(dtype):
    test = is_euclidean(np.zeros((5, 5), dtype))
    assert test
    assert test.dimension == 0
    assert test.negative_share == 0
    assert is_euclidean(np.zeros((1, 1)))


def test_the_tolerance_decides_what_is_zero():
    X = np.random.default_rng(0).normal(size=(20, 2))
    D = cdist(X, X)
    D[0, 1] = D[1, 0] = D[0, 1] * 1.001
    assert not is_euclidean(D)
    assert is_euclidean(D, tol=0.1)
    with pytest.raises(ValueError, match=r"tol must lie in \[0, inf\], got -1"):
        is_euclidean(D, tol=-1)
    with pytest.raises(ValueError, match="D: Array must be symmetric"):
        is_euclidean(np.triu(D))


def test_negative_share_is_a_share():
    assert negative_share(np.array([3.0, 1.0])) == 0
    assert negative_share(np.array([3.0, -1.0])) == 0.25
    assert negative_share(np.zeros(4)) == 0


# --- corrections --------------------------------------------------------------------------------


def lingoes(D, c):
    out = np.sqrt(np.maximum(D**2 + 2 * c, 0))
    np.fill_diagonal(out, 0)
    return out


def cailliez(D, c):
    out = D + c
    np.fill_diagonal(out, 0)
    return out


def smallest(D):
    values = gram_eigenvalues(D)
    return values[-1] / values[0]


@given(n=st.integers(4, 14), seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_constants_are_the_least_that_make_dissimilarities_euclidean(n, seed):
    D = random_dissimilarities(n, seed)
    assume(smallest(D) < -1e-6)
    for constant, add in ((lingoes_constant, lingoes), (cailliez_constant, cailliez)):
        c = constant(D)
        assert c > 0
        assert smallest(add(D, c)) > -1e-8
        assert smallest(add(D, 1.1 * c)) > -1e-8
        assert smallest(add(D, 0.98 * c)) < -1e-6


@pytest.mark.parametrize("D", [STAR, CITY], ids=["star", "cityblock"])
def test_the_constants_of_symmetric_configurations_are_the_least(D):
    for constant, add in ((lingoes_constant, lingoes), (cailliez_constant, cailliez)):
        c = constant(D)
        assert smallest(add(D, c)) > -1e-8
        assert smallest(add(D, 0.99 * c)) < -1e-6


def test_lingoes_constant_of_the_star_in_closed_form():
    assert lingoes_constant(STAR) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("constant", [lingoes_constant, cailliez_constant])
def test_euclidean_distances_need_no_constant(constant):
    X = np.random.default_rng(0).normal(size=(15, 3))
    assert constant(cdist(X, X)) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("correction", ["lingoes", "cailliez"])
def test_corrected_dissimilarities_are_euclidean(correction, dtype):
    D = random_dissimilarities(25, 4).astype(dtype)
    before = D.copy()
    out, constant = correct_dissimilarities(D, correction)
    assert constant > 0
    assert out.dtype == dtype
    assert not np.diagonal(out).any()
    assert is_euclidean(out)
    assert np.array_equal(D, before)
    assert np.array_equal(np.argsort(out[0, 1:]), np.argsort(D[0, 1:]))  # the order is kept


def test_corrected_leaves_alone_what_needs_nothing():
    D = random_dissimilarities(10, 5)
    found, constant = correct_dissimilarities(D, "none")
    assert found is D
    assert constant == 0
    X = np.random.default_rng(0).normal(size=(15, 3))
    flat = cdist(X, X)
    for name in ("lingoes", "cailliez"):
        out, constant = correct_dissimilarities(flat, name)
        assert out is flat
        assert constant == 0
    with pytest.raises(ValueError, match="correction must be one of 'none', 'lingoes', 'cailliez'"):
        correct_dissimilarities(D, "additive")
