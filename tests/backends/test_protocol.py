"""Every operation of a backend against the reference, on one thread and on three.

The native backend is tested, and the PyTorch backend on the CPU in the operations that it has.
Tolerances are relative to the largest entry of the expected array: 2e-5 in float32 and 1e-10 in
float64 unless a test says why it needs another. Between numbers of threads all bits are equal.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, issparse, random_array

import lowdim
from lowdim.backends import backend
from lowdim.backends.native import Backend
from lowdim.backends.native.forces import StepSettings
from lowdim.backends.similarity import Similarity
from lowdim.backends.torch import index as torch_index
from lowdim.backends.torch.engine import Operation, TorchBackend
from lowdim.runtime.context import current

TOLERANCE = {np.dtype("float32"): 2e-5, np.dtype("float64"): 1e-10}
SIMILARITIES = [Similarity("gaussian"), Similarity(), Similarity("student", 3.0)]
# (n, dim, similarity): a map of the usual size with each similarity, others with one.
SMALLEST = [(1, 2, Similarity()), (2, 1, Similarity()), (3, 2, Similarity())]
LARGER = [(400, 2, similarity) for similarity in SIMILARITIES]
LARGER += [(400, 3, Similarity()), (60, 5, Similarity())]
TERMS = ("count", "equal", "product", "root", "overlap", "opposite", "ratio")
OPERATIONS = [name for name in dir(Backend) if not name.startswith("_")]


@pytest.fixture(autouse=True, params=["cpu", "torch:cpu"])
def device(request):
    with lowdim.compute(device=request.param):
        yield request.param


def on_device(name):
    """Skip the test if the backend does not have the operation, and so calls the native one."""
    if current().device == "torch:cpu" and not isinstance(vars(TorchBackend)[name], Operation):
        pytest.skip(f"{name} is native")


def arrays_of(value):
    """All arrays of a result, in order; a CSR matrix as its three parts."""
    if issparse(value):
        value.sort_indices()
        return [value.indptr, value.indices, value.data]
    if isinstance(value, tuple | list):
        return [array for part in value for array in arrays_of(part)]
    return [] if value is None else [np.asarray(value)]


def outcome(operation, args, kwargs):
    """What an operation returns, and its arguments as it leaves them."""
    args, kwargs = copy.deepcopy((args, kwargs))
    found = operation(*args, **kwargs)
    return arrays_of(found), [a for a in args if isinstance(a, np.ndarray)]


def same_bits(first, second):
    return all(
        a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(first, second, strict=True)
    )


def close(found, expected, tolerance):
    """Integers are equal, floats near, relative to the largest of them; infinities are equal."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        if a.dtype.kind != "f":
            np.testing.assert_array_equal(a, b)
            continue
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        size = np.abs(b[finite]).max(initial=0)
        np.testing.assert_allclose(a[finite], b[finite], rtol=0, atol=tolerance * (size or 1))
        assert a.ndim == 0 or a.dtype == b.dtype


def agree(reference, name, *args, tolerance=None, **kwargs):
    """The operation agrees with the reference, and with itself on three threads."""
    on_device(name)
    with lowdim.compute(n_jobs=1):
        one = outcome(getattr(backend(), name), args, kwargs)
    with lowdim.compute(n_jobs=3):
        three = outcome(getattr(backend(), name), args, kwargs)
    assert same_bits(one[0] + one[1], three[0] + three[1])
    expected = outcome(getattr(reference, name), args, kwargs)
    if tolerance is None:
        kinds = [a.dtype for a in args if hasattr(a, "dtype") and a.dtype.kind == "f"]
        tolerance = max(TOLERANCE[kind] for kind in kinds)
    close(one[0], expected[0], tolerance)
    close(one[1], expected[1], tolerance)
    return one[0]


def random_graph(n, dtype, seed=0, density=0.1, least=0.05):
    """A directed graph with weights in [least, 1] and some empty rows."""
    random = np.random.default_rng(seed)
    graph = random_array((n, n), density=density, rng=random, format="csr")
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.data = least + (1 - least) * graph.data
    return csr_array(graph.astype(dtype))


def points(n, d, dtype, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def lattice(n, d, dtype, seed=0):
    """Points with small integer coordinates: many ties and duplicates, all distances exact."""
    return np.random.default_rng(seed).integers(0, 4, size=(n, d)).astype(dtype)


# --- signatures -----------------------------------------------------------------------------------


def implementation(engine, name):
    """The function that does an operation, with the arguments of the operation."""
    operation = vars(TorchBackend)[name] if isinstance(engine, TorchBackend) else None
    if isinstance(operation, Operation):
        return functools.partial(operation.function, engine.device)
    return getattr(engine, name)


def test_both_backends_have_the_protocols_signature(reference):
    def arguments(function):
        parameters = inspect.signature(function).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    wanted = {name: arguments(getattr(Backend, name)) for name in OPERATIONS}
    assert wanted
    for engine in (backend(), reference):
        assert {name: arguments(implementation(engine, name)) for name in OPERATIONS} == wanted


def test_description_names_the_hardware():
    known = ("portable", "avx2", "avx512")
    assert backend().description() in (known if current().device == "cpu" else ("PyTorch on cpu",))


@pytest.mark.parametrize("size", [0, 1, 3, 8, 31, 32, 100, 2**17 + 3])
def test_digest(reference, size):
    values = np.random.default_rng(size).normal(size=size)
    agree(reference, "digest", values, tolerance=0)
    octets = np.random.default_rng(size).integers(0, 256, size=size % 1000, dtype=np.uint8)
    agree(reference, "digest", octets, tolerance=0)


@pytest.mark.parametrize("term", sorted(TERMS))
def test_sum_shared(reference, dtype, term):
    A, B = (random_graph(40, dtype, seed, 0.3)[:n] for seed, n in ((0, 40), (1, 23)))
    A.data, B.data = np.ceil(4 * A.data) / 4, np.ceil(4 * B.data) / 4  # some are equal
    agree(reference, "sum_shared", A.astype(dtype), B.astype(dtype), term)
    assert backend().sum_shared(A, csr_array((23, 40), dtype=dtype), term).sum() == 0


# --- products -------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1, 2, 16, 17])
@pytest.mark.parametrize("rows", [1, 3, 1100])
def test_matmul(reference, dtype, rows, columns):
    A, V = points(rows, 70, dtype), points(70, columns, dtype, 1)
    agree(reference, "matmul", A, V)
    agree(reference, "matmul", A, V, squared=True)
    agree(reference, "matmul", np.asfortranarray(A), V)
    agree(reference, "matmul", A.T.copy().T, V)


@pytest.mark.parametrize("columns", [1, 2, 11, 40])
@pytest.mark.parametrize("n", [1, 2, 3, 700])
def test_spmm(reference, dtype, n, columns):
    A = random_graph(n, dtype, density=0.005 if n > 3 else 0.5)[: max(1, n - 1)]
    assert n < 700 or 0 < np.count_nonzero(np.diff(A.indptr) == 0) < n // 2
    agree(reference, "spmm", A, points(n, columns, dtype))


def test_spmm_scaled_and_shifted(reference, dtype):
    A, V, W = random_graph(300, dtype), points(300, 11, dtype), points(300, 11, dtype, 1)
    agree(reference, "spmm", A, V, scale=-2.0, shift=0.5)
    agree(reference, "spmm", A, V, scale=-2.0, shift=0.5, before=W)
    expected, written = backend().spmm(A, V, before=W), W.copy()
    assert backend().spmm(A, V, before=written, out=written) is written
    np.testing.assert_array_equal(written, expected)


def test_spmm_of_empty_rows_is_zero(reference, dtype):
    A = csr_array(([2.0], ([3], [1])), shape=(6, 4)).astype(dtype)
    (found,) = agree(reference, "spmm", A, points(4, 3, dtype))
    assert not found[[0, 1, 2, 4, 5]].any()


@pytest.mark.parametrize(("m", "n", "d"), [(1, 1, 1), (2, 3, 5), (7, 70, 33), (9, 1100, 100)])
def test_squared_distances(reference, dtype, m, n, d):
    P = points(n, d, dtype)
    agree(reference, "squared_distances", points(m, d, dtype, 1), P)
    (own,) = agree(reference, "squared_distances", P[:m], P)
    assert not np.diagonal(own).any()
    far = P + P.dtype.type(1000)  # differences do not cancel
    agree(reference, "squared_distances", far[:m], far)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (70, 5), (1100, 3)])
