"""Ranks of neighbours against the plainest code that counts them, and against scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

import lowdim
from lowdim import quality


def naive_ranks(D):
    """Ranks from 1 by (distance, index), the object itself left out (rank 0)."""
    n = len(D)
    ranks = np.zeros((n, n), dtype=int)
    for i in range(n):
        order = sorted((j for j in range(n) if j != i), key=lambda j: (D[i, j], j))
        ranks[i, order] = np.arange(1, n)
    return ranks


def naive_coranking(DX, DY):
    n = len(DX)
    Q = np.zeros((n - 1, n - 1), dtype=int)
    rho, r = naive_ranks(DX), naive_ranks(DY)
    for i in range(n):
        for j in range(n):
            if i != j:
                Q[rho[i, j] - 1, r[i, j] - 1] += 1
    return Q


@pytest.fixture(scope="module")
def pair():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 6))
    return X, X[:, :2] + 0.3 * random.normal(size=(120, 2))


@settings(max_examples=25)
@given(
    n=st.integers(3, 24),
    levels=st.sampled_from([2, 5, 1000]),
    seed=st.integers(0, 10**6),
    kind=st.sampled_from([np.float32, np.float64]),
)
def test_the_coranking_matrix_is_the_naive_one_ties_and_all(n, levels, seed, kind):
    random = np.random.default_rng(seed)
    X = random.integers(0, levels, size=(n, 2)).astype(kind)
    Y = random.integers(0, levels, size=(n, 1)).astype(np.float64)
    Q = naive_coranking(cdist(X, X, "sqeuclidean"), cdist(Y, Y, "sqeuclidean"))
    np.testing.assert_array_equal(quality.coranking(X, Y), Q)
    curve = quality.qnx(X, Y)
    expected = [Q[:K, :K].sum() / (K * n) for K in range(1, n)]
    np.testing.assert_array_equal(curve.K, np.arange(1, n))
    np.testing.assert_allclose(curve.values, expected, rtol=1e-15)


@pytest.mark.parametrize("k", [1, 5, 40])
def test_trustworthiness_and_continuity_are_those_of_scikit_learn(pair, k):
    X, Y = pair
    assert quality.trustworthiness(X, X_embedded=Y, n_neighbors=k) == pytest.approx(
        sklearn_trustworthiness(X, X_embedded=Y, n_neighbors=k), abs=1e-12
    )
    with pytest.raises(TypeError, match="either Y or X_embedded"):
        quality.trustworthiness(X)
    assert quality.trustworthiness(X, Y, k) == pytest.approx(
        sklearn_trustworthiness(X, Y, n_neighbors=k), abs=1e-12
    )
    assert quality.continuity(X, Y, k) == pytest.approx(
        sklearn_trustworthiness(Y, X, n_neighbors=k), abs=1e-12
    )


def test_measures_from_the_coranking_matrix(pair):
    X, Y = pair
    n, k = len(X), 7
    Q = quality.coranking(X, Y)
    rho, r = np.indices(Q.shape) + 1
    worst = n * sum(abs(n - 2 * i + 1) / i for i in range(1, k + 1))
    on_map = (Q * np.abs(rho - r) / r)[:, :k].sum() / worst
    in_data = (Q * np.abs(rho - r) / rho)[:k].sum() / worst
    np.testing.assert_allclose(
        quality.mean_relative_rank_errors(X, Y, k), [on_map, in_data], rtol=1e-12
    )
    shared = np.array([Q[:K, :K].sum() for K in range(1, n)]) / n
    K = np.arange(1, n)
    rnx = (((n - 1) * shared / K - K) / (n - 1 - K + 1e-300))[:-1]
    np.testing.assert_allclose(quality.rnx_curve(X, Y).values, rnx, atol=1e-13)
    area = (rnx / K[:-1]).sum() / (1 / K[:-1]).sum()
    assert quality.rnx_auc(X, Y) == pytest.approx(area, abs=1e-13)
    split = quality.local_global(X, Y)
    qnx = shared / K
    assert split.K_max == 1 + np.argmax(qnx - K / (n - 1))
    assert split.local == pytest.approx(qnx[: split.K_max].mean(), abs=1e-13)
    assert split.global_ == pytest.approx(qnx[split.K_max - 1 :].mean(), abs=1e-13)
    assert quality.neighborhood_preservation(X, Y, k) == pytest.approx(qnx[k - 1], abs=1e-13)
    ranks = quality.compare_ranks(X, Y, k)
    near = K[:-1] <= 30
    for part, found in ((near, ranks.rnx_auc_local), (~near, ranks.rnx_auc_global)):
        expected = (rnx[part] / K[:-1][part]).sum() / (1 / K[:-1][part]).sum()
        assert found == pytest.approx(expected, abs=1e-13)
    assert (ranks.q_local, ranks.q_global) == (split.local, split.global_)


def test_a_perfect_map_and_a_random_one():
    random = np.random.default_rng(3)
    X = random.normal(size=(400, 2))
    turned = X @ np.array([[0.0, 3.0], [-3.0, 0.0]]) + 100
    assert quality.trustworthiness(X, turned) == 1
    assert quality.rnx_auc(X, turned) == pytest.approx(1)
    assert quality.mean_relative_rank_errors(X, turned) == (0, 0)
    assert abs(quality.rnx_auc(X, random.permutation(X))) < 0.03


def test_a_sample_is_within_its_interval_and_the_interval_is_honest():
    random = np.random.default_rng(1)
    X = random.normal(size=(1500, 8))
    Y = X[:, :2]
    exact = quality.compare_ranks(X, Y, 10)
    inside = dict.fromkeys(
        ("rnx_auc", "trustworthiness", "continuity", "neighborhood_preservation"), 0
    )
    for seed in range(40):
        some = quality.compare_ranks(X, Y, 10, n_rows=100, random_state=seed)
        assert not some.exact
        for name in inside:
            value = getattr(some, name)
            assert value.margin > 0
            inside[name] += value.low <= getattr(exact, name) <= value.high
    assert min(inside.values()) >= 34  # 95 % of 40 is 38; below 34 has probability 0.003
    assert exact.rnx_auc.margin == 0


def test_many_objects_on_a_grid_of_sizes_agree_with_all_sizes(monkeypatch):
    from lowdim.quality import ranks

    random = np.random.default_rng(2)
    X = random.normal(size=(900, 5))
    Y = X[:, :2]
    every = quality.compare_ranks(X, Y, 12)
    monkeypatch.setattr(ranks, "MAX_OBJECTS_EXACT", 100)
    some = quality.compare_ranks(X, Y, 12)
    assert len(some.K) < 100
    np.testing.assert_array_equal(some.qnx.values, every.qnx.values[some.K - 1])
    assert some.rnx_auc == pytest.approx(every.rnx_auc, abs=1e-3)
    assert some.split.global_ == pytest.approx(every.split.global_, abs=5e-3)


def test_torn_and_false_neighbours(pair):
    X, Y = pair
    k = 5
    errors = quality.point_errors(X, Y, k)
    rho, r = naive_ranks(cdist(X, X)), naive_ranks(cdist(Y, Y))
    for i in (0, 17, 119):
        near = np.flatnonzero((rho[i] <= k) & (rho[i] > 0))
        torn = {int(j) for j in near if r[i, j] > k}
        assert {int(j) for j in errors.torn_neighbors[i] if j >= 0} == torn
        shown = np.flatnonzero((r[i] <= k) & (r[i] > 0))
        false = {int(j) for j in shown if rho[i, j] > k}
        assert {int(j) for j in errors.false_neighbors[i] if j >= 0} == false
    assert 1 - errors.false.mean() == pytest.approx(quality.trustworthiness(X, Y, k))
    assert 1 - errors.torn.mean() == pytest.approx(quality.continuity(X, Y, k))


def test_every_kind_of_data(pair):
    X, Y = pair
    expected = quality.compare_ranks(X, Y, 5)
    D = cdist(X, X)
    given = quality.compare_ranks(D, Y, 5, metric="precomputed")
    assert given.trustworthiness == expected.trustworthiness
    sparse = quality.compare_ranks(csr_array(X), Y, 5)
    assert sparse.rnx_auc == pytest.approx(expected.rnx_auc, abs=1e-12)
    called = quality.compare_ranks(X[:40], Y[:40], 5, metric=lambda a, b: np.abs(a - b).sum())
    named = quality.compare_ranks(X[:40], Y[:40], 5, metric="cityblock")
    assert called.rnx_auc == pytest.approx(named.rnx_auc, abs=1e-12)
    small = quality.compare_ranks(X.astype(np.float32), Y.astype(np.float32), 5)
    assert small.rnx_auc == pytest.approx(expected.rnx_auc, abs=1e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e-25, 1e100])
def test_scale_does_not_matter(pair, scale):
    X, Y = pair
    expected = quality.rnx_auc(X, Y)
    assert quality.rnx_auc(X * scale, Y) == pytest.approx(expected, abs=1e-6)
    assert quality.rnx_auc(X, Y * scale) == pytest.approx(expected, abs=1e-6)


def test_the_same_bits_for_any_number_of_threads(pair):
    X, Y = pair
    one = quality.compare_ranks(X, Y, 5, n_jobs=1)
    three = quality.compare_ranks(X, Y, 5, n_jobs=3)
    np.testing.assert_array_equal(one.overlap, three.overlap)
    np.testing.assert_array_equal(one.data_ranks, three.data_ranks)
    np.testing.assert_array_equal(one.map_distances, three.map_distances)


def test_neighbours_are_those_of_the_graph(pair):
    X, Y = pair
    ranks = quality.compare_ranks(X, Y, 9)
    graph = lowdim.neighbors(X, k=9)
    np.testing.assert_array_equal(ranks.data_ids, graph.indices)
    np.testing.assert_allclose(ranks.data_distances, graph.distances, rtol=1e-12)


def test_plain_errors(pair):
    X, Y = pair
    with pytest.raises(ValueError, match="Y places 119 objects, but X has 120"):
        quality.trustworthiness(X, Y[:-1])
    with pytest.raises(ValueError, match="at least 3 objects"):
        quality.rnx_auc(X[:2], Y[:2])
    assert quality.rnx_auc(X[:3], X[:3]) == 1  # the fewest objects that have ranks
    with pytest.raises(ValueError, match="less than half"):
        quality.trustworthiness(X, Y, 60)
    with pytest.raises(ValueError, match="Input Y contains NaN"):
        quality.trustworthiness(X, np.where(Y > 1, np.nan, Y))
    with pytest.raises(TypeError, match="NeighborGraph"):
        quality.trustworthiness(lowdim.neighbors(X, k=5), Y, metric="precomputed")
    with pytest.raises(TypeError, match="sparse graph"):
        quality.trustworthiness(csr_array(cdist(X, X)), Y, metric="precomputed")


def test_an_estimate_is_a_number_that_keeps_its_margin():
    value = quality.IntervalEstimate(0.5, 0.1)
    again = pickle.loads(pickle.dumps(value))
    assert (again, again.margin, again.low, again.high) == (0.5, 0.1, 0.4, 0.6)
    assert str(value) == "0.500 ± 0.100"
    assert str(quality.IntervalEstimate(0.5)) == "0.500"
