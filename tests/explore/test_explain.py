"""Explanations: loadings of a linear map, planted features, contrasts; neighbours of two maps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs

import lowdim


def test_slopes_of_a_linear_map_are_its_loadings():
    X = load_wine().data
    X = X * np.geomspace(1, 3, X.shape[1]) / X.std(axis=0)
    model = lowdim.PCA(2).fit(X)
    found = lowdim.explain(model, X)
    loadings = found.directions * X.std(axis=0)[:, None]
    np.testing.assert_allclose(loadings, model.components_.T, atol=1e-8)
    projected = model.embedding_ @ model.components_
    share = projected.var(axis=0) / X.var(axis=0)
    np.testing.assert_allclose(found.linear_r2, share, atol=1e-8)


def test_r2_and_gradients_of_known_functions_of_the_position():
    random = np.random.default_rng(0)
    Y = random.uniform(-1, 1, size=(800, 2))
    X = np.stack([3 * Y[:, 0] + 5, Y[:, 0] ** 2, random.normal(size=800), np.ones(800)], axis=1)
    found = lowdim.explain(Y, X, feature_names=["line", "bowl", "noise", "constant"])
    assert found.top(2) == ["line", "bowl"]
    assert found.r2[0] > 0.999
    assert found.r2[1] > 0.97
    assert found.linear_r2[1] < 0.05
    assert found.r2[2] < 0.05  # cross-validated: noise is not predicted
    inner = np.abs(Y).max(axis=1) < 0.8
    slopes = found.gradients[inner] * X.std(axis=0)[:, None]
    np.testing.assert_allclose(slopes[:, 0], np.tile([3, 0], (inner.sum(), 1)), atol=0.02)
    np.testing.assert_allclose(slopes[:, 1, 0], 2 * Y[inner, 0], atol=0.25)
    assert (found.strengths[:, 3] == 0).all()
    frame = found.to_frame()
    assert list(frame.index[:2]) == ["line", "bowl"]
    assert "line" in str(found)


def test_the_columns_that_drive_regions_are_found():
    random = np.random.default_rng(1)
    Y, y = make_blobs([100] * 5, centers=30 * np.eye(5, 2) + np.arange(5)[:, None] * 9,
                      random_state=0)  # fmt: skip
    X = random.normal(size=(500, 50))
    drivers = random.permutation(50)[:15].reshape(5, 3)
    for group, columns in enumerate(drivers):
        X[np.ix_(y == group, columns)] += 1.5 * random.choice([-1, 1], size=3)
    found = lowdim.explain(Y, X)
    regions = lowdim.regions(Y, X)
    assert regions.n_leaves == 5
    hits = 0
    for part in found.by_region(regions):
        group = y[regions.members(part["region"])[0]]
        named = {effect.feature for effect in part["effects"][:3]}
        hits += len(named & {f"column {c}" for c in drivers[group]})
    assert hits >= 14  # of 15
    contrast = found.contrast(np.flatnonzero(y == 0), y == 1)
    both = {f"column {c}" for c in drivers[:2].ravel()}
    assert {effect.feature for effect in contrast[:6]} == both


@pytest.mark.parametrize("rows", [[-1], [0, 40], [], [0.5], [[1]], ["a"], [True, False]])
def test_row_numbers_that_no_object_has(rows):
    random = np.random.default_rng(2)
    found = lowdim.explain(random.normal(size=(40, 2)), random.normal(size=(40, 3)))
    with pytest.raises(ValueError, match="members must be row numbers"):
        found.region(rows)
    with pytest.raises(ValueError, match="second must be row numbers"):
        found.contrast([1], rows)


def test_an_object_and_its_neighbours():
    random = np.random.default_rng(2)
    Y, X = random.normal(size=(200, 2)), random.normal(size=(200, 4))
    X[17, 2] = 30
    first = lowdim.explain(Y, X).object(17)[0]
    assert (first.feature, first.inside) == ("column 2", 30)
    assert first.size > 5
    Y[5] = np.nan
    found = lowdim.explain(Y, X)
    assert np.isnan(found.gradients[5]).all()
    with pytest.raises(ValueError, match="object 5 has no coordinates"):
        found.object(5)
    with pytest.raises(ValueError, match="X has shape"):
        lowdim.explain(Y, X[:-1])


def test_neighbours_kept_lost_and_gained_between_maps():
    random = np.random.default_rng(3)
    a = random.normal(size=(60, 2))
    b = random.normal(size=(60, 3))
    found = lowdim.compare_maps(a, b, n_neighbors=5)
    near = [np.argsort(((Y[:, None] - Y) ** 2).sum(axis=2), axis=1)[:, 1:6] for Y in (a, b)]
    for i in range(60):
        one, other = (set(ids[i].tolist()) for ids in near)
        assert found.kept[i] == pytest.approx(len(one & other) / 5)
        assert set(found.lost[i]) - {-1} == one - other
        assert set(found.gained[i]) - {-1} == other - one
    assert lowdim.compare_maps(a, 3 - 2 * a[:, ::-1]).score == 1
    assert found.score < 0.3
    assert (np.diff(found.kept[found.most_changed(60)]) >= 0).all()


def test_the_region_that_moved_is_named():
    a, y = make_blobs([80, 80, 80], centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    b = a.copy()
    b[y == 2] = a[y == 1] + 0.1  # the third group now lies on the second
    found = lowdim.compare_maps(a, b)
    regions = lowdim.regions(a, labels=y)
    parts = {part["name"]: part for part in found.by_region(regions)}
    assert parts["0 100%"]["kept"] == 1
    third = next(r.id for r in regions.leaves if r.label == "2")
    assert parts["1 100%"]["mixed_with"] == third
    assert parts["1 100%"]["mixed_share"] > 0.9
    assert len(found.to_frame()) == 240
    with pytest.raises(ValueError, match="row i of both"):
        lowdim.compare_maps(a, b[:-1])


def test_what_changes_most_is_the_planted_feature_on_each_side():
    rng = np.random.default_rng(0)
    Y = rng.uniform(-1, 1, size=(600, 2))
    left, right = np.minimum(Y[:, 0], 0), np.maximum(Y[:, 0], 0)
    table = np.column_stack([left, right, rng.normal(size=600)])
    found = lowdim.explain(Y, table, feature_names=["left", "right", "noise"])
    inner = np.abs(Y[:, 0]) > 0.2
    expected = np.where(Y[:, 0] < 0, "left", "right")
    assert (found.changing() == expected)[inner].all()
    names, counts = np.unique(found.changing(1).astype(str), return_counts=True)
    assert set(names) == {max(("left", "right"), key=lambda n: (expected == n).sum()), "others"}
    assert counts.min() > 200
    Y[3] = np.nan
    assert lowdim.explain(Y, table).changing()[3] is None