def test_distance_matrix(reference, dtype, n, d):
    X = points(n, d, dtype)
    X[n // 2 :: 7] = X[0]  # equal rows are at distance 0
    (found,) = agree(reference, "distance_matrix", X)
    np.testing.assert_array_equal(found, found.T)
    assert not found[0, n // 2 :: 7].any()


def test_scatter(reference, dtype):
    X = points(2500, 30, dtype) + np.asarray(3, dtype)
    agree(reference, "scatter", X, X[:100].mean(axis=0))


@pytest.mark.parametrize("n", [0, 1, 2500])
def test_project(reference, dtype, n):
    X = points(n, 30, dtype) + np.asarray(3, dtype)
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 3)))[0].T.astype(dtype)
    agree(reference, "project", X, np.full(30, 3.5), axes)


@pytest.mark.parametrize("sizes", [(60,), (60, 700, 200)])
def test_smooth_modes(reference, sizes):
    """The eigenvectors to a few digits: the angle to the space of the true ones is small."""
    graphs = []
    for n in sizes:
        X = np.random.default_rng(n).uniform(size=(n, 2)) * (1, 0.3)
        graphs.append(lowdim.neighbors(X, 8).adjacency())
        graphs[-1].data[:] = 1
    found, true = (engine.smooth_modes(graphs, 2, 0) for engine in (backend(), reference))
    again = backend().smooth_modes(graphs, 2, 0)
    assert len(found) == len(sizes)
    for graph, one, same, other in zip(graphs, found, again, true, strict=True):
        roots = np.sqrt(graph.sum(axis=1))[:, None]
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, same)
        np.testing.assert_allclose((roots * one).T @ (roots * one), np.eye(2), atol=1e-4)
        assert np.linalg.svd((roots * other).T @ (roots * one))[1].min() > 0.99


@pytest.mark.parametrize("shape", [(1,), (3, 2), (700, 900), (5, 3, 2)])
def test_extremes(reference, dtype, shape):
    A = np.random.default_rng(0).normal(size=shape).astype(dtype)
    agree(reference, "extremes", A, tolerance=0)
    A.flat[A.size // 2] = np.nan
    assert np.isnan(backend().extremes(A)).all()
    A.flat[A.size // 2] = -np.inf
    agree(reference, "extremes", A, tolerance=0)
    agree(reference, "extremes", A.T, tolerance=0)
    agree(reference, "extremes", A[::2], tolerance=0)


@pytest.mark.parametrize("n", [1, 2, 300, 700])
def test_asymmetry(reference, dtype, n):
    D = points(n, n, dtype)
    agree(reference, "asymmetry", D, tolerance=0)
    assert backend().asymmetry(np.minimum(D, D.T)) == 0


def test_stable_order(reference, dtype):
    for values in (lattice(1000, 1, dtype)[:, 0], points(1000, 2, dtype)[:, 1], np.array([])):
        agree(reference, "stable_order", values, tolerance=0)
    agree(reference, "stable_order", lattice(1000, 1, np.int32)[:, 0], tolerance=0)


@pytest.mark.parametrize("sparse", [False, True])
def test_group_sums(reference, dtype, sparse):
    X = points(500, 7, dtype)
    groups = np.random.default_rng(0).integers(0, 6, 500).astype(np.int32)
    groups[groups == 3] = 2  # a group without rows
    agree(reference, "group_sums", csr_array(X) if sparse else X, groups, 6)


@pytest.mark.parametrize("density", [0.001, 0.003, 0.02])
def test_components(reference, density):
    for graph in (random_graph(400, "float32", 0, density), csr_array((5, 5)), csr_array((0, 0))):
        agree(reference, "components", graph, tolerance=0)


# --- nearest neighbours ---------------------------------------------------------------------------


def neighbors_agree(reference, name, rows, queries, args, cosine):
    """The k nearest by distance; where distances tie up to rounding, either neighbour will do."""
    on_device(name)
    with lowdim.compute(n_jobs=1):
        ids, distances = getattr(backend(), name)(*args)
    with lowdim.compute(n_jobs=3):
        assert same_bits(getattr(backend(), name)(*args), (ids, distances))
    expected = getattr(reference, name)(*args)
    tolerance = TOLERANCE[distances.dtype]
    close([distances], [expected[1]], tolerance)
    assert ids.dtype == np.int32
    in_order = np.lexsort((ids, distances), axis=1)
    np.testing.assert_array_equal(in_order, np.tile(np.arange(ids.shape[1]), (len(ids), 1)))
    assert all(len(set(row)) == len(row) for row in ids.tolist())
    true = reference._distances(queries, rows, cosine, distances.dtype)
    close([np.take_along_axis(true, ids, axis=1)], [expected[1]], tolerance)
    return ids, distances


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n", "d", "k"), [(2, 3, 1), (3, 1, 2), (20, 5, 19), (300, 20, 7)])
def test_nearest(reference, dtype, n, d, k, sparse, cosine):
    X = points(n, d, dtype)
    if sparse:
        X[np.random.default_rng(1).random(X.shape) < 0.6] = 0
    args = (csr_array(X) if sparse else X, k, cosine)
    ids, _ = neighbors_agree(reference, "nearest", X, X, args, cosine)
    assert not (ids == np.arange(n)[:, None]).any()


@pytest.mark.parametrize("sparse", [False, True])
def test_nearest_among_ties_and_duplicates(reference, dtype, sparse):
    """Which of many tied objects are found is open, but they are ordered by (distance, index)."""
    X = lattice(300, 3, dtype)
    assert len(np.unique(X, axis=0)) < 70
    args = (csr_array(X) if sparse else X, 20, False)
    neighbors_agree(reference, "nearest", X, X, args, False)


def test_nearest_of_fewer_ties_than_are_looked_at_is_ordered_by_index(reference, dtype):
    X = np.repeat(lattice(10, 30, dtype), 4, axis=0)
    agree(reference, "nearest", X, 3, False)
    agree(reference, "nearest_to", X, X, 4, False)


def test_nearest_of_points_far_from_the_mean(reference, dtype):
    """Inner products lose the digits that tell near points apart; the search must notice."""
    X = points(300, 4, dtype) * np.asarray(1e-3, dtype)
    X[150:] += np.asarray(100, dtype)
    neighbors_agree(reference, "nearest", X, X, (X, 5, False), False)


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize(("n", "m", "k"), [(1, 1, 1), (2, 3, 2), (3, 1, 1), (300, 700, 9)])
def test_nearest_to(reference, dtype, n, m, k, cosine):
    P, Q = points(n, 6, dtype), points(m, 6, dtype, 1)
    Q[0] = P[0]
    neighbors_agree(reference, "nearest_to", P, Q, (P, Q, k, cosine), cosine)


def test_candidates_of_numbered_points(reference, dtype):
    P, random = lattice(60, 5, dtype), np.random.default_rng(0)
    candidates = np.argsort(random.uniform(size=(300, 60)), axis=1)[:, :20].astype(np.int32)
    candidates[::7, 3] = -1
    numbers = random.integers(60, size=300)
    agree(reference, "rank_candidates", P, numbers, candidates, 9, "euclidean")


@pytest.mark.parametrize(
    "metric",
    [
        ("euclidean",),
        ("cityblock",),
        ("chebyshev",),
        ("canberra",),
        ("braycurtis",),
        ("minkowski", 3.0),
        ("minkowski", 1.5),
        ("minkowski", 60.0),
    ],
    ids=str,
)
def test_candidates_are_ranked_by_a_metric(reference, dtype, metric):
    P, Q = np.abs(lattice(60, 5, dtype)) + 1, np.abs(lattice(300, 5, dtype, 1)) + 1
    random = np.random.default_rng(0)
    candidates = np.argsort(random.uniform(size=(300, 60)), axis=1)[:, :20].astype(np.int32)
    candidates[::7, 3] = -1
    for k in (1, 9):
        found = backend().rank_candidates(P, Q, candidates, k, *metric)
        expected = reference.rank_candidates(P, Q, candidates, k, *metric)
        np.testing.assert_allclose(found[1], expected[1], rtol=16 * np.finfo(dtype).eps)
        if metric[0] in ("euclidean", "cityblock", "chebyshev"):  # whole numbers: ties are exact
            np.testing.assert_array_equal(found[0], expected[0])


def test_nearest_to_among_ties_counts_equal_points(reference, dtype):
    P, Q = lattice(300, 3, dtype), lattice(40, 3, dtype, 1)
    _, distances = neighbors_agree(reference, "nearest_to", P, Q, (P, Q, 11, False), False)
    assert (distances[:, 0] == 0).any()


def test_cosine_counts_a_zero_vector_as_at_right_angles(reference, dtype):
    X = np.array([[1, 0], [0, 0], [2, 0], [0, 0], [0, 3]], dtype)
    agree(reference, "nearest", X, 4, True)
    agree(reference, "nearest", csr_array(X), 4, True)
    agree(reference, "nearest_to", X, X, 5, True)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (300, 300)])
