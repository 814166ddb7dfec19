from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from scipy.spatial.distance import cdist

import lowdim
from lowdim.backends import backend
from lowdim.backends.native import products
from lowdim.distances.metrics import resolve_metric
from lowdim.neighbor_graphs import exact
from lowdim.neighbor_graphs.exact import query
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects.neighbors import neighbors

RANDOM = np.random.default_rng(0)


@pytest.fixture
def small_tiles(monkeypatch):
    """Several tiles of inner products on a few points, and no k-d tree."""
    monkeypatch.setattr(products, "TILE_ROWS", 37)
    monkeypatch.setattr(exact, "TREE_DIMENSIONS", -1)


def naive(X, k, metric="euclidean"):
    """Exact neighbours in float64, ordered by (distance, index)."""
    exact = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if metric == "cosine":
        lengths = np.linalg.norm(exact, axis=1, keepdims=True)
        unit = exact / np.where(lengths > 0, lengths, 1)
        D = np.maximum(1 - unit @ unit.T, 0)
        zero = lengths[:, 0] == 0
        D[np.ix_(zero, zero)] = 0
    else:
        D = np.sqrt(((exact[:, None, :] - exact[None, :, :]) ** 2).sum(axis=2))
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1), D


def check_exact(graph, X, k, metric="euclidean", rtol=1e-6, atol=0.0):
    """The distances are the k smallest, and each belongs to its index."""
    n = X.shape[0]
    _, distances, D = naive(X, k, metric)
    assert graph.indices.shape == graph.distances.shape == (n, k)
    assert graph.indices.dtype == np.int32
    assert (graph.indices != np.arange(n)[:, None]).all()
    assert all(len(set(row)) == k for row in graph.indices.tolist())
    assert (np.diff(graph.distances, axis=1) >= 0).all()
    np.testing.assert_allclose(graph.distances, distances, rtol=rtol, atol=atol)
    own = np.take_along_axis(D, graph.indices, axis=1)
    np.testing.assert_allclose(graph.distances, own, rtol=rtol, atol=atol)


# --- exactness: Euclidean and cosine ------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [12, 37, 38, 150])
def test_tiles_give_the_exact_neighbors(small_tiles, metric, dtype, sparse, n):
    X = np.random.default_rng(n).normal(size=(n, 11)).astype(dtype)
    if sparse:
        X = csr_array(np.where(np.abs(X) > 0.8, X, 0).astype(dtype))
    k = min(7, n - 1)
    graph = neighbors(X, k, metric=metric)
    rtol, atol = (1e-5, 3e-7) if dtype == np.float32 else (1e-10, 1e-14)
    check_exact(graph, X, k, metric, rtol, atol)
    assert graph.distances.dtype == dtype
    assert graph.metric == metric


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
def test_the_tree_gives_the_exact_neighbors(dtype, metric):
    X = RANDOM.normal(size=(300, 3)).astype(dtype)  # few dimensions and more than 256 points
    graph = neighbors(X, 6, metric=metric)
    D = cdist(X, X, metric)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(graph.distances, np.sort(D, axis=1)[:, :6], rtol=1e-6)
    assert np.array_equal(graph.indices, np.argsort(D, axis=1)[:, :6])
    assert graph.distances.dtype == dtype


@pytest.mark.parametrize("offset", [1e4, -3e5])
def test_a_common_offset_costs_no_digits(small_tiles, offset):
    X = (RANDOM.normal(size=(120, 10)) + offset).astype(np.float32)
    check_exact(neighbors(X, 5), X, 5, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_clusters_far_from_each_other_cost_no_digits(small_tiles, sparse):
    # In float32 the inner products of such points cannot tell their neighbours.
    X = (0.1 * np.random.default_rng(1).normal(size=(120, 10))).astype(np.float32)
    X[:60] += np.float32(1e4)
    check_exact(neighbors(csr_array(X) if sparse else X, 5), X, 5, rtol=1e-5)
    metric, points = resolve_metric("euclidean", None, X)
    indices, distances = query(points, points[::7], 4, metric)
    D = cdist(X[::7].astype(np.float64), X.astype(np.float64))
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :4], rtol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(D, indices, 1), distances, rtol=1e-5)


