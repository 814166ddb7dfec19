"""PaCMAP and LocalMAP: pairs, losses, phases, and what is special about the estimator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import lowdim
from lowdim.neighbor_embedding.pacmap import pairs
from lowdim.neighbor_embedding.pacmap.pacmap import place_by_near_pairs
from lowdim.neighbor_embedding.pacmap.pairs import PairLayout
from lowdim.objects.objects import objects_of

X = np.random.default_rng(0).normal(size=(300, 5))
ORDER = np.random.default_rng(1).permutation(300)


def pair_losses(Y, near, mid, further):
    """The three losses of the paper, without weights."""

    def d(chosen):
        return 1 + ((Y[chosen[:, 0]] - Y[chosen[:, 1]]) ** 2).sum(axis=1)

    a, b, c = d(near), d(mid), d(further)
    return (a / (10 + a)).sum(), (b / (10_000 + b)).sum(), (1 / (1 + c)).sum()


def chosen_partners():
    graph = lowdim.neighbors(X, 40)
    near, _ = pairs.near_partners(graph, 6, None)
    mid = pairs.mid_partners(objects_of(X, "euclidean", {}), X, ORDER, 4, 0, None)
    return near, mid, pairs.draw_others(near, X[ORDER], ORDER, 12, 0)


def chosen_pairs():
    return [pairs.as_pairs(lists) for lists in chosen_partners()]


def layout_of(Y):
    return PairLayout(list(chosen_partners()), Y, ORDER, n_epochs=450, seed=0)


def test_near_pairs_are_nearest_by_scaled_distances():
    D = cdist(X, X)
    scale = np.sort(D, axis=1)[:, 4:7].mean(axis=1)  # the first is the object itself
    scaled = D**2 / np.outer(scale, scale)
    near, scales = pairs.near_partners(lowdim.neighbors(X, 299), 6, None)
    np.testing.assert_allclose(scales, scale)
    np.fill_diagonal(scaled, np.inf)
    np.testing.assert_array_equal(near, np.argsort(scaled, axis=1)[:, :6])
    np.testing.assert_array_equal(pairs.as_pairs(near)[:, 0], np.repeat(np.arange(300), 6))


def test_a_mid_near_partner_is_the_second_nearest_of_six():
    mid = chosen_pairs()[1]
    assert len(mid) == 1200
    assert (mid[:, 0] != mid[:, 1]).all()
    ranks = np.argsort(np.argsort(cdist(X, X), axis=1), axis=1) / 299
    found = ranks[mid[:, 0], mid[:, 1]]
    # the second smallest of six uniform numbers has mean 2 / 7 and variance 10 / 392
    assert abs(found.mean() - 2 / 7) < 4 * np.sqrt(10 / 392 / 1200)
    assert abs(found.var() - 10 / 392) < 0.004


def test_further_partners_are_random_and_not_near():
    near, _, further = chosen_pairs()
    assert len(further) == 3600
    assert not set(map(tuple, further)) & set(map(tuple, near))
    assert len(set(map(tuple, further))) == 3600
    assert (further[:, 0] != further[:, 1]).all()
    counts = np.bincount(further[:, 1], minlength=300)
    assert ((counts - 12) ** 2 / 12).sum() < 400  # chi-squared, about 299 degrees


def test_the_gradient_is_that_of_the_losses():
    Y = 2 * np.random.default_rng(2).normal(size=(300, 3))
    near, mid, further = chosen_pairs()
    layout = layout_of(Y)
    loss = layout.run(1)
    weights = 2, 1000, 1
    assert loss == pytest.approx(np.dot(weights, pair_losses(Y, near, mid, further)))
    gradient = np.empty_like(Y)
    gradient[ORDER] = 10 * layout.velocity  # the first of Adam's means is a tenth of the gradient
    step = 1e-6
    for i, c in ((0, 0), (17, 2), (299, 1)):
        ends = []
        for sign in (1, -1):
            moved = Y.copy()
            moved[i, c] += sign * step
            ends.append(np.dot(weights, pair_losses(moved, near, mid, further)))
        assert gradient[i, c] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5)


def test_the_weights_of_the_three_phases():
    laws = layout_of(X[:, :2])._laws(0, 450)
    np.testing.assert_array_equal(laws[[0, 99, 100, 199, 200, 449], 0, 1], [2, 2, 3, 3, 1, 1])
    np.testing.assert_allclose(laws[[0, 50, 100, 199, 200, 449], 1, 1], [1000, 501.5, 3, 3, 0, 0])
    assert (laws[:, 2, 1] == -1).all()
    assert (laws[:, :, 2] == 0).all()
    layout = layout_of(X[:, :2])
    layout.reach = 10.0
    local = layout._laws(0, 450)
    np.testing.assert_array_equal(local[[0, 199, 200, 449], 0, 2], [0, 0, 5, 5])


def test_local_further_pairs_are_near_on_the_map():
    Y = np.random.default_rng(3).uniform(size=(300, 2)) * 20
    near, _, before = chosen_partners()
    drawn = pairs.draw_others(near, Y[ORDER], ORDER, 12, 5, 6.0, before)
    near, before, drawn = map(pairs.as_pairs, (near, before, drawn))
    assert len(drawn) == len(before)
    length = np.linalg.norm(Y[drawn[:, 0]] - Y[drawn[:, 1]], axis=1)
    known = set(map(tuple, before))
    kept = np.array([pair in known for pair in map(tuple, drawn)])
    assert (length[~kept] <= 6).all()
    assert kept.mean() < 0.2
    assert not set(map(tuple, drawn)) & set(map(tuple, near))


def test_maps_of_digits_and_new_ones():
    digits, y = load_digits(return_X_y=True)
    for settings in ({}, {"local_distance": 10.0}):
        model = lowdim.PaCMAP(random_state=0, **settings).fit(digits[:1500])
        right = cross_val_score(KNeighborsClassifier(5), model.embedding_, y[:1500]).mean()
        assert right > 0.97  # 0.981 and 0.987 by the authors' package, of all digits
        known = KNeighborsClassifier(5).fit(model.embedding_, y[:1500])
        assert known.score(model.transform(digits[1500:]), y[1500:]) > 0.93


def test_labels_bring_objects_together():
    digits, y = load_digits(return_X_y=True)
    free = lowdim.PaCMAP(random_state=0).fit(digits[:600])
    model = lowdim.PaCMAP(random_state=0).fit(digits[:600], y[:600])

    def mixed(fitted):
        return (y[fitted.near_pairs_[:, 0]] != y[fitted.near_pairs_[:, 1]]).mean()

    assert mixed(model) < 0.1 * mixed(free)
    unknown = lowdim.PaCMAP(random_state=0).fit(digits[:600], np.full(600, -1))
    np.testing.assert_array_equal(unknown.embedding_, free.embedding_)


def test_given_pairs_give_the_same_map():
    one = lowdim.PaCMAP(random_state=0, max_iter=30).fit(X)
    given = {
        name: getattr(one, f"{name}_") for name in ("near_pairs", "mid_pairs", "further_pairs")
    }
    again = lowdim.PaCMAP(random_state=0, max_iter=30).fit(X, **given)
    np.testing.assert_array_equal(again.embedding_, one.embedding_)
    fewer = given["near_pairs"][::2]
    other = lowdim.PaCMAP(random_state=0, max_iter=30).fit(X, near_pairs=fewer)
    np.testing.assert_array_equal(other.near_pairs_, fewer)
    with pytest.raises(ValueError, match=r"mid_pairs must be in \[0, 300\), found 0 to 300"):
        lowdim.PaCMAP().fit(X, mid_pairs=[[0, 300]])
    with pytest.raises(ValueError, match=r"near_pairs must be an array .* got shape \(3,\)"):
        lowdim.PaCMAP().fit(X, near_pairs=[0, 1, 2])


def test_numbers_of_pairs():
    assert pairs.pair_counts(1000, 10, 0.5, 2.0) == [10, 5, 20]
    assert pairs.pair_counts(70_000, None, 0.5, 2.0) == [23, 12, 46]
    assert pairs.pair_counts(10_000, None, 0.5, 2.0) == [10, 5, 20]
    for n in range(2, 40):
        near, mid, further = pairs.pair_counts(n, 10, 0.5, 2.0)
        assert 1 <= near <= n - 1
        assert near + mid + further <= max(n, 4)


def test_a_new_object_is_where_its_near_pairs_have_the_least_loss():
    Y = np.random.default_rng(4).normal(size=(40, 2)) * 4
    near = np.random.default_rng(5).permuted(np.tile(np.arange(40), (20, 1)), axis=1)[:, :8]
    placed = place_by_near_pairs(near, Y)

    def loss(at):
        d = 1 + ((Y[near] - at[:, None]) ** 2).sum(axis=2)
        return (d / (10 + d)).sum(axis=1)

    for shift in 0.05 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]):
        assert (loss(placed) <= loss(placed + shift)).all()


def test_parameters_change_during_a_fit():
    seen = []

    def callback(state):
        if state.iteration == 20:
            state.change(learning_rate=0.0)
        seen.append(state.embedding)

    lowdim.PaCMAP(max_iter=40, random_state=0, callback=callback).fit(X)
    assert not np.array_equal(seen[10], seen[18])
    np.testing.assert_array_equal(seen[25], seen[39])


MASSES = np.random.default_rng(2).integers(1, 6, 300).astype(float)


def test_the_loss_of_weighted_rows_is_that_of_repeated_pairs():
    lists, Y = chosen_partners(), 3 * X[:, :2]
    layout = PairLayout(list(lists), Y, ORDER, n_epochs=450, seed=0, masses=MASSES)
    repeated = []
    for kind, listed in zip(("near", "mid", "further"), lists, strict=True):
        own, partner = pairs.as_pairs(listed).T
        counts = MASSES[own] * (MASSES[partner] if kind == "further" else 1)
        repeated.append(pairs.as_pairs(listed).repeat(counts.astype(int), axis=0))
    near, mid, further = pair_losses(Y, *repeated)
    mean = MASSES.mean()
    wanted = 2 * near / mean + 1000 * mid / mean + further / mean**2
    assert layout.run(1, loss=True) == pytest.approx(wanted, rel=1e-9)


def test_a_step_of_weighted_rows_follows_the_slope_of_the_loss():
    Y, h = 3 * X[:, :2], 1e-5

    def loss_at(at):
        layout = PairLayout(list(chosen_partners()), at, ORDER, 450, seed=0, masses=MASSES)
        return layout.run(1, loss=True), layout.embedding - at

    step = np.zeros_like(Y)
    for i in range(20):
        step[i] = h, 0
        slope = (loss_at(Y + step)[0] - loss_at(Y - step)[0]) / (2 * h)
        assert np.sign(slope) == -np.sign(loss_at(Y)[1][i, 0])
        step[i] = 0


def test_mid_near_partners_are_drawn_by_weight():
    masses = np.where(np.arange(300) < 60, 8.0, 1.0)
    objects = objects_of(X, "euclidean", {})
    mid = pairs.mid_partners(objects, X, ORDER, 10, 0, None, masses)
    share = 480 / 720  # of the weight; X does not depend on it
    drawn = (mid < 60).mean()
    assert abs(drawn - share) < 5 * np.sqrt(share * (1 - share) / mid.size)
    equal = pairs.mid_partners(objects, X, ORDER, 10, 0, None, np.ones(300))
    assert abs((equal < 60).mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / mid.size)
    assert (equal != np.arange(300)[:, None]).all()


@pytest.mark.parametrize("method", [lowdim.PaCMAP, lowdim.UMAP])
def test_weighted_rows_keep_their_neighbors(method):
    digits = load_digits().data[:500]
    counts = np.random.default_rng(0).integers(1, 20, 500)
    plain = method(random_state=0).fit(digits).embedding_
    weighted = method(random_state=0).fit(digits, sample_weight=counts).embedding_
    repeated = method(random_state=0).fit(digits, sample_weight=1000 * counts).embedding_
    np.testing.assert_allclose(weighted, repeated, atol=1e-3 * np.ptp(weighted))
    assert not np.allclose(plain, weighted, atol=1e-2 * np.ptp(plain))
    kept = [lowdim.trustworthiness(digits, Y) for Y in (plain, weighted)]
    assert kept[1] > kept[0] - 0.01
    with pytest.raises(ValueError, match="must be positive, found 0"):
        method().fit(digits, sample_weight=np.zeros(500))
