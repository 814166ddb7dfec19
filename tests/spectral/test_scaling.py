"""Classical scaling of Gram operators, exact and by pivoted Cholesky."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowdim.numerics import eigenpairs as spectral
from lowdim.spectral import scaling as module
from lowdim.spectral.scaling import (
    classical_scaling,
    is_euclidean,
)


def points(n=60, d=3, dtype=np.float64):
    return (np.random.default_rng(0).normal(size=(n, d)) * [3, 2, 1][:d]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack"])
@pytest.mark.parametrize("iterative", [False, True])
def test_points_come_back_from_their_distances(dtype, solver, iterative, monkeypatch):
    if iterative:
        monkeypatch.setattr(spectral, "DENSE_UP_TO", 0)
        monkeypatch.setattr(module, "FULL_SPECTRUM_UP_TO", 0)
    X = points()
    D = cdist(X, X).astype(dtype)
    found = classical_scaling(D, 3, solver=solver)
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
    found = classical_scaling(D, k)
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
    found = classical_scaling(D, 2)
    assert found.negative_share == pytest.approx(exact, abs=0.02)


def test_zero_distances_are_one_point():
    found = classical_scaling(np.zeros((10, 10)), 2)
    assert not found.coordinates.any()
    assert found.negative_share == 0
