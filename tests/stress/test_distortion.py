"""Minimum-distortion embedding: known solutions, and the derivatives of penalties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowdim
from lowdim import embed
from lowdim.spectral.laplacian import laplacian
from lowdim.stress.distortion import PENALTIES, Distortion, _at_projection

X = np.random.default_rng(0).normal(size=(60, 5))
PAIRS = np.stack(np.triu_indices(len(X), 1), axis=1)


@pytest.fixture(scope="module")
def graph():
    return lowdim.neighbors(X, 6)


def weighted_laplacian(pairs, weights, n):
    W = csr_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return laplacian((W + W.T).tocsr()).toarray()


@pytest.mark.parametrize("name", PENALTIES)
def test_slopes_are_derivatives(name):
    d, h = np.linspace(0.03, 3, 100), 1e-6
    numerical = (PENALTIES[name](d + h)[0] - PENALTIES[name](d - h)[0]) / (2 * h)
    np.testing.assert_allclose(PENALTIES[name](d)[1], numerical, rtol=1e-6, atol=1e-8)


def test_values_of_penalties():
    d = np.array([0.2, 0.5, 2.0])
    wanted = {
        "linear": d,
        "quadratic": d**2,
        "cubic": d**3,
        "huber": [0.02, 0.125, 0.5 * (2 - 0.25)],
        "logistic": np.log(1 + np.exp(3 * d)),
        "log1p": np.log(1 + d**1.5),
        "log": np.log(1 - np.exp(-d)),
        "log-ratio": np.log(d**2 / (1 + d**2)),
        "inverse": -1 / d,
    }
    assert wanted.keys() == PENALTIES.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(PENALTIES[name](d)[0], values, rtol=1e-12)


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
def test_gradient_by_finite_differences(projected, lengths):
    random = np.random.default_rng(1)
    weights = random.uniform(0.5, 2, len(PAIRS)) * (1 if lengths else np.sign(PAIRS[:, 1] - 20.5))
    wanted = random.uniform(0.5, 3, len(PAIRS)) if lengths else None
    penalties = PENALTIES["cubic"], PENALTIES["log"]
    objective = Distortion(PAIRS.astype(np.int32), len(X), weights, wanted, *penalties)
    objective = _at_projection(objective) if projected else objective
    Y, step = random.normal(size=(len(X), 3)), random.normal(size=(len(X), 3))
    h = 1e-6
    numerical = (objective(Y + h * step)[0] - objective(Y - h * step)[0]) / (2 * h)
    assert np.vdot(objective(Y)[1], step) == pytest.approx(numerical, rel=1e-6)


@pytest.mark.parametrize("init", ["spectral", "random"])
def test_quadratic_standardized_is_spectral(graph, init):
    weights = np.random.default_rng(2).uniform(0.2, 1, len(embed(graph, max_iter=1).edges))
    found = embed(graph, n_components=3, weights=weights, init=init, tol=1e-13, max_iter=3000)
    values, vectors = np.linalg.eigh(weighted_laplacian(found.edges, weights, len(X)))
    assert found.distortion == pytest.approx(len(X) * values[1:4].sum() / len(weights), rel=1e-9)
    angles = np.linalg.svd(vectors[:, 1:4].T @ found.embedding)[1] / np.sqrt(len(X))
    np.testing.assert_allclose(angles, 1, atol=1e-6)


def test_all_standardized_maps_have_the_same_quadratic_distortion_of_all_pairs():
    found = embed(PAIRS, "quadratic", n_components=3)
    # sum_{i<j} |y_i - y_j|^2 = n sum_i |y_i|^2 = n^2 m
    assert found.distortion == pytest.approx(2 * 3 * len(X) / (len(X) - 1), rel=1e-12)
    assert found.distortions.mean() == pytest.approx(found.distortion)


@pytest.mark.parametrize("penalty", ["cubic", "log1p", "logistic"])
def test_standardized_map(graph, penalty):
    Y = embed(graph, penalty, negative_sample_rate=1).embedding
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y.T @ Y / len(Y), np.eye(2), atol=1e-12)


def test_pinned_quadratic_is_harmonic(graph):
    places = np.full((len(X), 2), np.nan)
    places[:12] = np.random.default_rng(3).normal(size=(12, 2))
    found = embed(graph, "quadratic", places, tol=1e-14, max_iter=2000)
    L = weighted_laplacian(found.edges, np.ones(len(found.edges)), len(X))
    harmonic = -np.linalg.solve(L[12:, 12:], L[12:, :12] @ places[:12])
    np.testing.assert_array_equal(found.embedding[:12], places[:12])
    np.testing.assert_allclose(found.embedding[12:], harmonic, atol=1e-5)


def test_single_coordinates_are_pinned(graph):
    places = np.full((len(X), 2), np.nan)
    places[:, 0] = X[:, 0]
    found = embed(graph, "log1p", places, negative_sample_rate=1)
    np.testing.assert_array_equal(found.embedding[:, 0], X[:, 0])
    assert found.embedding[:, 1].std() > 0.1


def test_lengths_with_a_quadratic_penalty_are_stress():
    D = cdist(X, X)
    start = lowdim.PCA(2).fit_transform(X)
    lengths = D[PAIRS[:, 0], PAIRS[:, 1]]
    found = embed(
        PAIRS, "quadratic", "centered", lengths=lengths, init=start, tol=1e-13, max_iter=3000
    )
    scaling = lowdim.MDS(metric="precomputed", init=start, eps=1e-13, max_iter=3000).fit(D)
    assert found.distortion == pytest.approx(scaling.stress_ / len(PAIRS), rel=1e-6)


def test_exact_lengths_are_recovered():
    lengths = np.linalg.norm(X[PAIRS[:, 0]] - X[PAIRS[:, 1]], axis=1)
    found = embed(PAIRS, "huber", "centered", n_components=5, lengths=lengths, tol=1e-12)
    assert found.distortion < 1e-12
    fit = lowdim.procrustes(X, found.embedding, scaling=False)
    np.testing.assert_allclose(fit.apply(found.embedding), X, atol=1e-5)


def test_lengths_of_a_graph(graph):
    found = embed(graph, "quadratic", "centered", n_components=5, lengths=True, max_iter=2000)
    i, j = found.edges.T
    lengths = np.linalg.norm(found.embedding[i] - found.embedding[j], axis=1)
    np.testing.assert_allclose(lengths, np.linalg.norm(X[i] - X[j], axis=1), rtol=0.3)


def test_a_penalty_may_be_a_function(graph):
    given = embed(graph, lambda d: (d**3, 3 * d**2))
    np.testing.assert_allclose(given.embedding, embed(graph, "cubic").embedding, atol=1e-6)


def test_neighbors_attract_and_random_pairs_repel():
    blobs = np.concatenate([X, X + 20, X - 20])
    edges = lowdim.neighbors(blobs, 6)
    found = embed(edges, "log1p", "centered", negative_sample_rate=2)
    assert len(found.edges) == 3 * (found.edges[: len(found.edges) // 3].shape[0])
    near = cdist(found.embedding, found.embedding).argsort(axis=1)[:, 1:7] // len(X)
    assert (near == np.arange(len(blobs))[:, None] // len(X)).mean() == 1


def test_the_same_seed_gives_the_same_map(graph):
    first, again = (embed(graph, "log1p", negative_sample_rate=1, random_state=3) for _ in "ab")
    np.testing.assert_array_equal(first.embedding, again.embedding)
    other = embed(graph, "log1p", negative_sample_rate=1, random_state=4)
    assert not np.array_equal(first.edges, other.edges)


def test_a_callback_stops_the_fit(graph):
    shapes = []
    found = embed(
        graph,
        "cubic",
        callback=lambda state: shapes.append(state.embedding.shape) or len(shapes) > 2,
    )
    assert found.n_iter == 3
    assert set(shapes) == {(len(X), 2)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"constraint": "centered"}, "draw all objects to one place"),
        ({"penalty": "quartic"}, "penalty must be one of"),
        ({"constraint": "sphere"}, "constraint must be one of"),
        ({"constraint": np.zeros((3, 2))}, "edges must be in"),
        ({"constraint": np.full((60, 2), np.nan)}, "has shape .* 0 coordinates"),
        ({"edges": [[0, 0]]}, "one from 0 to itself"),
        ({"edges": [[0, -1]]}, "edges must be in"),
        ({"edges": [[0.5, 1]]}, "array of integers"),
        ({"edges": np.empty((0, 2), int)}, "edges are empty"),
        ({"weights": [1.0]}, "weights has shape"),
        ({"weights": np.full(len(PAIRS), np.nan)}, "weights contains NaN"),
        ({"lengths": -np.ones(len(PAIRS))}, "lengths must not be negative"),
        ({"lengths": np.ones(len(PAIRS)), "negative_sample_rate": 1}, "not negative"),
        ({"init": np.zeros((60, 3))}, "init has shape"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        embed(**({"edges": PAIRS} | arguments))