def test_pairs_within(reference, dtype, n, m):
    P, Q = lattice(n, 3, dtype), lattice(m, 3, dtype, 1)
    reach = np.random.default_rng(2).integers(0, 3, size=n).astype(dtype)
    agree(reference, "pairs_within", P, Q, reach)
    agree(reference, "pairs_within", P, Q, np.full(n, -1, dtype))
    agree(reference, "pairs_within", P, P, np.zeros(n, dtype))


@pytest.mark.parametrize("cosine", [False, True])
def test_an_index_finds_the_recall_that_it_promises(reference, dtype, cosine, monkeypatch):
    """Nothing is promised of single neighbours, so recall is what is compared."""
    monkeypatch.setattr(torch_index, "EXACT_UP_TO", 0.0)  # seconds: small data are enough here
    monkeypatch.setattr(torch_index, "ROWS_PER_CELL", 60)
    monkeypatch.setattr(torch_index, "SAMPLE_ROWS", 256)
    centers = points(60, 8, dtype)
    X = (np.repeat(centers, 100, axis=0) + 0.05 * points(6000, 8, dtype, 1)).astype(dtype)
    built = []
    for n_jobs in (1, 3):
        with lowdim.compute(n_jobs=n_jobs):
            index = backend().build_index(X, 10, cosine, 0.95, np.random.default_rng(0))
            assert index is not None
            built.append((*index.neighbors(), *index.query(X[:50], 10), index.recall))
    assert same_bits(arrays_of(built[0]), arrays_of(built[1]))
    if cosine:
        np.testing.assert_array_equal(index.query(np.zeros((1, 8), dtype), 10)[1], 1)
    ids, distances, asked, _, recall = built[0]
    some = np.arange(0, 6000, 20)
    true = reference._distances(X[some], X, cosine, X.dtype)
    true[np.arange(len(some)), some] = np.inf
    bound = np.sort(true, axis=1)[:, 9:10] * (1 + 1e-5)
    found = (np.take_along_axis(true, ids[some], axis=1) <= bound).mean()
    assert recall >= 0.95
    assert found >= 0.94
    true = np.take_along_axis(true, ids[some], axis=1)
    np.testing.assert_allclose(distances[some], true, rtol=1e-5, atol=5e-7)  # 1 - cos rounds so
    assert (asked[:, 0] == np.arange(50)).mean() > 0.9


def test_no_index_where_the_data_has_no_structure():
    X = points(2500, 300, "float32")
    assert backend().build_index(X, 10, False, 0.99, np.random.default_rng(0)) is None


def test_exact_search_seconds_grow_with_the_work():
    small, large = (backend().exact_search_seconds(np.empty((n, 50))) for n in (1000, 10_000))
    assert 0 < small < large
    with lowdim.compute(n_jobs=1):
        one = backend().exact_search_seconds(np.empty((1000, 50)))
    with lowdim.compute(n_jobs=3):
        assert backend().exact_search_seconds(np.empty((1000, 50))) == one / 3


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("n", "m", "k"), [(1, 3, 2), (2, 2, 1), (3, 3, 2), (50, 70, 9), (4, 3, 5)])
def test_smallest(reference, dtype, n, m, k, own):
    values = lattice(n, m, dtype)
    agree(reference, "smallest", values, k, own=own)
    agree(reference, "smallest", points(n, m, dtype), k, own=own)


def test_smallest_with_infinities_and_unknown_entries(reference, dtype):
    values = lattice(20, 9, dtype)
    values[::3, 2], values[::4, 5] = np.inf, np.nan
    agree(reference, "smallest", values, 4)
    agree(reference, "smallest", values, 9)


def test_heaps(reference, dtype):
    tile, other = lattice(5, 7, dtype), lattice(3, 8, dtype, 1)
    for engine in (backend(), reference):
        assert engine.build_heaps(4, 2, dtype).incomplete_rows().tolist() == [0, 1, 2, 3]

    def filled(engine):
        heaps = engine.build_heaps(8, 4, dtype)
        heaps.offer(tile, (0, 0), rows=slice(0, 5))
        heaps.offer(other, (5, 0), rows=slice(5, 8))
        heaps.offer(other, (None, 100), rows=np.array([6, 0, 3]))
        heaps.offer(tile, (1, 0), rows=slice(0, 7), columns=True)
        yield heaps
        heaps.clear(np.array([1, 4]))
        yield heaps
        heaps.offer(tile[:1], (None, 30), rows=np.array([4]))
        yield heaps

    for found, expected in zip(filled(backend()), filled(reference), strict=True):
        close(found.neighbors(), expected.neighbors(), 0)
        np.testing.assert_array_equal(found.incomplete_rows(), expected.incomplete_rows())


@pytest.mark.parametrize(
    ("n", "k", "grid"), [(2, 1, [1]), (3, 2, [1, 2]), (60, 5, [1, 3, 10, 59]), (900, 30, [7, 500])]
)
@pytest.mark.parametrize("kind", [points, lattice])
def test_compare_orders(reference, dtype, n, k, grid, kind):
    own = np.random.default_rng(0).permutation(n)[:40].astype(np.int32)
    X, Y = np.abs(kind(n, 3, dtype)), np.abs(kind(n, 2, dtype, 1))
    first, second = (reference.squared_distances(Z[own], Z) for Z in (X, Y))
    agree(reference, "compare_orders", first, second, own, k, np.array(grid, np.int32))


# --- graphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["union", "mutual", "mean", "half-sum"])
@pytest.mark.parametrize("n", [1, 2, 3, 60])
def test_symmetrize(reference, dtype, n, how):
    graph = random_graph(n, dtype, density=0.5 if n < 5 else 0.05)
    agree(reference, "symmetrize", graph, how, tolerance=0)


