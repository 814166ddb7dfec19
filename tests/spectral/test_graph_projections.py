"""Linear maps of graphs against dense generalised eigenproblems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel

import lowdim
from lowdim import (
    LaplacianEigenmaps,
    LinearLocalTangentSpaceAlignment,
    LocalityPreservingProjections,
    NeighborhoodPreservingEmbedding,
)

METHODS = [
    LocalityPreservingProjections,
    NeighborhoodPreservingEmbedding,
    LinearLocalTangentSpaceAlignment,
]


@pytest.fixture(scope="module")
def X():
    random = np.random.RandomState(0)
    return random.standard_normal((150, 6)) * [4, 3, 2, 1, 0.5, 0.3] + 7


def losses(X, cls, k, dim):
    """The dense matrix M and the masses, from the papers' formulas."""
    n = len(X)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    nearest = np.argsort(squares, axis=1, kind="stable")[:, 1 : k + 1]
    linked = np.zeros((n, n), bool)
    np.put_along_axis(linked, nearest, True, axis=1)
    M = np.zeros((n, n))
    if cls is LocalityPreservingProjections:
        linked |= linked.T
        W = np.where(linked, np.exp(-squares / squares[linked].mean()), 0)
        return np.diag(W.sum(axis=1)) - W, W.sum(axis=1)
    for i, own in enumerate(nearest):
        if cls is NeighborhoodPreservingEmbedding:
            G = (X[own] - X[i]) @ (X[own] - X[i]).T
            w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(k), np.ones(k))
            row = np.eye(n)[i]
            row[own] -= w / w.sum()
            M += np.outer(row, row)
        else:
            local = X[own] - X[own].mean(axis=0)
            U = np.linalg.svd(local)[0][:, :dim]
            G = np.column_stack([np.full(k, k**-0.5), U])
            M[np.ix_(own, own)] += np.eye(k) - G @ G.T
    return M, np.ones(n)