@pytest.mark.parametrize("path", ["tiles", "tree", "blocks"])
def test_duplicates_are_neighbors_of_each_other_and_never_of_themselves(path, monkeypatch):
    metric = "sqeuclidean" if path == "blocks" else "euclidean"
    if path == "tiles":
        monkeypatch.setattr(products, "TILE_ROWS", 37)
        monkeypatch.setattr(exact, "TREE_DIMENSIONS", -1)
    X = np.repeat(RANDOM.normal(size=(20, 2)), 15, axis=0)
    graph = neighbors(X, 4, metric=metric)
    assert not graph.distances.any()
    assert (graph.indices != np.arange(300)[:, None]).all()
    assert (graph.indices // 15 == np.arange(300)[:, None] // 15).all()
    assert all(len(set(row)) == 4 for row in graph.indices.tolist())


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("value", [0.0, 3.7])
def test_constant_data_has_neighbors_at_distance_zero(small_tiles, metric, value):
    graph = neighbors(np.full((60, 5), value), 3, metric=metric)
    np.testing.assert_allclose(graph.distances, 0, atol=1e-15)
    # all are equally near: the first others in order
    assert graph.indices[0].tolist() == [1, 2, 3]
    assert graph.indices[1].tolist() == [0, 2, 3]
    assert graph.indices[59].tolist() == [0, 1, 2]


@pytest.mark.parametrize("sparse", [False, True])
def test_zero_rows_are_at_a_right_angle_to_others(small_tiles, sparse):
    X = RANDOM.normal(size=(50, 6))
    X[[3, 17]] = 0
    graph = neighbors(csr_array(X) if sparse else X, 5, metric="cosine")
    assert np.array_equal(graph.distances[3], [0, 1, 1, 1, 1])
    assert graph.indices[3, 0] == 17
    check_exact(graph, X, 5, "cosine", 1e-10, 1e-14)


def test_ties_are_broken_by_index(small_tiles):
    side = np.arange(10.0)
    X = np.stack(np.meshgrid(side, side, side[:2]), axis=-1).reshape(-1, 3)  # exact in binary
    X = X[RANDOM.permutation(len(X))]
    graph = neighbors(X, 5)
    indices, distances, _ = naive(X, 5)
    assert np.array_equal(graph.indices, indices)
    assert np.array_equal(graph.distances, distances)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "braycurtis"])
def test_all_others_can_be_neighbors(metric):
    X = RANDOM.uniform(size=(25, 9))
    graph = neighbors(X, 24, metric=metric)
    assert np.array_equal(
        np.sort(graph.indices, axis=1), [np.delete(range(25), i) for i in range(25)]
    )


def test_two_objects_are_enough():
    graph = neighbors(np.array([[0.0, 0.0], [3.0, 4.0]]), 1)
    assert graph.indices.tolist() == [[1], [0]]
    assert graph.distances.tolist() == [[5.0], [5.0]]


@given(
    n=st.integers(2, 40),
    d=st.integers(1, 12),
    k=st.integers(1, 39),
    whole=st.booleans(),
    metric=st.sampled_from(["euclidean", "cosine"]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60)
def test_neighbors_are_exact_on_any_data(n, d, k, whole, metric, seed):
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, (n, d)).astype(float) if whole else random.normal(size=(n, d))
    k = min(k, n - 1)
    original = products.TILE_ROWS
    try:
        products.TILE_ROWS = 7
        graph = neighbors(X, k, metric=metric)
    finally:
        products.TILE_ROWS = original
    check_exact(graph, X, k, metric, 1e-9, 1e-13)


@pytest.mark.parametrize(
    ("data", "metric"),
    [("dense", "euclidean"), ("dense", "cosine"), ("sparse", "euclidean"), ("dense", "canberra")],
)
def test_the_number_of_threads_changes_no_bit(small_tiles, data, metric):
    X = np.random.default_rng(3).normal(size=(700, 12)).astype(np.float32)
    X = csr_array(np.where(X > 0.5, X, 0)) if data == "sparse" else X
    one, two, three = (neighbors(X, 6, metric=metric, n_jobs=n) for n in (1, 2, 3))
    for other in (two, three):
        assert np.array_equal(one.indices, other.indices)
        assert np.array_equal(one.distances, other.distances)
    radius = float(np.median(one.distances))
    few, many = (neighbors(X, radius=radius, metric=metric, n_jobs=n) for n in (1, 3))
    assert np.array_equal(few.indices, many.indices)
    assert np.array_equal(few.distances, many.distances)


def test_the_tree_does_not_depend_on_the_threads():
    X = np.random.default_rng(3).integers(0, 6, (400, 3)).astype(float)  # with many ties
    one, three = (neighbors(X, 6, n_jobs=n) for n in (1, 3))
    assert np.array_equal(one.indices, three.indices)
    assert np.array_equal(one.distances, three.distances)


