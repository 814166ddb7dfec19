"""Spectral clustering on data that k-means cannot part."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.cluster import SpectralClustering as Theirs
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import lowdim
from lowdim import SpectralClustering

SHAPES = {
    "moons": lambda n, seed: make_moons(n, noise=0.05, random_state=seed),
    "circles": lambda n, seed: make_circles(n, noise=0.04, factor=0.5, random_state=seed),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore:the number of connected components")
def test_shapes_that_are_not_convex(shape):
    X, y = SHAPES[shape](400, 0)
    new, y_new = SHAPES[shape](60, 1)
    estimator = SpectralClustering(2, n_neighbors=10, random_state=0).fit(X)
    assert adjusted_rand_score(y, estimator.labels_) == 1.0
    assert adjusted_rand_score(y_new, estimator.predict(new)) == 1.0
    np.testing.assert_array_equal(estimator.predict(X), estimator.labels_)
    assert adjusted_rand_score(y, KMeans(2, n_init=3, random_state=0).fit_predict(X)) < 0.6


def test_fit_predict_and_the_number_of_coordinates():
    X, y = make_blobs(200, centers=[(0, 0), (5, 0), (0, 5), (5, 5)], random_state=0)
    estimator = SpectralClustering(4, n_neighbors=25, random_state=0)
    labels = estimator.fit_predict(X)
    assert adjusted_rand_score(y, labels) > 0.9
    assert estimator.embedding_.shape == (200, 3)
    assert estimator.cluster_centers_.shape == (4, 3)
    for c in range(4):
        center = estimator.embedding_[labels == c].mean(axis=0)
        np.testing.assert_allclose(estimator.cluster_centers_[c], center, atol=1e-10)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_weights_given_ready(form, tmp_path):
    X, y = make_moons(200, noise=0.05, random_state=0)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    W = np.exp(-squares / 0.01)
    estimator = SpectralClustering(2, affinity="precomputed", random_state=0).fit(form(W))
    assert adjusted_rand_score(y, estimator.labels_) == 1.0
    estimator.save(tmp_path / "model")
    rows = W[:20]
    expected = estimator.predict(rows)
    np.testing.assert_array_equal(lowdim.load(tmp_path / "model").predict(rows), expected)
    np.testing.assert_array_equal(expected, estimator.labels_[:20])
    with pytest.raises(ValueError, match="5 columns, but the model has 200"):
        estimator.predict(W[:3, :5])


def test_bad_weights():
    W = np.ones((10, 10))
    model = SpectralClustering(2, affinity="precomputed")
    lopsided = W.copy()
    lopsided[2, 3] = 5
    for bad, message in (
        (lopsided, "symmetric"),
        (-W, "negative"),
        (W[:, :5], "square"),
        (np.full((10, 10), np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(bad)


@pytest.mark.parametrize("n_clusters", [0, -1, 2.5, "two", 61])
def test_bad_numbers_of_clusters(n_clusters):
    X, _ = make_moons(60, noise=0.05, random_state=0)
    with pytest.raises((TypeError, ValueError), match="n_clusters"):
        SpectralClustering(n_clusters, n_neighbors=12).fit(X)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_labels_do_not_depend_on_the_threads(n_jobs):
    X, _ = make_blobs(400, centers=5, cluster_std=3.0, random_state=0)
    reference = SpectralClustering(5, random_state=0, n_neighbors=15).fit(X)
    estimator = SpectralClustering(5, random_state=0, n_neighbors=15, n_jobs=n_jobs).fit(X)
    np.testing.assert_array_equal(estimator.labels_, reference.labels_)
    np.testing.assert_array_equal(estimator.cluster_centers_, reference.cluster_centers_)


@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_blobs_are_found(affinity, assign_labels):
    X, y = make_blobs(90, centers=[[0, 0], [3, 0], [0, 3]], cluster_std=0.5, random_state=0)
    model = SpectralClustering(
        3, affinity=affinity, n_neighbors=20, assign_labels=assign_labels, random_state=0
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert adjusted_rand_score(model.labels_, model.predict(X)) == 1


@pytest.mark.parametrize("assign_labels", ["discretize", "cluster_qr"])
def test_labels_are_scikit_learns(assign_labels):
    X, _ = make_blobs(120, centers=4, cluster_std=2.0, random_state=3)
    options = {"affinity": "rbf", "gamma": 0.1, "assign_labels": assign_labels, "random_state": 0}
    ours = SpectralClustering(4, **options).fit_predict(X)
    theirs = Theirs(4, **options).fit_predict(X)
    assert adjusted_rand_score(ours, theirs) > 0.95


def test_kernel_parameters_reach_the_kernel():
    X = np.random.RandomState(0).uniform(size=(20, 3))
    model = SpectralClustering(2, affinity="poly", gamma=2.0, degree=2, coef0=0.5).fit(X)
    np.testing.assert_allclose(model.affinity_matrix_, (2 * X @ X.T + 0.5) ** 2)


@pytest.mark.parametrize("method", [SpectralClustering, lowdim.LaplacianEigenmaps])
def test_a_kernel_of_dissimilarities_is_refused(method):
    """They were read as vectors, whatever their signs and diagonal."""
    with pytest.raises(ValueError, match=r"metric='precomputed' .*affinity='rbf' is a kernel"):
        method(affinity="rbf", metric="precomputed").fit(np.eye(20))


def test_n_components_counts_the_trivial_eigenvector_as_scikit_learn_does():
    X, _ = make_blobs(120, centers=4, cluster_std=1.5, random_state=1)
    for k in (2, 3, 4):
        ours = SpectralClustering(4, n_components=k, affinity="rbf", gamma=0.1, random_state=0)
        theirs = Theirs(4, n_components=k, gamma=0.1, random_state=0).fit(X)
        assert ours.fit(X).cluster_centers_.shape == (4, k - 1)
        assert adjusted_rand_score(theirs.labels_, ours.labels_) > 0.9
        np.testing.assert_array_equal(ours.predict(X), ours.labels_)


@pytest.mark.parametrize("seed", [1, 2])
def test_more_eigenvectors_than_clusters_give_the_labels_of_scikit_learn(seed):
    """k-means has many solutions of nearly the same inertia there: ten starts miss the best one."""
    X, _ = make_blobs(120, centers=4, cluster_std=2.5, random_state=seed)
    options = {"n_components": 6, "affinity": "rbf", "gamma": 0.1, "n_init": 100}
    ours = SpectralClustering(4, random_state=0, **options).fit_predict(X)
    theirs = Theirs(4, random_state=0, **options).fit_predict(X)
    assert adjusted_rand_score(ours, theirs) == 1
