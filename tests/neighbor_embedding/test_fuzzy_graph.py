"""Fuzzy graphs against their definitions, written out entry by entry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csr_array

from helpers import with_threads
from lowdim import NeighborGraph, neighbors
from lowdim.neighbor_embedding.umap.fuzzy_graph import (
    directed_graph,
    fuzzy_graph,
    intersect,
    log_radii,
    new_memberships,
    subtract,
    unite,
)
from lowdim.neighbor_embedding.umap.targets import (
    edit_distance,
    intersect_labels,
    intersect_targets,
    label_codes,
)


@pytest.fixture(scope="module")
def X():
    return np.random.RandomState(0).standard_normal((120, 4))


def naive_memberships(distances, k, connectivity=1.0):
    """Each row's memberships by the root that the definition asks for."""
    rows = []
    for d in np.asarray(distances, dtype=float):
        positive = d[d > 0]
        whole = int(connectivity)
        if whole == 0:
            rho = connectivity * positive[0]
        else:
            rho = positive[whole - 1]
            if connectivity > whole:
                rho += (connectivity - whole) * (positive[whole] - rho)
        beyond = np.maximum(d - rho, 0)
        target = np.log2(k)
        sigma = brentq(lambda s, b=beyond, t=target: np.exp(-b / s).sum() - t, 1e-9, 1e6)
        sigma = max(sigma, 1e-3 * d.sum() / (len(d) + 1))
        rows.append(np.exp(-beyond / sigma))
    return np.array(rows)


def dense_opinions(graph, values):
    A = np.zeros((graph.n_objects, graph.n_objects))
    np.put_along_axis(A, graph.indices.astype(int), values, axis=1)
    return A


@pytest.mark.parametrize("connectivity", [1.0, 0.5, 1.5, 3.0])
@pytest.mark.parametrize("mix", [1.0, 0.3, 0.0])
def test_the_definition(X, connectivity, mix):
    graph = neighbors(X, 9)
    A = dense_opinions(graph, naive_memberships(graph.distances, 10, connectivity))
    wanted = mix * (A + A.T - A * A.T) + (1 - mix) * A * A.T
    found = fuzzy_graph(graph, 10, local_connectivity=connectivity, mix=mix).matrix
    np.testing.assert_allclose(found.toarray(), wanted, atol=1e-7)
    assert (found.data > 0).all()
    assert found.has_sorted_indices


def test_float32_and_threads(X):
    many = np.tile(X, (40, 1)) + np.arange(4800)[:, None] % 7
    graph = neighbors(many.astype(np.float32), 9)
    one, three = (with_threads(n, fuzzy_graph, graph, 10) for n in (1, 3))
    assert one.matrix.dtype == np.float32
    np.testing.assert_array_equal(one.matrix.data, three.matrix.data)
    np.testing.assert_array_equal(one.matrix.indices, three.matrix.indices)
    np.testing.assert_array_equal(one.sigma, three.sigma)


def test_sigma_has_a_lower_bound():
    """Where all neighbours are as near as the nearest no sigma gives the sum; a floor does."""
    distances = np.array([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]] * 7)
    indices = np.array([[j for j in range(7) if j != i] for i in range(7)], dtype=np.int32)
    found = fuzzy_graph(NeighborGraph(indices, distances, "euclidean"), 7)
    np.testing.assert_allclose(found.sigma, 1e-3 * 6 / 7)
    np.testing.assert_allclose(found.matrix.toarray(), 1 - np.eye(7))


def test_equal_objects():
    found = fuzzy_graph(neighbors(np.ones((30, 3)), 5), 6)
    np.testing.assert_array_equal(found.matrix.data, 1)
    np.testing.assert_array_equal(found.rho, 0)


def test_too_few_neighbours_belong_fully():
    """Two neighbours cannot sum to log2(15)."""
    found = fuzzy_graph(neighbors(np.arange(6.0)[:, None] ** 1.5, 2), 15)
    np.testing.assert_allclose(found.matrix.data, 1, rtol=1e-12)


def test_neighbors_beyond_the_cut_get_no_edge(X):
    graph = neighbors(X, 9)
    cut = float(np.median(graph.distances))
    found = fuzzy_graph(graph, 10, disconnection=cut).matrix.tocoo()
    apart = np.linalg.norm(X[found.row] - X[found.col], axis=1)
    assert len(apart) > 0
    assert apart.max() < cut


def test_lists_of_different_lengths(X):
    """A radius graph that holds the same neighbours gives the same memberships."""
    graph = neighbors(X, 9)
    flat = NeighborGraph(
        graph.indices.ravel(), graph.distances.ravel(), "euclidean", "", np.arange(121) * 9
    )
    np.testing.assert_array_equal(
        fuzzy_graph(flat, 10).matrix.toarray(), fuzzy_graph(graph, 10).matrix.toarray()
    )


def test_new_objects_get_the_memberships_of_training_objects(X):
    """Of the graph of all: the last object's row, but for edges that only others know of."""
    whole = fuzzy_graph(neighbors(X, 9), 10)
    gaps = np.linalg.norm(X[:-1] - X[-1], axis=1)
    nearest = np.argsort(gaps)[None, :9]
    graph = neighbors(X[:-1], 9)
    known = fuzzy_graph(graph, 10)
    # Objects without the last among their neighbours think the same of it with and without it.
    strangers = ~(graph.distances[:, -1] > gaps)
    found = new_memberships(nearest, gaps[nearest], 10, known, graph.reach())
    row = whole.matrix.toarray()[-1]
    ours = strangers[nearest[0]]
    assert ours.any()
    np.testing.assert_allclose(found[0][ours], row[nearest[0]][ours], rtol=1e-6)