def test_fifteen_neighbors_unless_told():
    X = RANDOM.normal(size=(30, 9))
    assert neighbors(X).n_neighbors == 15
    assert neighbors(cdist(X, X), metric="precomputed").n_neighbors == 15


# --- other metrics ------------------------------------------------------------------------------


def test_blocks_span_several_tiles_and_measure_each_pair_once():
    X = RANDOM.normal(size=(1100, 3))
    graph = neighbors(X, 5, metric="canberra")
    D = cdist(X, X, "canberra")
    np.fill_diagonal(D, np.inf)
    assert np.array_equal(graph.indices, np.argsort(D, axis=1, kind="stable")[:, :5])
    assert np.array_equal(graph.distances, np.sort(D, axis=1)[:, :5])
    calls = []

    def distance(a, b):
        calls.append(1)
        return abs(a - b)

    neighbors(list(range(30)), 2, metric=distance)
    assert len(calls) == 30 * 30  # a single tile; across tiles each pair is measured once


def test_a_callable_measures_arbitrary_objects():
    words = ["cat", "cart", "car", "dog", "dot", "do"]

    def edits(a, b):
        table = np.arange(len(b) + 1)
        for i, x in enumerate(a, 1):
            before, table = table, np.full(len(b) + 1, i)
            for j, y in enumerate(b, 1):
                table[j] = min(before[j] + 1, table[j - 1] + 1, before[j - 1] + (x != y))
        return float(table[-1])

    graph = neighbors(words, 2, metric=edits)
    assert graph.metric == "callable"
    assert graph.indices.tolist() == [[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]]
    assert graph.distances.tolist() == [[1.0, 1.0]] * 6


def test_a_callable_takes_parameters_and_vectors():
    X = RANDOM.normal(size=(20, 3))
    graph = neighbors(
        X, 3, metric=lambda a, b, p: (np.abs(a - b) ** p).sum() ** (1 / p), metric_params={"p": 3}
    )
    reference = neighbors(X, 3, metric="minkowski", metric_params={"p": 3})
    assert np.array_equal(graph.indices, reference.indices)
    np.testing.assert_allclose(graph.distances, reference.distances, rtol=1e-12)


@pytest.mark.parametrize("metric", ["hellinger", lambda a, b: np.nan])
def test_a_metric_without_an_answer_is_an_error_that_names_the_objects(metric):
    X = np.abs(RANDOM.normal(size=(10, 4)))
    X[6] = -2  # no distribution
    first = 6 if metric == "hellinger" else 1
    for options in ({"k": 3}, {"radius": 1.0}):
        with pytest.raises(ValueError, match=f"gives NaN for objects 0 and {first}. Remove"):
            neighbors(X, metric=metric, **options)


# --- a radius -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_radius_graph_holds_all_within_it(metric, sparse):
    X = RANDOM.normal(size=(150, 3))
    D = cdist(X, X, metric)
    radius = float(np.quantile(D, 0.1))
    graph = neighbors(csr_array(X) if sparse else X, radius=radius, metric=metric)
    np.fill_diagonal(D, np.inf)
    assert graph.n_neighbors is None
    assert graph.n_objects == 150
    for i in range(150):
        own = slice(graph.indptr[i], graph.indptr[i + 1])
        assert set(graph.indices[own]) == set(np.flatnonzero(D[i] <= radius))
        np.testing.assert_allclose(graph.distances[own], np.sort(D[i])[: own.stop - own.start])


def test_radius_zero_joins_duplicates_only_and_infinity_all():
    X = np.array([[0.0], [1.0], [0.0], [2.0]])
    zero = neighbors(X, radius=0)
    assert zero.indptr.tolist() == [0, 1, 1, 2, 2]
    assert zero.indices.tolist() == [2, 0]
    everyone = neighbors(X, radius=np.inf)
    assert len(everyone.indices) == 12
    assert everyone.indices[:3].tolist() == [2, 1, 3]


def test_an_object_without_neighbors_is_kept():
    graph = neighbors(np.array([[0.0], [0.1], [50.0]]), radius=1.0)
    assert graph.n_objects == 3
    assert np.diff(graph.indptr).tolist() == [1, 1, 0]
    assert graph.components()[0] == 2


