"""The transformer to neighbour graphs against scikit-learn's, and in pipelines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import lowdim
from lowdim import NeighborsTransformer


@pytest.fixture
def X():
    return np.random.RandomState(0).standard_normal((60, 4))


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_it_is_scikit_learns(X, mode, form):
    ours = NeighborsTransformer(mode=mode, n_neighbors=6)
    theirs = KNeighborsTransformer(mode=mode, n_neighbors=6)
    new = np.random.RandomState(1).standard_normal((7, 4))
    for a, b in [
        (ours.fit_transform(form(X)), theirs.fit_transform(X)),
        (ours.transform(form(new)), theirs.transform(new)),
    ]:
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-12)
        assert a.nnz == b.nnz  # stored zeros: each object is its own neighbour
        assert a.indices.dtype == np.int32
    assert list(ours.get_feature_names_out()[:2]) == [
        "neighborstransformer0",
        "neighborstransformer1",
    ]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_checks():
    check_estimator(NeighborsTransformer(n_neighbors=2))


@pytest.mark.parametrize(
    "method",
    [
        lowdim.Isomap(n_neighbors=6, metric="precomputed"),
        lowdim.UMAP(7, metric="precomputed", n_epochs=20),
        lowdim.TSNE(perplexity=2, metric="precomputed", init="random", random_state=0),
    ],
)
def test_before_a_method(X, method):
    model = make_pipeline(NeighborsTransformer(n_neighbors=6), method)
    Y = model.fit_transform(X)
    assert Y.shape == (60, 2)
    assert model.transform(X[:3] + 0.01).shape == (3, 2)


def test_bad_numbers(X):
    with pytest.raises(ValueError, match="n_neighbors"):
        NeighborsTransformer(n_neighbors=60).fit_transform(X)
    with pytest.raises(ValueError, match="mode"):
        NeighborsTransformer(mode="graph").fit(X)


def test_many_neighbours_are_refused_before_the_search():
    X = np.random.RandomState(0).standard_normal((400, 3))
    transformer = lowdim.NeighborsTransformer(n_neighbors=300)
    with lowdim.compute(memory="1MB"), pytest.raises(MemoryError, match="n_neighbors"):
        transformer.fit_transform(X)
    transformer.fit(X)
    with lowdim.compute(memory="1MB"), pytest.raises(MemoryError, match="n_neighbors"):
        transformer.transform(X)


@pytest.mark.parametrize("algorithm", ["auto", "ball_tree", "kd_tree", "brute"])
def test_the_algorithms_of_scikit_learn(X, algorithm):
    params = {"n_neighbors": 6, "algorithm": algorithm, "leaf_size": 20}
    ours, theirs = (
        kind(**params).fit_transform(X) for kind in (NeighborsTransformer, KNeighborsTransformer)
    )
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), atol=1e-7)
    with pytest.raises(ValueError, match="algorithm"):
        NeighborsTransformer(algorithm="tree").fit(X)
