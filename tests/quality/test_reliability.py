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


def test_neighbours_that_a_change_of_the_object_costs_are_those_of_the_definition():
    X = np.random.default_rng(3).normal(size=(90, 5))
    model = lowdim.PCA(2).fit(X)
    found = quality.reliability(model, X, n_neighbors=6, perturb=True)
    Y = model.embedding_
    data, placed = (np.argsort(cdist(Z, Z), axis=1)[:, 1:] for Z in (X, Y))
    shares = []
    for i in range(90):
        for neighbor in data[i, [1, 3, 5]]:
            there = model.transform((X[i] + X[neighbor])[None] / 2)
            near = [j for j in np.argsort(cdist(there, Y)[0]) if j != i][:6]
            shares += [np.mean(~np.isin(near, placed[i, :size])) for size in (18, 54)]
    np.testing.assert_allclose(found.perturbed, np.reshape(shares, (90, 6)).mean(axis=1))
    assert found.perturbed.max() > 0
    plain = quality.reliability(model, X, n_neighbors=6)
    np.testing.assert_array_equal(found.score, plain.score)
    with pytest.raises(ValueError, match="perturb"):
        quality.reliability(Y, X, perturb=True)


def test_maps_of_other_seeds_are_fitted_if_asked_for():
    random = np.random.default_rng(4)
    X = random.normal(size=(120, 6))
    model = lowdim.TSNE(random_state=0, perplexity=10).fit(X)
    seeds = np.random.RandomState(7).randint(2**31 - 1, size=2)
    maps = [lowdim.TSNE(random_state=int(s), perplexity=10, init="random").fit(X) for s in seeds]
    given = quality.reliability(model, X, other_maps=maps)
    fitted = quality.reliability(model, X, n_seeds=2, random_state=7)
    np.testing.assert_array_equal(fitted.unstable, given.unstable)
    np.testing.assert_array_equal(fitted.score, given.score)
    with pytest.raises(ValueError, match="n_seeds"):
        quality.reliability(model.embedding_, X, n_seeds=2)


def test_maps_of_parts_tell_which_neighbours_change():
    X = np.random.default_rng(0).normal(size=(200, 5))
    X[:100, 0] += 8
    stable = quality.reliability(lowdim.PCA(2).fit(X), X, n_subsamples=2, random_state=0)
    X[100:, 1:] *= 0.02  # on a line: its place on the second axis is chance
    model = lowdim.TSNE(random_state=0, perplexity=10).fit(X)
    found = quality.reliability(model, X, n_subsamples=3, random_state=0)
    again = quality.reliability(model, X, n_subsamples=3, random_state=0)
    np.testing.assert_array_equal(found.score, again.score)
    assert stable.unstable.mean() < 0.1  # PCA hardly depends on which objects it has
    assert found.unstable[:100].mean() > 0.05  # within a cloud, maps differ
    assert found.unstable[100:].mean() < 0.01
    for given in (model.embedding_, X[:, :2]):
        with pytest.raises(ValueError, match="n_subsamples"):
            quality.reliability(given, X, n_subsamples=2)


def test_a_part_of_a_matrix_of_distances_is_a_matrix_of_distances():
    X = np.random.default_rng(0).normal(size=(80, 5))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = lowdim.TSNE(perplexity=8, metric="precomputed", init="random", random_state=0).fit(D)
    found = quality.reliability(model, D, n_subsamples=2, metric="precomputed", random_state=0)
    assert np.isfinite(found.score).all()
    assert 0 < found.unstable.mean() < 1


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
