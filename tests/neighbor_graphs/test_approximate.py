from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowdim
from lowdim.backends.native import cells, index
from lowdim.backends.native.index import CellIndex
from lowdim.backends.native.products import nearest_of_sample
from lowdim.distances.metrics import resolve_metric
from lowdim.neighbor_graphs import indexes, search
from lowdim.neighbor_graphs.exact import query
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.neighbor_graphs.indexes import build_index
from lowdim.neighbor_graphs.search import neighbor_query, search_all
from lowdim.objects import neighbors

RANDOM = np.random.default_rng(0)
N = 2100


def sheet(n=N, d=140, inner=6, seed=0):
    """Points near a curved sheet in many dimensions."""
    random = np.random.default_rng(seed)
    inside = random.normal(size=(n, inner)) @ random.normal(size=(inner, d))
    return np.tanh(inside / 2) + 0.05 * random.normal(size=(n, d))


@pytest.fixture
def eager(monkeypatch):
    """Indices on small data too, and small cells, although comparing everything is cheaper."""
    monkeypatch.setattr(index, "LARGEST_COST", np.inf)
    monkeypatch.setattr(index, "ROWS_PER_CELL", 40)
    monkeypatch.setattr(index, "BATCH_ROWS", 1000)
    monkeypatch.setattr(indexes, "LARGEST_SHARE", 0.9)


def index_of(X, k=10, metric="euclidean", recall=0.95, seed=0):
    found, rows = resolve_metric(metric, None, X)
    built = build_index(rows, found, k, recall, seed)
    assert built is not None
    return built


def true_recall(X, graph, metric):
    """The share of distances that are among the k smallest, once they are known to be right."""
    exact = X.toarray() if hasattr(X, "toarray") else X
    D = np.nan_to_num(cdist(exact, exact, metric), nan=1.0)
    zero = ~exact.any(axis=1)
    D[np.ix_(zero, zero)] = 0
    np.fill_diagonal(D, np.inf)
    own = np.take_along_axis(D, graph.indices, axis=1)
    np.testing.assert_allclose(graph.distances, own, rtol=1e-4, atol=2e-6)
    assert (np.diff(graph.distances, axis=1) >= 0).all()
    assert all(len(set(row)) == len(row) for row in graph.indices.tolist())
    reach = np.partition(D, graph.n_neighbors - 1, axis=1)[:, graph.n_neighbors - 1]
    return (own <= reach[:, None] * (1 + 1e-5) + 1e-12).mean()


# --- recall -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(
    ("kind", "recall"),
    [("float32", 0.98), ("float32", 0.8), ("float64", 0.9), ("narrow", 0.95), ("sparse", 0.95)],
)
def test_the_share_asked_for_is_found(metric, kind, recall, eager):
    X = sheet(d=40) if kind == "narrow" else sheet()
    if kind == "sparse":
        X = csr_array(np.where(X > 0.2, X, 0))
    elif kind == "float32":
        X = X.astype(np.float32)
    graph = neighbors.neighbors(X, 10, metric=metric, method="approximate", recall=recall)
    assert graph.distances.dtype == X.dtype
    assert graph.recall is not None
    assert recall <= graph.recall < 1
    found = true_recall(X, graph, metric)
    assert found == pytest.approx(graph.recall, abs=0.02)
    assert found < 1  # it did not compare everything


def test_the_recall_told_is_that_of_the_sampled_rows(eager):
    X = sheet(seed=3)
    metric = resolve_metric("euclidean", None, X)[0]
    graph, _ = search_all(X, metric, 12, None, "approximate", seed=5)
    sample = np.sort(np.random.default_rng(5).choice(N, index.SAMPLE_ROWS, replace=False))
    D = cdist(X[sample], X)
    D[np.arange(len(sample)), sample] = np.inf
    truth = np.argsort(D, axis=1)[:, :12]
    hits = [len(set(a) & set(b)) for a, b in zip(truth, graph.indices[sample], strict=True)]
    assert graph.recall == pytest.approx(np.mean(hits) / 12, abs=1e-12)


def test_more_recall_costs_more_effort(eager):
    X = sheet()
    plans = [index_of(X, recall=recall).plan for recall in (0.6, 0.9, 0.99)]
    assert plans[0].cost < plans[1].cost < plans[2].cost
    assert plans[0].recall < plans[1].recall < plans[2].recall


def test_a_narrow_space_that_fails_gives_way_to_a_wider_one(eager, monkeypatch):
    X = sheet(d=400, inner=40)
    tried = []
    plan = index._plan

    def spy(built, *arguments):
        tried.append(built.space.width)
        return None if len(tried) == 1 else plan(built, *arguments)

    monkeypatch.setattr(index, "_plan", spy)
    assert index_of(X).space.width == tried[1] > tried[0]


