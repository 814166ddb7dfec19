"""Cholesky factors in panels, and positive definite systems, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import with_threads
from lowdim.backends.native import dense
from lowdim.backends.native.dense import cholesky_in_place
from lowdim.spectral.kernel_pca import preimage
from lowdim.spectral.kernel_pca.preimage import solve_positive

PANEL = 16


@pytest.fixture(autouse=True)
def small_panels(monkeypatch):
    monkeypatch.setattr(dense, "PANEL", PANEL)
    monkeypatch.setattr(preimage, "SMALL", 2 * PANEL)


def positive(n, dtype=np.float64):
    F = np.random.default_rng(n).normal(size=(n, n))
    return (F @ F.T + n * np.eye(n)).astype(dtype)


SIZES = [1, 2, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL, 2 * PANEL + 1, 3 * PANEL, 4 * PANEL + 5]


@pytest.mark.parametrize("n", SIZES)
def test_the_factor_is_numpys(n):
    A = positive(n)
    expected = np.linalg.cholesky(A)
    cholesky_in_place(A)
    np.testing.assert_allclose(np.tril(A), expected, atol=1e-10)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_solutions_are_numpys(n, dtype, columns):
    A = positive(n, dtype)
    B = np.random.default_rng(0).normal(size=(n,) if columns is None else (n, columns))
    B = B.astype(dtype)
    given = B.copy()
    expected = np.linalg.solve(A.astype(float), B.astype(float))
    found = solve_positive(A.copy(), B)
    assert found.dtype == dtype
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(found, expected, atol=tolerance, rtol=tolerance)
    assert np.array_equal(B, given)


def test_a_large_system_is_solved_in_place():
    A = positive(700)
    B = np.random.default_rng(0).normal(size=(700, 2))
    one, three = (with_threads(n, solve_positive, A.copy(), B) for n in (1, 3))
    assert np.array_equal(one, three)
    np.testing.assert_allclose(one, np.linalg.solve(A, B), atol=1e-12)


def test_a_small_singular_system_gets_the_least_squares_solution():
    A = np.ones((4, 4))
    found = solve_positive(A, np.full((4, 1), 2.0))
    np.testing.assert_allclose(found, 0.5)
