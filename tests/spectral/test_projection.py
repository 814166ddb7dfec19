"""New objects by Gower's formula and by kernel projection."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from lowdim.numerics.eigenpairs import top_eigenpairs
from lowdim.numerics.kernels import KernelCenter, centered_kernel
from lowdim.spectral.scaling import (
    classical_scaling,
    gower_projection,
    kernel_projection,
    squared_means,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(50, 3)) * [3, 2, 1]
NEW = RANDOM.normal(size=(8, 3))


def fitted(D, k):
    scaling = classical_scaling(D, k)
    return scaling, squared_means(D)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("k", [2, 3])
def test_training_objects_get_their_coordinates(dtype, metric, k):
    D = cdist(X, X, metric).astype(dtype)
    scaling, means = fitted(D, k)
    found = gower_projection(D**2, means.astype(dtype), scaling.values, scaling.vectors)
    assert found.dtype == dtype
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found, scaling.coordinates, atol=tolerance)


def test_new_points_keep_their_distances_to_the_old():
    D = cdist(X, X)
    scaling, means = fitted(D, 3)
    across = cdist(NEW, X)
    found = gower_projection(across**2, means, scaling.values, scaling.vectors)
    np.testing.assert_allclose(cdist(found, scaling.coordinates), across, atol=1e-9)


def test_axes_of_little_variance_are_not_dropped():
    flat = X * [1, 1, 1e-3]  # a millionth of the largest eigenvalue
    scaling, means = fitted(cdist(flat, flat), 3)
    assert 0 < scaling.values[2] < 1e-6 * scaling.values[0]
    found = gower_projection(cdist(flat, flat) ** 2, means, scaling.values, scaling.vectors)
    np.testing.assert_allclose(found[:, 2], scaling.coordinates[:, 2], atol=2e-6)


def test_axes_without_variance_get_the_coordinate_zero():
    D = cdist(X, X)
    scaling, means = fitted(D, 6)  # three dimensions more than the points have
    found = gower_projection(cdist(NEW, X) ** 2, means, scaling.values, scaling.vectors)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 3:], 0, atol=1e-6)
    zeros = kernel_projection(np.ones((2, 4)), np.zeros(2), np.ones((4, 2)))
    assert not zeros.any()


def test_kernel_projection_is_scikit_learns():
    K, across = rbf_kernel(X, gamma=0.1), rbf_kernel(NEW, X, gamma=0.1)
    center = KernelCenter.from_kernel(K)
    pairs = top_eigenpairs(centered_kernel(K), 4)
    found = kernel_projection(center.new_rows(across), pairs.values, pairs.vectors)
    model = KernelPCA(4, kernel="rbf", gamma=0.1, eigen_solver="dense").fit(X)
    expected = model.transform(NEW)
    signs = np.sign((model.eigenvectors_ * pairs.vectors).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-8)
