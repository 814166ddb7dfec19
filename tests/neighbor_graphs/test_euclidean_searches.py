"""Searches under other metrics that use the Euclidean one: exact by a map, or among candidates."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lowdim
from helpers import with_threads
from lowdim import neighbors
from lowdim.backends.native.index import CellIndex
from lowdim.distances.metrics import resolve_metric
from lowdim.neighbor_graphs import indexes
from lowdim.neighbor_graphs.exact import nearest, query
from lowdim.neighbor_graphs.indexes import build_index
from lowdim.neighbor_graphs.search import FORMS, neighbor_query


def rows(n, d, dtype=np.float64, seed=0):
    """Noisy points of a surface of three dimensions; positive, so that all metrics are defined."""
    random = np.random.RandomState(seed)
    X = np.tanh(random.standard_normal((n, 3)) @ random.standard_normal((3, d)))
    return np.abs(X + 0.05 * random.standard_normal((n, d)) + 1.5).astype(dtype)


def recall(found, exact):
    reach = exact.distances.reshape(found.n_objects, -1)[:, -1:] * (1 + 1e-6)
    return float((found.distances.reshape(found.n_objects, -1) <= reach).mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMS)
def test_a_mapped_search_finds_what_the_formula_says(name, dtype):
    X = rows(300, 12, dtype)
    X[:2] = 0  # undefined for angles and distributions
    X[2:4] = 3  # undefined for correlations
    metric, prepared = resolve_metric(name, None, X)
    search = neighbor_query(prepared, metric, 10, method="exact")
    indices, distances = search.neighbors()
    D = metric.block(prepared, prepared)
    rounding = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(distances, np.take_along_axis(D, indices, 1), atol=rounding)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :10], atol=rounding)
    new = prepared[::7]
    found = search(new)
    nearest_new = np.sort(metric.block(new, prepared))[:, :10]
    np.testing.assert_allclose(found[1], nearest_new, atol=rounding)
    np.testing.assert_array_equal(found[1][:, 0], 0)


@pytest.mark.parametrize("name", ["correlation", "hellinger"])
def test_a_mapped_search_has_an_index(name):
    X = rows(12_000, 30, np.float32)
    graph, exact = (neighbors(X, 10, metric=name, method=m) for m in ("approximate", "exact"))
    assert graph.recall is not None
    assert recall(graph, exact) > 0.94


def test_negative_entries_are_reported_by_their_metric():
    X = rows(300, 12)
    X[7, 3] = -1
    with pytest.raises(ValueError, match=r"hellinger.*NaN"):
        neighbors(X, 5, metric="hellinger")


@pytest.mark.parametrize(
    ("name", "params"),
    [*((name, {}) for name in indexes.CANDIDATE_METRICS), ("minkowski", {"p": 3})],
)
def test_candidates_reach_the_recall(name, params):
    X = rows(11_000, 12, np.float32)
    graph, exact = (
        neighbors(X, 10, metric=name, metric_params=params, method=m) for m in ("auto", "exact")
    )
    assert graph.recall >= 0.95
    assert exact.recall is None
    assert recall(graph, exact) > 0.94
    same = graph.indices == exact.indices
    np.testing.assert_allclose(graph.distances[same], exact.distances[same], rtol=1e-5)


def test_candidates_of_a_large_table_come_from_cells():
    X = rows(12_000, 20, np.float32)
    metric, prepared = resolve_metric("cityblock", None, X)
    index = build_index(prepared, metric, 10, 0.95, 0)
    assert isinstance(index, CellIndex)
    assert index.recall >= 0.95
    found = index.neighbors()
    np.testing.assert_array_equal(np.sort(found[1], axis=1), found[1])
    assert (found[0] != np.arange(len(X))[:, None]).all()
    for again in (with_threads(3, index.neighbors), with_threads(1, index.neighbors)):
        np.testing.assert_array_equal(again[0], found[0])
        np.testing.assert_array_equal(again[1], found[1])
    one = index.query(prepared[70:71], 5)
    many = index.query(prepared[60:80], 5)
    np.testing.assert_array_equal(one[0][0], many[0][10])
    assert one[0][0, 0] == 70
    assert one[1][0, 0] == 0


def test_data_without_structure_have_candidates():
    X = np.random.RandomState(0).standard_normal((10_500, 40)).astype(np.float32)
    metric, prepared = resolve_metric("cityblock", None, X)
    index = build_index(prepared, metric, 10, 0.95, 0)
    assert index.recall >= 0.95
    found, exact = index.neighbors(), nearest(prepared, 10, metric)
    assert (found[1] <= exact[1][:, -1:] * (1 + 1e-6)).mean() > 0.94
    one, many = index.query(prepared[70:71], 5), index.query(prepared[60:80], 5)
    np.testing.assert_array_equal(one[0][0], many[0][10])
    assert one[0][0, 0] == 70


@pytest.mark.parametrize("new", [False, True])
def test_a_tree_is_searched_without_threads_of_scipy(monkeypatch, new):
    """They go on after a KeyboardInterrupt, in memory that is freed, and end the process."""

    def start(self):
        raise AssertionError("a thread of Python was started")

    X = rows(3000, 3)
    expected = neighbors(X, 5, n_jobs=1)
    monkeypatch.setattr(threading.Thread, "start", start)
    if new:
        found = lowdim.NeighborsTransformer(n_neighbors=5, n_jobs=2).fit(X).transform(X[::2])
        np.testing.assert_array_equal(found.indices.reshape(-1, 6)[:, 1:], expected.indices[::2])
    else:
        np.testing.assert_array_equal(neighbors(X, 5, n_jobs=2).indices, expected.indices)


@pytest.mark.parametrize("name", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize(("d", "sizes"), [(1, 9), (2, 30), (3, 7), (5, 3), (8, 2)])
def test_equally_far_neighbours_in_a_tree_are_taken_by_index(name, d, sizes):
    """Of small whole numbers, so that distances are exact and most of them are equal."""
    X = np.random.RandomState(0).randint(0, sizes, (600, d)).astype(np.float32)
    metric, _ = resolve_metric(name, None, X)
    D = metric.block(X, X)
    for k in (1, 6, 599):
        searched = nearest(X, k, metric), query(X, X[::3], k, metric)
        others = np.where(np.eye(600, dtype=bool), np.inf, D)
        for (indices, distances), far in zip(searched, (others, D[::3]), strict=True):
            expected = np.argsort(far, axis=1, kind="stable")[:, :k]
            np.testing.assert_array_equal(indices, expected)
            np.testing.assert_allclose(distances, np.take_along_axis(far, expected, 1), rtol=1e-6)