# --- honesty ------------------------------------------------------------------------------------


def test_data_without_structure_is_searched_exactly(monkeypatch):
    X = RANDOM.uniform(size=(3000, 50))
    exact = neighbors.neighbors(X, 10, method="exact")
    with warnings.catch_warnings():  # silence, for it takes no time
        warnings.simplefilter("error")
        graph = neighbors.neighbors(X, 10, method="approximate")
    assert graph.recall is None
    assert np.array_equal(graph.indices, exact.indices)
    monkeypatch.setattr(search, "LONG_SEARCH", 0)
    with pytest.warns(
        UserWarning, match="No approximate search finds 0.95 of .* these 3000 objects"
    ):
        neighbors.neighbors(X, 10, method="approximate")


def test_auto_is_exact_where_that_is_fast(eager, monkeypatch):
    X = sheet()
    assert neighbors.neighbors(X, 5).recall is None
    monkeypatch.setattr(search, "EXACT_UP_TO", N - 1)
    assert neighbors.neighbors(X, 5).recall is not None
    assert neighbors.neighbors(X, radius=1.0).recall is None
    assert neighbors.neighbors(X[:, :3], 5).recall is None  # the k-d tree
    assert neighbors.neighbors(X, 5, method="exact").recall is None
    assert neighbors.neighbors(X[:, :20], 5, metric="cityblock").recall is not None
    shares = np.abs(X[:, :20])
    assert neighbors.neighbors(shares, 5, metric="jensenshannon").recall is None
    monkeypatch.setattr(search, "BLOCKS_UP_TO", N - 1)
    assert neighbors.neighbors(shares, 5, metric="jensenshannon").recall is not None
    monkeypatch.setattr(search, "EXACT_UP_TO", N)
    assert neighbors.neighbors(X, 5).recall is None


@pytest.mark.parametrize("k", [1, 5, 299])
def test_small_data_are_searched_exactly(k, eager):
    X = sheet(n=300)
    graph = neighbors.neighbors(X, k, method="approximate")
    assert graph.recall is None
    assert np.array_equal(graph.indices, neighbors.neighbors(X, k, method="exact").indices)


