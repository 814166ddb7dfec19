"""MDS with weighted objects, pinned objects, and axes that are combinations of covariates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowdim
from helpers import with_threads
from lowdim import MDS

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 6)) * [3, 2, 1, 1, 0.5, 0.5]


def test_colours_of_ekman_lie_on_a_circle_in_the_order_of_wavelengths():
    """The stress is that of Kruskal (1964), 0.023."""
    similarities, _ = lowdim.data.colors()
    options = {"metric_mds": False, "eps": 1e-10, "max_iter": 3000}
    model = MDS(metric="precomputed", **options).fit(1 - similarities)
    assert round(model.stresses_["stress-1"], 3) == 0.023
    Y = model.embedding_ - model.embedding_.mean(axis=0)
    turns = np.diff(np.unwrap(np.arctan2(Y[:, 1], Y[:, 0])))
    assert (turns > 0).all() or (turns < 0).all()


# --- weighted objects ---------------------------------------------------------------------------


@pytest.mark.parametrize("disparities", ["ratio", "interval"])
def test_a_weight_counts_how_often_an_object_was_observed(disparities):
    counts = RANDOM.integers(1, 4, len(X))
    options = {"disparities": disparities, "eps": 1e-12, "max_iter": 3000}
    once = MDS(**options).fit(X, sample_weight=counts)
    owner = np.repeat(np.arange(len(X)), counts)
    D = np.abs(once.disparities_ - cdist(once.embedding_, once.embedding_))
    raw = (D**2 * np.outer(counts, counts))[np.triu_indices(len(X), 1)].sum()
    assert once.stresses_["raw"] == pytest.approx(raw, rel=1e-9)
    often = MDS(**options, init=once.embedding_[owner]).fit(X[owner])
    if disparities == "ratio":  # copies lie in one place, so that the weighted map is a minimum
        assert often.stress_ == pytest.approx(once.stress_, rel=1e-6)
        assert often.n_iter_ < 5


def test_new_objects_are_placed_by_the_same_weights():
    counts = RANDOM.integers(1, 4, len(X))
    model = MDS(random_state=0).fit(X, sample_weight=counts)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    new = RANDOM.normal(size=(3, 6))
    placed, D = model.transform(new), cdist(new, X)

    def stress(Y):
        return (counts * (cdist(Y, model.embedding_) - D) ** 2).sum(axis=1)

    for shift in 1e-3 * RANDOM.normal(size=(20, 2)):
        assert (stress(placed + shift) > stress(placed)).all()


def test_equal_weights_are_no_weights():
    np.testing.assert_allclose(
        MDS().fit(X, sample_weight=np.ones(60)).embedding_, MDS().fit_transform(X), atol=1e-12
    )


@pytest.mark.parametrize("weight", [np.ones(3), np.zeros(60), -np.ones(60), np.full(60, np.nan)])
def test_wrong_weights_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        MDS().fit(X, sample_weight=weight)


# --- pinned objects -----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "d^-1"])
def test_pinned_objects_stay_and_the_others_minimise_the_stress_around_them(weights):
    pinned = np.full((60, 2), np.nan)
    pinned[:5] = 2 * RANDOM.normal(size=(5, 2))
    pinned[7, 1] = 1.0
    model = MDS(weights=weights, eps=1e-13, max_iter=5000).fit(X, pinned=pinned)
    held = np.isfinite(pinned)
    np.testing.assert_array_equal(model.embedding_[held], pinned[held])
    D = cdist(X, X)
    w = np.ones_like(D) if weights is None else 1 / np.where(D > 0, D, 1)

    def stress(Y):
        return (w * (cdist(Y, Y) - D) ** 2)[np.triu_indices(60, 1)].sum()

    best = stress(model.embedding_)
    assert best == pytest.approx(model.stress_, rel=1e-9)
    for _ in range(30):
        step = 1e-3 * RANDOM.normal(size=(60, 2)) * ~held
        assert stress(model.embedding_ + step) > best
        assert stress(model.embedding_ - step) > best


def test_places_of_the_map_itself_give_the_map_in_their_frame():
    options = {"eps": 1e-13, "max_iter": 5000}
    free = MDS(**options).fit_transform(X)
    turn = np.linalg.qr(RANDOM.normal(size=(2, 2)))[0]
    pinned = np.full((60, 2), np.nan)
    pinned[:4] = free[:4] @ turn + 3
    np.testing.assert_allclose(
        MDS(**options).fit(X, pinned=pinned).embedding_, free @ turn + 3, atol=1e-3
    )


def test_a_spring_gives_way_in_part():
    free = MDS().fit_transform(X)
    pinned = np.full((60, 2), np.nan)
    pinned[9] = free[9] + 5
    gaps = [
        np.linalg.norm(
            MDS(init=free).fit(X, pinned=pinned, pin_strength=s).embedding_[9] - pinned[9]
        )
        for s in (0.01, 0.3, 1.0)
    ]
    assert 5 > gaps[0] > gaps[1] > gaps[2] == 0


def test_pinned_maps_have_the_same_bits_for_any_number_of_threads():
    pinned = np.full((60, 2), np.nan)
    pinned[:3] = [[0, 0], [4, 0], [0, 4]]
    one, three = (with_threads(n, MDS().fit_transform, X, pinned=pinned) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"disparities": "ordinal"}, {"pinned": np.zeros((60, 2))}, "pinned needs disparities"),
        ({}, {"pinned": np.zeros((60, 2)), "covariates": X[:, :2]}, "no covariates"),
        ({}, {"pinned": np.zeros((3, 2))}, r"pinned has shape \(3, 2\)"),
        ({"method": "sampled"}, {"pinned": np.zeros((60, 2))}, "'sampled'"),
        ({"method": "sampled"}, {"sample_weight": np.arange(1, 61)}, "'sampled'"),
        ({}, {"covariates": X[:5]}, "covariates has 5 rows"),
        ({}, {"covariates": X[:, :1]}, "1 are independent"),
        ({}, {"covariates": X[:, [0, 1, 0]]}, "2 are independent"),
    ],
)
def test_restrictions_that_cannot_be_met_are_refused(options, arguments, message):
    with pytest.raises(ValueError, match=message):
        MDS(**options).fit(X, **arguments)


def test_slices_can_be_aligned():
    shared = [{i: i - 20 for i in range(20, 40)}]
    maps = lowdim.fit_aligned(MDS(), [X[:40], X[20:]], shared, strength=0.3)
    gap = np.linalg.norm(maps[0].embedding_[20:] - maps[1].embedding_[:20], axis=1).mean()
    assert gap < 0.2 * maps[0].embedding_.std()


# --- covariates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("disparities", ["ratio", "ordinal"])
def test_axes_are_combinations_of_covariates(disparities):
    Z = RANDOM.normal(size=(60, 3)) + 5
    C = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, -2.0]])
    noisy = Z @ C + 0.2 * RANDOM.normal(size=(60, 2))
    options = {"disparities": disparities, "eps": 1e-12, "max_iter": 5000}
    model = MDS(**options).fit(noisy, covariates=Z)
    inside = (Z - Z.mean(axis=0)) @ model.coefficients_
    np.testing.assert_allclose(model.embedding_, inside, atol=1e-9)
    assert model.stress_ > MDS(**options).fit(noisy).stress_
    exact = MDS(**options).fit(Z @ C, covariates=Z)
    assert exact.stresses_["stress-1"] < 1e-4
    if disparities == "ratio":
        D = cdist(noisy, noisy)

        def stress(C):
            Y = (Z - Z.mean(axis=0)) @ C
            return ((cdist(Y, Y) - D) ** 2)[np.triu_indices(60, 1)].sum()

        for _ in range(20):
            step = 1e-3 * RANDOM.normal(size=C.shape)
            assert stress(model.coefficients_ + step) > stress(model.coefficients_)


def test_all_functions_of_the_objects_are_no_restriction():
    Z = RANDOM.normal(size=(30, 29))
    options = {"eps": 1e-13, "max_iter": 5000}
    free = MDS(**options).fit(X[:30])
    assert MDS(**options).fit(X[:30], covariates=Z).stress_ == pytest.approx(free.stress_, rel=1e-4)


def test_models_are_saved_with_weights_and_coefficients(tmp_path):
    model = MDS().fit(X, covariates=X[:, :3], sample_weight=np.arange(1, 61))
    model.save(tmp_path / "model")
    again = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X[:4] + 0.1), model.transform(X[:4] + 0.1))
    np.testing.assert_array_equal(again.coefficients_, model.coefficients_)


def test_places_and_covariates_of_extreme_magnitude():
    pinned = np.full((60, 2), np.nan)
    pinned[:3] = [[0, 0], [4, 0], [0, 4]]
    huge = MDS().fit(X * 2.0**300, pinned=pinned * 2.0**300).embedding_
    np.testing.assert_array_equal(huge, MDS().fit(X, pinned=pinned).embedding_ * 2.0**300)
