"""Each kind of objects answers the questions it can, and refuses the others in clear words."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowdim
from lowdim.distances.row_blocks import fingerprint
from lowdim.neighbor_graphs.graph import NeighborGraph
from lowdim.objects import objects as module
from lowdim.objects.objects import (
    Dissimilarities,
    GivenGraph,
    MeasuredObjects,
    SparseDissimilarities,
    objects_of,
    relative_dissimilarities,
)

N = 12
X = np.random.default_rng(0).normal(size=(N, 3))
D = cdist(X, X)
GRAPH = lowdim.neighbors(X, 4)
SOME = np.array([7, 2, 9, 4])
KINDS = ("vectors", "sparse vectors", "table", "things", "matrix", "sparse matrix", "graph")


def gap(a, b):
    return float(np.linalg.norm(a["at"] - b["at"]))


def make(kind):
    """The same objects, given in each of the ways there are."""
    if kind == "vectors":
        return objects_of(X)
    if kind == "sparse vectors":
        return objects_of(csr_array(X))
    if kind == "table":
        return objects_of(X, "nan_euclidean")
    if kind == "things":
        return objects_of([{"at": x} for x in X], gap)
    if kind == "matrix":
        return objects_of(D, "precomputed")
    if kind == "sparse matrix":
        return objects_of(csr_array(D), "precomputed")
    return objects_of(GRAPH, "precomputed")


TYPES = {
    "vectors": MeasuredObjects,
    "sparse vectors": MeasuredObjects,
    "table": MeasuredObjects,
    "things": MeasuredObjects,
    "matrix": Dissimilarities,
    "sparse matrix": SparseDissimilarities,
    "graph": GivenGraph,
}
COMPLETE = [kind for kind in KINDS if kind not in ("sparse matrix", "graph")]
MEASURED = [kind for kind in COMPLETE if kind != "matrix"]


def refused(message):
    return pytest.raises(ValueError, match=f"^{re.escape(message)}$")


# --- what kind it is ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_follows_from_what_was_given(kind):
    found = make(kind)
    assert type(found) is TYPES[kind]
    assert found.n == N
    assert found.dtype == np.float64
    assert found.complete == (kind in COMPLETE)
    assert found.measured == (kind in MEASURED)
    assert found.euclidean == (kind in ("vectors", "sparse vectors"))
    assert found.has_table == (kind in ("vectors", "sparse vectors", "table"))
    assert found.has_vectors == (kind in ("vectors", "sparse vectors"))
    names = {"table": "nan_euclidean", "things": "callable"}
    expected = "precomputed" if kind not in MEASURED else names.get(kind, "euclidean")
    assert found.metric_name == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_keep_their_type(dtype):
    assert objects_of(X.astype(dtype)).dtype == dtype
    assert objects_of(D.astype(dtype), "precomputed").dtype == dtype
    assert objects_of(csr_array(D.astype(dtype)), "precomputed").dtype == dtype
    assert objects_of(lowdim.neighbors(X.astype(dtype), 3), "precomputed").dtype == dtype


@pytest.mark.parametrize("kind", KINDS)
def test_a_fingerprint_tells_data_apart(kind):
    found = make(kind)
    assert found.fingerprint() == make(kind).fingerprint()
    if kind != "graph":  # a part of a graph does not know what it was computed from
        assert found.subset(SOME).fingerprint() != found.fingerprint()
    assert make("vectors").fingerprint() == GRAPH.fingerprint == fingerprint(X)


# --- distances ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", COMPLETE)
def test_all_pairs(kind):
    np.testing.assert_allclose(make(kind).all_pairs(), D, atol=1e-7)


@pytest.mark.parametrize("kind", COMPLETE)
def test_between(kind):
    found = make(kind).between(SOME)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, D[np.ix_(SOME, SOME)], atol=1e-7)


@pytest.mark.parametrize("kind", COMPLETE)
def test_row(kind):
    np.testing.assert_allclose(make(kind).row(5), D[5], atol=1e-7)


@pytest.mark.parametrize("kind", COMPLETE)
def test_distances_from(kind, monkeypatch):
    whole = make(kind).distances_from()
    np.testing.assert_allclose(whole, D, atol=1e-7)
    monkeypatch.setattr(module, "LARGEST_KEPT_MATRIX", 0)
    found = make(kind).distances_from()
    if kind in ("matrix", "things"):  # given already, or too slow to be measured twice
        np.testing.assert_allclose(found, D, atol=1e-7)
    else:
        np.testing.assert_allclose(found(SOME), D[SOME], atol=1e-7)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "graph"])
def test_pairs(kind):
    pairs = make(kind).pairs()
    assert pairs.n == N
    assert pairs.complete
    np.testing.assert_allclose(pairs.matrix(pairs.values), D, atol=1e-7)


def test_pairs_are_those_that_are_known():
    holes = D.copy()
    holes[2, 5] = holes[5, 2] = np.nan
    dense = objects_of(holes, "precomputed", unknown_pairs=True).pairs()
    stored = csr_array(np.triu(np.nan_to_num(holes)))
    sparse = objects_of(stored, "precomputed").pairs()
    for pairs in (dense, sparse):
        assert len(pairs.values) == N * (N - 1) // 2 - 1
        np.testing.assert_array_equal(pairs.matrix(pairs.values), holes)


@pytest.mark.parametrize("kind", ["sparse matrix", "graph"])
def test_incomplete_kinds_refuse_the_distances_of_all(kind):
    what = {"sparse matrix": "a sparse graph of dissimilarities", "graph": "a neighbour graph"}[
        kind
    ]
    found = make(kind)
    needed = (
        f"X: the dissimilarities of all pairs are needed as a dense array, got {what}. Use "
        "lowdim.geodesics to fill in a graph, or X.toarray()."
    )
    with refused(needed):
        found.all_pairs()
    with refused(needed):
        found.distances_from()
    apart = (
        f"init='pca' needs the distances between objects that are not neighbours, which {what} "
        "does not hold. Give all dissimilarities, or vectors."
    )
    with refused(apart):
        found.between(SOME, "init='pca'")
    joining = (
        f"{what} holds no distances to join the components by. Raise the number of neighbours, or "
        "set disconnected='largest' or 'separate'."
    )
    with refused(joining):
        found.nearest_outside()


def test_a_graph_has_no_list_of_pairs():
    with refused("X: dissimilarities are needed, got a neighbour graph."):
        make("graph").pairs()


# --- vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vectors", "sparse vectors", "table"])
def test_vectors(kind):
    rows = make(kind).vectors("PCA")
    np.testing.assert_array_equal(rows.toarray() if kind == "sparse vectors" else rows, X)


@pytest.mark.parametrize("kind", ["things", "matrix", "sparse matrix", "graph"])
def test_objects_without_vectors_refuse_them(kind):
    message = (
        "init='pca' needs vectors, but X was given as dissimilarities or as arbitrary objects. "
        "Fit on vectors."
    )
    with refused(message):
        make(kind).vectors("init='pca'")


# --- neighbours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_neighbor_graph(kind):
    found = make(kind).neighbor_graph(3)
    np.testing.assert_array_equal(found.indices, GRAPH.indices[:, :3])
    np.testing.assert_allclose(found.distances, GRAPH.distances[:, :3], atol=1e-7)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "graph"])
def test_neighbor_graph_within_a_radius(kind):
    found = make(kind).neighbor_graph(None, 1.5)
    near = (D <= 1.5) & ~np.eye(N, dtype=bool)
    assert found.n_neighbors is None
    np.testing.assert_array_equal(np.diff(found.indptr), near.sum(axis=1))
    assert (found.csr() > 0).toarray().tolist() == near.tolist()


def test_a_given_radius_graph_is_taken_as_it_is():
    graph = lowdim.neighbors(X, radius=1.5)
    assert objects_of(graph, "precomputed").neighbor_graph(3) is graph


def test_a_given_graph_refuses_more_neighbors_than_it_knows():
    with pytest.raises(ValueError, match="graph has 4 neighbours of each object, but 5 are needed"):
        make("graph").neighbor_graph(5)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "graph"])
def test_neighbor_graph_refuses_both_and_too_many(kind):
    with refused("Both n_neighbors and radius are provided: set one of them to None."):
        make(kind).neighbor_graph(3, 1.5)
    with pytest.raises(ValueError, match=r"got n_neighbors=12 for n_samples=12\. Use at most 11"):
        make(kind).neighbor_graph(N)


@pytest.mark.parametrize("kind", COMPLETE)
def test_nearest_outside(kind):
    labels = np.arange(N) % 3
    asked = np.array([0, 4, 11])
    rows, others, lengths = make(kind).nearest_outside()(asked, labels)
    apart = np.where(labels[asked][:, None] == labels, np.inf, D[asked])
    np.testing.assert_array_equal(rows, asked)
    np.testing.assert_array_equal(others, apart.argmin(axis=1))
    np.testing.assert_allclose(lengths, apart.min(axis=1), atol=1e-7)


@pytest.mark.parametrize("kind", MEASURED)
def test_a_search_is_kept_for_the_next_call(kind):
    found = make(kind)
    search = found.search(2)
    assert found.search(2) is search
    assert found.search(3) is not search
    indices, distances = search(found.rows[3:5])
    np.testing.assert_array_equal(indices[:, 0], [3, 4])
    np.testing.assert_array_equal(indices[:, 1], GRAPH.indices[3:5, 0])
    np.testing.assert_allclose(distances[:, 1], GRAPH.distances[3:5, 0], atol=1e-7)


# --- parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_subset(kind):
    part = make(kind).subset(SOME)
    assert type(part) is TYPES[kind]
    assert part.n == len(SOME)
    assert part.dtype == np.float64
    inside = D[np.ix_(SOME, SOME)]
    if kind == "graph":
        arcs = make("graph").graph.csr().toarray()[np.ix_(SOME, SOME)]
        np.testing.assert_array_equal(part.graph.csr().toarray(), arcs)
        return
    pairs = part.pairs()
    np.testing.assert_allclose(pairs.matrix(pairs.values), inside, atol=1e-7)


# --- what is refused when objects are made --------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "metric", "message"),
    [
        (X, "abacus", "metric must be one of .* 'precomputed' or a callable; got 'abacus'"),
        (X, "precomputed", r"X: array must be 2-dimensional and square, got shape \(12, 3\)"),
        (D + np.eye(N), "precomputed", r"X: the diagonal must be zero .* \[0, 0\] is 1"),
        (np.triu(D), "precomputed", r"X: Array must be symmetric"),
        (-D, "precomputed", r"X: dissimilarities must not be negative"),
        (np.where(D > 2, np.nan, D), "precomputed", r"Input X contains NaN"),
        ([], gap, "X holds no objects: 0 sample"),
        (np.full((3, 2), np.nan), "euclidean", r"Input X contains NaN at \[0, 0\]"),
    ],
)
def test_bad_input_is_refused(given, metric, message):
    with pytest.raises(ValueError, match=message):
        objects_of(given, metric)


def test_unknown_pairs_are_allowed_where_that_is_said():
    holes = D.copy()
    holes[2, 5] = holes[5, 2] = np.nan
    assert np.isnan(objects_of(holes, "precomputed", unknown_pairs=True).matrix[2, 5])
    holes[5, 2] = 1.0
    with pytest.raises(ValueError, match="X"):
        objects_of(holes, "precomputed", unknown_pairs=True)


def test_a_negative_entry_of_a_sparse_graph_is_refused_where_it_is_used():
    with pytest.raises(ValueError, match=r"X: .*negative"):
        objects_of(csr_array(-D), "precomputed").pairs()
    with pytest.raises(ValueError, match="X: dissimilarities must not be negative"):
        objects_of(csr_array(-D), "precomputed").neighbor_graph(3)


# --- relative dissimilarities ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vectors", "matrix"])
def test_relative_dissimilarities(kind):
    given = make(kind)
    shares, largest = relative_dissimilarities(given)
    assert largest == pytest.approx(D.max())
    np.testing.assert_allclose(shares, D / D.max(), atol=1e-12)
    if kind == "matrix":
        np.testing.assert_array_equal(given.matrix, D)  # what the user gave is left alone


def test_identical_objects_have_relative_dissimilarities_of_zero():
    shares, largest = relative_dissimilarities(objects_of(np.ones((3, 2))))
    assert largest == 1
    assert not shares.any()


def test_large_dissimilarities_are_in_a_unit_of_their_own():
    far = objects_of(np.array([[0.0], [1e308], [-1e308]]), "cityblock")
    D, largest = relative_dissimilarities(far)
    np.testing.assert_allclose(D, [[0, 0.5, 0.5], [0.5, 0, 1], [0.5, 1, 0]])
    assert np.ldexp(largest, far.exponent - 1) == 1e308


def test_a_graph_alone_is_a_graph():
    graph = NeighborGraph(np.array([[1], [0]], np.int32), np.ones((2, 1)), "euclidean")
    assert objects_of(graph, "precomputed").neighbor_graph(None) is graph


@pytest.mark.parametrize(
    ("rows", "metric", "same"),
    [
        (np.full((5, 3), 2.0), "euclidean", True),
        (np.zeros((5, 3)), "cosine", True),
        (csr_array(np.tile([0.0, 1.0, 2.0], (5, 1))), "euclidean", True),
        (csr_array((5, 3)), "euclidean", True),
        (csr_array(np.eye(5)), "euclidean", False),
        (np.full((5, 5), 0.0), "precomputed", True),
        (np.ones((5, 5)) - np.eye(5), "precomputed", False),
        (np.full((5, 2), np.nan), "nan_euclidean", False),
        (["a", "a"], lambda a, b: float(a != b), False),
    ],
)
def test_objects_that_are_all_the_same(rows, metric, same):
    assert objects_of(rows, metric).identical() == same


def test_one_row_differs():
    X = np.zeros((1000, 2))
    X[-1, 1] = 1e-300
    assert not objects_of(X).identical()
