"""Row-wise divergences over all pairs: their definition, gradients, limits, and threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, logsumexp

from helpers import with_threads
from lowdim.backends import backend
from lowdim.backends.native.repulsion import AllPairs
from lowdim.backends.similarity import Similarity
from lowdim.neighbor_embedding.divergence import (
    AllPairsDivergence,
    ListedDivergence,
    RowDivergence,
)
from lowdim.neighbor_embedding.samples import Lists


def naive(costs, precisions, trade_off, Y):
    """The objective by its definition; nothing in it is clever."""
    n = len(Y)
    squared = cdist(Y, Y, "sqeuclidean")[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    log_q = logsumexp(
        [log_softmax(-b[:, None] * squared, axis=1) for b in precisions.T], axis=0
    ) - np.log(precisions.shape[1])
    missed = (np.exp(-costs) * (-costs - log_q)).sum()
    false = (np.exp(log_q) * (log_q + costs)).sum()
    return (trade_off * missed + (1 - trade_off) * false) / n


def problem(n, scales, size=1.0, dim=2, seed=0):
    random = np.random.RandomState(seed)
    costs = -log_softmax(-5 * random.uniform(size=(n, n - 1)), axis=1)
    precisions = np.sort(random.uniform(0.05, 1, (n, scales)), axis=1)
    return costs, precisions, size * random.standard_normal((n, dim))


@pytest.mark.parametrize("trade_off", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("scales", "dim"), [(1, 2), (1, 3), (4, 1), (4, 2)])
def test_value_and_gradient(scales, dim, trade_off):
    costs, precisions, Y = problem(25, scales, dim=dim)
    objective = AllPairsDivergence(costs, precisions, trade_off)
    assert objective(Y)[0] == pytest.approx(naive(costs, precisions, trade_off, Y), rel=1e-12)

    def value(y):
        return naive(costs, precisions, trade_off, y.reshape(Y.shape))

    def slope(y):
        return objective(y.reshape(Y.shape))[1].ravel()

    gap = check_grad(value, slope, Y.ravel(), epsilon=1e-7)
    assert gap < 1e-5 * np.linalg.norm(slope(Y.ravel()))


@pytest.mark.parametrize("trade_off", [0.3, 1.0])
@pytest.mark.parametrize(("scales", "dim"), [(1, 2), (4, 2), (4, 3)])
def test_gradient_of_weighted_lists(scales, dim, trade_off):
    """Narrow scales leave out far entries, which are the last ones of the lists here."""
    random = np.random.RandomState(0)
    n, size = 30, 12
    Y = random.standard_normal((n, dim))
    others = np.array([random.permutation(np.delete(np.arange(n), i))[:size] for i in range(n)])
    away = ((Y[:, None] - Y[others]) ** 2).sum(axis=2)
    others = np.take_along_axis(others, away.argsort(axis=1), axis=1).astype(np.int32)
    indptr = np.arange(0, n * size + 1, size, dtype=np.int64)
    squared, weights = random.uniform(size=(2, n * size))
    lists = Lists(indptr, others.ravel(), squared, 1 + weights.round(1) * 8)
    widths = np.sort(random.uniform(0.5, 20, (n, scales)), axis=1)
    precisions = np.tile(0.5 * 8.0 ** np.arange(scales), (n, 1))
    objective = ListedDivergence(lists, widths, precisions, trade_off)

    differences = np.empty(Y.shape)
    for place in np.ndindex(Y.shape):
        step = np.zeros(Y.shape)
        step[place] = 1e-6
        differences[place] = (objective(Y + step)[0] - objective(Y - step)[0]) / 2e-6
    np.testing.assert_allclose(objective(Y)[1], differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scales", [1, 3])
def test_nothing_underflows_where_points_are_far_apart(scales):
    costs, precisions, Y = problem(25, scales, size=300.0)
    value, gradient = AllPairsDivergence(costs, precisions, 0.5)(Y)
    assert value == pytest.approx(naive(costs, precisions, 0.5, Y), rel=1e-10)
    assert value > 1e4
    assert np.isfinite(gradient).all()


def test_probabilities_that_would_underflow():
    costs, precisions, Y = problem(25, 1)
    costs = -log_softmax(-5000 * costs, axis=1)
    assert (np.exp(-costs) == 0).any()
    value, gradient = AllPairsDivergence(costs, precisions, 0.2)(Y)
    assert value == pytest.approx(naive(costs, precisions, 0.2, Y), rel=1e-10)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_number_of_threads_does_not_matter(dtype):
    costs, precisions, Y = problem(530, 3)
    costs = costs.astype(dtype)
    gradient = backend().divergence_gradient
    one, *others = (with_threads(n, gradient, costs, precisions, 0.4, Y) for n in (1, 2, 3))
    for other in others:
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)


def test_without_false_neighbours_and_one_width_it_is_stochastic_neighbour_embedding():
    costs, _, Y = problem(40, 1)
    P = np.zeros((40, 40))
    P[~np.eye(40, dtype=bool)] = np.exp(-costs).ravel()
    gaussian = Similarity("gaussian")
    sne = RowDivergence(csr_array(P), gaussian, AllPairs(gaussian))
    loss, gradient = sne(Y)
    ours = AllPairsDivergence(costs, np.ones((40, 1)))(Y)
    assert ours[0] == pytest.approx(loss, rel=1e-10)
    np.testing.assert_allclose(ours[1], gradient, atol=1e-12)


def test_equal_scales_are_one_scale():
    costs, precisions, Y = problem(30, 1)
    one = AllPairsDivergence(costs, precisions, 0.3)(Y)
    three = AllPairsDivergence(costs, np.repeat(precisions, 3, axis=1), 0.3)(Y)
    assert three[0] == pytest.approx(one[0], rel=1e-12)
    np.testing.assert_allclose(three[1], one[1], atol=1e-13)
