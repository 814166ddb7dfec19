"""The divergences and their gradients, against the formulas and numerical derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import neighbors
from lowdim.matrices.affinities import conditional_matrix, joint
from lowdim.solvers.divergence import PairDivergence, RowDivergence
from lowdim.solvers.repulsion import AllPairs, Similarity

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
            value = objective(moved, 1.0, True)[1]
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
    gradient = objective(Y, 1.0, False)[0]
    expected = numerical(objective, Y)
    assert np.linalg.norm(gradient - expected) < 1e-6 * np.linalg.norm(expected)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_gradient_of_the_divergence_of_rows(graph, kind, dim):
    objective = RowDivergence(conditional_matrix(graph, 6.0), kind, AllPairs(kind))
    Y = start(dim)
    gradient = objective(Y, 1.0, False)[0]
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
        found = PairDivergence(joint(C), kind, AllPairs(kind), m)(Y, 1.0, True)[1]
        assert found == pytest.approx(divergence(P, V / V.sum()))
    rows = W / W.sum(axis=1, keepdims=True)
    found = RowDivergence(C, kind, AllPairs(kind))(Y, 1.0, True)[1]
    assert found == pytest.approx(divergence(C.toarray(), rows) / 40)


def test_exaggeration_is_a_factor_on_the_attraction(graph):
    objective = PairDivergence(joint(conditional_matrix(graph, 6.0)), KINDS[0], AllPairs(KINDS[0]))
    Y = start(2)
    once, twice, thrice = (objective(Y, float(e), False)[0] for e in (1, 2, 3))
    np.testing.assert_allclose(thrice - twice, twice - once, atol=1e-12)
    assert objective(Y, 3.0, True)[1] == objective(Y, 1.0, True)[1]
