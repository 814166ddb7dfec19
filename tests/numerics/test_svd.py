"""Principal axes by every solver, against a dense singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers import with_threads
from lowdim.numerics import svd as module
from lowdim.numerics.eigenpairs import fix_signs
from lowdim.numerics.svd import SOLVERS, choose, principal_axes, scores

SHAPES = [(80, 6), (12, 50), (700, 5), (30, 30)]


def data(n, d, dtype=np.float64, offset=3.0):
    random = np.random.default_rng(n * d)
    scale = 0.7 ** np.arange(d)
    return (random.normal(size=(n, d)) * scale + offset).astype(dtype)


def reference(X, k):
    X = X.astype(np.float64)
    _, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return fix_signs(Vt[:k].T).T, s[:k] ** 2 / (len(X) - 1)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_principal_axes_are_singular_vectors(solver, shape, dtype):
    X = data(*shape, dtype)
    found = principal_axes(X, 3, solver=solver, seed=0)
    components, variances = reference(X, 3)
    tolerance = 1e-3 if dtype == np.float32 else 1e-6
    assert found.components.dtype == dtype
    np.testing.assert_allclose(found.mean, X.mean(axis=0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(found.variances, variances, rtol=tolerance)
    np.testing.assert_allclose(found.components, components, atol=tolerance)
    total = X.astype(np.float64).var(axis=0, ddof=1).sum()
    assert found.total == pytest.approx(total, rel=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("solver", ["auto", "arpack", "covariance_eigh"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_data_need_not_be_centred(solver, shape):
    X = data(*shape, offset=0)
    X = np.where(np.abs(X) > 0.1, X, 0)
    found = principal_axes(csr_array(X), 3, solver=solver)
    components, variances = reference(X, 3)
    np.testing.assert_allclose(found.variances, variances, rtol=1e-8)
    np.testing.assert_allclose(found.components, components, atol=1e-6)
    assert found.total == pytest.approx(X.var(axis=0, ddof=1).sum())


@pytest.mark.parametrize("solver", ["full", "gram_eigh", "randomized"])
def test_solvers_that_need_dense_data_say_so(solver):
    with pytest.raises(TypeError, match=f"svd_solver='{solver}' needs dense X; use 'auto'"):
        principal_axes(csr_array(data(20, 5)), 2, solver=solver)
    with pytest.raises(ValueError, match="svd_solver must be one of 'auto', 'full'"):
        principal_axes(data(20, 5), 2, solver="qr")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(20, 60), (60, 20)])
def test_all_axes_are_orthonormal_even_those_without_variance(solver, shape):
    X = np.random.default_rng(0).normal(size=shape)  # 20 axes, of which centring may take one
    found = principal_axes(X, 20, solver=solver, seed=0)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(20), atol=1e-8)
    assert found.variances.min() >= 0
    np.testing.assert_allclose(found.variances.sum(), found.total, rtol=1e-8)


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "gram_eigh", "arpack"])
def test_constant_data_have_no_variance(solver):
    found = principal_axes(np.full((10, 4), 2.5), 2, solver=solver)
    assert not found.variances.any()
    assert found.total == 0
    assert np.isfinite(found.components).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_large_offset_costs_few_digits(solver):
    X = data(300, 6, np.float32, offset=1000)
    found = principal_axes(X, 2, solver=solver, seed=0)
    components, variances = reference(X, 2)
    np.testing.assert_allclose(found.variances, variances, rtol=1e-3)
    np.testing.assert_allclose(np.abs(found.components), np.abs(components), atol=1e-2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_threads_change_no_bit(solver, monkeypatch):
    monkeypatch.setattr(module, "SUM_ROWS", 64)
    X = data(300, 20)
    one, three = (with_threads(n, principal_axes, X, 3, solver=solver, seed=0) for n in (1, 3))
    assert np.array_equal(one.components, three.components)
    assert np.array_equal(one.mean, three.mean)
    components, _ = reference(X, 3)
    np.testing.assert_allclose(one.components, components, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_scores_are_centred_projections(form):
    X = data(1500, 6)
    found = principal_axes(X, 3)
    expected = (X - X.mean(axis=0)) @ found.components.T
    np.testing.assert_allclose(scores(form(X), found.mean, found.components), expected, atol=1e-10)


def test_the_shape_decides():
    assert choose(100, 20, 2) == "full"
    assert choose(10000, 20, 2) == "covariance_eigh"
    assert choose(100, 10000, 2) == "gram_eigh"
    assert choose(10000, 5000, 2) == "randomized"
    assert choose(10000, 5000, 4500) == "full"
    assert choose(100, 20, 2, sparse=True) == "arpack"
