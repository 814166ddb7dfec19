"""Affinities: entropies as asked for, whatever the rows look like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import log_softmax
from sklearn.manifold._t_sne import _joint_probabilities

from helpers import with_threads
from lowdim import neighbors
from lowdim.neighbor_embedding.affinities import (
    conditional,
    conditional_matrix,
    conditional_to_new,
    joint,
    log_conditional_of_pairs,
    mix_logs,
)


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


@pytest.fixture(scope="module")
def X():
    return np.random.RandomState(0).standard_normal((120, 6))


@pytest.mark.parametrize("perplexity", [1.5, 5.0, 30.0, 100.0])
def test_the_entropy_is_the_logarithm_of_the_perplexity(X, perplexity):
    P = conditional_matrix(neighbors(X, 119), perplexity).toarray()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose([entropy(p) for p in P], np.log(perplexity), atol=1e-9)


def test_joint_probabilities_are_those_of_scikit_learn(X):
    ours = joint(conditional_matrix(neighbors(X, 119), 10.0)).toarray()
    theirs = _joint_probabilities(cdist(X, X, "sqeuclidean").astype(np.float32), 10.0, 0)
    np.testing.assert_allclose(ours[np.triu_indices(120, 1)], theirs, rtol=1e-3)
    np.testing.assert_allclose(ours, ours.T)
    assert ours.sum() == pytest.approx(1)


def test_several_perplexities_are_averaged(X):
    graph = neighbors(X, 60)
    both = conditional_matrix(graph, [5.0, 20.0]).toarray()
    each = [conditional_matrix(graph, p).toarray() for p in (5.0, 20.0)]
    np.testing.assert_allclose(both, (each[0] + each[1]) / 2)


def test_new_objects_get_the_affinities_of_training_objects(X):
    graph = neighbors(X, 30)
    p = conditional_matrix(graph, 8.0).data.reshape(120, 30)
    np.testing.assert_allclose(conditional_to_new(graph.distances, 8.0), p)
    cut = graph.distances.copy()
    cut[:, 20:] = np.inf
    q = conditional_to_new(cut, 8.0)
    np.testing.assert_allclose(q[:, :20], conditional_to_new(cut[:, :20], 8.0))
    assert (q[:, 20:] == 0).all()


def test_where_no_width_has_that_entropy():
    few = conditional(np.array([0, 3]), np.array([1.0, 2.0, 3.0]), 5.0)
    np.testing.assert_allclose(few, 1 / 3)  # three neighbours cannot be five
    zeros = conditional(np.array([0, 6]), np.array([0.0, 0, 0, 0, 1, 2]), 2.0)
    np.testing.assert_allclose(zeros, [0.25] * 4 + [0, 0], atol=1e-12)  # four are nearest
    same = conditional(np.array([0, 8]), np.full(8, 3.0), 2.0)
    np.testing.assert_allclose(same, 1 / 8)
    assert len(conditional(np.array([0, 0]), np.empty(0), 2.0)) == 0


@settings(max_examples=60)
@given(
    distances=st.lists(st.floats(0, 1e6), min_size=1, max_size=40),
    perplexity=st.floats(1.01, 50),
    single=st.booleans(),
)
def test_any_row_is_a_distribution_that_prefers_the_near(distances, perplexity, single):
    d = np.array(distances, dtype=np.float32 if single else np.float64)
    p = conditional(np.array([0, len(d)]), d, perplexity)
    assert p.dtype == d.dtype
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-5)
    order = np.argsort(d, kind="stable")
    assert (np.diff(p[order]) <= 1e-6).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_any_number_of_threads(X, dtype):
    graph = neighbors(np.tile(X, (6, 1)).astype(dtype), 40)
    one, three = (with_threads(n, conditional_matrix, graph, 12.0).data for n in (1, 3))
    assert one.dtype == dtype
    np.testing.assert_array_equal(one, three)


def test_affinities_of_all_pairs_have_the_perplexity():
    X = np.random.RandomState(0).standard_normal((70, 4))
    D = cdist(X, X)
    costs, beta = log_conditional_of_pairs(D, 9.0)
    p = np.exp(-costs)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose((p * costs).sum(axis=1), np.log(9), rtol=1e-8)
    others = D[3, np.arange(70) != 3]
    np.testing.assert_allclose(costs[3], -log_softmax(-beta[3] * others**2), rtol=1e-10)


def test_affinities_where_most_objects_are_identical():
    D = np.ones((12, 12))
    D[:8, :8] = 0
    np.fill_diagonal(D, 0)
    costs, beta = log_conditional_of_pairs(D, 3.0)
    assert np.isfinite(costs).all()
    assert np.isfinite(beta).all()
    np.testing.assert_allclose(np.exp(-costs[0, :7]), 1 / 7, rtol=1e-6)


def test_a_mean_of_affinities_in_logarithms():
    random = np.random.RandomState(1)
    rows = [-log_softmax(-9 * random.uniform(size=(70, 5)), axis=1) for _ in range(3)]
    costs = rows[0].copy()
    for count, more in enumerate(rows[1:], 1):
        mix_logs(costs, count, more)
    np.testing.assert_allclose(np.exp(-costs), np.mean(np.exp(-np.array(rows)), axis=0))