def test_all_neighbors_asked_for_are_found_exactly(eager):
    X = sheet()
    assert neighbors.neighbors(X, 5, method="approximate", recall=1).recall is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "fast"}, ValueError, "method must be one of 'auto', 'exact', 'approximate'"),
        ({"recall": 0}, ValueError, r"recall must lie in \(0, 1\], got 0"),
        ({"recall": 1.5}, ValueError, r"recall must lie in \(0, 1\], got 1.5"),
        ({"recall": "all"}, TypeError, "recall must be a number"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        neighbors.neighbors(sheet(n=20), 3, **arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_and_place_of_the_data_do_not_matter(dtype, eager):
    X = sheet(d=140).astype(dtype)
    huge = 2.0 ** (40 if dtype == np.float32 else 400)
    graph = neighbors.neighbors(X, 10, method="approximate")
    scaled = neighbors.neighbors(X * dtype(huge), 10, method="approximate")
    assert np.array_equal(graph.indices, scaled.indices)
    moved = neighbors.neighbors(X + dtype(50), 10, method="approximate")
    assert (moved.indices == graph.indices).mean() > 0.95


def test_large_data_have_the_neighbors_of_small_data(eager):
    X = sheet(d=140)
    small = neighbors.neighbors(X, 5, method="approximate")
    for big in (np.ldexp(X, 1000), np.ldexp(X.astype(np.float32), 100)):
        graph = neighbors.neighbors(big, 5, method="approximate")
        assert (graph.indices == small.indices).mean() > 0.9


# --- same bits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_graph_depends_on_the_seed_and_not_on_the_threads(metric, sparse, eager):
    X = csr_array(np.maximum(sheet(d=130), 0)) if sparse else sheet(d=130).astype(np.float32)
    X = X[:, :30] if metric == "cityblock" else X
    graphs = [
        neighbors.neighbors(X, 8, metric=metric, method="approximate", random_state=s, n_jobs=j)
        for s, j in ((1, 1), (1, 3), (2, 1))
    ]
    assert np.array_equal(graphs[0].indices, graphs[1].indices)
    assert np.array_equal(graphs[0].distances, graphs[1].distances)
    assert graphs[0].recall == graphs[1].recall
    assert not np.array_equal(graphs[0].indices, graphs[2].indices)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_query_depends_on_itself_alone(metric, sparse, eager):
    X = np.maximum(sheet(n=2250, d=130), 0).astype(np.float32)
    X = X[:, :30] if metric == "cityblock" else X
    known, new = X[:2050], X[2050:]
    if sparse:
        known, new = csr_array(known), csr_array(new)
    built = index_of(known, 8, metric)
    indices, distances = built.query(new, 8)
    exact = query(known, new, 8, resolve_metric(metric, None, known)[0])[1]
    assert (distances <= exact[:, -1:] * (1 + 1e-5)).mean() > 0.9
    for rows in (slice(7, 8), slice(3, 100), slice(199, None, -1), np.array([5, 5, 5, 6])):
        with lowdim.compute(n_jobs=3):
            some = built.query(new[rows], 8)
        assert np.array_equal(some[0], indices[rows])
        assert np.array_equal(some[1], distances[rows])
    assert np.array_equal(built.query(known[40:50], 1)[0][:, 0], np.arange(40, 50))
    with pytest.raises(ValueError, match=r"k must be at most 8 \(that of the index\), got 9"):
        built.query(new, 9)


def test_queries_take_the_form_of_the_rows(eager):
    X = np.maximum(sheet(d=130), 0)
    dense, sparse = index_of(X), index_of(csr_array(X))
    for built in (dense, sparse):
        found = [built.query(form, 5) for form in (X[:9], csr_array(X[:9]), X[:9].astype("f4"))]
        assert np.array_equal(found[0][0], found[1][0])
        assert found[2][1].dtype == np.float64


def test_the_search_for_new_rows_uses_the_index_where_it_pays(eager, monkeypatch):
    X, new = sheet(), sheet(n=20, seed=9)
    metric = resolve_metric("euclidean", None, X)[0]
    exact = query(X, new, 6, metric)
    search = neighbor_query(X, metric, 6)
    assert np.array_equal(search(new)[0], exact[0])
    search = neighbor_query(X, metric, 6, method="approximate", recall=0.6)
    assert not np.array_equal(search(new)[0], exact[0])
    assert np.array_equal(search(new)[0], index_of(X, 6, recall=0.6).query(new, 6)[0])
    assert np.array_equal(neighbor_query(X[:9], metric, 9)(X[:1])[0][0, :1], [0])


# --- awkward data -------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "canberra"])
def test_constant_data_take_no_longer(metric, eager, monkeypatch):
    compared = []
    search = cells.search_cells

    def spy(stored, queries, self_places, probes, *arguments, **options):
        compared.append(np.diff(stored[0]).max())
        return search(stored, queries, self_places, probes, *arguments, **options)

    monkeypatch.setattr(cells, "search_cells", spy)
    graph = neighbors.neighbors(np.full((N, 20), 3.0), 10, metric=metric, method="approximate")
    assert graph.recall == 1
    assert (graph.distances < 1e-7).all()
    assert (graph.indices != np.arange(N)[:, None]).all()
    if metric != "canberra":
        assert max(compared) <= cells.LARGEST_CELL * 41  # no cell holds everybody


def test_duplicates_find_each_other(eager):
    X = np.repeat(sheet(n=250), 12, axis=0)
    graph = neighbors.neighbors(X, 11, method="approximate")
    assert graph.recall == 1
    assert (graph.distances == 0).mean() > 0.99


def test_zero_rows_are_equal_and_have_a_right_angle_to_others(eager):
    X = sheet() * (np.arange(N) % 5 > 0)[:, None]
    graph = neighbors.neighbors(X, 10, metric="cosine", method="approximate")
    assert np.allclose(graph.distances[::5], 0)
    assert true_recall(X, graph, "cosine") > 0.93


def test_cells_that_hold_too_few_lead_to_more_cells(eager):
    built = index_of(sheet(), k=150)
    assert isinstance(built, CellIndex)
    narrow = replace(built, plan=replace(built.plan, probes=1, candidates=150))
    indices, distances = narrow.neighbors()
    assert (indices >= 0).all()
    assert np.isfinite(distances).all()
    by_pivots = replace(index_of(np.abs(sheet(d=9)), k=150, metric="jensenshannon"), probes=1)
    assert np.isfinite(by_pivots.neighbors()[1]).all()


def test_entries_stored_in_parts_count_as_their_sum(eager):
    X = np.maximum(sheet(d=130), 0)
    parts = csr_array(X)
    indptr = parts.indptr * 2
    halves = csr_array((np.repeat(parts.data / 2, 2), np.repeat(parts.indices, 2), indptr), X.shape)
    whole, split = (neighbors.neighbors(form, 8, method="approximate") for form in (parts, halves))
    assert np.array_equal(whole.indices, split.indices)
    exact = [neighbors.neighbors(form[:200], 8) for form in (parts, halves)]
    assert np.array_equal(exact[0].indices, exact[1].indices)


# --- any metric ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["cityblock", "hamming", "chebyshev"])
def test_any_metric_finds_the_share_asked_for(metric, eager):
    X = (sheet(d=30) > 0).astype(float) if metric == "hamming" else sheet(d=30)
    graph = neighbors.neighbors(X, 10, metric=metric, method="approximate", recall=0.9)
    assert graph.recall is not None
    assert true_recall(X, graph, metric) > 0.88


def test_arbitrary_objects_have_approximate_neighbors(eager):
    values = RANDOM.normal(size=2000)
    objects = [{"at": value} for value in values]

    def gap(a, b):
        return abs(a["at"] - b["at"])

    graph = neighbors.neighbors(objects, 4, metric=gap, method="approximate", recall=0.8)
    exact = neighbors.neighbors(values[:, None], 4, method="exact")
    assert graph.recall is not None
    assert (graph.indices == exact.indices).mean() > 0.75


def test_a_metric_without_an_answer_is_an_error(eager):
    X = sheet(d=20)
    X = np.abs(X)
    X[700] = -2  # no distribution
    with pytest.raises(ValueError, match=r"gives NaN for objects \d+ and \d+\. Remove"):
        neighbors.neighbors(X, 5, metric="hellinger", method="approximate")


# --- the parts ----------------------------------------------------------------------------------


def test_all_cells_and_all_candidates_are_an_exact_search(eager):
    X = sheet(d=20).astype(np.float32)
    built = index_of(X)
    everything = replace(built.plan, probes=built.cells.count, candidates=40)
    found = replace(built, plan=everything).neighbors()
    exact = neighbors.neighbors(X, 10, method="exact")
    assert (found[0] == exact.indices).mean() > 0.999  # rounding parts ties in another way
    np.testing.assert_allclose(found[1], exact.distances, rtol=1e-5)


def test_cells_hold_every_row_once_and_none_holds_too_many():
    Z = np.concatenate([RANDOM.normal(size=(1500, 7)), np.zeros((900, 7))]).astype(np.float32)
    with lowdim.compute(n_jobs=2):
        made = cells.build_cells(Z, np.einsum("ij,ij->i", Z, Z), 30, np.random.default_rng(0))
    assert np.array_equal(np.sort(made.order), np.arange(2400))
    sizes = np.diff(made.starts)
    assert sizes.min() > 0
    assert sizes.max() <= cells.LARGEST_CELL * 80


def test_leading_axes_span_the_leading_singular_vectors():
    A = (RANDOM.normal(size=(300, 20)) @ RANDOM.normal(size=(20, 90))).astype(np.float32)
    for form in (A, csr_array(A)):
        axes, squares = cells.leading_axes(form, 30, np.random.default_rng(0))
        np.testing.assert_allclose(axes @ axes.T, np.eye(30), atol=1e-5)
        truth = np.linalg.svd(A, compute_uv=False)
        np.testing.assert_allclose(squares[:20], truth[:20] ** 2, rtol=1e-4)
        np.testing.assert_allclose(A @ axes.T @ axes, A, atol=1e-3)


@pytest.mark.parametrize("cosine", [False, True])
def test_sampled_rows_find_their_exact_neighbors(cosine):
    X = sheet(n=700, d=30)
    X = X / np.linalg.norm(X, axis=1, keepdims=True) if cosine else X
    sample = np.array([0, 17, 400, 699])
    metric = "cosine" if cosine else "euclidean"
    exact = neighbors.neighbors(X, 9, metric=metric, method="exact")
    for form in (X, csr_array(X)):
        with lowdim.compute(n_jobs=2):
            indices, distances = nearest_of_sample(form, sample, 9, cosine)
        assert np.array_equal(indices, exact.indices[sample])
        np.testing.assert_allclose(distances, exact.distances[sample], rtol=1e-7, atol=1e-12)


def test_a_graph_says_how_it_was_made(tmp_path, eager):
    graph = neighbors.neighbors(sheet(), 5, method="approximate")
    assert f"recall about {graph.recall:.3f})" in repr(graph)
    graph.save(tmp_path / "graph.npz")
    assert NeighborGraph.load(tmp_path / "graph.npz").recall == graph.recall
    assert graph.take(3).recall == graph.subset(np.arange(50)).recall == graph.recall
