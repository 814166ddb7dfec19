"""Neighbour graphs to which objects are added equal those of all objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import lowdim
from lowdim.estimator.growth import join_graph, join_objects
from lowdim.estimator.updating import novelty
from lowdim.objects.new_objects import MeasuredNewObjects
from lowdim.objects.objects import objects_of


def by_sums(a, b):
    return abs(a - b).sum()


METRICS = ["euclidean", "cosine", "cityblock", "correlation", "canberra", by_sums]


def joined(X, n, metric, k=None, radius=None):
    """The graph of the first n rows, joined by the others, and that of all rows."""
    objects = objects_of(X[:n], metric)
    new = MeasuredNewObjects(objects.metric.prepare(X[n:]), objects)
    everything = join_objects(new)
    graph = join_graph(objects.neighbor_graph(k, radius), new, everything, radius=radius)
    return graph, everything.neighbor_graph(k, radius)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("k", "m"), [(5, 30), (5, 1), (12, 3), (4, 60)])
def test_nearest_neighbours(metric, k, m):
    X = np.random.default_rng(0).normal(size=(60 + m, 4))
    found, wanted = joined(X, 60, metric, k)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_allclose(found.distances, wanted.distances, rtol=1e-6)
    assert found.fingerprint == wanted.fingerprint
    assert found.indices.dtype == wanted.indices.dtype


@pytest.mark.parametrize("m", [1, 30])
def test_neighbours_within_a_radius(m):
    X = np.random.default_rng(0).normal(size=(80 + m, 3))
    found, wanted = joined(X, 80, "euclidean", radius=0.9)
    np.testing.assert_array_equal(found.indptr, wanted.indptr)
    np.testing.assert_array_equal(found.indices, wanted.indices)
    np.testing.assert_allclose(found.distances, wanted.distances)


def test_old_neighbours_come_first_at_equal_distances():
    """Points of a grid, each of which is there twice: among the old and among the new ones."""
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    found, wanted = joined(np.vstack([grid, grid]), 25, "euclidean", 6)
    np.testing.assert_array_equal(found.indices, wanted.indices)


def test_sparse_rows_and_a_search_by_a_tree():
    X = np.random.default_rng(0).normal(size=(400, 3))
    by_tree = joined(X, 350, "euclidean", 7)
    sparse = joined(csr_array(X), 350, "euclidean", 7)
    for found, wanted in (by_tree, sparse):
        np.testing.assert_array_equal(found.indices, wanted.indices)


def test_bridges_are_left_out():
    X = np.vstack([np.random.default_rng(0).normal(size=(20, 2)) + c for c in (0, 50)])
    objects = objects_of(X)
    graph = objects.neighbor_graph(4)
    graph = graph.join(objects.nearest_outside())
    assert len(graph.bridges) == 1
    new = MeasuredNewObjects(X[:1] + 0.1, objects)
    assert join_graph(graph, new, join_objects(new)).bridges is None


def test_novelty():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    far = random.normal(size=(40, 3)) + 100
    assert novelty(lowdim.neighbors(X, 8), 150) < 0.05
    assert novelty(lowdim.neighbors(np.vstack([X, far]), 8), 200) == pytest.approx(1)
    half = np.vstack([X, far])
    assert novelty(lowdim.neighbors(half, 8), 160) == pytest.approx(0.5, abs=0.05)
    assert novelty(lowdim.neighbors(half, radius=1.0), 160) > 0.4
    assert novelty(lowdim.neighbors(X, 8), 199) == 0
