"""Graphs, matrices and tables that users give: read as they are meant, or refused with a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import shortest_path
from sklearn.cluster import SpectralClustering
from sklearn.neighbors import kneighbors_graph

import lowdim
from lowdim import checks
from lowdim.distances.metrics import resolve_metric
from lowdim.distances.row_blocks import fingerprint

X = np.random.default_rng(0).normal(size=(60, 4))
GRAPH = lowdim.neighbors(X, 6)


# --- geodesics ----------------------------------------------------------------


def test_geodesics_of_any_matrix():
    path = np.zeros((4, 4))
    path[[0, 1, 2], [1, 2, 3]] = [1, 2, 3]  # one way only
    expected = shortest_path(path)
    for graph in (csr_array(path), csc_array(path), coo_array(path), path, path.tolist()):
        np.testing.assert_array_equal(lowdim.geodesics(graph), expected)
    missing = np.where(path == 0, np.inf, path)
    np.testing.assert_array_equal(lowdim.geodesics(missing), expected)
    np.testing.assert_array_equal(lowdim.geodesics(csr_array(path.astype(int))), expected)


def test_geodesics_of_a_neighbour_graph():
    np.testing.assert_array_equal(lowdim.geodesics(GRAPH), lowdim.geodesics(GRAPH.adjacency()))


def test_geodesics_from_a_mask():
    mask = np.zeros(60, dtype=bool)
    mask[[3, 40]] = True
    expected = lowdim.geodesics(GRAPH, [3, 40])
    np.testing.assert_array_equal(lowdim.geodesics(GRAPH, mask), expected)


@pytest.mark.parametrize(
    ("sources", "error", "message"),
    [
        ([0, 60], ValueError, r"sources must be in \[0, 60\).*got 60"),
        ([-1], ValueError, "got -1"),
        ([0.5], TypeError, "list of node numbers"),
        (np.zeros(59, dtype=bool), TypeError, r"mask of shape \(60,\)"),
        (np.zeros((2, 2), dtype=int), TypeError, "list of node numbers"),
    ],
)
def test_wrong_sources(sources, error, message):
    with pytest.raises(error, match=message):
        lowdim.geodesics(GRAPH, sources)


def test_a_graph_that_is_not_square():
    with pytest.raises(ValueError, match=r"graph must be square, got shape \(3, 4\)"):
        lowdim.geodesics(csr_array(np.ones((3, 4))))


# --- contents of graphs -----------------------------------------------------------------------


BROKEN = {
    "finite": replace(GRAPH, distances=np.where(GRAPH.distances < 1, GRAPH.distances, np.inf)),
    "not negative": replace(GRAPH, distances=-GRAPH.distances),
    "found nan": replace(GRAPH, distances=np.full_like(GRAPH.distances, np.nan)),
    r"indices must be in \[0, 60\)": replace(GRAPH, indices=GRAPH.indices + 3),
    "indices have shape": replace(GRAPH, distances=GRAPH.distances[:, :3]),
    "array of integers": replace(GRAPH, indices=GRAPH.indices.astype(float)),
    "indptr must ascend": replace(
        GRAPH,
        indices=GRAPH.indices.ravel(),
        distances=GRAPH.distances.ravel(),
        indptr=np.arange(61)[::-1] * 6,
    ),
    "from 0 to the number": replace(
        GRAPH,
        indices=GRAPH.indices.ravel(),
        distances=GRAPH.distances.ravel(),
        indptr=np.linspace(0, GRAPH.indices.size, 61),
    ),
    "given together": replace(GRAPH, bridges=np.array([[0, 9]])),
    "for 2 lengths": replace(GRAPH, bridges=np.array([[0, 9]]), bridge_lengths=np.ones(2)),
    r"bridges must be in \[0, 60\)": replace(
        GRAPH, bridges=np.array([[0, 60]]), bridge_lengths=np.ones(1)
    ),
}


@pytest.mark.parametrize("message", sorted(BROKEN))
@pytest.mark.parametrize("make", [lowdim.LaplacianEigenmaps, lowdim.DiffusionMap, lowdim.UMAP])
def test_contents_of_a_given_graph(message, make):
    graph = BROKEN[message]
    with pytest.raises(ValueError, match=f"X: .*{message}"):
        make(metric="precomputed", n_neighbors=5).fit(graph)
    with pytest.raises(ValueError, match=f"graph: .*{message}"):
        make(n_neighbors=5).fit(X, graph=replace(graph, fingerprint=""))


@pytest.mark.parametrize("share", [1, 59])
@pytest.mark.parametrize("make", [lowdim.LaplacianEigenmaps, lowdim.DiffusionMap, lowdim.UMAP])
def test_distances_of_a_graph_that_overflow_when_squared(make, share):
    distances = GRAPH.distances.copy()
    distances[:share] = 1e300
    graph = replace(GRAPH, distances=distances, fingerprint="")
    with pytest.raises(ValueError, match="graph has distances up to 1e\\+300"):
        make(n_neighbors=5).fit(X, graph=graph)


# --- fingerprints -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, csr_array, lambda A: A.astype(np.float32)])
def test_the_fingerprint_sees_every_value(kind):
    A = np.random.default_rng(1).normal(size=(3000, 7))
    known = fingerprint(kind(A))
    assert fingerprint(kind(A.copy())) == known
    for i in (0, 1, 1234, 2999):
        B = A.copy()
        B[i, i % 7] *= 1.001
        assert fingerprint(kind(B)) != known
    assert fingerprint(kind(A[:-1])) != known
    assert fingerprint(kind(A.reshape(1500, 14))) != known


def test_the_fingerprint_does_not_depend_on_threads():
    A = np.random.default_rng(2).normal(size=(40_000, 11))
    found = set()
    for n_jobs in (1, 2, 3):
        with lowdim.compute(n_jobs=n_jobs):
            found.add(fingerprint(A))
    assert len(found) == 1


def test_a_graph_of_other_data_is_refused():
    A = np.random.default_rng(3).normal(size=(3000, 5))
    graph = lowdim.neighbors(A, 10)
    B = A.copy()
    B[np.arange(3000) % 3 != 0] += 1.0  # a sample of every third row would not see it
    with pytest.raises(ValueError, match="other data than X"):
        lowdim.UMAP(n_neighbors=5).fit(B, graph=graph)


# --- too few neighbours -----------------------------------------------------------------------


def test_a_graph_with_too_few_neighbours():
    few = kneighbors_graph(X, 5, mode="distance")
    with pytest.raises(ValueError, match=r"has 5 neighbours in the precomputed graph.*needs 30"):
        lowdim.TSNE(metric="precomputed", perplexity=30, init="random").fit(few)
    with pytest.raises(ValueError, match=r"has 5 neighbours.*UMAP.*needs 14"):
        lowdim.UMAP(metric="precomputed", n_neighbors=15).fit(few)
    with pytest.raises(ValueError, match="has 0 neighbours"):
        lowdim.WeightedTSNE(metric="precomputed", perplexity=5).fit(csr_array((60, 60)))
    enough = kneighbors_graph(X, 5, mode="distance")
    lowdim.UMAP(metric="precomputed", n_neighbors=6, n_epochs=5).fit(enough)


def test_classical_scaling_of_a_sparse_matrix():
    with pytest.raises(ValueError, match="all pairs are needed as a dense array"):
        lowdim.ClassicalMDS(metric="precomputed").fit(GRAPH.adjacency())


# --- indices of sparse results --------------------------------------------------------------


def test_sparse_results_have_int32_indices():
    results = [
        GRAPH.csr(),
        GRAPH.adjacency(),
        lowdim.neighbors(X, radius=2.0).csr(),
        lowdim.LaplacianEigenmaps(n_neighbors=8).fit(X).affinity_matrix_,
        lowdim.LaplacianEigenmaps(n_neighbors=8, symmetry="mean").fit(X).affinity_matrix_,
        lowdim.DiffusionMap(n_neighbors=8).fit(X).affinity_matrix_,
        lowdim.TSNE(perplexity=5, max_iter=250).fit(X).affinities_,
        lowdim.UMAP(n_neighbors=8, n_epochs=5).fit(X).graph_,
        lowdim.SpectralClustering(3, n_neighbors=8).fit(X).affinity_matrix_,
    ]
    for matrix in results:
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    SpectralClustering(2, affinity="precomputed", random_state=0).fit(results[3])


# --- mean weights ---------------------------------------------------------------------------


def test_mean_symmetry_halves_edges_of_one_direction():
    maps = lowdim.LaplacianEigenmaps(n_neighbors=6, symmetry="mean", weights="binary").fit(X)
    directed = kneighbors_graph(X, 6).toarray()
    np.testing.assert_array_equal(maps.affinity_matrix_.toarray(), (directed + directed.T) / 2)
    heat = lowdim.LaplacianEigenmaps(n_neighbors=6, symmetry="mean", t=2.0).fit(X)
    lengths = kneighbors_graph(X, 6, mode="distance").toarray()
    weights = np.where(directed > 0, np.exp(-(lengths**2) / 2), 0)
    np.testing.assert_allclose(heat.affinity_matrix_.toarray(), (weights + weights.T) / 2)


def test_mean_symmetry_of_new_objects():
    maps = lowdim.LaplacianEigenmaps(n_neighbors=6, symmetry="mean", weights="binary").fit(X)
    new = X[:3] + 0.2
    gaps = np.linalg.norm(new[:, None] - X, axis=2)
    own = np.argsort(np.argsort(gaps, axis=1), axis=1) < 6
    theirs = gaps <= maps.graph_.distances[:, -1]
    w = (own + theirs.astype(float)) / 2
    w /= w.sum(axis=1, keepdims=True)
    expected = w @ maps.embedding_ / (1 - maps.eigenvalues_)
    np.testing.assert_allclose(maps.transform(new), expected, atol=1e-10)


# --- arrays of other kinds --------------------------------------------------------------------


def test_masked_entries_are_missing():
    masked = np.ma.masked_array(X, mask=X > 1.5)
    hole = np.where(X > 1.5, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        lowdim.neighbors(masked, 3)
    found = lowdim.neighbors(masked, 3, metric="nan_euclidean")
    expected = lowdim.neighbors(hole, 3, metric="nan_euclidean")
    np.testing.assert_array_equal(found.indices, expected.indices)
    for table in (masked, hole):
        D = lowdim.neighbors(table, 3, metric="gower").distances
        np.testing.assert_array_equal(D, lowdim.neighbors(hole, 3, metric="gower").distances)
    np.testing.assert_array_equal(checks.vectors(np.ma.masked_array(X)), X)


def test_dates_are_no_numbers():
    days = np.array([["2020-01-01"], ["2020-01-05"], ["NaT"]], dtype="datetime64[D]")
    for table in (days, pd.DataFrame({"day": days[:, 0]}), days - days[0]):
        with pytest.raises(TypeError, match="X holds dates or time spans"):
            lowdim.neighbors(table, 1)


def test_dates_under_gower():
    days = np.array(["2020-01-01", "2020-01-05", "2020-01-11", "NaT"], dtype="datetime64[ns]")
    table = pd.DataFrame({"day": days, "other": [0.0, 0, 0, 1]})
    metric, rows = resolve_metric("gower", None, table)
    np.testing.assert_allclose(metric.block(rows, rows)[0], [0, 0.2, 0.5, 1])


def test_categories_that_are_integers():
    table = pd.DataFrame({"code": pd.Categorical([1, 2, 9, 9])})
    metric, rows = resolve_metric("gower", None, table)
    expected = [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]
    np.testing.assert_array_equal(metric.block(rows, rows), expected)
    new = metric.prepare(pd.DataFrame({"code": pd.Categorical([2, 5])}))
    np.testing.assert_array_equal(metric.block(new, rows), [[1, 0, 1, 1], [1, 1, 1, 1]])


def test_float32_of_the_other_byte_order():
    found = checks.vectors(X.astype(">f4"))
    assert found.dtype == np.float32
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, X.astype(np.float32))


@pytest.mark.parametrize("n_jobs", [2**31, 2**70, -(2**40)])
def test_a_number_of_threads_out_of_range(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be"):
        lowdim.Isomap(n_jobs=n_jobs).fit(X)
