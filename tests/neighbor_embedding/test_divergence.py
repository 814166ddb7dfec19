"""The divergences and their gradients, against the formulas and numerical derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import neighbors
from lowdim.backends.native.repulsion import AllPairs
from lowdim.backends.similarity import Similarity
from lowdim.neighbor_embedding.affinities import conditional_matrix, joint
from lowdim.neighbor_embedding.divergence import PairDivergence, RowDivergence

KINDS = [Similarity(), Similarity("student", 2.5), Similarity("gaussian")]


@pytest.fixture(scope="module")
def graph():
    return neighbors(np.random.RandomState(0).standard_normal((40, 5)), 20)


def start(dim):
    return np.random.RandomState(1).standard_normal((40, dim))


def numerical(objective, Y):
    gradient = np.empty_like(Y)
    for place in np.ndindex(*Y.shape):
        for sign in (1, -1):
            moved = Y.copy()
            moved[place] += sign * 1e-5
            value = objective(moved)[0]
            gradient[place] = value if sign == 1 else (gradient[place] - value) / 2e-5
    return gradient


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_the_divergence_of_pairs(graph, kind, dim, weighted):
    mass = np.random.RandomState(2).uniform(0.5, 2, 40) if weighted else None
    P = joint(conditional_matrix(graph, 6.0))
    objective = PairDivergence(P, kind, AllPairs(kind), mass)
    Y = start(dim)
    gradient = objective(Y, value=False)[1]
    expected = numerical(objective, Y)
    assert np.linalg.norm(gradient - expected) < 1e-6 * np.linalg.norm(expected)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_gradient_of_the_divergence_of_rows(graph, kind, dim):
    objective = RowDivergence(conditional_matrix(graph, 6.0), kind, AllPairs(kind))
    Y = start(dim)
    gradient = objective(Y, value=False)[1]
    expected = numerical(objective, Y)
    assert np.linalg.norm(gradient - expected) < 1e-6 * np.linalg.norm(expected)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_values(graph, kind):
    Y = start(2)
    W = kind(((Y[:, None] - Y[None]) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0)
    mass = np.random.RandomState(2).uniform(0.5, 2, 40)
    C = conditional_matrix(graph, 6.0)
    P = joint(C).toarray()

    def divergence(p, q):
        return (p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum()

    for m in (None, mass):
        V = W if m is None else W * np.outer(m, m)
        found = PairDivergence(joint(C), kind, AllPairs(kind), m)(Y)[0]
        assert found == pytest.approx(divergence(P, V / V.sum()))
    rows = W / W.sum(axis=1, keepdims=True)
    found = RowDivergence(C, kind, AllPairs(kind))(Y)[0]
    assert found == pytest.approx(divergence(C.toarray(), rows) / 40)


def test_exaggeration_is_a_factor_on_the_attraction(graph):
    objective = PairDivergence(joint(conditional_matrix(graph, 6.0)), KINDS[0], AllPairs(KINDS[0]))
    Y = start(2)
    values, gradients = [], []
    for exaggeration in (1.0, 2.0, 3.0):
        objective.exaggeration = exaggeration
        value, gradient = objective(Y)
        values.append(value)
        gradients.append(gradient)
    once, twice, thrice = gradients
    assert np.abs(twice - once).max() > 1e-4
    np.testing.assert_allclose(thrice - twice, twice - once, atol=1e-12)
    assert values[0] == values[1] == values[2]
