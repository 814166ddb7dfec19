"""Locally linear embedding, modified, Hessian and LTSA, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.manifold import LocallyLinearEmbedding as Reference

from lowdim import LocallyLinearEmbedding, data

METHODS = ["standard", "modified", "hessian", "ltsa"]


def jittered(n=250, seed=0):
    """A bent sheet with a little noise: no degenerate eigenvalues, no singular neighbourhoods."""
    return data.s_curve(n, noise=0.02, random_state=seed)[0]


def small(method):
    return {"method": method, "n_neighbors": 12, "n_components": 2}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [250, 400])
def test_as_in_scikit_learn(method, n):
    X = jittered(n)
    ours = LocallyLinearEmbedding(**small(method)).fit(X)
    theirs = Reference(**small(method), eigen_solver="dense").fit(X)
    assert subspace_angles(ours.embedding_, theirs.embedding_).max() < 1e-5
    assert ours.reconstruction_error_ == pytest.approx(theirs.reconstruction_error_, rel=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_coordinates_are_centred_and_orthonormal(method):
    Y = LocallyLinearEmbedding(**small(method)).fit_transform(jittered())
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-8)
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("eigen_solver", ["dense", "arpack"])
def test_solvers_agree(method, eigen_solver):
    X = jittered(400)
    one = LocallyLinearEmbedding(**small(method)).fit_transform(X)
    other = LocallyLinearEmbedding(**small(method), eigen_solver=eigen_solver).fit_transform(X)
    assert subspace_angles(one, other).max() < 1e-4


@pytest.mark.parametrize("method", ["modified", "hessian", "ltsa"])
def test_a_flat_sheet_comes_back_up_to_an_affine_map(method):
    random = np.random.RandomState(0)
    flat = random.uniform(size=(300, 2))
    X = flat @ random.standard_normal((2, 5))
    Y = LocallyLinearEmbedding(**small(method)).fit_transform(X)
    centred = flat - flat.mean(axis=0)
    residual = centred - Y @ np.linalg.lstsq(Y, centred, rcond=None)[0]
    assert np.abs(residual).max() < (5e-3 if method == "modified" else 1e-4)  # which has a ridge


@pytest.mark.parametrize("method", METHODS)
def test_dissimilarities_give_what_vectors_give(method):
    X = jittered()
    vectors = LocallyLinearEmbedding(**small(method)).fit_transform(X)
    given = LocallyLinearEmbedding(**small(method), metric="precomputed").fit_transform(cdist(X, X))
    assert subspace_angles(vectors, given).max() < 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_sparse_rows(method):
    random = np.random.RandomState(0)
    X = random.uniform(1, 2, (150, 10)) * (random.uniform(size=(150, 10)) < 0.5)
    dense = LocallyLinearEmbedding(**small(method)).fit_transform(X)
    sparse = LocallyLinearEmbedding(**small(method)).fit_transform(csr_array(X))
    assert subspace_angles(dense, sparse).max() < 1e-5


@pytest.mark.parametrize("method", METHODS)
def test_duplicates(method):
    X = jittered(100)
    estimator = LocallyLinearEmbedding(**small(method)).fit(np.concatenate([X, X[:30], X[:30]]))
    assert np.isfinite(estimator.embedding_).all()
    assert np.isfinite(estimator.transform(X)).all()


@pytest.mark.parametrize("method", METHODS)
def test_two_components(method):
    X = jittered(160)
    X[90:] += 50
    with pytest.warns(UserWarning, match="2 > 1"):
        Y = LocallyLinearEmbedding(**small(method)).fit_transform(X)
    assert np.isfinite(Y).all()
    with pytest.warns(UserWarning, match="2 embedded on their own"):
        Y = LocallyLinearEmbedding(**small(method), disconnected="separate").fit_transform(X)
    assert np.isfinite(Y).all()


@pytest.mark.parametrize("method", METHODS)
def test_new_points_as_in_scikit_learn(method):
    X, new = jittered(), jittered(20, seed=1)
    ours = LocallyLinearEmbedding(**small(method)).fit(X)
    theirs = Reference(**small(method), eigen_solver="dense").fit(X)
    Y = theirs.transform(new) @ np.linalg.lstsq(theirs.embedding_, ours.embedding_, rcond=None)[0]
    np.testing.assert_allclose(ours.transform(new), Y, atol=1e-5 * np.abs(Y).max())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"method": "hessian", "n_neighbors": 5}, "'hessian' needs n_neighbors.*at least 6"),
        ({"method": "modified", "n_neighbors": 1}, "'modified' needs n_neighbors"),
        ({"method": "ltsa", "n_neighbors": 2}, "'ltsa' needs n_neighbors"),
        ({"reg": -1.0}, "reg"),
        ({"method": "other"}, "method must be one of"),
    ],
)
@pytest.mark.filterwarnings("ignore:the number of connected components")
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        LocallyLinearEmbedding(**params).fit(jittered(60))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [18, 24])
def test_single_precision_finds_the_same_eigenvectors(method, n):
    """A bent grid, whose matrix has eigenvalues below the rounding errors of float32."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    X = np.column_stack([x, y, x**2 / n]) + 1e-3 * np.random.RandomState(0).uniform(size=(n * n, 3))
    params = {"method": method, "n_neighbors": 9, "n_components": 2}
    single = LocallyLinearEmbedding(**params).fit(X.astype(np.float32))
    double = LocallyLinearEmbedding(**params, eigen_solver="dense").fit(X)
    assert subspace_angles(single.embedding_, double.embedding_).max() < 1e-2
