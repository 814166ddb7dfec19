"""MDS on a sphere: closed forms, published data, and new objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.spatial.distance import cdist

import lowdim
from helpers import with_threads
from lowdim import MDS, data
from lowdim.objects.pairs import dense_pairs
from lowdim.stress.disparities import disparities, order_pairs
from lowdim.stress.mds.sphere import _Sphere

RANDOM = np.random.default_rng(0)
COLORS = 1 - data.colors()[0]
NEW = COLORS[:3] + 0.03  # as far from all colours as these, and a little farther
RADIUS = data.examples.EARTH_RADIUS_KM


def circle(**options):
    return MDS(metric="precomputed", surface="sphere", eps=1e-12, max_iter=2000, **options)


def test_the_earth_has_its_radius():
    D, _ = data.cities()
    chords = 2 * RADIUS * np.sin(D / (2 * RADIUS))
    model = circle(n_components=3).fit(chords)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), RADIUS, rtol=1e-5)
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), chords, atol=0.5)
    by_order = circle(n_components=3, disparities="ordinal").fit(D)  # along the ground
    assert by_order.stress_ < 1e-3
    assert MDS(3, metric="precomputed", disparities="ordinal").fit(D).stress_ < 1e-3


@pytest.mark.parametrize("kind", ["ratio", "interval", "ordinal", "spline"])
def test_colours_fit_nearly_as_well_on_a_circle_as_in_the_plane(kind):
    model = circle(disparities=kind).fit(COLORS)
    lengths = np.linalg.norm(model.embedding_, axis=1)
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-12)
    assert (np.diff(model.history_) <= 0).all()
    free = MDS(metric="precomputed", disparities=kind, eps=1e-12, max_iter=2000).fit(COLORS)
    gap = model.stresses_["stress-1"] - free.stresses_["stress-1"]
    assert 0 < gap < 0.01
    turns = np.diff(np.unwrap(np.arctan2(*model.embedding_.T[::-1])))
    assert (turns > 0).all() or (turns < 0).all()  # in the order of wavelengths
    assert model.stress_ <= circle(disparities=kind, n_init=10).fit(COLORS).stress_ * (1 + 1e-6)


def test_the_stress_is_that_of_a_general_minimiser():
    W = RANDOM.uniform(0.5, 2, COLORS.shape)
    W = W + W.T
    model = circle(n_components=3).fit(COLORS, weights=W)

    def stress(parameters):
        Z = parameters[1:].reshape(-1, 3)
        Y = parameters[0] * Z / np.linalg.norm(Z, axis=1, keepdims=True)
        return (W * (cdist(Y, Y) - COLORS) ** 2).sum() / 2

    radius = np.linalg.norm(model.embedding_[0])
    start = np.concatenate([[radius], model.embedding_.ravel() / radius])
    assert stress(start) == pytest.approx(model.stress_, rel=1e-9)
    assert minimize(stress, start, tol=1e-12).fun == pytest.approx(model.stress_, rel=1e-6)


@pytest.mark.parametrize("kind", ["ratio", "ordinal"])
def test_the_gradient_is_that_of_finite_differences(kind):
    W = RANDOM.uniform(0.5, 2, COLORS.shape)
    pairs = dense_pairs(COLORS)
    pairs = order_pairs(pairs.with_weights(W[pairs.first, pairs.second]), kind)
    fit = None if kind == "ratio" else disparities(pairs, kind, "primary")
    problem, Z = _Sphere(pairs, fit), RANDOM.normal(size=(14, 3))

    def value(z):
        return problem(z.reshape(Z.shape))[0]

    def slope(z):
        return problem(z.reshape(Z.shape))[1].ravel()

    assert check_grad(value, slope, Z.ravel()) < 1e-5 * np.linalg.norm(slope(Z.ravel()))


@pytest.mark.parametrize("kind", ["ratio", "ordinal"])
def test_new_objects_lie_on_the_circle_where_their_stress_is_least(kind):
    model = circle(disparities=kind).fit(COLORS)
    np.testing.assert_array_equal(model.transform(COLORS), model.embedding_)
    placed = model.transform(NEW)
    radius = np.linalg.norm(model.embedding_[0])
    np.testing.assert_allclose(np.linalg.norm(placed, axis=1), radius, rtol=1e-9)
    np.testing.assert_array_equal(model.transform(NEW[1:]), placed[1:])
    if kind == "ratio":
        angles = np.linspace(0, 2 * np.pi, 20_001)
        around = radius * np.column_stack([np.cos(angles), np.sin(angles)])
        far = cdist(around, model.embedding_)
        for x, delta in zip(placed, NEW, strict=True):
            best = ((far - delta) ** 2).sum(axis=1).min()
            own = ((np.linalg.norm(model.embedding_ - x, axis=1) - delta) ** 2).sum()
            assert own <= best * (1 + 1e-9)


def test_vectors_and_known_pairs_are_fitted_and_saved(tmp_path):
    X = RANDOM.normal(size=(40, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = MDS(3, surface="sphere", eps=1e-12, max_iter=2000).fit(3 * X.astype(np.float32))
    assert model.embedding_.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 3, rtol=1e-3)
    model.save(tmp_path / "model")
    new = (3 * X[:5] + 0.01).astype(np.float32)
    np.testing.assert_array_equal(
        lowdim.load(tmp_path / "model").transform(new), model.transform(new)
    )
    D = cdist(X, X)
    D[np.triu_indices(40, 25)] = np.nan
    D[np.tril_indices(40, -25)] = np.nan
    assert circle(n_components=3).fit(D).stress_ < 1e-6


def test_the_bits_do_not_depend_on_threads_or_on_an_interruption(tmp_path):
    one, three = (with_threads(n, circle().fit_transform, COLORS) for n in (1, 3))
    np.testing.assert_array_equal(one, three)
    options = {"metric": "precomputed", "surface": "sphere", "eps": 0.0}
    checkpoint = tmp_path / "state"
    MDS(**options, max_iter=3, checkpoint=checkpoint).fit(COLORS)
    resumed = MDS(**options, max_iter=8, checkpoint=checkpoint).fit(COLORS)
    whole = MDS(**options, max_iter=8).fit(COLORS)
    np.testing.assert_array_equal(resumed.embedding_, whole.embedding_)
    np.testing.assert_array_equal(resumed.history_, whole.history_)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"n_components": 1}, {}, "at least 2"),
        ({}, {"pinned": np.zeros((14, 2))}, "leaves no room"),
        ({}, {"covariates": np.eye(14)}, "leaves no room"),
    ],
)
def test_what_cannot_be_on_a_sphere_is_refused(options, arguments, message):
    with pytest.raises(ValueError, match=message):
        circle(**options).fit(COLORS, **arguments)
    with pytest.raises(ValueError, match="surface must be"):
        MDS(surface="plane").fit(COLORS)
    with pytest.raises(ValueError, match="'sampled'"):
        MDS(surface="sphere", method="sampled").fit(np.eye(5))
