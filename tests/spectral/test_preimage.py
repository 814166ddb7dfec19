"""Pre-images of kernel PCA: fixed points and kernel ridge regression."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from helpers import with_threads
from lowdim.numerics.eigenpairs import top_eigenpairs
from lowdim.numerics.kernels import centered_kernel, resolve_kernel
from lowdim.spectral.kernel_pca.preimage import (
    fixed_point_preimages,
    learn_preimages,
    learned_preimages,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3)) + np.array([5, 0, -2])
GAMMA = 0.2


def kernel_pca(k):
    pairs = top_eigenpairs(centered_kernel(rbf_kernel(X, gamma=GAMMA)), k)
    root = np.sqrt(pairs.values)
    return pairs.vectors * root, (pairs.vectors / root).T


def test_training_points_come_back_when_all_components_are_kept():
    embedding, gammas = kernel_pca(39)
    found = fixed_point_preimages(embedding, X, embedding, gammas, GAMMA)
    np.testing.assert_allclose(found, X, atol=1e-4)


def test_a_preimage_is_a_fixed_point():
    embedding, gammas = kernel_pca(5)
    Y = 0.9 * embedding[:10]
    found = fixed_point_preimages(Y, X, embedding, gammas, GAMMA, tol=1e-12)
    weights = Y @ gammas
    weights = weights - weights.mean(axis=1, keepdims=True) + 1 / 40
    weights = weights * rbf_kernel(found, X, gamma=GAMMA)
    again = weights @ X / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(again, found, atol=1e-7)


def test_a_preimage_is_nearer_in_feature_space_than_where_it_started():
    embedding, gammas = kernel_pca(4)
    Y = 0.8 * embedding
    found = fixed_point_preimages(Y, X, embedding, gammas, GAMMA)
    c = Y @ gammas
    c = c - c.mean(axis=1, keepdims=True) + 1 / 40

    def similarity(Z):  # |phi(z) - target|^2 = const - 2 sum_i c_i k(z, x_i)
        return (c * rbf_kernel(Z, X, gamma=GAMMA)).sum(axis=1)

    nearest = np.linalg.norm(Y[:, None] - embedding[None], axis=2).argmin(axis=1)
    assert (similarity(found) >= similarity(X[nearest]) - 1e-9).all()


def test_where_the_kernel_vanishes_the_nearest_training_vector_is_kept():
    embedding, gammas = kernel_pca(3)
    found = fixed_point_preimages(embedding[:4], X, embedding, gammas * 0, GAMMA * 1e6)
    np.testing.assert_array_equal(found, X[:4])
    assert fixed_point_preimages(embedding[:0], X, embedding, gammas, GAMMA).shape == (0, 3)


def test_rows_do_not_depend_on_each_other_nor_on_threads():
    embedding, gammas = kernel_pca(6)
    Y = RANDOM.normal(scale=0.2, size=(150, 6))
    one, three = (
        with_threads(n, fixed_point_preimages, Y, X, embedding, gammas, GAMMA) for n in (1, 3)
    )
    assert np.array_equal(one, three)
    alone = fixed_point_preimages(Y[100:101], X, embedding, gammas, GAMMA)
    np.testing.assert_allclose(one[100:101], alone, atol=1e-6)


@pytest.mark.parametrize("name", ["rbf", "linear", "poly", "laplacian"])
def test_learned_preimages_are_kernel_ridge_regression(name):
    embedding, _ = kernel_pca(4)
    Y = RANDOM.normal(scale=0.3, size=(9, 4))
    kernel = resolve_kernel(name, gamma=0.7)
    coefficients = learn_preimages(embedding, X, kernel, 0.1)
    found = learned_preimages(Y, embedding, coefficients, kernel)
    gamma = None if name == "linear" else 0.7
    model = KernelRidge(alpha=0.1, kernel=name, gamma=gamma, degree=3, coef0=1)
    np.testing.assert_allclose(found, model.fit(embedding, X).predict(Y), rtol=1e-6, atol=1e-8)


def test_float32_stays_float32():
    embedding, gammas = (a.astype(np.float32) for a in kernel_pca(4))
    kernel = resolve_kernel("rbf", gamma=0.7)
    small = X.astype(np.float32)
    coefficients = learn_preimages(embedding, small, kernel, 0.1)
    assert learned_preimages(embedding, embedding, coefficients, kernel).dtype == np.float32
    assert fixed_point_preimages(embedding, small, embedding, gammas, GAMMA).dtype == np.float32


def test_a_ridge_too_small_is_named():
    Y = np.zeros((600, 2))  # all in one place: the kernel matrix has rank one
    with pytest.raises(ValueError, match="alpha=0 is too small"):
        learn_preimages(Y, np.ones((600, 3)), resolve_kernel("rbf", gamma=1.0), 0.0)
