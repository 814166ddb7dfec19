"""Kernels against scikit-learn's, their distances, and kernels of graphs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer

import lowdim
from helpers import with_threads
from lowdim import is_positive_semidefinite
from lowdim.numerics import kernels as module
from lowdim.numerics.kernels import (
    KernelCenter,
    centered_kernel,
    cross_kernel,
    kernel_distances,
    kernel_matrix,
    resolve_kernel,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 6))
NEW = RANDOM.normal(size=(7, 6))
GIVEN = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
USED = {
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "cosine": (),
}


def reference(name, A, B=None, **params):
    return pairwise_kernels(A, B, metric=name, **{k: params[k] for k in USED[name] if k in params})


@pytest.mark.parametrize("name", USED)
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
def test_kernels_are_scikit_learns(name, form, monkeypatch):
    monkeypatch.setattr(module, "TILE", 16)
    kernel = resolve_kernel(name, **GIVEN)
    convert = {"dense": np.asarray, "sparse": csr_array, "float32": np.float32}[form]
    A, B = convert(X), convert(NEW)
    K = with_threads(2, kernel_matrix, A, kernel)
    rtol, atol = (1e-4, 1e-5) if form == "float32" else (1e-10, 1e-12)
    assert K.dtype == A.dtype
    np.testing.assert_allclose(K, reference(name, X, **GIVEN), rtol=rtol, atol=atol)
    across = with_threads(2, cross_kernel, B, A, kernel)
    np.testing.assert_allclose(across, reference(name, NEW, X, **GIVEN), rtol=rtol, atol=atol)
    np.testing.assert_array_equal(K, with_threads(3, kernel_matrix, A, kernel))


@pytest.mark.parametrize(
    ("alias", "name"), [("gaussian", "rbf"), ("polynomial", "poly"), ("rbf", "rbf")]
)
def test_gamma_defaults_to_one_over_the_features(alias, name):
    kernel = resolve_kernel(alias, n_features=6)
    assert kernel.name == name
    np.testing.assert_allclose(kernel_matrix(X, kernel), reference(name, X), rtol=1e-12)


def test_a_common_offset_does_not_blur_the_gaussian_kernel():
    shifted = (X + 3000).astype(np.float32)
    kernel = resolve_kernel("rbf", gamma=0.3)
    expected = reference("rbf", shifted.astype(np.float64), gamma=0.3)
    np.testing.assert_allclose(kernel_matrix(shifted, kernel), expected, atol=1e-5)
    np.testing.assert_allclose(cross_kernel(shifted[:5], shifted, kernel), expected[:5], atol=1e-5)


def test_a_callable_kernel_takes_its_parameters():
    kernel = resolve_kernel(lambda a, b, power: (a @ b) ** power, params={"power": 2})
    np.testing.assert_allclose(kernel_matrix(X, kernel), (X @ X.T) ** 2)


def test_a_callable_kernel_must_be_finite():
    with pytest.raises(ValueError, match=r"function given as kernel or affinity .* not finite"):
        kernel_matrix(X, resolve_kernel(lambda a, b: np.nan))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "nonsense"}, "kernel must be one of 'linear'"),
        ({"kernel": "rbf", "gamma": -1}, r"gamma must lie in \[0, inf\]"),
        ({"kernel": "poly", "degree": -2}, r"degree must lie in \[0, inf\]"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        resolve_kernel(**arguments)


def test_a_precomputed_kernel_has_no_function():
    with pytest.raises(ValueError, match="give the kernel matrix itself"):
        kernel_matrix(X, resolve_kernel("precomputed"))


def test_too_large_a_kernel_matrix_is_refused():
    refused = pytest.raises(MemoryError, match="The kernel matrix of 40 objects")
    with lowdim.compute(memory="12kB"), refused:
        kernel_matrix(X, resolve_kernel("linear"))
    with lowdim.compute(memory="13kB"):
        kernel_matrix(X, resolve_kernel("linear"))


# --- centring -----------------------------------------------------------------------------------


def test_centring_is_scikit_learns():
    K, across = reference("rbf", X), reference("rbf", NEW, X)
    centerer = KernelCenterer().fit(K)
    center = KernelCenter.from_kernel(K)
    before = across.copy()
    np.testing.assert_allclose(center.new_rows(across), centerer.transform(across), atol=1e-14)
    assert np.array_equal(across, before)
    np.testing.assert_allclose(center.new_rows(K), centerer.transform(K), atol=1e-14)
    V = RANDOM.normal(size=(40, 3))
    np.testing.assert_allclose(centered_kernel(K).matmat(V), centerer.transform(K) @ V, atol=1e-12)
    assert center.new_rows(across.astype(np.float32)).dtype == np.float32


def test_a_centred_row_does_not_depend_on_the_others():
    K, across = reference("poly", X), reference("poly", NEW, X)
    center = KernelCenter.from_kernel(K)
    assert np.array_equal(center.new_rows(across)[2:3], center.new_rows(across[2:3]))


# --- distances in feature space -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "cosine"])
def test_kernel_distances_are_those_of_the_feature_vectors(name):
    K = reference(name, X)
    values, vectors = np.linalg.eigh(K)
    features = vectors * np.sqrt(np.maximum(values, 0))
    expected = np.linalg.norm(features[:, None] - features[None], axis=2)
    np.testing.assert_allclose(kernel_distances(K), expected, atol=1e-6)


def test_positive_semidefinite_means_no_negative_eigenvalue():
    assert is_positive_semidefinite(reference("rbf", X))
    assert is_positive_semidefinite(X @ X.T)  # singular, with eigenvalues rounded below zero
    assert is_positive_semidefinite(np.zeros((3, 3)))
    assert not is_positive_semidefinite(np.diag([1.0, -1e-3]))
    assert is_positive_semidefinite(np.diag([1.0, -1e-3]), tol=1e-2)
    assert not is_positive_semidefinite(-np.eye(3))
    single = (X @ X.T).astype(np.float32)  # rounded below zero by more than float64 is
    assert is_positive_semidefinite(single)
    assert not is_positive_semidefinite(single, tol=1e-12)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), r"K: array must be 2-dimensional and square, got shape \(2, 3\)"),
        (np.ones(4), r"K: array must be 2-dimensional and square"),
        ([[1.0, 2.0], [0.0, 1.0]], r"K must be symmetric, but \[0, 1\] is 2 and \[1, 0\] is 0"),
        ([[1.0, np.nan], [np.nan, 1.0]], "K"),
    ],
)
def test_what_is_not_a_symmetric_matrix_is_refused(K, message):
    with pytest.raises(ValueError, match=message):
        is_positive_semidefinite(K)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_gaussian_kernel_of_float32_rows_has_the_digits_of_float32(sparse):
    X = np.random.RandomState(0).standard_normal((40, 5)) * 5 + 10
    rows = (csr_array(X) if sparse else X).astype(np.float32)
    expected = np.exp(-cdist(X.astype(np.float32), X.astype(np.float32), "sqeuclidean"))
    found = module.gaussian(rows, rows, 1.0)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