@pytest.mark.parametrize("how", ["union", "mutual", "mean", "half-sum"])
def test_symmetrize_keeps_stored_zeros_and_takes_rows_in_any_order(reference, dtype, how):
    parts = (np.array([0, 3, 0, 1]), np.array([2, 1, 1, 0]), np.array([0, 2, 2, 4]))
    graph = csr_array((parts[0].astype(dtype), parts[1], parts[2]), shape=(3, 3))
    assert graph.nnz == 4
    agree(reference, "symmetrize", graph, how, tolerance=0)


@pytest.mark.parametrize("mix", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 60])
def test_fuzzy_union(reference, dtype, n, mix):
    graph = random_graph(n, dtype, density=0.5 if n < 5 else 0.1)
    agree(reference, "fuzzy_union", graph, mix)
    graph.data[::5] = 0  # no edge
    agree(reference, "fuzzy_union", graph, mix)


@pytest.mark.parametrize("n", [1, 2, 3, 120])
def test_shortest_paths(reference, dtype, n):
    """Bit for bit: both find the least of the sums that are rounded along the path."""
    graph = random_graph(n, dtype, density=0.04 if n > 3 else 0.5)
    sources = np.random.default_rng(0).permutation(n)[: max(1, n // 2)]
    (found,) = agree(reference, "shortest_paths", graph, sources, tolerance=0)
    assert n < 100 or np.isinf(found).any()
    agree(reference, "shortest_paths", graph, np.repeat(sources, 2), tolerance=0)


def test_shortest_paths_with_arcs_of_length_zero_and_parallel_arcs(reference, dtype):
    graph = random_graph(60, dtype, density=0.05)
    graph.data[::3] = 0
    agree(reference, "shortest_paths", graph, np.arange(60), tolerance=0)
    parallel = csr_array((np.array([3, 1, 2], dtype), [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    (found,) = agree(reference, "shortest_paths", parallel, np.arange(2), tolerance=0)
    np.testing.assert_array_equal(found, [[0, 1], [2, 0]])


def test_shortest_paths_of_an_undirected_graph_are_symmetric(reference, dtype):
    graph = reference.symmetrize(random_graph(60, dtype, density=0.05), "union")
    (found,) = agree(reference, "shortest_paths", graph, np.arange(60), symmetric=True)
    np.testing.assert_array_equal(found, found.T)


def test_split(reference, dtype):
    """A vertex of no group is left out, and vertices of a group keep their order."""
    random = np.random.default_rng(0)
    blocks = [reference.symmetrize(random_graph(n, dtype, n, 0.3), "union") for n in (9, 40, 4, 1)]
    groups = np.repeat([1, 0, -1, 2], [9, 40, 4, 1]).astype(np.int32)
    mixed = random.permutation(len(groups))
    graph = csr_array(block_diag(blocks))[mixed][:, mixed]
    found, expected = (engine.split(graph, groups[mixed], 3) for engine in (backend(), reference))
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one.toarray(), other.toarray())


@pytest.mark.parametrize("n", [1, 2, 3, 300])
def test_floyd_warshall(reference, dtype, n):
    graph = random_graph(n, dtype, density=0.5 if n < 5 else 0.02)
    lengths = np.full((n, n), np.inf, dtype)
    stored = graph.tocoo()
    lengths[stored.coords] = stored.data
    np.fill_diagonal(lengths, 0)
    agree(reference, "floyd_warshall", lengths, tolerance=0)


def test_level_structure(reference):
    n = 30
    path = csr_array(np.eye(n, k=1) + np.eye(n, k=-1))
    star = np.zeros((n, n))
    star[0, 1:] = star[1:, 0] = 1
    assert backend().level_structure(path) == (n, 1)
    assert backend().level_structure(csr_array(star)) == (3, n - 2)
    assert backend().level_structure(csr_array((0, 0))) == (0, 0)
    for seed, size in enumerate((1, 2, 3, 80, 200)):
        graph = reference.symmetrize(random_graph(size, "float64", seed, 0.03), "union")
        agree(reference, "level_structure", graph, tolerance=0)
    for limit in (0, 1, 2, 5, 40, 200):
        assert backend().level_structure(path, limit)[1] == 1
        # A wide graph is recognised at the limit, even if its levels were not all visited.
        widest = reference.level_structure(graph)[1]
        assert (backend().level_structure(graph, limit)[1] > limit) == (widest > limit)


# --- rows of neighbours ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k", "d"), [(1, 1, 3), (2, 3, 2), (3, 5, 9), (700, 8, 3)])
def test_barycentric_weights(reference, dtype, n, k, d):
    gaps = np.random.default_rng(0).normal(size=(n, k, d))
    grams = np.einsum("nkd,nld->nkl", gaps, gaps).astype(dtype)
    grams[0] = 0  # a point on all of its neighbours
    agree(reference, "barycentric_weights", grams, 1e-3)


@pytest.mark.parametrize(
    ("m", "d", "slack"), [(0, 3, 1.0), (1, 1, 1.0), (40, 5, 0.3), (60, 17, 50.0)]
)
def test_bregman_projections(reference, m, d, slack):
    random = np.random.default_rng(0)
    gaps, signs = random.normal(size=(m, d)), np.where(np.arange(m) % 2, 1.0, -1.0)
    gaps[-1:] = 0  # a pair of equal objects
    multipliers, targets = random.uniform(0, 0.1, size=m), random.uniform(0.5, 2, size=m)
    agree(
        reference,
        "bregman_projections",
        gaps,
        signs,
        slack,
        multipliers,
        targets,
        np.eye(d),
        tolerance=1e-9,  # the errors of all projections add up
    )


def ragged(lengths, dtype, seed=0):
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    values = np.random.default_rng(seed).gamma(2.0, size=indptr[-1])
    for begin, end in itertools.pairwise(indptr):
        values[begin:end].sort()
    return indptr, values.astype(dtype)


@pytest.mark.parametrize(
    ("n", "scale"), [(1, 1.0), (2, 1.0), (3, 1.0), (300, 1.0), (60, 1e-6), (60, 1e6)]
)
def test_perplexity_affinities(reference, dtype, n, scale):
    """The entropy is met to 1e-5 in float32 and 1e-10 in float64, the probabilities to as much."""
    lengths = np.random.default_rng(1).integers(0, 40, size=n)
    indptr, squared = ragged(lengths, dtype)
    tolerance = 2e-4 if dtype == "float32" else 1e-8
    squared *= np.asarray(scale, dtype)
    arguments = (indptr, squared, 9.5)
    agree(reference, "perplexity_affinities", *arguments, squared=True, tolerance=tolerance)
    arguments = (indptr, np.sqrt(squared), 9.5)
    agree(reference, "perplexity_affinities", *arguments, tolerance=tolerance)


@pytest.mark.parametrize("n", [2, 3, 400])
def test_joint_probabilities(reference, dtype, n):
    graph = random_graph(n, dtype, density=0.5 if n < 5 else 0.1)
    graph.data[1::7] = 0
    agree(reference, "joint_probabilities", graph)
    found = backend().joint_probabilities(graph)
    assert found.sum(dtype=np.float64) == pytest.approx(1, rel=1e-5)
    np.testing.assert_array_equal(found.toarray(), found.toarray().T)


@pytest.mark.parametrize("n", [0, 1, 10, 200_000])
def test_negative_entropy(reference, dtype, n):
    """Summed in double precision: single precision would lose three digits of so many entries."""
    p = np.random.default_rng(0).exponential(size=n).astype(dtype)
    p /= max(p.sum(dtype=np.float64), 1)
    p[::5] = 0
    agree(reference, "negative_entropy", p, tolerance=1e-6 if dtype == "float32" else 1e-12)


def test_perplexity_affinities_of_rows_without_an_answer(reference, dtype):
    """Too few distances, equal distances, too many that are least, and none at all."""
    rows = [[1, 2], [3, 3, 3, 3, 3], [], [1, 1, 1, 1, 5], [7], [2, 2, 9, 9, 9, 9]]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    squared = np.array([value for row in rows for value in row], dtype)
    with lowdim.compute(n_jobs=3):
        p, beta = backend().perplexity_affinities(indptr, squared, 3.0, squared=True)
    expected, expected_beta = reference.perplexity_affinities(indptr, squared, 3.0, squared=True)
    close([p], [expected], 1e-4)
    np.testing.assert_allclose(p[indptr[3] : indptr[4]], [0.25] * 4 + [0], atol=1e-6)
    np.testing.assert_array_equal(beta == 0, expected_beta == 0)


@pytest.mark.parametrize(
    ("n", "connectivity"),
    [(1, 1.0), (2, 1.0), (3, 1.7), (600, 1.0), *((120, c) for c in (0.0, 0.5, 1.7, 3.0))],
)
def test_memberships(reference, dtype, n, connectivity):
    lengths = np.random.default_rng(1).integers(0, 25, size=n)
    indptr, distances = ragged(lengths, dtype)
    if n > 100:
        for i in range(0, n, 7):  # duplicates, and infinities at the end
            first, last = indptr[i], indptr[i + 1]
            distances[first : first + 3] = 0
            distances[max(first, last - 2) : last] = np.inf
    tolerance = 2e-5 if dtype == "float32" else 1e-7  # the width is found to 1e-9 of its target
    with np.errstate(over="ignore"):
        found = agree(
            reference, "memberships", indptr, distances, 3.0, connectivity, tolerance=tolerance
        )
    assert n < 100 or (found[0] == 0).any()


# --- forces and layouts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "dim", "similarity"), [*SMALLEST, (600, 2, Similarity()), *LARGER], ids=str
)
def test_attraction(reference, dtype, n, dim, similarity):
    P, Y = random_graph(n, dtype, density=0.5 if n < 5 else 0.1), points(n, dim, dtype)
    order = np.random.default_rng(0).permutation(n).astype(np.int32)
    forces = [engine.attraction(P, similarity) for engine in (backend(), reference)]
    for _ in range(2):
        for loss in (False, True):
            found, expected = (arrays_of(force(Y, loss=loss)) for force in forces)
            close(found, expected, TOLERANCE[Y.dtype])
        for force in forces:
            force.renumber(order)


@pytest.mark.parametrize("masses", [False, True])
@pytest.mark.parametrize(("n", "dim", "similarity"), [*SMALLEST, *LARGER], ids=str)
def test_exact_repulsion(reference, dtype, n, dim, masses, similarity):
    Y = points(n, dim, dtype)
    Y[-1] = Y[0]  # in one place
    mass = np.random.default_rng(1).random(n).astype(dtype) if masses else None
    expected = reference.build_repulsion("exact", similarity, n, dim, 0.5)(Y, mass)
    found = []
    for n_jobs in (1, 3):
        with lowdim.compute(n_jobs=n_jobs):
            found.append(backend().build_repulsion("exact", similarity, n, dim, 0.5)(Y, mass))
    assert same_bits(*found)
    close(found[0], expected, TOLERANCE[Y.dtype])
    close(backend().build_repulsion("auto", similarity, n, dim, 0.5)(Y, mass), found[0], 0)


@pytest.mark.parametrize(
    ("n", "dim", "similarity"),
    [
        *((n, dim, Similarity()) for n in (2, 3, 1500) for dim in (1, 2, 3)),
        (1500, 2, SIMILARITIES[0]),
        (1500, 2, SIMILARITIES[2]),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["barnes_hut", "fft"])
def test_approximate_repulsion(reference, dtype, n, method, dim, similarity):
    """Forces within 1e-3 in the norm, which is what an angle of 0.5 and the grid promise."""
    if (method, dim) == ("fft", 3):
        pytest.skip("a grid has one or two dimensions")
    Y = 3 * points(n, dim, dtype)
    mass = np.random.default_rng(1).random(n).astype(dtype)
    expected = reference.build_repulsion(method, similarity, n, dim, 0.5)(Y, mass)
    found = []
    for n_jobs in (1, 3):
        with lowdim.compute(n_jobs=n_jobs):
            found.append(backend().build_repulsion(method, similarity, n, dim, 0.5)(Y, mass))
    assert same_bits(*found)
    for a, b in zip(found[0], expected, strict=True):
        assert np.linalg.norm(a - b) <= 1e-3 * np.linalg.norm(b)


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=str)
@pytest.mark.parametrize(("n", "tolerance"), [(1, None), (3, None), (300, None), (4500, 1e-3)])
def test_frozen_field(reference, dtype, n, tolerance, similarity):
    """A field on a grid takes over for large maps, within 1e-3 of the largest force."""
    X = 3 * points(n, 2, dtype)
    Y = np.concatenate([X[:1], 3 * points(100, 2, dtype, 1)])
    Y = np.clip(Y, X.min(axis=0) - 1, X.max(axis=0) + 1)
    found = []
    for n_jobs in (1, 3):
        with lowdim.compute(n_jobs=n_jobs):
            found.append(backend().frozen_field(X, similarity, 1.0)(Y))
    assert same_bits(*found)
    expected = reference.frozen_field(X, similarity, 1.0)(Y)
    close(found[0], expected, tolerance or TOLERANCE[X.dtype])


@pytest.mark.parametrize(("n", "dim"), [(1, 2), (2, 1), (3, 3), (20_000, 2)])
def test_momentum_step(reference, dtype, n, dim):
    gradient, Y, velocity = (points(n, dim, dtype, seed) for seed in range(3))
    gains = np.random.default_rng(4).uniform(0.01, 2, size=(n, dim)).astype(dtype)
    settings = StepSettings(rate=2.0, momentum=0.8, min_gain=0.01, max_step=3.0)
    agree(reference, "momentum_step", gradient, Y, velocity, gains, settings)


@pytest.mark.parametrize(("m", "n"), [(0, 3), (1, 1), (1, 20), (4, 9), (10, 70)])
def test_quasi_newton_direction(reference, m, n):
    gradient, steps = points(1, n, "float64")[0], points(m, n, "float64", 1)
    curvature = np.random.default_rng(2).uniform(0.5, 2, n)  # of a convex quadratic
    agree(reference, "quasi_newton_direction", gradient, steps, steps * curvature)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 500])
def test_curve_order(reference, dtype, n, dim):
    agree(reference, "curve_order", points(n, dim, dtype), tolerance=0)
    agree(reference, "curve_order", lattice(n, dim, dtype), tolerance=0)


CURVE = (1.6, 0.9)


def layout_agrees(reference, graph, rank, Y, tolerance, **settings):
    """Both backends move Y alike; on three threads, the same bits."""
    results = []
    for engine, n_jobs in ((backend(), 1), (backend(), 3), (reference, 1)):
        with lowdim.compute(n_jobs=n_jobs):
            arcs = engine.layout_arcs(graph, rank)
            at, velocity = Y.copy(), 0.1 * np.ones_like(Y)
            loss = engine.layout_epochs(arcs, at, velocity, **settings)
        results.append([np.asarray(loss), at, velocity])
    assert same_bits(results[0], results[1])
    close(results[0], results[2], tolerance)
    assert not np.array_equal(results[0][1], Y) or not graph.nnz


# Powers are good to 1e-7 in both types (see layout.inc), and steps add up.
LAYOUT_TOLERANCE = {"float32": 5e-5, "float64": 2e-6}


@pytest.mark.parametrize("n_negatives", [0, 5])
@pytest.mark.parametrize(
    ("n", "dim", "loss"),
    [(1, 2, True), (2, 2, True), (3, 1, True), (30, 4, True), (30, 4, False), (700, 2, True)],
)
@pytest.mark.parametrize("curve", [CURVE, (0.3, 1.0, 0.7)])
def test_layout_epochs(reference, dtype, curve, n, dim, n_negatives, loss):
    graph = reference.symmetrize(random_graph(n, dtype, density=0.5 if n < 5 else 0.02), "union")
    rank = np.random.default_rng(3).permutation(n).astype(np.int32)
    settings = {
        "curve": curve,
        "rate": 1.0,
        "momentum": 0.8,
        "repulsion": 5.0,
        "n_negatives": n_negatives,
        "epochs": (3, 6, 20),
        "seed": 4_000_000_000,
        "loss": loss,
    }
    Y = 3 * points(n, dim, dtype)
    layout_agrees(reference, graph, rank, Y, LAYOUT_TOLERANCE[dtype], **settings)


def test_layout_epochs_from_one_place(reference, dtype):
    graph = reference.symmetrize(random_graph(40, dtype), "union")
    Y = np.zeros((40, 2), dtype)
    Y[20:] = 1e-4
    settings = {"curve": CURVE, "rate": 1.0, "momentum": 0.0, "repulsion": 1.0, "n_negatives": 0}
    layout_agrees(
        reference, graph, np.arange(40, dtype=np.int32), Y, LAYOUT_TOLERANCE[dtype],
        epochs=(0, 1, 4), seed=0, loss=True, **settings,
    )  # fmt: skip


@pytest.mark.parametrize("n_negatives", [0, 5])
def test_layout_epochs_among_fixed_points(reference, dtype, n_negatives):
    fixed = points(80, 2, dtype)
    graph = csr_array(random_graph(80, dtype, density=0.05)[:50])
    settings = {
        "curve": CURVE,
        "rate": 0.7,
        "momentum": 0.0,
        "repulsion": 2.0,
        "n_negatives": n_negatives,
    }
    layout_agrees(
        reference, graph, None, points(50, 2, dtype, 1), LAYOUT_TOLERANCE[dtype],
        epochs=(0, 3, 30), seed=7, fixed=fixed, **settings,
    )  # fmt: skip


def test_layout_epochs_with_density(reference, dtype):
    n = 600
    graph = reference.symmetrize(random_graph(n, dtype, density=0.02), "union")
    random = np.random.default_rng(0)
    density = tuple(random.normal(size=n).astype(dtype) for _ in range(2))
    settings = {"curve": CURVE, "rate": 1.0, "momentum": 0.5, "repulsion": 5.0, "n_negatives": 3}
    layout_agrees(
        reference, graph, random.permutation(n).astype(np.int32), points(n, 2, dtype),
        LAYOUT_TOLERANCE[dtype], epochs=(0, 2, 9), seed=1, density=density, loss=True, **settings,
    )  # fmt: skip


@pytest.mark.parametrize("n_negatives", [0, 4])
@pytest.mark.parametrize("loss", [False, True])
def test_layout_epochs_with_masses(reference, dtype, n_negatives, loss):
    n = 150
    graph = reference.symmetrize(random_graph(n, dtype, density=0.04), "union")
    random = np.random.default_rng(0)
    settings = {"curve": CURVE, "rate": 1.0, "momentum": 0.5, "repulsion": 5.0, "seed": 1}
    layout_agrees(
        reference, graph, random.permutation(n).astype(np.int32), points(n, 2, dtype),
        LAYOUT_TOLERANCE[dtype], epochs=(0, 2, 9), n_negatives=n_negatives, loss=loss,
        masses=random.uniform(0.1, 3, n).astype(dtype), **settings,
    )  # fmt: skip


def test_targets_are_drawn_evenly(reference):
    """The random numbers that both backends share are worth the name."""
    vertices = np.arange(2000)
    targets = np.concatenate(
        [reference.drawn_targets(vertices, 10, draw, 123, True) for draw in range(20)]
    )
    counts = np.bincount(targets, minlength=10)
    assert ((counts - 4000) ** 2 / 4000).sum() < 27.9  # chi-squared, 9 degrees, p = 0.001
    together = reference.drawn_targets(vertices, 10, 0, 123, False)
    assert len(set(together.tolist())) == 1


@pytest.mark.parametrize(("n", "dim"), [(1, 2), (2, 2), (3, 1), (30, 4), (700, 2)])
def test_pair_epochs(reference, dtype, n, dim):
    """Three kinds of pairs, of which one has no weight at first, and one a reach."""
    kinds = [
        reference.symmetrize(random_graph(n, dtype, density=0.5 if n < 5 else density), "union")
        for density in (0.02, 0.01, 0.03)
    ]
    rank = np.random.default_rng(3).permutation(n).astype(np.int32)
    laws = np.array(
        [[[10, 2, 0], [1e4, 0, 0], [1, -1, 0]], [[10, 1, 5], [1e4, 300, 0], [1, -1, 0]]]
    )
    results = []
    for engine, n_jobs in ((backend(), 1), (backend(), 3), (reference, 1)):
        with lowdim.compute(n_jobs=n_jobs):
            arcs = [engine.layout_arcs(kind, rank) for kind in kinds]
            at, moments = 3 * points(n, dim, dtype), np.full((2, n, dim), 0.1, dtype)
            rates = np.array([0.3, 0.4])
            loss = engine.pair_epochs(arcs, at, (moments[0], moments[1]), laws=laws, rates=rates)
        results.append([np.asarray(loss), at, moments])
    assert same_bits(results[0], results[1])
    close(results[0], results[2], 5e-5 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize(("n", "dim"), [(2, 2), (3, 1), (30, 4), (700, 2)])
def test_triplet_epochs(reference, dtype, n, dim):
    random = np.random.default_rng(n)
    triplets = []
    for n_near, n_far in ((5, 4), (3, 1)):
        near = random.integers(n, size=(n_near, n)).astype(np.int32)
        shifts = random.integers(n, size=(n_near, n_far, -(-n // 16))).astype(np.int32)
        weights = random.uniform(-0.5, 1, size=(n_near, n_far, n)).astype(dtype)
        triplets.append((near, shifts, weights))
    settings = {"rate": 0.05, "momenta": np.array([0.5, 0.8]), "min_gain": 0.01, "max_step": 2.0}
    results = []
    for engine, n_jobs in ((backend(), 1), (backend(), 3), (reference, 1)):
        with lowdim.compute(n_jobs=n_jobs):
            at, velocity, gains = 3 * points(n, dim, dtype), *np.full((2, n, dim), 0.1, dtype)
            loss = engine.triplet_epochs(triplets, at, velocity, gains, **settings)
        results.append([np.asarray(loss), at, velocity, gains])
    assert same_bits(results[0], results[1])
    close(results[0], results[2], 5e-5 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize(("n", "width"), [(2, 1), (40, 3), (300, 7)])
def test_pair_arcs(reference, dtype, n, width):
    random = np.random.default_rng(n)
    partners = random.integers(-1, n, size=(n, width)).astype(np.int32)
    partners[partners == np.arange(n)[:, None]] = -1
    rank = random.permutation(n).astype(np.int32)
    laws, rates = np.array([[[10.0, 2.0, 0.0]] * 3] * 2), np.array([0.3, 0.4])
    results = []
    for engine in (backend(), reference):
        arcs = [engine.pair_arcs(partners, rank, np.dtype(dtype))] * 3
        at, moments = points(n, 2, dtype), np.zeros((2, n, 2), dtype)
        engine.pair_epochs(arcs, at, (moments[0], moments[1]), laws=laws, rates=rates)
        results.append([at, moments])
    close(results[0], results[1], 5e-5 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("labelled", [False, True])
def test_nearest_scaled(reference, dtype, labelled):
    random = np.random.default_rng(0)
    indices = np.array([random.permutation(50)[:9] for _ in range(30)], np.int32)
    distances = np.sort(random.integers(1, 5, size=(30, 9)), axis=1).astype(dtype)
    scales = random.choice([0.5, 1, 2], size=50).astype(dtype)
    other = random.random((30, 9)) < 0.4 if labelled else None
    problem = (indices, distances, scales[:30], scales, 4, other)
    found, expected = (one.nearest_scaled(*problem) for one in (backend(), reference))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("reach", [np.inf, 1.0])
def test_draw_others(reference, dtype, reach):
    on_device("draw_others")
    Y = points(60, 2, dtype)
    listed = np.random.default_rng(0).integers(-1, 60, size=(60, 5)).astype(np.int32)
    results = []
    for engine, n_jobs in ((backend(), 1), (backend(), 3), (reference, 1)):
        with lowdim.compute(n_jobs=n_jobs):
            drawn = np.full((60, 8), -1, np.int32)
            engine.draw_others(listed, drawn, seed=4_000_000_000, Y=Y, reach=reach)
            results.append(drawn)
    assert same_bits(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    assert (results[0] >= 0).all() or reach == 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 700])
def test_layout_radii(reference, dtype, n):
    graph = reference.symmetrize(random_graph(n, dtype, density=0.5 if n < 5 else 0.03), "union")
    rank = np.random.default_rng(3).permutation(n).astype(np.int32)
    Y = points(n, 2, dtype)
    found = []
    for n_jobs in (1, 3):
        with lowdim.compute(n_jobs=n_jobs):
            found.append(backend().layout_radii(backend().layout_arcs(graph, rank), Y, CURVE))
    assert same_bits(*found)
    expected = reference.layout_radii(reference.layout_arcs(graph, rank), Y, CURVE)
    close(found[0], expected, 2e-5 if dtype == "float32" else 1e-6)


# --- stress and divergence ------------------------------------------------------------------------


def dissimilarities(reference, n, dtype):
    """Distances with noise, two of the objects identical."""
    X = points(n, 5, "float64", 9)
    X[-1] = X[0]
    D = np.sqrt(reference.squared_distances(X, X))
    noise = np.random.default_rng(8).uniform(0.8, 1.2, size=D.shape)
    return (D * (noise + noise.T) / 2).astype(dtype)


@pytest.mark.parametrize(("n", "dim"), [(1, 2), (2, 1), (3, 2), (300, 2), (300, 3), (70, 5)])
def test_stress_gradient(reference, dtype, n, dim):
    D, X = dissimilarities(reference, n, dtype), points(n, dim, dtype)
    agree(reference, "stress_gradient", D, X)
    X[-1] = X[0]  # in one place, at a distance of zero or not
    agree(reference, "stress_gradient", D, X)
    tiny = np.asarray(1e-18, dtype)  # whose square underflows float32
    value, gradient = backend().stress_gradient(tiny * D, tiny * X)
    expected = reference.stress_gradient(tiny * D, tiny * X)
    close([np.asarray(value), gradient], [np.asarray(expected[0]), expected[1]], TOLERANCE[D.dtype])


@pytest.mark.parametrize(("floor", "epsilon"), [(0.0, 0.0), (0.5, 0.0), (0.0, 0.3), (0.2, 0.3)])
@pytest.mark.parametrize(("n", "dim"), [(1, 2), (2, 1), (3, 2), (300, 3)])
def test_sammon_gradient(reference, dtype, n, dim, floor, epsilon):
    """Coordinates are float64 whatever the dissimilarities are."""
    D, X = dissimilarities(reference, n, dtype), points(n, dim, "float64")
    mass = np.random.default_rng(1).uniform(1, 3, size=n)
    agree(reference, "sammon_gradient", D, X, mass, floor=floor, epsilon=epsilon, tolerance=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n", "dim", "m"), [(1, 2, 0), (2, 1, 1), (3, 2, 3), (50, 2, 20_000), (50, 4, 20_000)]
)
def test_pairs(reference, dtype, n, dim, m, weighted):
    random = np.random.default_rng(0)
    X = points(n, dim, dtype)
    X[-1] = X[0]
    first, second = (random.integers(0, n, size=m).astype(np.int32) for _ in range(2))
    (d,) = agree(reference, "pair_distances", first, second, X)
    targets = random.random(m).astype(dtype)
    weights = random.random(m).astype(dtype) if weighted else None
    agree(reference, "pair_gradient", first, second, d, targets, weights, X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "share"), [(3, 1.0), (60, 1.0), (60, 0.5), (60, 0.02)])
def test_pair_stress(reference, dtype, n, share, weighted):
    random = np.random.default_rng(0)
    first, second = np.triu_indices(n, 1)
    kept = random.random(len(first)) < share
    first, second = (side[kept].astype(np.int32) for side in (first, second))
    targets, weights = random.uniform(0.5, 2, (2, len(first))).astype(dtype)
    X = points(n, 2, dtype)
    X[1] = X[0]  # two points in one place have no direction to move in
    args = (n, first, second, targets, weights if weighted else None)
    found, again, expected = (e.pair_stress(*args)(X) for e in (backend(), backend(), reference))
    assert found[0] == again[0]
    np.testing.assert_array_equal(found[1], again[1])
    close(arrays_of(found), arrays_of(expected), TOLERANCE[np.dtype(dtype)])


def test_inverse(reference):
    A = points(70, 70, "float64")
    V, g = A @ A.T + 70 * np.eye(70), points(70, 2, "float32")
    found, expected = (e.inverse(V.copy())(g) for e in (backend(), reference))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("tiles", "side"), [(1, 1), (2, 3), (8, 16)])
def test_stress_sgd_round(reference, dtype, tiles, side, weighted):
    random = np.random.default_rng(0)
    X = points(2 * tiles * side + 3, 2, dtype)
    X[1] = X[0]
    order = random.permutation(len(X)).astype(np.int32)[: 2 * tiles * side]
    targets = random.random((tiles, side, side)).astype(dtype)
    weights = random.uniform(0, 3, targets.shape).astype(dtype) if weighted else None
    agree(reference, "stress_sgd_round", order, targets, weights, 0.7, X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [None, "primary", "secondary"])
@pytest.mark.parametrize("n", [1, 2, 3, 200, 70_000])
def test_isotonic(reference, dtype, n, ties, weighted):
    random = np.random.default_rng(n)
    values = (np.linspace(0, 3, n) + random.normal(size=n)).astype(dtype)
    values[random.random(n) < 0.2] = 1.5
    weights = random.uniform(0.1, 2, size=n).astype(dtype) if weighted else None
    cuts = np.flatnonzero(random.random(n) < 0.3)
    starts = np.unique(np.concatenate([[0], cuts, [n]])).astype(np.int64) if ties else None
    agree(reference, "isotonic", values, weights, starts, ties == "primary")


def test_isotonic_is_sklearns(dtype):
    from sklearn.isotonic import isotonic_regression

    random = np.random.default_rng(0)
    values, weights = random.normal(size=500), random.uniform(0.1, 2, size=500)
    found = backend().isotonic(values.astype(dtype), weights.astype(dtype), None, False)
    expected = isotonic_regression(values, sample_weight=weights)
    np.testing.assert_allclose(found, expected, atol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize(("n", "dim", "pins"), [(1, 2, 1), (3, 1, 3), (70, 2, 70), (9000, 3, 40)])
def test_curvilinear_sweep(reference, dtype, n, dim, pins, step):
    random = np.random.default_rng(0)
    Y = random.normal(size=(dim, n))
    who = random.permutation(n)[:pins].astype(np.int32)
    rows = random.permutation(pins).astype(np.int32)
    distances = random.gamma(2.0, size=(pins, n)).astype(dtype)
    distances[rows, who] = 0
    settings = {"unit": 0.5, "alpha": 0.4, "reach": 1.1, "step": step}
    tolerance = 1e-9  # powers are good to 1e-10, and the moves follow each other
    agree(reference, "curvilinear_sweep", distances, rows, who, Y, tolerance=tolerance, **settings)


def divergence_problem(n, m, scales, dtype, seed=0):
    """-log p of m others, precisions that ascend."""
    random = np.random.default_rng(seed)
    costs = random.gamma(2.0, size=(n, m))
    costs += np.log(np.exp(-costs).sum(axis=1, keepdims=True))
    precisions = np.sort(random.uniform(0.1, 4, size=(n, scales)), axis=1)
    return costs.astype(dtype), precisions


@pytest.mark.parametrize("trade_off", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("n", "dim", "scales"), [(2, 1, 1), (3, 2, 2), (100, 2, 1), (100, 3, 4)])
def test_divergence_gradient(reference, dtype, n, dim, scales, trade_off):
    costs, precisions = divergence_problem(n, n - 1, scales, dtype)
    Y = np.random.default_rng(1).normal(size=(n, dim))
    agree(
        reference, "divergence_gradient", costs, precisions, trade_off, Y, tolerance=1e-8
    )  # exponentials are good to 1e-9
    far = 30 * Y  # some q underflow
    agree(reference, "divergence_gradient", costs, precisions, trade_off, far, tolerance=1e-8)


@pytest.mark.parametrize("trade_off", [0.2, 1.0])
@pytest.mark.parametrize("scales", [1, 3])
def test_place_by_divergence(reference, dtype, trade_off, scales):
    """Both come to the same minimum from the same start, by different steps."""
    embedding = np.random.default_rng(1).normal(size=(60, 2))
    costs, precisions = divergence_problem(12, 60, scales, dtype)
    near = embedding[:12] + 0.1
    gaps = ((near[:, None] - embedding) ** 2).sum(axis=2)
    costs = gaps + np.log(np.exp(-gaps).sum(axis=1, keepdims=True))
    costs = costs.astype(dtype)
    precisions = np.sort(np.random.default_rng(2).uniform(0.8, 1.3, size=(12, scales)), axis=1)
    starts = np.stack([near + 0.3, near - 2.0], axis=1)
    problem = (costs, precisions, trade_off, embedding, starts)
    agree(reference, "place_by_divergence", *problem, 0, 1e-9, tolerance=0)
    found = agree(reference, "place_by_divergence", *problem, 1000, 1e-9, tolerance=1e-4)
    assert np.abs(found[0] - near).max() < 0.5


def weighted_lists(n, dtype, seed=0):
    """Lists of different lengths: where they begin, other objects, squared distances, weights."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, n, size=n)
    others = [random.permutation(np.delete(np.arange(n), i))[:size] for i, size in enumerate(sizes)]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices = np.concatenate(others).astype(np.int32)
    squared = random.gamma(2.0, size=len(indices)).astype(dtype)
    return indptr, indices, squared, random.integers(1, 9, len(indices)).astype(dtype)


def test_listed_precisions(reference, dtype):
    indptr, _, squared, weights = weighted_lists(60, dtype)
    perplexities = np.array([20.0, 14.0, 10.0])  # more than the weight of an entry
    lists = (indptr, squared, weights)
    tolerance = 1e-3 if dtype == "float32" else 1e-6
    agree(reference, "listed_precisions", *lists, perplexities, tolerance=tolerance)


@pytest.mark.parametrize("trade_off", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("n", "dim", "scales"), [(5, 2, 2), (60, 2, 1), (60, 3, 4)])
def test_listed_divergence_gradient(reference, dtype, n, dim, scales, trade_off):
    indptr, indices, squared, weights = weighted_lists(n, dtype)
    random = np.random.default_rng(1)
    widths, precisions = np.sort(random.uniform(0.1, 2, size=(2, n, scales)), axis=2)
    tolerance = 1e-4 if dtype == "float32" else 1e-8
    lists = (indptr, squared, weights)
    (costs,) = agree(reference, "mixture_costs", *lists, widths, tolerance=tolerance)
    problem = (indptr, indices, costs, weights, precisions.astype(dtype), trade_off)
    Y = random.normal(size=(n, dim))
    agree(reference, "listed_divergence_gradient", *problem, Y, tolerance=tolerance)


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
@pytest.mark.parametrize("n_groups", [1, 4, 60])
def test_nearest_in_groups(reference, dim, n_groups):
    random = np.random.default_rng(0)
    Y = random.normal(size=(300, dim)).round(1 if dim == 2 else 9)  # equal distances
    groups = random.permutation(300).astype(np.int32) % n_groups
    found = backend().nearest_in_groups(Y, groups, 12)
    expected = reference.nearest_in_groups(Y, groups, 12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    if dim != 2:
        np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(groups[found[2]], groups[expected[2]])
    np.testing.assert_array_equal(np.sort(found[2]), np.arange(300))


def test_join_samples(reference, dtype):
    random = np.random.default_rng(0)
    n, Y = 200, np.random.default_rng(1).normal(size=(200, 2))
    lists = np.array([random.permutation(n)[:40] for _ in range(n)], np.int32)
    near, more = lists[:, :25].copy(), random.integers(-1, n, (n, 20)).astype(np.int32)
    expected = more.copy()
    reference.drop_listed(near, expected)
    backend().drop_listed(near, more)
    np.testing.assert_array_equal(more, expected)
    assert 0 < (more == -1).mean() < 0.3
    distances = [random.uniform(size=part.shape).astype(dtype) for part in (near, more)]
    radii = np.sort(random.uniform(size=(n, 2)), axis=1).astype(dtype)
    map_radii = np.sort(random.uniform(0, 3, size=(n, 3)), axis=1)
    labels = random.permutation(n).astype(np.int32)
    weights = np.array([1, 2, 5], np.float32)
    problem = ((near, distances[0]), (more, distances[1]), radii, map_radii, Y, labels, 2, 3.0)
    agree(reference, "join_samples", *problem, weights, tolerance=1e-6)


def test_place_by_divergence_from_lists(reference, dtype):
    random = np.random.default_rng(1)
    embedding, near = random.normal(size=(60, 2)), random.normal(size=(12, 2))
    indices = np.array([random.permutation(60)[:30] for _ in near], dtype=np.int32)
    weights = random.integers(1, 9, indices.shape).astype(dtype)
    gaps = ((near[:, None] - embedding[indices]) ** 2).sum(axis=2)
    costs = gaps + np.log((weights * np.exp(-gaps)).sum(axis=1, keepdims=True))
    problem = (costs.astype(dtype), np.ones((12, 1)), 1.0, embedding, near[:, None] + 0.2)
    lists = (indices, weights)
    found = agree(reference, "place_by_divergence", *problem, 1000, 1e-9, lists, tolerance=1e-3)
    np.testing.assert_allclose(found[0], near, atol=1e-3)


@pytest.mark.parametrize(
    ("n", "dim", "scale"),
    [(2, 1, 1), (3, 9, 1), (35, 7, 0.1), (300, 8, 0.5), (401, 30, 9), (70, 2, 0)],
)
def test_stochastic_neighbor_errors(reference, n, dim, scale):
    classes = (np.arange(n) * 2 // n).astype(np.int32)
    Z = 100 + scale * points(n, dim, "float64")
    problem = ("stochastic_neighbor_errors", Z, classes)
    agree(reference, *problem, 0.0, tolerance=1e-9)
    agree(reference, *problem, 1e-4, tolerance=1e-4)
