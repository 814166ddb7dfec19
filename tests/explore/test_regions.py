"""Regions: the known groups of a map, one region for noise, names that the data bear out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import lowdim

CENTERS = np.array([[0, 0], [8, 0], [40, 0], [48, 0], [44, 30]], dtype=float)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([150, 120, 200, 100, 80], centers=CENTERS, random_state=0)


def test_leaves_are_the_groups_and_the_tree_is_theirs(blobs):
    Y, y = blobs
    found = lowdim.regions(Y)
    assert found.n_leaves == 5
    assert adjusted_rand_score(y, found.membership) > 0.99
    two = found.at(2)  # the widest gap lies between x = 8 and x = 40
    sides = {frozenset(y[two.membership == at]) for at in (0, 1)}
    assert sides == {frozenset({0, 1}), frozenset({2, 3, 4})}
    for k in range(1, 6):
        level = found.at(k)
        assert len(level.regions) == k
        assert [r.size for r in level.regions] == np.bincount(level.membership).tolist()
        finer = found.at(k + 1)
        for at in range(len(finer.regions)):
            assert len(set(level.membership[finer.membership == at])) == 1
    assert found.tree[0].size == len(Y)
    for region in found.tree[1:]:
        assert region.id in found.tree[region.parent].children
        assert len(found.members(region.id)) == region.size
        assert region.peak in found.members(region.id)


@pytest.mark.parametrize("n", [100, 1000, 8000])
def test_noise_is_one_region(n):
    random = np.random.default_rng(n)
    assert lowdim.regions(random.uniform(size=(n, 2))).n_leaves == 1
    assert lowdim.regions(random.normal(size=(n, 2))).n_leaves == 1


def test_names_by_labels_features_and_words(blobs):
    Y, y = blobs
    random = np.random.default_rng(1)
    X = pd.DataFrame(random.normal(size=(len(y), 6)), columns=list("abcdef"))
    X["c"] += 4 * (y == 2)
    X["e"] -= 4 * (y == 4)
    kinds = np.array(["ant", "bee", "cat", "dog", "elk"])[y]
    texts = [f"the {kind} and the common word" for kind in kinds]
    found = lowdim.regions(Y, X, kinds, texts)
    for region in found.leaves:
        own = kinds[found.members(region.id)[0]]
        assert region.name == f"{own} 100%"
        assert (region.label, region.label_share) == (own, 1.0)
        assert region.words[0] == own
        assert "common" not in region.words
    by_features = {str(one.features[0]): one for one in lowdim.regions(Y, X).leaves}
    assert by_features["c high"].size == 200
    assert by_features["c high"].name.startswith("c high")
    assert by_features["e low"].size == 80
    effect = by_features["c high"].features[0]
    assert effect.inside == pytest.approx(X["c"][y == 2].mean())
    assert effect.outside == pytest.approx(X["c"][y != 2].mean())
    assert effect.feature == "c"
    assert 3 < effect.size < 5
    frame = found.to_frame()
    assert len(frame) == 9
    assert frame.loc[0, "size"] == len(y)
    mixed = lowdim.regions(Y, labels=np.arange(len(y)) % 10)
    assert mixed.tree[0].name == "0, 1 and 8 more"


def test_regions_with_one_label_are_told_apart_by_a_feature(blobs):
    Y, y = blobs
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(len(y), 4)), columns=list("abcd"))
    X["c"] += 4 * (y == 2)
    kinds = np.where(y < 3, "ant", "bee")
    found = lowdim.regions(Y, X, kinds)
    names = {kinds[y == k][0] + str(k): found.tree[found.membership[y == k][0]] for k in range(5)}
    assert names["ant2"].name == "ant 100%, c high"
    assert names["ant0"].name == names["ant1"].name == "ant 100%, c low"
    assert names["bee3"].name == names["bee4"].name == "bee 100%"  # no feature differs
    assert {one.name for one in lowdim.regions(Y, X.to_numpy(), kinds).leaves} == {
        "ant 100%",
        "bee 100%",
    }


def test_gaps_that_only_the_map_has_are_told_from_gaps_in_the_data():
    random = np.random.default_rng(2)
    side = np.repeat([0, 1], 300)
    flat = random.uniform(size=(600, 4))
    order = np.argsort(flat[:, 0])
    flat = flat[order]  # a continuous cloud, cut into halves by the map below
    Y = random.normal(size=(600, 2)) + 20 * side[:, None]
    torn = lowdim.regions(Y, flat)
    assert torn.n_leaves == 2
    assert [one.supported for one in torn.leaves] == [False, False]
    assert "no gap found in the data" in str(torn)
    apart = lowdim.regions(Y, flat + 3 * side[:, None])
    assert [one.supported for one in apart.leaves] == [True, True]
    assert lowdim.regions(Y).leaves[0].supported is None


def test_planted_groups_have_gaps_and_torn_shapes_have_none():
    random = np.random.default_rng(7)
    y = np.repeat(np.arange(5), [120, 60, 90, 100, 130])
    centers = random.normal(size=(5, 20))
    X = 6 * centers[y] / np.linalg.norm(centers, axis=1)[y, None] + random.normal(size=(500, 20))
    planted = lowdim.regions(lowdim.TSNE(random_state=0).fit(X), X, y)
    assert planted.n_leaves == 5
    assert all(one.supported and one.border < 0.3 for one in planted.leaves)
    assert planted.tree[0].supported is None
    t = np.sort(random.uniform(size=900)) * 6
    curve = np.stack([t * np.cos(2 * t), t * np.sin(2 * t), t], axis=1)
    sheet = random.uniform(size=(900, 2)) * [9, 1]
    cloud = random.normal(size=(900, 10))
    for shape in (curve, sheet[np.argsort(sheet[:, 0])], cloud[np.argsort(cloud[:, 0])]):
        side = np.repeat([0, 1, 2], 300)
        torn = lowdim.regions(random.normal(size=(900, 2)) + 30 * side[:, None], shape)
        assert torn.n_leaves == 3
        assert not any(one.supported for one in torn.leaves)
        ends = {one.continues_in for one in torn.leaves}
        assert ends <= {one.id for one in torn.leaves}
        assert len(ends) > 1


def test_objects_that_the_map_puts_into_a_wrong_region_do_not_hide_a_gap():
    random = np.random.default_rng(8)
    side = np.repeat([0, 1], 300)
    X = random.normal(size=(600, 8)) + 8 * side[:, None]
    shown = side.copy()
    shown[[5, 50, 150, 320, 400]] ^= 1
    found = lowdim.regions(random.normal(size=(600, 2)) + 20 * shown[:, None], X)
    assert [one.border for one in found.leaves] == [0, 0]


def test_objects_without_coordinates_threads_and_errors(blobs):
    Y, y = blobs
    Y = np.vstack([Y, [[np.nan, np.nan]]])
    found = lowdim.regions(Y, labels=[*y, 7], n_jobs=2)
    assert found.membership[-1] == -1
    assert found.at(3).membership[-1] == -1
    np.testing.assert_array_equal(found.membership, lowdim.regions(Y, n_jobs=1).membership)
    with pytest.raises(ValueError, match="labels has 3 entries"):
        lowdim.regions(Y, labels=[1, 2, 3])
    with pytest.raises(ValueError, match="text has 1 entries"):
        lowdim.regions(Y, text=["a"])
    with pytest.raises(ValueError, match="fitted estimator"):
        lowdim.regions("map")
    model = lowdim.PCA(2).fit(Y[:-1])
    assert lowdim.regions(model).n_leaves == 5
