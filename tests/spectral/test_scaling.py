"""Classical scaling of Gram operators, exact and by pivoted Cholesky."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowdim.numerics import eigenpairs as spectral
from lowdim.spectral import scaling as module
from lowdim.spectral.scaling import (
    classical_scaling,
    double_center,
    gram_operator,
    is_euclidean,
    pivoted_cholesky_scaling,
)


def points(n=60, d=3, dtype=np.float64):
    return (np.random.default_rng(0).normal(size=(n, d)) * [3, 2, 1][:d]).astype(dtype)


def trace(D):
    return float((D.astype(np.float64) ** 2).sum() / (2 * len(D)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack"])
@pytest.mark.parametrize("iterative", [False, True])
def test_points_come_back_from_their_distances(dtype, solver, iterative, monkeypatch):
    if iterative:
        monkeypatch.setattr(spectral, "DENSE_UP_TO", 0)
        monkeypatch.setattr(module, "FULL_SPECTRUM_UP_TO", 0)
    X = points()
    D = cdist(X, X).astype(dtype)
    found = classical_scaling(gram_operator(D), 3, trace=trace(D), solver=solver)
    tolerance = 1e-3 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(cdist(found.coordinates, found.coordinates), D, atol=tolerance)
    assert found.coordinates.dtype == dtype
    assert found.negative_share < (1e-3 if dtype == np.float32 else 1e-9)
    variances = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1] * (len(X) - 1)
    np.testing.assert_allclose(found.values, variances, rtol=tolerance)


@pytest.mark.parametrize("k", [2, 58, 59, 60])
def test_negative_eigenvalues_count_as_zero_and_are_reported(k):
    D = cdist(points(), points(), "cityblock") ** 2
    exact = is_euclidean(D)
    found = classical_scaling(gram_operator(D), k, trace=trace(D))
    assert found.values.min() >= 0
    np.testing.assert_allclose(
        found.values, np.maximum(exact.eigenvalues[:k], 0), atol=1e-9 * exact.eigenvalues[0]
    )
    assert np.isfinite(found.coordinates).all()
    assert found.negative_share == pytest.approx(exact.negative_share, rel=1e-6)


def test_the_estimated_share_is_close_to_the_exact_one(monkeypatch):
    D = np.random.default_rng(1).uniform(1, 2, (400, 400))
    D = np.triu(D, 1) + np.triu(D, 1).T
    exact = is_euclidean(D).negative_share
    monkeypatch.setattr(module, "FULL_SPECTRUM_UP_TO", 0)
    found = classical_scaling(gram_operator(D), 2, trace=trace(D))
    assert found.negative_share == pytest.approx(exact, abs=0.02)


def test_zero_distances_are_one_point():
    for found in (
        classical_scaling(gram_operator(np.zeros((10, 10))), 2, trace=0.0),
        pivoted_cholesky_scaling(np.zeros((10, 10)), 2),
    ):
        assert not found.coordinates.any()
        assert found.negative_share == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("extra", [0, 2])
def test_pivoted_cholesky_recovers_points_from_a_few_rows(dtype, extra):
    X = points()
    D = cdist(X, X).astype(dtype)
    found = pivoted_cholesky_scaling(D, 3 + extra)
    tolerance = 2e-3 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(cdist(found.coordinates, found.coordinates), D, atol=tolerance)
    assert found.vectors.dtype == dtype
    exact = classical_scaling(gram_operator(D), 3, trace=trace(D))
    np.testing.assert_allclose(found.values[:3], exact.values, rtol=1e-3)
    np.testing.assert_allclose(found.vectors[:, :3], exact.vectors, atol=tolerance)


def test_pivoted_cholesky_approximates_the_gram_matrix_from_below():
    X = np.random.default_rng(0).normal(size=(50, 10))
    D = cdist(X, X)
    B = double_center(D**2)
    errors = []
    for k in range(1, 11):
        Y = pivoted_cholesky_scaling(D, k).coordinates
        errors.append(np.trace(B - Y @ Y.T))
        assert np.linalg.eigvalsh(B - Y @ Y.T)[0] > -1e-9
    assert (np.diff(errors) < 0).all()
    assert abs(errors[-1]) < 1e-9
