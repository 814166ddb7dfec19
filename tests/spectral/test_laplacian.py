"""Edge weights and graph Laplacians, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import laplacian as scipy_laplacian

from lowdim.objects.neighbors import neighbors
from lowdim.spectral.laplacian import degrees, edge_weights, heat_scale, laplacian, weight_matrix

X = np.random.default_rng(0).normal(size=(50, 3))
X[9] = X[4]  # a zero distance is an edge of full weight
GRAPH = neighbors(X, 4).adjacency()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_heat_weights_are_the_definition(dtype):
    graph = GRAPH.astype(dtype)
    W = weight_matrix(graph, "heat", 0.7)
    assert W.dtype == dtype
    np.testing.assert_allclose(W.data, np.exp(-(graph.data**2) / 0.7), rtol=1e-5)
    assert np.array_equal(W.indices, graph.indices)
    assert W[[4], [9]] == 1
    assert (weight_matrix(graph, "binary", 0.7).data == 1).all()


def test_infinite_edges_weigh_nothing():
    lengths = np.array([0.0, 1.0, np.inf])
    assert edge_weights(lengths, "binary", 1).tolist() == [1, 1, 0]
    assert edge_weights(lengths, "heat", 1).tolist() == [1, np.exp(-1), 0]
    with pytest.raises(ValueError, match="weights must be one of 'heat', 'binary'"):
        edge_weights(lengths, "cosine", 1)


def test_the_default_scale_is_the_mean_squared_length():
    assert heat_scale(GRAPH) == pytest.approx((GRAPH.data**2).mean())
    assert heat_scale(csr_array((3, 3))) == 1
    zeros = csr_array((np.zeros(2), (np.array([0, 1]), np.array([1, 0]))), shape=(2, 2))
    assert heat_scale(zeros) == 1


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_the_laplacian_is_scipys(form):
    W = weight_matrix(GRAPH, "heat", 1.0)
    W = W if form == "sparse" else W.toarray()
    L = laplacian(W)
    assert hasattr(L, "tocsr") == (form == "sparse")
    found = L.toarray() if form == "sparse" else L
    expected = scipy_laplacian(W)
    expected = expected.toarray() if form == "sparse" else expected
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(found @ np.ones(50), 0, atol=1e-13)
    np.testing.assert_allclose(degrees(W), np.asarray(W.sum(axis=1)).ravel())


def test_the_quadratic_form_sums_weighted_squared_differences():
    W = weight_matrix(GRAPH, "heat", 1.0)
    y = np.random.default_rng(1).normal(size=50)
    dense = W.toarray()
    energy = (dense * (y[:, None] - y[None, :]) ** 2).sum() / 2
    assert y @ (laplacian(W) @ y) == pytest.approx(energy)
    assert laplacian(W.astype(np.float32)).dtype == np.float32
