"""Multidimensional unfolding, with the breakfast data of Green and Rao (1972)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.stats import rankdata, spearmanr

import lowdim
from helpers import with_threads
from lowdim import Unfolding, procrustes

RANDOM = np.random.default_rng(0)
JUDGES, OBJECTS = RANDOM.uniform(-1, 1, (80, 2)), RANDOM.uniform(-1, 1, (12, 2))
DISTANCES = cdist(JUDGES, OBJECTS)
RANKS = rankdata(DISTANCES, axis=1)
# 42 judges rank 15 breakfasts (toast pop-up, buttered toast, English muffin, jelly donut, cinnamon
# toast, blueberry muffin, hard rolls, toast and marmalade, buttered toast and jelly, toast and
# margarine, cinnamon bun, Danish pastry, glazed donut, coffee cake, corn muffin); f is rank 15.
BREAKFAST = """
dc73548baf2169e fb63a5e89c7142d face32987b1645d 6eb378ca9f4125d f96ed2c87ab1435
9be476fa8c5231d 9e5684dbcf7213a fac692d87b3154e fc2458ab3d7961e fda7649cbe52813
924f851a67bdec3 b12fc3487ea9d56 c1e456bd2fa3987 dbe54ca87f32619 cb8147ea9d5263f
fc4e53b97d6812a 7a83d6fcb95142e 7c64a1f98d53e2b 2985fc7a6b134de abf694e2dc81375
c12a3f564d7b89e eca1b5f87d26439 e61d25f84c7a93b ab9f56c13d82e47 f8759ad3b621c4e
fd85a7ecb641329 b36e179425afdc8 6f3b82d9ae57c14 f7a2c9d856b134e fa7296ec8b5314d
b49af8651de2c37 93adeb1245f678c f81ba24de965c37 f83ba24de965c17 f6aec82435b1d79
c2db9f314568a7e 516bca7432d98ef fb7d469e8c1a325 61c5f927b38a4ed e15f463892cbda7
a32e918cd4b5f67 d31e4a5f62b7c89
"""


def breakfast():
    return np.array([[int(rank, 16) for rank in row] for row in BREAKFAST.split()], dtype=float)


def variation(model):
    """The mean coefficient of variation of the distances from a judge."""
    d = cdist(model.embedding_, model.objects_)
    return float((d.std(axis=1) / d.mean(axis=1)).mean())


def test_breakfasts_fit_as_well_as_in_smacof():
    """Stress-1 of the R package smacof is 0.308625, with a looser stopping rule."""
    X = breakfast()
    assert (np.sort(X, axis=1) == np.arange(1, 16)).all()
    model = Unfolding(disparities="ratio", eps=1e-9, max_iter=5000).fit(X)
    assert 0.3080 < model.stress_ <= 0.308625
    d = cdist(model.embedding_, model.objects_)
    assert model.stress_ == pytest.approx(np.sqrt(((X - d) ** 2).sum() / (X**2).sum()), rel=1e-3)


def test_the_penalty_prevents_degenerate_maps():
    X = breakfast()
    assert variation(Unfolding(penalty=0, n_init=1).fit(X)) < 0.02
    model = Unfolding().fit(X)
    assert 0.4 < variation(model) < 0.7
    d = cdist(model.embedding_, model.objects_)
    agreement = [spearmanr(*pair).statistic for pair in zip(X, d, strict=True)]
    assert np.mean(agreement) > 0.65


def test_distances_are_recovered():
    model = Unfolding(disparities="ratio", eps=1e-12, max_iter=20000).fit(DISTANCES)
    assert model.stress_ < 1e-3
    both = np.concatenate([JUDGES, OBJECTS])
    found = np.concatenate([model.embedding_, model.objects_])
    assert procrustes(both, found, scaling=False).disparity < 1e-4


@pytest.mark.parametrize("conditional", ["row", "matrix"])
def test_orders_are_recovered(conditional):
    X = RANKS if conditional == "row" else DISTANCES**3
    model = Unfolding(conditional=conditional, max_iter=5000).fit(X)
    d = cdist(model.embedding_, model.objects_)
    assert np.mean([spearmanr(a, b).statistic for a, b in zip(DISTANCES, d, strict=True)]) > 0.95
    assert procrustes(OBJECTS, model.objects_).correlation > 0.95
    for fitted, row in zip(model.disparities_, X, strict=True):
        assert (np.diff(fitted[np.argsort(row)]) >= -1e-12).all()


def test_the_numbers_of_a_row_count_by_their_order_alone():
    scaled = np.exp(DISTANCES * RANDOM.uniform(1, 3, (80, 1))) + RANDOM.normal(size=(80, 1))
    np.testing.assert_array_equal(
        Unfolding(n_init=1).fit(scaled).embedding_, Unfolding(n_init=1).fit(RANKS).embedding_
    )


@pytest.mark.parametrize("options", [{}, {"conditional": "matrix"}, {"disparities": "ratio"}])
def test_the_penalised_stress_never_increases(options):
    X = np.round(DISTANCES * 3) + 1  # ratings, with ties
    model = Unfolding(**options, n_init=1).fit(X)
    assert (np.diff(model.history_) <= 0).all()
    assert len(model.history_) == model.n_iter_ + 1
    assert model.penalized_stress_ == model.history_[-1]
    again = Unfolding(**options, n_init=3).fit(X)
    assert again.penalized_stress_ <= model.penalized_stress_


def test_the_penalised_stress_is_its_definition():
    model = Unfolding(penalty=0.7, fit_power=0.4).fit(RANKS)
    fitted, d = model.disparities_, cdist(model.embedding_, model.objects_)
    misfits = 1 - (fitted * d).sum(axis=1) ** 2 / (fitted**2).sum(axis=1) / (d**2).sum(axis=1)
    assert model.stress_ == pytest.approx(np.sqrt(misfits.mean()), rel=1e-6)
    even = (fitted.mean(axis=1) / fitted.std(axis=1)) ** 2
    penalized = misfits.mean() ** 0.4 * (1 + 0.7 * even.mean())
    assert model.penalized_stress_ == pytest.approx(penalized, rel=1e-6)


def test_judges_need_not_be_equally_far_from_the_centre():
    found = np.linalg.norm(Unfolding().fit(RANKS).embedding_, axis=1)
    truth = np.linalg.norm(JUDGES - OBJECTS.mean(axis=0), axis=1)
    assert np.corrcoef(found, truth)[0, 1] > 0.8


@pytest.mark.parametrize("disparities", ["ordinal", "ratio"])
def test_new_judges_are_placed_by_their_preferences(disparities):
    X = RANKS if disparities == "ordinal" else DISTANCES
    model = Unfolding(disparities=disparities).fit(X)
    first = np.unique(X, axis=0, return_index=True)[1]  # judges of equal ranks share a place
    np.testing.assert_array_equal(model.transform(X)[first], model.embedding_[first])
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=0.02)
    places = RANDOM.uniform(-1, 1, (20, 2))
    new = cdist(places, OBJECTS)
    placed = model.transform(new)
    assert procrustes(places, placed).correlation > 0.9
    np.testing.assert_array_equal(placed[3:5], model.transform(new[3:5]))
    d = model.inverse_transform(placed)
    assert np.mean([spearmanr(a, b).statistic for a, b in zip(new, d, strict=True)]) > 0.9
    np.testing.assert_allclose(d, cdist(placed, model.objects_))


def test_units_follow_the_numbers():
    one = Unfolding(disparities="ratio").fit(DISTANCES)
    huge = Unfolding(disparities="ratio").fit(DISTANCES * 2.0**400)
    np.testing.assert_allclose(huge.objects_ / 2.0**400, one.objects_, rtol=1e-9)
    np.testing.assert_allclose(
        huge.transform(DISTANCES[:3] * 2.0**401) / 2.0**400,
        one.transform(DISTANCES[:3] * 2),
        rtol=1e-6,
    )


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_models_are_saved(kind, tmp_path):
    model = Unfolding().fit(kind(RANKS.astype(np.float32)))
    assert model.embedding_.dtype == np.float32
    model.save(tmp_path / "model")
    again = lowdim.load(tmp_path / "model")
    new = RANDOM.permuted(RANKS[:5], axis=1).astype(np.float32)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))


def test_the_number_of_threads_changes_no_bit():
    one, three = (with_threads(n, Unfolding().fit_transform, RANKS) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({"disparities": "ratio"}, DISTANCES - 1, "'ratio' fits distances"),
        ({"disparities": "interval"}, RANKS, "disparities must be"),
        ({"conditional": "column"}, RANKS, "conditional must be"),
        ({"fit_power": 0}, RANKS, "fit_power"),
        ({"penalty": -1}, RANKS, "penalty"),
        ({}, RANKS[:, :1], "at least 2 objects"),
    ],
)
def test_wrong_settings_are_refused(options, X, message):
    with pytest.raises(ValueError, match=message):
        Unfolding(**options).fit(X)
