"""PHATE against dense computations of its steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

import lowdim
from lowdim import PHATE
from lowdim.stress.phate import group_objects, knee, symmetric_walk, walk_probabilities


@pytest.fixture(scope="module")
def X():
    random = np.random.RandomState(0)
    branch, along = np.repeat(np.arange(3), 40), np.tile(np.linspace(0, 1, 40), 3)
    return 9 * along[:, None] * np.eye(3)[branch] + 0.3 * random.standard_normal((120, 3))


def kernel(X, k, decay):
    D = cdist(X, X)
    widths = np.sort(D, axis=1)[:, k]
    K = np.exp(-((D / widths[:, None]) ** decay))
    K[K < 1e-4] = 0
    return (K + K.T) / 2


@pytest.mark.parametrize("decay", [40, 2])
@pytest.mark.parametrize(
    ("gamma", "function"),
    [
        (1, lambda P: -np.log(P + 1e-7)),
        (0, lambda P: 2 * np.sqrt(P)),
        (-1, lambda P: P),
    ],
)
def test_distances_of_potentials(X, decay, gamma, function):
    phate = PHATE(3, t=7, decay=decay, gamma=gamma, mds="classic").fit(X)
    K = kernel(X, 5, decay)
    np.testing.assert_allclose(phate.affinity_matrix_.toarray(), K, atol=1e-12)
    P = np.linalg.matrix_power(K / K.sum(axis=1, keepdims=True), 7)
    D = squareform(pdist(function(P)))
    expected = lowdim.ClassicalMDS(3, metric="precomputed").fit_transform(D)
    np.testing.assert_allclose(abs(phate.embedding_), abs(expected), atol=1e-6 * D.max())


def test_metric_and_nonmetric_scaling_lower_their_stress(X):
    K = kernel(X, 5, 40)
    P = np.linalg.matrix_power(K / K.sum(axis=1, keepdims=True), 7)
    D = squareform(pdist(-np.log(P + 1e-7)))
    metric = PHATE(t=7).fit(X)
    expected = lowdim.MDS(metric="precomputed").fit(D)
    assert metric.stress_ == pytest.approx(expected.stress_, rel=1e-3)
    order = PHATE(t=7, mds="nonmetric").fit(X)
    expected = lowdim.MDS(metric="precomputed", metric_mds=False, normalized_stress=False).fit(D)
    assert order.stress_ <= 1.1 * expected.stress_


def test_the_walk_between_groups_is_the_product_of_both_steps(X):
    phate = PHATE(n_landmarks=30, t=5).fit(X)
    groups, K = phate.landmark_of_, phate.affinity_matrix_.toarray()
    assert groups.max() < 30
    to_groups = K @ np.eye(groups.max() + 1)[groups]
    down = to_groups / to_groups.sum(axis=1, keepdims=True)
    up = to_groups.T / to_groups.T.sum(axis=1, keepdims=True)
    S, mass = symmetric_walk(phate.affinity_matrix_, groups)
    walked = walk_probabilities(*np.linalg.eigh(S), mass, 5)
    np.testing.assert_allclose(walked, np.linalg.matrix_power(up @ down, 5), atol=1e-12)
    np.testing.assert_allclose(phate.embedding_, down @ phate.landmark_embedding_)


def test_landmarks_give_nearly_the_map_of_all_objects():
    random = np.random.RandomState(1)
    branch, along = np.repeat(np.arange(4), 150), np.tile(np.linspace(0, 1, 150), 4)
    X = 9 * along[:, None] * np.eye(4)[branch] + 0.3 * random.standard_normal((600, 4))
    whole = PHATE(t=20).fit(X)
    part = PHATE(t=10, n_landmarks=200).fit(X)  # a step between groups is two between objects
    kept = lowdim.trustworthiness(whole.embedding_, part.embedding_, n_neighbors=30)
    assert kept > 0.95  # branches may leave the root in another order
    assert len(np.unique(group_objects(part.affinity_matrix_, 200, random))) > 150


def test_the_number_of_steps_is_the_knee_of_the_entropy(X):
    curve = np.concatenate([np.linspace(9, 3, 21), np.linspace(3, 2, 51)[1:]])
    assert knee(curve) == 20
    phate = PHATE().fit(X)
    values = np.abs(np.linalg.eigvals(kernel(X, 5, 40) / kernel(X, 5, 40).sum(axis=1)[:, None]))
    share = values**3 / (values**3).sum()
    assert phate.entropy_[2] == pytest.approx(-(share * np.log(np.maximum(share, 1e-300))).sum())
    assert np.all(np.diff(phate.entropy_) < 0)
    assert phate.t_ == 1 + knee(phate.entropy_)


def test_new_objects_stand_among_their_neighbours(X):
    for count in (None, 40):
        phate = PHATE(n_landmarks=count).fit(X[::2])
        new = phate.transform(X[1::2])
        gaps = np.linalg.norm(new - phate.embedding_, axis=1)  # along the branch, half a step on
        assert np.median(gaps) < 0.1 * np.ptp(phate.embedding_)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decay", 0),
        ("gamma", 2),
        ("t", 0),
        ("t_max", 1),
        ("t_max", 10**30),
        ("n_landmarks", 2),
        ("n_neighbors", 0),
    ],
)
def test_wrong_values_are_named(X, name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        PHATE(**{name: value}).fit(X)
