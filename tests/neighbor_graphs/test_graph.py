from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

import lowdim
from lowdim.backends import backend
from lowdim.distances.metrics import resolve_metric
from lowdim.distances.row_blocks import fingerprint
from lowdim.neighbor_graphs.exact import nearest_outside
from lowdim.neighbor_graphs.graph import NeighborGraph, add_edges, bridge, components
from lowdim.objects.neighbors import neighbors


def dense(graph, missing=np.inf):
    """A CSR graph as an array, `missing` where nothing is stored."""
    out = np.full(graph.shape, float(missing))
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    out[rows, graph.indices] = graph.data
    return out


def blobs(n_blobs, size, seed, dimension=3):
    random = np.random.default_rng(seed)
    centers = random.uniform(-100, 100, (n_blobs, dimension))
    return (centers[:, None, :] + random.normal(size=(n_blobs, size, dimension))).reshape(
        -1, dimension
    )


# A directed graph of 4 objects with a zero distance: 0 <-> 1 at zero, 1 -> 2, 3 -> 2, 2 -> 3.
SMALL = NeighborGraph(
    np.array([[1, 2], [0, 2], [3, 1], [2, 0]], np.int32),
    np.array([[0.0, 3.0], [0.0, 2.0], [1.0, 4.0], [1.0, 9.0]]),
    "precomputed",
)


def test_csr_holds_every_arc_zeros_included():
    graph = SMALL.csr()
    assert graph.nnz == 8
    D = dense(graph)
    assert D[0, 1] == 0
    assert D[2, 1] == 4
    assert np.isinf(D[1, 3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("symmetry", ["union", "mutual", "mean"])
def test_adjacency_is_symmetric_and_keeps_zero_distances(symmetry, dtype):
    graph = NeighborGraph(SMALL.indices, SMALL.distances.astype(dtype), "precomputed")
    found = graph.adjacency(symmetry)
    D = dense(SMALL.csr())
    if symmetry == "union":
        expected = np.minimum(D, D.T)
    elif symmetry == "mutual":
        expected = np.where(np.isfinite(D) & np.isfinite(D.T), np.minimum(D, D.T), np.inf)
    else:
        both = np.isfinite(D) & np.isfinite(D.T)
        expected = np.where(both, (D + D.T) / 2, np.minimum(D, D.T))
    assert np.array_equal(dense(found), expected)
    assert found.dtype == dtype
    assert found.has_sorted_indices


def test_half_sum_is_the_mean_with_the_transpose():
    found = backend().symmetrize(SMALL.csr(), "half-sum")
    D = dense(SMALL.csr(), missing=0)
    assert np.array_equal(dense(found, missing=0), (D + D.T) / 2)


@given(n=st.integers(1, 30), density=st.floats(0, 1), seed=st.integers(0, 10**6))
@settings(max_examples=50)
def test_symmetrize_equals_its_definition_for_any_number_of_threads(n, density, seed):
    random = np.random.default_rng(seed)
    kept = random.uniform(size=(n, n)) < density
    rows, columns = np.nonzero(kept)
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    values = random.integers(0, 5, len(rows)).astype(float)
    graph = csr_array((values, columns, indptr), shape=(n, n))
    D = dense(graph)
    with lowdim.compute(n_jobs=1):
        one = backend().symmetrize(graph, "union")
    with lowdim.compute(n_jobs=3):
        three = backend().symmetrize(graph, "union")
    assert np.array_equal(dense(one), np.minimum(D, D.T))
    assert np.array_equal(one.indices, three.indices)
    assert np.array_equal(one.data, three.data)
    mutual = dense(backend().symmetrize(graph, "mutual"))
    assert np.array_equal(np.isfinite(mutual), kept & kept.T)


def test_an_unknown_symmetry_is_refused():
    with pytest.raises(ValueError, match="symmetry must be one of 'union', 'mutual', 'mean'"):
        SMALL.adjacency("both")


def test_components_count_zero_distances_as_links():
    X = np.array([[0.0], [0.0], [5.0], [5.0]])
    graph = neighbors(X, 1)
    count, labels = graph.components()
    assert count == 2
    assert labels[0] == labels[1] != labels[2] == labels[3]


@pytest.mark.parametrize("symmetry", ["union", "mutual"])
def test_components_agree_with_scipy(symmetry):
    X = blobs(4, 12, 1)
    graph = neighbors(X, 2)
    links = np.isfinite(dense(graph.adjacency(symmetry)))
    count, labels = graph.components(symmetry)
    expected, reference = connected_components(links, directed=False)
    assert count == expected
    assert len(set(zip(labels.tolist(), reference.tolist(), strict=True))) == count


# --- bridges ------------------------------------------------------------------------------------


def spanning_length(D, labels):
    """The length of the shortest tree over components, by brute force."""
    count = labels.max() + 1
    between = np.array(
        [[D[np.ix_(labels == a, labels == b)].min() for b in range(count)] for a in range(count)]
    )
    np.fill_diagonal(between, 0)
    return minimum_spanning_tree(between).sum()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("symmetry", ["union", "mutual"])
def test_join_adds_the_minimum_spanning_bridges(seed, symmetry):
    X = blobs(7, 9, seed)
    graph = neighbors(X, 2)
    count, labels = graph.components(symmetry)
    assert count > 1
    metric, rows = resolve_metric("euclidean", None, X)
    with lowdim.compute(n_jobs=2):
        joined = graph.join(nearest_outside(rows, metric), symmetry)
    assert joined.components(symmetry)[0] == 1
    assert len(joined.bridges) == count - 1
    D = cdist(X, X)
    np.testing.assert_allclose(joined.bridge_lengths.sum(), spanning_length(D, labels), rtol=1e-12)
    ends = joined.bridges
    np.testing.assert_allclose(joined.bridge_lengths, D[ends[:, 0], ends[:, 1]], rtol=1e-12)
    adjacency = dense(joined.adjacency(symmetry))
    assert np.array_equal(adjacency, adjacency.T)
    np.testing.assert_allclose(adjacency[ends[:, 0], ends[:, 1]], joined.bridge_lengths)
    before = dense(graph.adjacency(symmetry))
    assert np.isfinite(adjacency).sum() == np.isfinite(before).sum() + 2 * len(ends)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 14), count=st.integers(2, 8))
