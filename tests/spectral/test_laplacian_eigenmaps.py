"""Laplacian eigenmaps: the eigenproblem of the paper, and its figure of bars."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import SpectralEmbedding, spectral_embedding
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph

import lowdim
from helpers import aligned
from lowdim import PCA, LaplacianEigenmaps, SpectralClustering, data

NORMALIZATIONS = ["random-walk", "symmetric", "none"]


@pytest.fixture(scope="module")
def X():
    return data.s_curve(250, noise=0.02, random_state=0)[0]


@pytest.fixture(scope="module")
def large():
    return data.s_curve(400, noise=0.02, random_state=1)[0]


@pytest.mark.parametrize("symmetry", ["union", "mutual", "mean"])
@pytest.mark.parametrize("weights", ["heat", "binary"])
def test_the_affinity_is_that_of_the_paper(X, symmetry, weights):
    estimator = LaplacianEigenmaps(n_neighbors=12, symmetry=symmetry, weights=weights, t=0.5).fit(X)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    near = D.argsort(axis=1).argsort(axis=1) < 12
    share = {
        "mutual": near & near.T,
        "union": near | near.T,
        "mean": (near + near.T.astype(float)) / 2,
    }
    expected = share[symmetry] * (np.exp(-(D**2) / 0.5) if weights == "heat" else 1.0)
    assert connected_components(expected)[0] == 1
    np.testing.assert_allclose(estimator.affinity_matrix_.toarray(), expected, atol=1e-12)


def test_the_default_width_is_the_mean_squared_edge(X):
    estimator = LaplacianEigenmaps(n_neighbors=10).fit(X)
    lengths = estimator.graph_.adjacency().data
    assert estimator.t_ == pytest.approx((lengths**2).mean())


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("which", ["X", "large"])
def test_constraint_and_eigen_equation(normalization, which, request):
    rows = request.getfixturevalue(which)
    estimator = LaplacianEigenmaps(3, n_neighbors=10, normalization=normalization).fit(rows)
    Y, values = estimator.embedding_, estimator.eigenvalues_
    W = estimator.affinity_matrix_.toarray()
    d = W.sum(axis=1)
    L = np.diag(d) - W
    if normalization == "symmetric":
        L = L / np.sqrt(d[:, None] * d)
    mass = d if normalization == "random-walk" else np.ones(len(d))
    np.testing.assert_allclose(Y.T @ (mass[:, None] * Y), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(L @ Y, mass[:, None] * Y * values, atol=1e-7 * np.abs(L).max())
    expected = eigh(L, np.diag(mass), eigvals_only=True, subset_by_index=(0, 3))
    assert expected[0] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(values, expected[1:], rtol=1e-6)


def test_as_scikit_learn_given_the_same_affinity(X):
    estimator = LaplacianEigenmaps(2, n_neighbors=10, normalization="random-walk").fit(X)
    theirs = SpectralEmbedding(2, affinity="precomputed", random_state=0).fit_transform(
        estimator.affinity_matrix_.toarray()
    )
    for ours, their in zip(estimator.embedding_.T, theirs.T, strict=True):
        assert abs(np.corrcoef(ours, their)[0, 1]) > 1 - 1e-8


@pytest.mark.parametrize("eigen_solver", ["dense", "arpack", "shift-invert", "lobpcg"])
def test_solvers_agree(large, eigen_solver):
    reference = LaplacianEigenmaps(n_neighbors=10).fit_transform(large)
    Y = LaplacianEigenmaps(n_neighbors=10, eigen_solver=eigen_solver).fit_transform(large)
    np.testing.assert_allclose(
        aligned(Y, reference), reference, atol=1e-4 * np.abs(reference).max()
    )


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("params", [{"n_neighbors": 10}, {"radius": 0.8}])
def test_transform_solves_the_eigen_equation_of_a_new_point(X, normalization, params):
    """Nystroem: a new point gets the value that its own row of the eigen-equation asks for."""
    new = data.s_curve(15, noise=0.02, random_state=7)[0]
    estimator = LaplacianEigenmaps(normalization=normalization, **params).fit(X)
    Y, values = estimator.embedding_, estimator.eigenvalues_
    D = cdist(new, X)
    if "radius" in params:
        linked = D <= 0.8
    else:
        linked = D.argsort(axis=1).argsort(axis=1) < 10
        linked |= estimator.graph_.distances[:, -1] >= D
    w = np.where(linked, np.exp(-(D**2) / estimator.t_), 0)
    degree = w.sum(axis=1, keepdims=True)
    if normalization == "random-walk":
        expected = (w / degree) @ Y / (1 - values)
    elif normalization == "symmetric":
        expected = (w / np.sqrt(degree * estimator.degrees_)) @ Y / (1 - values)
    else:
        expected = w @ Y / (degree - values)
    np.testing.assert_allclose(estimator.transform(new), expected, atol=1e-9)


def test_weights_that_vanish_are_refused(X):
    with pytest.raises(ValueError, match=r"weights of object \d+ .*Raise t"):
        LaplacianEigenmaps(n_neighbors=5, t=1e-7).fit(X)


@pytest.mark.parametrize("t", [0, -1.0, "wide"])
def test_bad_widths(X, t):
    with pytest.raises((TypeError, ValueError), match=r"^t must"):
        LaplacianEigenmaps(t=t).fit(X)


@pytest.mark.filterwarnings("ignore:the number of connected components")
def test_horizontal_and_vertical_bars():
    """The paper's figure 4: a straight line separates the bars in the map, but not in PCA's."""
    X, y = data.bars(1000, random_state=0)
    Y = LaplacianEigenmaps(2, n_neighbors=14, weights="binary").fit_transform(X)
    rule = LinearDiscriminantAnalysis()
    assert rule.fit(Y, y).score(Y, y) == 1.0
    flat = PCA(2).fit_transform(X)
    assert rule.fit(flat, y).score(flat, y) < 0.9


@pytest.mark.parametrize("weights", ["heat", "binary"])
def test_new_points_of_a_component_whose_neighbors_lie_outside(weights):
    """Beside a dense cloud a sparse one has its neighbours there, but they are not mutual."""
    random = np.random.RandomState(0)
    dense = 0.1 * random.uniform(size=(100, 2))
    X = np.concatenate([dense, 3 * random.uniform(size=(60, 2)) + [0.4, 0]])
    estimator = LaplacianEigenmaps(
        n_neighbors=8, symmetry="mutual", weights=weights, disconnected="separate"
    )
    with pytest.warns(UserWarning, match="2 embedded on their own"):
        estimator.fit(X)
    for rows, part in zip(estimator.part_rows_, estimator.parts_, strict=True):
        size = np.abs(part.embedding_).max()
        gap = np.abs(part.transform(X[rows] + 1e-10) - part.embedding_).max()
        assert gap < 0.25 * size


def gaussian(a, b):
    return np.exp(-0.3 * ((a - b) ** 2).sum())


@pytest.mark.parametrize(
    "affinity", ["rbf", gaussian, lambda X: rbf_kernel(X, gamma=0.3)], ids=["rbf", "pair", "rows"]
)
def test_affinities_of_all_pairs_are_scikit_learns(affinity):
    X = np.random.RandomState(0).standard_normal((60, 3))
    ours = LaplacianEigenmaps(2, affinity=affinity, gamma=0.3).fit(X)
    theirs = SpectralEmbedding(2, affinity="rbf", gamma=0.3, random_state=0).fit(X)
    np.testing.assert_allclose(ours.affinity_matrix_, theirs.affinity_matrix_, atol=1e-12)
    np.testing.assert_allclose(abs(ours.embedding_), abs(theirs.embedding_), atol=1e-8)


@pytest.mark.parametrize("normalization", ["random-walk", "symmetric", "none"])
@pytest.mark.parametrize("affinity", ["rbf", "precomputed"])
def test_transform_of_an_affinity_of_all_pairs(affinity, normalization):
    random = np.random.RandomState(0)
    X = random.standard_normal((60, 3))
    new = np.vstack([X[:5], random.standard_normal((5, 3))])
    known, rows = X, new
    if affinity == "precomputed":
        known, rows = rbf_kernel(X, gamma=0.3), rbf_kernel(new, X, gamma=0.3)
    model = LaplacianEigenmaps(2, affinity=affinity, gamma=0.3, normalization=normalization)
    model.fit(known)
    Y = model.transform(rows)
    np.testing.assert_allclose(Y[:5], model.embedding_[:5], atol=1e-12)
    w = rbf_kernel(new[5:6], X, gamma=0.3)[0]  # the eigenvector equation of the new object
    weights = w / w.sum()
    values = 1 - model.eigenvalues_
    if normalization == "none":
        values = 1 - model.eigenvalues_ / w.sum()
    if normalization == "symmetric":
        weights = w / np.sqrt(w.sum() * model.degrees_)
    np.testing.assert_allclose(Y[5], weights @ model.embedding_ / values, atol=1e-9)


def test_a_function_of_all_rows_has_no_transform():
    X = np.random.RandomState(0).standard_normal((30, 3))
    model = LaplacianEigenmaps(affinity=lambda X: rbf_kernel(X)).fit(X)
    with pytest.raises(ValueError, match="function of two vectors"):
        model.transform(X)


def test_a_precomputed_graph_counts_the_object_itself():
    X = np.random.RandomState(0).standard_normal((50, 2))
    graph = kneighbors_graph(X, 20, mode="distance", include_self=True)
    ours = LaplacianEigenmaps(
        affinity="precomputed_nearest_neighbors", n_neighbors=11, weights="binary"
    ).fit(graph)
    direct = LaplacianEigenmaps(n_neighbors=10, weights="binary").fit(X)
    np.testing.assert_allclose(ours.embedding_, direct.embedding_, atol=1e-8)


def test_bad_affinities():
    X = np.random.RandomState(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="affinity must be one of"):
        LaplacianEigenmaps(affinity="nonsense").fit(X)
    with pytest.raises(ValueError, match="negative for objects"):
        LaplacianEigenmaps(affinity="linear").fit(X)
    for method in (LaplacianEigenmaps, SpectralClustering):
        with pytest.raises(ValueError, match="says that X holds dissimilarities"):
            method(affinity="rbf", metric="precomputed").fit(-cdist(X, X))
    with pytest.raises(ValueError, match="object 2 has no positive weight"):
        LaplacianEigenmaps(1, affinity="precomputed").fit([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    two = np.kron(np.eye(2), np.ones((4, 4)))
    with pytest.warns(UserWarning, match="connected components of the affinity is 2"):
        LaplacianEigenmaps(1, affinity="precomputed").fit(two)


@pytest.mark.parametrize("norm_laplacian", [True, False])
@pytest.mark.parametrize("drop_first", [True, False])
def test_the_function_spectral_embedding_is_scikit_learns(norm_laplacian, drop_first):
    W = rbf_kernel(np.random.RandomState(0).standard_normal((40, 3)))
    options = {"n_components": 3, "norm_laplacian": norm_laplacian, "drop_first": drop_first}
    ours = lowdim.spectral_embedding(W, **options)
    theirs = spectral_embedding(W, random_state=0, **options)
    np.testing.assert_allclose(abs(ours), abs(theirs), atol=1e-8)


@pytest.mark.parametrize("method", [LaplacianEigenmaps, SpectralClustering])
def test_a_given_graph_of_several_components_is_embedded_with_a_warning(method):
    random = np.random.RandomState(0)
    X = np.vstack([random.standard_normal((40, 3)), random.standard_normal((40, 3)) + 30])
    graph = kneighbors_graph(X, 6, mode="distance", include_self=True)
    model = method(2, affinity="precomputed_nearest_neighbors", n_neighbors=6, random_state=0)
    with pytest.warns(UserWarning, match="connected components of the neighbors graph is 2"):
        model.fit(graph)
    first = model.embedding_[:, 0]
    assert np.ptp(first[:40]) < 1e-6 * np.ptp(first)
    assert np.ptp(first[40:]) < 1e-6 * np.ptp(first)
    if method is SpectralClustering:
        assert len(set(model.labels_[:40])) == len(set(model.labels_[40:])) == 1
    with pytest.raises(ValueError, match="connected components"):
        model.set_params(disconnected="raise").fit(graph)


@pytest.mark.filterwarnings("ignore:the number of connected components")
@pytest.mark.filterwarnings("ignore:Axes 1 and 2 of the map are exchangeable")  # of 49 equal ones
def test_equal_cliques_have_the_same_map_at_every_call():
    """Lanczos iterations draw a new vector when they meet an invariant subspace."""
    X = np.repeat(np.eye(50), 8, axis=0)
    maps = LaplacianEigenmaps(eigen_solver="arpack", random_state=0, n_neighbors=7)
    np.testing.assert_array_equal(maps.fit_transform(X), maps.fit_transform(X))