def test_labels(X):
    matrix = fuzzy_graph(neighbors(X, 9), 10).matrix
    labels = np.random.RandomState(1).randint(-1, 3, 120)
    A = matrix.toarray()
    same = labels[:, None] == labels
    unknown = (labels[:, None] == -1) | (labels == -1)
    A *= np.where(unknown, np.exp(-1.0), np.where(same, 1.0, np.exp(-5.0)))
    A /= A.max(axis=1, keepdims=True)
    wanted = A + A.T - A * A.T
    np.testing.assert_allclose(
        intersect_labels(matrix, labels, 5.0).toarray(), wanted, rtol=1e-10, atol=1e-300
    )


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_an_intersection(X, weight):
    left = fuzzy_graph(neighbors(X, 9), 10).matrix
    right = directed_graph(neighbors(X[:, :1], 9), 10)
    a, b = left.toarray(), right.toarray()
    least_a = max(left.data.min() / 2, 1e-8)
    least_b = min(max(right.data.min() / 2, 1e-8), 1e-4)
    wanted = np.zeros_like(a)
    for i, j in np.argwhere((a > 0) | (b > 0)):
        p = a[i, j] if a[i, j] > 0 else least_a
        q = b[i, j] if b[i, j] > 0 else least_b
        if p > least_a or q > least_b:
            powers = (1, weight / (1 - weight)) if weight < 0.5 else ((1 - weight) / weight, 1)
            wanted[i, j] = p ** powers[0] * q ** powers[1]
        else:
            wanted[i, j] = a[i, j] + b[i, j]
    wanted /= wanted.max(axis=1, keepdims=True)
    wanted = wanted + wanted.T - wanted * wanted.T
    np.testing.assert_allclose(intersect(left, right, weight).toarray(), wanted, rtol=1e-9)


def test_radii(X):
    graph = neighbors(X, 9)
    matrix = fuzzy_graph(graph, 10).matrix
    D2 = ((X[:, None] - X) ** 2).sum(axis=2)
    W = matrix.toarray()
    wanted = np.log(1e-8 + (W * D2).sum(axis=1) / W.sum(axis=1))
    np.testing.assert_allclose(log_radii(matrix, graph.adjacency("union")), wanted, rtol=1e-9)


def test_an_empty_graph_has_no_edges():
    empty = csr_array((5, 5))
    assert intersect(empty, empty, 0.5).nnz == 0


def graph_of(seed):
    values = np.random.RandomState(seed).uniform(0.1, 1, (6, 6))
    values = np.triu(np.where(values > 0.5, values, 0), 1)
    return csr_array(values + values.T)


def normalized(A):
    """Rows divided by their maxima, and the union with the transpose."""
    A = A / np.where(A.max(axis=1) > 0, A.max(axis=1), 1)[:, None]
    return A + A.T - A * A.T


def test_union_and_difference_by_their_definitions():
    left, right = graph_of(0), graph_of(1)
    a, b = left.toarray(), right.toarray()
    either = (a > 0) | (b > 0)
    low_a, low_b = left.data.min() / 2, right.data.min() / 2
    in_a, in_b = np.where(a > 0, a, low_a), np.where(b > 0, b, low_b)
    expected = normalized(np.where(either, in_a + in_b - in_a * in_b, 0))
    np.testing.assert_allclose(unite(left, right).toarray(), expected)
    least = min(max((1 - right.data).min() / 2, 1e-8), 1e-4)
    rest = np.where(b > 0, 1 - b, least)
    expected = normalized(np.where(either, in_a * rest, 0))
    np.testing.assert_allclose(subtract(left, right).toarray(), expected)


def test_unknown_labels():
    numbers = label_codes(np.array([3, -1, 3, 0]))
    assert numbers[1] == -1
    assert numbers[0] == numbers[2] != numbers[3]
    texts = label_codes(np.array(["a", None, "a", "b", np.nan], dtype=object))
    assert list(texts) == [0, -1, 0, 1, -1]
    assert list(label_codes(np.array([0.0, np.nan])))[1] == -1


@pytest.mark.parametrize(
    ("metric", "labels", "distance"),
    [
        ("ordinal", [0, 1, 2, 4, 4, 0], lambda a, b: abs(a - b) / 4),
        ("count", [0, 1, 2, 4, 4, 0], lambda a, b: abs(a**0.5 - b**0.5) / 2),
        ("string", ["ab", "b", "abcd", "", "ab", "x"], lambda a, b: edit_distance(a, b) / 4),
    ],
)
def test_discrete_targets(metric, labels, distance):
    graph = graph_of(2)
    found = intersect_targets(graph, np.array(labels), 0.5, metric=metric).toarray()
    factor = np.array([[np.exp(-5 * distance(a, b)) for b in labels] for a in labels])
    np.testing.assert_allclose(found, normalized(graph.toarray() * factor))


@pytest.mark.parametrize(
    ("one", "other", "steps"),
    [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("ab", "ba", 2)],
)
def test_edit_distance(one, other, steps):
    assert edit_distance(one, other) == edit_distance(other, one) == steps