@settings(max_examples=150)
def test_bridges_form_a_tree_even_with_ties(seed, n, count):
    random = np.random.default_rng(seed)
    labels = np.unique(random.integers(count, size=n), return_inverse=True)[1]
    assume(labels.max() > 0)
    half = np.triu(random.integers(1, 3, (n, n)), 1).astype(float)
    D = half + half.T
    metric = resolve_metric("euclidean", None, np.zeros((1, 1)))[0]

    def outside(asked, now):
        distances = np.where(now[asked][:, None] == now[None, :], np.inf, D[asked])
        best = distances.argmin(axis=1)
        return asked, best, distances[np.arange(len(asked)), best]

    assert metric.euclidean
    pairs, lengths = bridge(labels, outside)
    assert len(pairs) == labels.max()
    assert lengths.sum() == spanning_length(D, labels)
    links = csr_array(
        (np.ones(len(pairs)), (labels[pairs[:, 0]], labels[pairs[:, 1]])),
        shape=(labels.max() + 1,) * 2,
    )
    assert connected_components(links, directed=False)[0] == 1


def test_join_leaves_a_connected_graph_alone():
    graph = neighbors(np.arange(10.0)[:, None], 2)
    assert graph.join(None) is graph


def test_join_of_pieces_at_distance_zero_keeps_the_zero_bridge():
    labels = np.array([0, 0, 1, 1])

    def outside(asked, _):
        return asked, np.array([0, 1])[: len(asked)], np.zeros(len(asked))

    pairs, lengths = bridge(labels, outside)
    undirected = neighbors(np.array([[0.0], [0.0], [0.0], [0.0]]), 1).adjacency()
    undirected = csr_array(
        (np.zeros(4), np.array([1, 0, 3, 2], np.int32), np.arange(5)), shape=undirected.shape
    )
    assert components(add_edges(undirected, pairs, lengths))[0] == 1


# --- parts --------------------------------------------------------------------------------------


def test_take_is_the_graph_of_fewer_neighbors():
    X = np.random.default_rng(0).normal(size=(40, 12))
    graph = neighbors(X, 8)
    few, direct = graph.take(3), neighbors(X, 3)
    assert np.array_equal(few.indices, direct.indices)
    assert np.array_equal(few.distances, direct.distances)
    assert few.fingerprint == graph.fingerprint
    assert few.indices.flags.c_contiguous
    assert graph.take(8) is graph
    with pytest.raises(ValueError, match="graph has 8 neighbours of each object, but 9 are needed"):
        graph.take(9)
    with pytest.raises(ValueError, match="radius graph"):
        neighbors(X, radius=3.0).take(2)


