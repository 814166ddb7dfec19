"""Kernel PCA against scikit-learn's for every kernel, and its pre-images."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as Reference
from sklearn.metrics.pairwise import rbf_kernel

from helpers import axis_signs
from lowdim import KernelPCA

KERNELS = [
    ("linear", {}),
    ("poly", {"gamma": 0.1, "degree": 3, "coef0": 1.0}),
    ("poly", {"degree": 2, "coef0": 0.5}),
    ("rbf", {}),
    ("rbf", {"gamma": 0.3}),
    ("sigmoid", {"gamma": 0.005, "coef0": 0.1}),
    ("cosine", {}),
]


def points(n=60, d=5, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d)) * (1 + np.arange(d)) + 0.5


@pytest.mark.parametrize(("kernel", "params"), KERNELS)
@pytest.mark.parametrize("n", [60, 400])
def test_as_in_scikit_learn(kernel, params, n):
    X, new = points(n), points(9, seed=1)
    ours = KernelPCA(3, kernel=kernel, **params).fit(X)
    theirs = Reference(3, kernel=kernel, eigen_solver="dense", **params).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    Y = theirs.transform(X)
    size = np.abs(Y).max()
    signs = axis_signs(ours.embedding_, Y)
    np.testing.assert_allclose(ours.embedding_ * signs, Y, atol=1e-7 * size)
    np.testing.assert_allclose(ours.transform(new) * signs, theirs.transform(new), atol=1e-7 * size)


@pytest.mark.parametrize(("alias", "name"), [("gaussian", "rbf"), ("polynomial", "poly")])
def test_other_names(alias, name):
    X = points()
    np.testing.assert_array_equal(
        KernelPCA(2, kernel=alias).fit_transform(X), KernelPCA(2, kernel=name).fit_transform(X)
    )


def test_a_kernel_as_a_function_and_as_a_matrix():
    X, new = points(), points(7, seed=1)
    named = KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    function = KernelPCA(
        2, kernel=lambda a, b, g: np.exp(-g * ((a - b) ** 2).sum()), kernel_params={"g": 0.1}
    ).fit(X)
    matrix = KernelPCA(2, kernel="precomputed").fit(rbf_kernel(X, gamma=0.1))
    for other, rows in ((function, new), (matrix, rbf_kernel(new, X, gamma=0.1))):
        np.testing.assert_allclose(other.embedding_, named.embedding_, atol=1e-9)
        np.testing.assert_allclose(other.transform(rows), named.transform(new), atol=1e-9)
    with pytest.raises(ValueError, match=r"inverse_transform"):
        matrix.inverse_transform(matrix.embedding_)


def test_the_map_keeps_distances_in_feature_space():
    X = points(40, 3)
    Y = KernelPCA(kernel="rbf", gamma=0.2).fit_transform(X)
    K = rbf_kernel(X, gamma=0.2)
    squares = ((Y[:, None] - Y[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares, 2 - 2 * K, atol=1e-8)


def test_more_components_than_non_zero_eigenvalues():
    X = points(40, 3)
    with pytest.warns(UserWarning, match=r"n_components=5 exceeds.*non-zero eigenvalues.*3"):
        kept = KernelPCA(5).fit(X)
    assert KernelPCA(5, remove_zero_eig=True).fit_transform(X).shape == (40, 3)
    assert kept.embedding_.shape == (40, 5)
    np.testing.assert_array_equal(kept.embedding_[:, 3:], 0)
    assert np.isfinite(kept.transform(X)).all()
    assert KernelPCA().fit_transform(X).shape == (40, 3)


def test_a_kernel_that_is_not_positive():
    K = np.random.RandomState(0).standard_normal((20, 20))
    with pytest.raises(ValueError, match="negative eigenvalues"):
        KernelPCA(18, kernel="precomputed").fit(K + K.T)


@pytest.mark.parametrize("copy_X", [True, False])
def test_training_vectors_are_kept_or_shared(copy_X):
    X = points()
    estimator = KernelPCA(2, kernel="rbf", copy_X=copy_X).fit(X)
    assert np.shares_memory(estimator.X_fit_, X) is not copy_X
    np.testing.assert_allclose(estimator.transform(X), estimator.embedding_, atol=1e-9)


# --- pre-images -----------------------------------------------------------------------------


def test_ridge_pre_images_are_those_of_scikit_learn():
    X, new = points(), points(8, seed=1)
    params = {"kernel": "rbf", "gamma": 0.05, "fit_inverse_transform": True, "alpha": 0.01}
    ours, theirs = KernelPCA(4, **params).fit(X), Reference(4, **params).fit(X)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(new)),
        theirs.inverse_transform(theirs.transform(new)),
        atol=1e-6,
    )


def test_fixed_point_pre_images_rebuild_the_data_from_all_components():
    X = points(50, 3)
    estimator = KernelPCA(kernel="rbf", gamma=0.1).fit(X)
    np.testing.assert_allclose(estimator.inverse_transform(estimator.embedding_), X, atol=1e-3)


def test_fixed_point_pre_images_solve_their_equation():
    """z = sum_i c_i k(z, x_i) x_i / sum_i c_i k(z, x_i) (Mika et al. 1999, equation 10)."""
    X = points(50, 3)
    estimator = KernelPCA(4, kernel="rbf", gamma=0.05).fit(X)
    Z = estimator.inverse_transform(estimator.embedding_)
    A = estimator.eigenvectors_ / np.sqrt(estimator.eigenvalues_)
    c = estimator.embedding_ @ A.T
    c += (1 - c.sum(axis=1, keepdims=True)) / len(X)
    weights = c * rbf_kernel(Z, X, gamma=0.05)
    solved = weights @ X / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Z, solved, atol=1e-4)


def test_fixed_point_pre_images_denoise():
    """The paper's toy: noisy points come back nearer to the curve they were taken from."""
    random = np.random.RandomState(0)
    t = random.uniform(-1, 1, 200)
    clean = np.column_stack([t, t**2])
    noisy = clean + 0.1 * random.standard_normal(clean.shape)
    estimator = KernelPCA(4, kernel="rbf", gamma=1.0).fit(noisy)
    back = estimator.inverse_transform(estimator.embedding_)

    def distance(points):
        curve = np.column_stack([np.linspace(-1.3, 1.3, 500), np.linspace(-1.3, 1.3, 500) ** 2])
        gaps = np.linalg.norm(points[:, None] - curve[None], axis=2)
        return np.sqrt((gaps.min(axis=1) ** 2).mean())

    assert distance(back) < 0.8 * distance(noisy)


def test_pre_images_of_other_kernels_need_to_be_learned():
    estimator = KernelPCA(2, kernel="poly").fit(points())
    for later in (False, True):  # setting the parameter after the fit does not help
        estimator.set_params(fit_inverse_transform=later)
        with pytest.raises(ValueError, match="fit_inverse_transform=True"):
            estimator.inverse_transform(estimator.embedding_)
    with pytest.raises(ValueError, match="precomputed"):
        KernelPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(np.eye(9))