# --- precomputed --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_distances_give_the_same_graph(dtype):
    X = RANDOM.normal(size=(60, 9))
    D = cdist(X, X).astype(dtype)
    graph = neighbors(D, 5, metric="precomputed")
    reference = neighbors(X, 5)
    assert np.array_equal(graph.indices, reference.indices)
    np.testing.assert_allclose(graph.distances, reference.distances, rtol=1e-6)
    assert graph.distances.dtype == dtype
    near = neighbors(D, radius=3.0, metric="precomputed")
    reference = neighbors(X, radius=3.0)
    assert np.array_equal(near.indptr, reference.indptr)
    assert np.array_equal(near.indices, reference.indices)  # nearest first


def test_a_sparse_precomputed_graph_keeps_stored_zeros_and_drops_the_diagonal():
    rows, columns = [0, 0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 2, 0, 1]
    X = csr_array(([9.0, 0.0, 2.0, 0.0, 1.0, 2.0, 1.0], (rows, columns)), shape=(3, 3))
    full = neighbors(X, 2, metric="precomputed")
    assert full.n_neighbors == 2
    assert full.indices.tolist() == [[1, 2], [0, 2], [1, 0]]
    assert full.distances.tolist() == [[0.0, 2.0], [0.0, 1.0], [1.0, 2.0]]
    assert neighbors(X, 1, metric="precomputed").indices.tolist() == [[1], [0], [1]]
    near = neighbors(X, radius=1.0, metric="precomputed")
    assert near.indptr.tolist() == [0, 1, 3, 4]
    assert near.indices.tolist() == [1, 0, 2, 1]