def test_subset_of_a_component_keeps_whole_lists_under_new_numbers():
    X = np.concatenate([blobs(1, 10, 0), blobs(1, 10, 1) + 1000])[::-1].copy()
    graph = neighbors(X, 3)
    rows = np.flatnonzero(graph.components()[1] == graph.components()[1][4])
    part, direct = graph.subset(rows), neighbors(X[rows], 3)
    assert part.n_neighbors == 3
    assert np.array_equal(part.indices, direct.indices)
    np.testing.assert_allclose(part.distances, direct.distances)


@pytest.mark.parametrize("options", [{"k": 5}, {"radius": 1.5}])
def test_subset_drops_what_leads_out_and_keeps_zeros_and_order(options):
    X = np.random.default_rng(2).normal(size=(40, 2))
    X[7] = X[3]
    graph = neighbors(X, **options)
    rows = np.array([7, 30, 3, 12, 5, 21, 0, 39])
    part = graph.subset(rows)
    D = dense(graph.csr())[np.ix_(rows, rows)]
    assert np.array_equal(dense(part.csr()), D)
    assert D[0, 2] == 0
    for i in range(len(rows)):
        assert (np.diff(part.distances[part.indptr[i] : part.indptr[i + 1]]) >= 0).all()


def test_neighbor_lists_put_bridges_in_the_last_places():
    X = np.concatenate([np.arange(5.0), np.arange(5.0) + 100, np.arange(5.0) + 300])[:, None]
    graph = neighbors(X, 2)
    assert graph.neighbor_lists() is graph.indices
    metric, rows = resolve_metric("euclidean", None, X)
    joined = graph.join(nearest_outside(rows, metric))
    assert sorted(map(sorted, joined.bridges.tolist())) == [[4, 5], [9, 10]]
    lists = joined.neighbor_lists()
    for a, b in [(4, 5), (5, 4), (9, 10), (10, 9)]:
        assert lists[a, -1] == b
        assert lists[a, 0] == graph.indices[a, 0]
    others = np.setdiff1d(np.arange(15), [4, 5, 9, 10])
    assert np.array_equal(lists[others], graph.indices[others])
    assert np.array_equal(joined.indices, graph.indices)  # not changed in place
    with pytest.raises(ValueError, match="radius graph"):
        neighbors(X, radius=1.0).neighbor_lists()


# --- files and fingerprints -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["k", "radius", "joined"])
def test_a_saved_graph_comes_back_the_same(kind, tmp_path):
    X = blobs(3, 8, 0).astype(np.float32)
    graph = neighbors(X, radius=1.5) if kind == "radius" else neighbors(X, 2)
    if kind == "joined":
        metric, rows = resolve_metric("euclidean", None, X)
        graph = graph.join(nearest_outside(rows, metric))
    path = tmp_path / "graph.npz"
    graph.save(path)
    found = NeighborGraph.load(path)
    assert (found.metric, found.fingerprint) == (graph.metric, graph.fingerprint)
    for name in ("indices", "distances", "indptr", "bridges", "bridge_lengths"):
        before, after = getattr(graph, name), getattr(found, name)
        if before is None:
            assert after is None
        else:
            assert before.dtype == after.dtype
            assert np.array_equal(before, after)


def test_what_is_not_a_graph_is_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    np.save(tmp_path / "array.npy", np.ones(3))
    np.savez(tmp_path / "arrays.npz", a=np.ones(3))
    for path in tmp_path.iterdir():
        with pytest.raises(ValueError, match="is not a neighbour graph"):
            NeighborGraph.load(path)
    future = tmp_path / "future"
    with future.open("wb") as file:
        np.savez(file, header=np.array('{"lowdim_graph": 2}'))
    with pytest.raises(ValueError, match="graph format 2; this version reads 1"):
        NeighborGraph.load(future)


def test_a_saved_graph_cannot_smuggle_code_in(tmp_path):
    path = tmp_path / "evil.npz"
    with path.open("wb") as file:
        np.savez(file, header=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        NeighborGraph.load(path)


def test_fingerprints_tell_data_apart():
    X = np.random.default_rng(0).normal(size=(30, 4))
    changed = X.copy()
    changed[17, 2] += 1e-12
    one = csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    other = csr_array(np.array([[1.0, 2.0], [0.0, 0.0]]))  # same indices and data, other rows
    words, more = np.array(["a", "b"], dtype=object), np.array(["a", "c"], dtype=object)
    different = [
        X,
        changed,
        X.astype(np.float32),
        X[:-1],
        X.reshape(60, 2),
        one,
        other,
        words,
        more,
    ]
    prints = [fingerprint(rows) for rows in different]
    assert len(set(prints)) == len(prints)
    assert fingerprint(X) == fingerprint(X.copy()) == fingerprint(np.asfortranarray(X))
    assert neighbors(X, 2).fingerprint == fingerprint(X)
