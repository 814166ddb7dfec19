"""Pinned objects, and the pull towards a global map."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

import lowdim
from helpers import with_threads
from lowdim.neighbor_embedding.anchors import Reference, start_at_pins

METHODS = {
    "TSNE": {"perplexity": 15, "max_iter": 300, "random_state": 0},
    "WeightedTSNE": {"perplexity": 15, "max_iter": 300, "random_state": 0},
    "UMAP": {"n_neighbors": 10, "n_epochs": 100, "random_state": 0},
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.fixture(params=METHODS)
def make(request):
    return lambda **params: getattr(lowdim, request.param)(**{**METHODS[request.param], **params})


def kept(X, Y, k=10):
    pairs = zip(lowdim.neighbors(X, k).indices, lowdim.neighbors(Y, k).indices, strict=True)
    return np.mean([len(np.intersect1d(*pair)) / k for pair in pairs])


def far_pairs(X, Y):
    return lowdim.quality.spearman(X, Y)


def test_pinned_objects_stay_and_the_others_settle_around_them(make, digits):
    X, _ = digits
    free = make().fit(X).embedding_
    pinned = np.full_like(free, np.nan)
    held = np.arange(0, 300, 20)
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    pinned[held] = free[held] @ turn + 3
    model = make().fit(X, pinned=pinned)
    np.testing.assert_array_equal(model.embedding_[held], pinned[held])
    assert kept(X, model.embedding_) > 0.9 * kept(X, free)


def test_a_spring_is_between_a_pin_and_a_free_object(make, digits):
    X, _ = digits
    free = make().fit(X).embedding_
    size = np.ptp(free, axis=0).max()
    pinned = np.full_like(free, np.nan)
    pinned[7] = free[7] + size / 2
    spring = make().fit(X, pinned=pinned, pin_strength=0.05).embedding_
    gaps = [np.linalg.norm(Y[7] - pinned[7]) for Y in (spring, make().fit_transform(X))]
    assert 0 < gaps[0] < gaps[1]


def test_a_single_coordinate_can_be_pinned(make, digits):
    X, y = digits
    pinned = np.full((300, 2), np.nan)
    pinned[:, 0] = 5.0 * y
    model = make().fit(X, pinned=pinned)
    np.testing.assert_array_equal(model.embedding_[:, 0], pinned[:, 0])
    assert model.embedding_[:, 1].std() > 0


def test_without_a_pin_the_map_is_the_same(make, digits):
    X, _ = digits
    free = make().fit_transform(X)
    for options in ({}, {"pin_strength": 0.5}):
        model = make().fit(X, pinned=np.full((300, 2), np.nan), **options)
        np.testing.assert_array_equal(model.embedding_, free)


def test_the_same_bits_for_any_number_of_threads(make, digits):
    X, _ = digits
    pinned = np.full((300, 2), np.nan)
    pinned[:5] = np.arange(10).reshape(5, 2)
    maps = [
        with_threads(n, make(global_weight=0.2).fit_transform, X, pinned=pinned) for n in (1, 3)
    ]
    np.testing.assert_array_equal(*maps)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pinned": np.zeros((3, 2))}, r"pinned has shape \(3, 2\)"),
        ({"pinned": np.full((300, 2), np.inf)}, "pinned"),
        ({"pinned": np.zeros((300, 2)), "pin_strength": 0}, "pin_strength must be above 0"),
        ({"pinned": np.zeros((300, 2)), "pin_strength": 2.0}, "pin_strength must be above 0"),
        ({"pinned": np.zeros((300, 2)), "pin_strength": np.ones(3)}, "pin_strength has shape"),
    ],
)
def test_wrong_pins_are_refused(make, digits, options, message):
    with pytest.raises(ValueError, match=message):
        make().fit(digits[0], **options)


def test_pins_need_a_flat_map(digits):
    model = lowdim.UMAP(output_metric="haversine", n_epochs=10)
    with pytest.raises(ValueError, match="output_metric"):
        model.fit(digits[0], pinned=np.zeros((300, 2)))


def test_a_start_is_moved_to_the_pins_as_a_whole():
    start = np.random.default_rng(0).normal(size=(40, 2))
    turned = 3 * start @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + [5, -2]
    pinned = np.full_like(start, np.nan)
    pinned[:4] = turned[:4]
    anchors = lowdim.neighbor_embedding.anchors.pins(pinned, 1.0, 40, 2, np.float64)
    np.testing.assert_allclose(start_at_pins(start, anchors, "pca"), turned, atol=1e-12)


# --- the pull towards a global map ----------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_a_global_weight_trades_neighbours_for_distances(name, digits):
    X, _ = digits
    maps = [
        getattr(lowdim, name)(**METHODS[name], global_weight=w).fit_transform(X)
        for w in (0.0, 0.5, 1.0)
    ]
    near, far = [kept(X, Y) for Y in maps], [far_pairs(X, Y) for Y in maps]
    assert near[0] > near[2] + 0.1
    assert near[1] > near[2] + 0.1
    assert far[0] + 0.04 < far[1]
    pca = lowdim.PCA(2).fit_transform(X)
    assert lowdim.procrustes(pca, maps[2]).correlation > 0.999 or name == "UMAP"
    assert abs(far[2] - far_pairs(X, pca)) < 0.03


def test_the_reference_has_the_size_of_the_map():
    places = np.random.default_rng(0).normal(size=(20, 2))
    places -= places.mean(axis=0)
    Y = 7 * places + [3, 4]
    Reference(places, 0.5).pull(Y)
    np.testing.assert_allclose(Y, 7 * places, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_a_wrong_global_weight_is_refused(name, digits):
    with pytest.raises(ValueError, match="global_weight"):
        getattr(lowdim, name)(global_weight=1.5).fit(digits[0])