def test_a_sparse_graph_with_short_lists_becomes_a_ragged_graph():
    X = csr_array(([1.0, 1.0, 2.0, 2.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    graph = neighbors(X, 2, metric="precomputed")
    assert graph.n_neighbors is None
    assert graph.indptr.tolist() == [0, 1, 3, 4]


def test_a_neighbor_graph_passes_through():
    graph = neighbors(RANDOM.normal(size=(20, 4)), 6)
    assert neighbors(graph, 3, metric="precomputed").n_neighbors == 3
    assert neighbors(graph, radius=1.0, metric="precomputed") is graph


# --- queries ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("kind", ["tiles", "tree", "sparse"])
def test_query_finds_the_nearest_points(metric, kind, monkeypatch):
    monkeypatch.setattr(products, "TILE_ROWS", 37)
    d = 3 if kind == "tree" else 12
    X, Q = RANDOM.normal(size=(300, d)), RANDOM.normal(size=(20, d))
    Q[0] = X[5]  # a known point is its own nearest
    given, asked = (csr_array(X), csr_array(Q)) if kind == "sparse" else (X, Q)
    found, rows = resolve_metric(metric, None, given)
    indices, distances = query(rows, asked, 4, found)
    D = cdist(Q, X, metric)
    assert np.array_equal(indices, np.argsort(D, axis=1)[:, :4])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :4], rtol=1e-9, atol=1e-14)
    assert indices[0, 0] == 5
    alone = []
    for i, n in ((0, 1), (7, 3)):
        with lowdim.compute(n_jobs=n):
            alone.append(query(rows, asked[i : i + 1], 4, found))
    for (i, row), one in zip(((0, indices[0]), (7, indices[7])), alone, strict=True):
        assert np.array_equal(one[0][0], row), i


def test_query_can_ask_for_every_point_and_mix_types():
    X = RANDOM.normal(size=(30, 12)).astype(np.float32)
    metric, rows = resolve_metric("euclidean", None, X)
    indices, distances = query(rows, RANDOM.normal(size=(3, 12)), 30, metric)
    assert np.array_equal(np.sort(indices, axis=1), np.tile(np.arange(30), (3, 1)))
    assert distances.dtype == np.float32
    with pytest.raises(ValueError, match=r"k must be at most 30 \(the number of points\), got 31"):
        query(rows, X[:3], 31, metric)
    with pytest.raises(ValueError, match="distances overflow"):
        query(rows, np.full((1, 12), 1e30, np.float32), 3, metric)


def test_smallest_orders_by_value_then_column():
    values = np.array([[3.0, 1.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    indices, found = backend().smallest(values, 3)
    assert indices.tolist() == [[1, 2, 3], [0, 1, 2]]
    assert found.tolist() == [[1.0, 1.0, 2.0], [0.0, 0.0, 0.0]]


# --- bad input ----------------------------------------------------------------------------------

X5 = np.arange(10.0).reshape(5, 2)


def with_entry(i, j, value):
    D = cdist(X5, X5)
    D[i, j] = value
    return D


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": X5, "k": 5}, ValueError, "k=5 for n_samples=5. Use at most 4"),
        ({"X": X5, "k": 0}, ValueError, "k must be at least 1, got 0"),
        ({"X": X5, "k": -3}, ValueError, "k must be at least 1, got -3"),
        ({"X": X5, "k": 2.0}, TypeError, "k must be an integer, got 2.0"),
        ({"X": X5, "k": True}, TypeError, "k must be an integer, got True"),
        ({"X": X5, "k": 2, "radius": 1.0}, ValueError, "set one of them to None"),
        ({"X": X5, "radius": -1.0}, ValueError, r"radius must lie in \[0, inf\], got -1"),
        ({"X": X5, "radius": np.nan}, ValueError, r"radius must lie in \[0, inf\], got nan"),
        ({"X": X5, "radius": "1"}, TypeError, "radius must be a number"),
        ({"X": X5, "k": 2, "metric": "nonsense"}, ValueError, "metric must be one of .*'nonsense'"),
        ({"X": X5, "k": 2, "n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"X": [[1.0, np.nan], [2, 3]], "k": 1}, ValueError, r"NaN at \[0, 1\].*impute"),
        ({"X": [[1.0, 2], [np.inf, 3]], "k": 1}, ValueError, r"infinity at \[1, 0\]"),
        ({"X": [[1.0, 2], [3]], "k": 1}, ValueError, "row 0 has 2 entries and row 1 has 1"),
        (
            {"X": [["a", "b"], ["c", "d"]], "k": 1},
            ValueError,
            r"X holds .a. at \[0, 0\], which is not a number",
        ),
        ({"X": [1.0, 2.0, 3.0], "k": 1}, ValueError, "Expected 2D array"),
        ({"X": np.empty((0, 3)), "k": 1}, ValueError, r"0 sample\(s\)"),
        ({"X": [[-1.5e308], [1.5e308]], "k": 1}, ValueError, "distances overflow float64. Divide"),
        ({"X": [], "k": 1, "metric": min}, ValueError, "X holds no objects"),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        neighbors(**arguments)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (np.ones((3, 4)), r"2-dimensional and square, got shape \(3, 4\)"),
        (with_entry(1, 2, 7.0), r"must be symmetric, but \[1, 2\] is 7 and \[2, 1\].*\(D \+ D.T\)"),
        (with_entry(3, 3, 2.0), r"diagonal must be zero .* \[3, 3\] is 2.*similarities"),
        (-cdist(X5, X5), r"must not be negative, \[0, 1\] is -2.8"),
        (with_entry(0, 4, np.nan), r"NaN at \[0, 4\]"),
        (csr_array(np.ones((3, 4))), "square"),
        (csr_array(-np.ones((3, 3))), "must not be negative, found -1"),
    ],
)
def test_bad_dissimilarities_are_named(D, message):
    with pytest.raises(ValueError, match=message):
        neighbors(D, 1, metric="precomputed")


def test_bad_numbers_for_a_sparse_graph_are_named():
    X = csr_array(cdist(X5, X5))
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        neighbors(X, 0, metric="precomputed")
    with pytest.raises(ValueError, match=r"radius must lie in \[0, inf\], got -1"):
        neighbors(X, radius=-1, metric="precomputed")


def test_a_sparse_nan_is_found_at_its_place():
    X = csr_array(([1.0, 2.0, np.nan], ([0, 2, 3], [1, 0, 5])), shape=(4, 7))
    with pytest.raises(ValueError, match=r"NaN at \[3, 5\]"):
        neighbors(X, 1)


def test_the_result_is_a_graph_that_knows_its_data():
    graph = neighbors(random_array((30, 20), density=0.3, rng=RANDOM).tocsr(), 3)
    assert isinstance(graph, NeighborGraph)
    assert len(graph.fingerprint) == 16
    assert repr(graph) == "NeighborGraph(30 objects, k=3, metric='euclidean')"


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_errors_name_the_arguments_of_the_function(metric):
    D = cdist(X5, X5)
    with pytest.raises(ValueError, match=r"got k=5 for n_samples=5\. Use at most 4"):
        lowdim.neighbors(D, k=5, metric=metric)
    with pytest.raises(ValueError, match="Both k and radius"):
        lowdim.neighbors(D, k=3, radius=1.0, metric=metric)