@pytest.mark.parametrize("cls", METHODS)
def test_axes_solve_the_generalised_eigenproblem(cls, X):
    estimator = cls(2, n_neighbors=9).fit(X)
    M, mass = losses(X, cls, 9, 2)
    F = X - mass @ X / mass.sum()
    values, W = eigh(F.T @ M @ F, F.T @ (mass[:, None] * F))
    np.testing.assert_allclose(estimator.eigenvalues_, values[:2], rtol=1e-7)
    signs = np.sign((estimator.components_ * W[:, :2].T).sum(axis=1))
    np.testing.assert_allclose(estimator.components_, (W[:, :2] * signs).T, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(estimator.embedding_, F @ W[:, :2] * signs, atol=1e-9)
    Y = estimator.embedding_
    np.testing.assert_allclose(Y.T @ (mass[:, None] * Y), np.eye(2), atol=1e-9)


@pytest.mark.parametrize("cls", METHODS)
def test_transform_and_inverse_are_exact(cls, X):
    estimator = cls(2, n_neighbors=9).fit(X[:100])
    new = estimator.transform(X[100:])
    np.testing.assert_allclose(estimator.transform(estimator.inverse_transform(new)), new)
    everything = cls(6, n_neighbors=9).fit(X)
    np.testing.assert_allclose(everything.inverse_transform(everything.embedding_), X)
    Y = estimator.embedding_  # the inverse is the regression of the features on the coordinates
    if cls is not LocalityPreservingProjections:
        slope = np.linalg.lstsq(Y - Y.mean(axis=0), X[:100], rcond=None)[0]
        np.testing.assert_allclose(estimator.patterns_, slope, atol=1e-8)


def test_a_kernel_of_full_rank_gives_laplacian_eigenmaps(X):
    linear = LocalityPreservingProjections(2, n_neighbors=9, kernel="rbf", gamma=0.05).fit(X)
    free = LaplacianEigenmaps(2, n_neighbors=9).fit(X)
    np.testing.assert_allclose(linear.eigenvalues_, free.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(abs(linear.embedding_), abs(free.embedding_), atol=1e-5)
    np.testing.assert_allclose(linear.transform(X), linear.embedding_, atol=1e-8)


@pytest.mark.parametrize("cls", METHODS)
def test_a_kernel_map_solves_its_eigenproblem(cls, X):
    estimator = cls(2, n_neighbors=9, kernel="rbf", gamma=0.01, n_principal_components=20).fit(X)
    K = rbf_kernel(X, gamma=0.01)
    H = np.eye(len(X)) - 1 / len(X)
    values, U = np.linalg.eigh(H @ K @ H)
    F = U[:, -20:] * np.sqrt(values[-20:])
    M, mass = losses(X, cls, 9, 2)
    F = F - mass @ F / mass.sum()
    expected = eigh(F.T @ M @ F, F.T @ (mass[:, None] * F), eigvals_only=True)[:2]
    np.testing.assert_allclose(estimator.eigenvalues_, expected, rtol=1e-6)


def test_a_kernel_that_is_linear_gives_the_linear_map(X):
    for cls in METHODS:
        ours = cls(2, n_neighbors=9).fit(X)
        kernel = cls(2, n_neighbors=9, kernel="poly", degree=1, gamma=1, coef0=3).fit(X)
        np.testing.assert_allclose(kernel.embedding_, ours.embedding_, atol=1e-8)
        np.testing.assert_allclose(kernel.transform(X[:5] + 1), ours.transform(X[:5] + 1))


def test_more_features_than_objects():
    random = np.random.RandomState(1)
    X = random.standard_normal((40, 100))
    part = LocalityPreservingProjections(2, n_neighbors=5, n_principal_components=0.9).fit(X)
    share = lowdim.PCA(0.9).fit(X)
    beside = part.components_ - part.components_ @ share.components_.T @ share.components_
    assert np.abs(beside).max() < 1e-8 * np.abs(part.components_).max()
    whole = LocalityPreservingProjections(2, n_neighbors=5).fit(X)
    free = LaplacianEigenmaps(2, n_neighbors=5).fit(X)
    np.testing.assert_allclose(whole.eigenvalues_, free.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("cls", METHODS)
def test_constant_and_dependent_features_and_units_do_not_matter(cls, X):
    simple = cls(2, n_neighbors=9).fit(X)
    graph = replace(lowdim.neighbors(X, 9), fingerprint="")
    more = np.column_stack([X * np.array([1e-6, 1, 1e6, 1, 1, 1]), X[:, 0] + X[:, 1], X[:, 3]])
    more = np.column_stack([more, np.full(len(X), 0.1)])
    if cls is LocalityPreservingProjections:  # whose graph alone decides, not the features
        wide = cls(2, n_neighbors=9, t=simple.t_).fit(more, graph=graph)
        np.testing.assert_allclose(wide.embedding_, simple.embedding_, atol=1e-8)
    everything = cls(6, n_neighbors=9).fit(more)
    with pytest.warns(UserWarning, match=r"exceeds the rank of the centred features, 6"):
        assert not cls(7, n_neighbors=9).fit_transform(more)[:, 6].any()
    np.testing.assert_allclose(everything.inverse_transform(everything.embedding_), more, atol=1e-4)


@pytest.mark.parametrize("cls", METHODS)
@pytest.mark.filterwarnings("ignore:.*are the same")
def test_objects_in_one_place_are_refused(cls):
    with pytest.raises(ValueError, match="all objects are in one place"):
        cls(2, n_neighbors=5).fit(np.full((50, 4), 7.3))


@pytest.mark.parametrize("name", ["n_components", "tangent_dimension"])
def test_errors_name_the_dimension_of_tangent_spaces(X, name):
    with pytest.raises(ValueError, match=rf"n_neighbors must be more than {name} \(3\), got 3"):
        LinearLocalTangentSpaceAlignment(**{name: 3}, n_neighbors=3).fit(X)
    with pytest.raises(TypeError, match=f"{name} must be an integer"):
        LinearLocalTangentSpaceAlignment(**{name: "2"}).fit(X)


def test_errors_name_the_argument(X):
    with pytest.raises(ValueError, match="n_principal_components"):
        NeighborhoodPreservingEmbedding(n_principal_components=1.5).fit(X)
    with pytest.raises(ValueError, match="kernel must be one of"):
        NeighborhoodPreservingEmbedding(kernel=np.zeros((20, 2))).fit(X)
    with pytest.warns(UserWarning, match="exceeds the rank"):
        Y = NeighborhoodPreservingEmbedding(2).fit_transform(X[:, :1])
    assert not Y[:, 1].any()


def test_a_kernel_map_comes_back_from_a_file(X, tmp_path):
    model = NeighborhoodPreservingEmbedding(kernel="rbf", n_principal_components=0.9).fit(X)
    model.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X[:9] + 0.1), model.transform(X[:9] + 0.1))
    assert loaded.inverse_transform(model.embedding_[:3]).shape == (3, 6)
