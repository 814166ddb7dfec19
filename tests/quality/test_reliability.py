"""Reliability: parts by their definition; unreliable objects are wrong more often."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

import lowdim
from lowdim import quality


def test_parts_are_those_of_the_definition():
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(80, 5)), random.normal(size=(80, 2))
    found = quality.reliability(Y, X, other_maps=[X[:, :2]], n_neighbors=4)
    orders = [np.argsort(cdist(Z, Z), axis=1)[:, 1:] for Z in (X, Y, X[:, :2])]
    for i in range(80):
        data, placed, other = (order[i] for order in orders)
        for part, near, far in (
            (found.false, placed, data),
            (found.missed, data, placed),
            (found.unstable, placed, other),
        ):
            shares = [np.mean(~np.isin(near[:4], far[:size])) for size in (12, 36)]
            assert part[i] == pytest.approx(np.mean(shares))
    parts = (found.false + found.missed + 0.5 * found.unstable) / 2.5
    np.testing.assert_allclose(found.score, 1 - parts)
    assert quality.reliability(X, X).score.min() > 0.7
    assert quality.reliability(X, X).unstable is None


@pytest.fixture(scope="module")
def known():
    """Groups that overlap in the data; the map's neighbours of another group are false."""
    random = np.random.default_rng(1)
    y = np.repeat(np.arange(6), 100)
    X = (3.2 * np.eye(6, 12))[y] + random.normal(size=(600, 12))
    maps = [lowdim.TSNE(random_state=seed, init="random").fit_transform(X) for seed in range(3)]
    ids = lowdim.neighbors(maps[0], k=15).indices
    wrong = (y[ids] != y[:, None]).mean(axis=1) > 0.5
    return X, maps, wrong


def test_objects_among_false_neighbours_are_called_unreliable(known):
    X, maps, wrong = known
    found = quality.reliability(maps[0], X, other_maps=maps[1:])
    auc = roc_auc_score(wrong, -found.score)
    local = roc_auc_score(wrong, quality.point_errors(X, maps[0]).false)
    assert auc >= 0.8
    assert auc > local
    thirds = np.array_split(np.argsort(found.score), 3)  # least reliable first
    rates = [wrong[part].mean() for part in thirds]
    assert rates == sorted(rates, reverse=True)


def test_an_outlier_is_unseen_and_bad_input_is_refused():
    X = np.random.default_rng(2).normal(size=(100, 3))
    X[7] = 50
    found = quality.reliability(lowdim.PCA(2).fit(X), X)
    assert found.unseen.argmax() == 7
    assert "of 100 objects" in str(found)
    with pytest.raises(ValueError, match="row i of both"):
        quality.reliability(X[:-1, :2], X)
    with pytest.raises(ValueError, match="at least 5"):
        quality.reliability(X[:3, :2], X[:3])
