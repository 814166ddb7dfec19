from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from lowdim.neighbor_graphs.geodesics import geodesics
from lowdim.objects.neighbors import neighbors
from lowdim.runtime import memory


def random_graph(n, n_arcs, *, directed, seed, zeros=False):
    """A CSR graph with random arcs; with `zeros`, a third of them of length zero."""
    random = np.random.default_rng(seed)
    lengths = np.full((n, n), np.inf)
    i, j = random.integers(n, size=(2, n_arcs))
    values = random.uniform(0.1, 1, n_arcs)
    if zeros:
        values[::3] = 0
    lengths[i, j] = values
    if not directed:
        lengths = np.minimum(lengths, lengths.T)
    np.fill_diagonal(lengths, np.inf)
    rows, columns = np.nonzero(np.isfinite(lengths))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return csr_array((lengths[rows, columns], columns, indptr), shape=(n, n)), lengths


def oracle(lengths):
    """SciPy's Dijkstra. It takes stored zeros for missing arcs, so they become tiny."""
    rows, columns = np.nonzero(np.isfinite(lengths))
    arcs = np.maximum(lengths[rows, columns], 1e-250)
    return shortest_path(csr_array((arcs, (rows, columns)), shape=lengths.shape), method="D")


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("path_method", ["auto", "D", "FW"])
@pytest.mark.parametrize("n_arcs", [15, 60, 400])  # many pieces, one piece, dense
def test_geodesics_are_shortest_paths(directed, zeros, path_method, n_arcs):
    graph, lengths = random_graph(40, n_arcs, directed=directed, seed=n_arcs, zeros=zeros)
    found = geodesics(graph, path_method=path_method)
    expected = oracle(lengths)
    assert np.array_equal(np.isinf(found), np.isinf(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-200)
    assert not np.diagonal(found).any()
    if not directed:
        assert np.array_equal(found, found.T)


@given(
    n=st.integers(1, 25),
    density=st.floats(0, 3),
    directed=st.booleans(),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_both_methods_agree_with_scipy_on_any_graph(n, density, directed, seed):
    graph, lengths = random_graph(n, int(density * n), directed=directed, seed=seed, zeros=True)
    expected = oracle(lengths)
    for method in ("D", "FW"):
        np.testing.assert_allclose(
            geodesics(graph, path_method=method), expected, rtol=1e-12, atol=1e-200
        )


@pytest.mark.parametrize("path_method", ["D", "FW"])
def test_landmarks_are_rows_of_all_pairs_in_the_order_asked(path_method):
    graph, lengths = random_graph(50, 150, directed=False, seed=1)
    sources = np.array([7, 3, 3, 41, 0])
    found = geodesics(graph, sources, path_method=path_method)
    assert found.shape == (5, 50)
    np.testing.assert_allclose(found, oracle(lengths)[sources], rtol=1e-12)
    assert geodesics(graph, np.array([], int), path_method="D").shape == (0, 50)


def test_geodesics_of_a_path_of_zero_arcs_reach_its_end():
    n = 30
    indptr = np.concatenate([np.arange(n), [n - 1]])
    graph = csr_array((np.zeros(n - 1), np.arange(1, n), indptr), shape=(n, n))
    found = geodesics(graph, np.array([0]))
    assert not found.any()
    assert np.isinf(geodesics(graph, np.array([n - 1]))[0, :-1]).all()


def test_geodesics_keep_float32_and_are_close_to_float64():
    X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    graph = neighbors(X, 5).adjacency()
    found = geodesics(graph, path_method="D")
    assert found.dtype == np.float32
    assert np.array_equal(found, found.T)
    np.testing.assert_allclose(found, geodesics(graph.astype(np.float64)), rtol=1e-5)
    assert geodesics(graph, path_method="FW").dtype == np.float32


@pytest.mark.parametrize("path_method", ["D", "FW"])
def test_geodesics_do_not_depend_on_the_threads(path_method):
    graph, _ = random_graph(300, 1500, directed=False, seed=2)
    one, two, three = (geodesics(graph, path_method=path_method, n_jobs=n) for n in (1, 2, 3))
    assert np.array_equal(one, two)
    assert np.array_equal(one, three)


def test_arcs_may_be_unsorted():
    graph, lengths = random_graph(30, 90, directed=False, seed=3)
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]
    )
    graph = csr_array((graph.data[order], graph.indices[order], graph.indptr), shape=graph.shape)
    found = geodesics(graph, path_method="D")
    np.testing.assert_allclose(found, oracle(lengths), rtol=1e-12)
    assert np.array_equal(found, found.T)


def test_bad_arguments_are_named(monkeypatch):
    graph, _ = random_graph(10, 30, directed=False, seed=4)
    with pytest.raises(ValueError, match=r"path_method must be one of 'auto', 'FW', 'D'"):
        geodesics(graph, path_method="BF")
    with pytest.raises(ValueError, match="sources must be in"):
        geodesics(graph, np.array([10]))
    with monkeypatch.context() as small:
        small.setattr(memory, "_LOGGED_FROM", 0)
        small.setattr(memory, "available_bytes", lambda: 100)
        with pytest.raises(MemoryError, match="from some of the objects"):
            geodesics(graph)
        geodesics(graph, [0], path_method="D")
        with pytest.raises(MemoryError, match="path_method='D'"):  # holds all pairs
            geodesics(graph, [0], path_method="FW")
    for bad in (-1, np.inf, np.nan):
        graph.data[0] = bad
        for method in ("D", "FW"):
            with pytest.raises(ValueError, match="arc lengths must be finite and not negative"):
                geodesics(graph, path_method=method)
