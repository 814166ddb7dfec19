"""Diffusion maps against a dense eigendecomposition of their definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from helpers import aligned
from lowdim import DiffusionMap, data


def definition(X, k, alpha, t, linked):
    """Eigenvalues and right eigenvectors of the random walk (Coifman and Lafon 2006, section 3)."""
    K = np.where(linked, np.exp(-cdist(X, X, "sqeuclidean") / t), 0)
    np.fill_diagonal(K, 1)
    q = K.sum(axis=1) ** alpha
    K = K / q[:, None] / q
    d = K.sum(axis=1)
    values, U = np.linalg.eigh(K / np.sqrt(d[:, None] * d))
    psi = U / np.sqrt(d)[:, None]
    psi = psi / psi[:, -1:]  # so that the trivial eigenvector is 1
    order = np.argsort(-values)
    pi = d / d.sum()
    psi = psi[:, order] / np.sqrt((pi[:, None] * psi[:, order] ** 2).sum(axis=0))
    return values[order][1 : k + 1], psi[:, 1 : k + 1]


@pytest.fixture(scope="module")
def X():
    return data.s_curve(220, noise=0.02, random_state=0)[0]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("time", [0, 1, 3.5])
@pytest.mark.parametrize("rule", ["n_neighbors", "radius", "all"])
def test_the_definition(X, alpha, time, rule):
    D = cdist(X, X)
    off = ~np.eye(len(X), dtype=bool)
    if rule == "n_neighbors":
        params = {"n_neighbors": 15}
        near = (D.argsort(axis=1).argsort(axis=1) <= 15) & off
        linked = near | near.T
    elif rule == "radius":
        params = {"radius": 0.9}
        linked = (D <= 0.9) & off
    else:
        params = {"n_neighbors": len(X) - 1}
        linked = off
    estimator = DiffusionMap(3, alpha=alpha, time=time, t=0.5, **params).fit(X)
    values, psi = definition(X, 3, alpha, 0.5, linked)
    np.testing.assert_allclose(estimator.eigenvalues_, values, atol=1e-9)
    Y = psi * values**time
    np.testing.assert_allclose(aligned(estimator.embedding_, Y), Y, atol=1e-7 * np.abs(Y).max())


def test_distances_in_the_map_are_diffusion_distances():
    """With all coordinates: |Y_i - Y_j|^2 = sum_k (p_t(i, k) - p_t(j, k))^2 / pi_k."""
    X = np.random.RandomState(0).standard_normal((30, 2))
    estimator = DiffusionMap(29, n_neighbors=29, t=2.0, alpha=0.0, time=2).fit(X)
    K = np.exp(-cdist(X, X, "sqeuclidean") / 2.0)
    d = K.sum(axis=1)
    P2 = np.linalg.matrix_power(K / d[:, None], 2)
    expected = cdist(P2 / np.sqrt(d / d.sum()), P2 / np.sqrt(d / d.sum()))
    found = cdist(estimator.embedding_, estimator.embedding_)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_removing_the_density_shows_the_geometry():
    """A circle sampled unevenly: with alpha = 1 the map is a circle run through evenly."""
    angle = 2 * np.pi * np.linspace(0, 1, 300, endpoint=False) ** 1.5
    X = np.column_stack([np.cos(angle), np.sin(angle)])

    def roundness(alpha):
        Y = DiffusionMap(2, radius=0.3, t=0.02, alpha=alpha, time=0).fit_transform(X)
        radius = np.linalg.norm(Y, axis=1)
        return radius.std() / radius.mean()

    assert roundness(1.0) < 0.05
    assert roundness(0.0) > 3 * roundness(1.0)


def test_new_points_of_a_helix_follow_the_curve():
    X, t = data.helix(600, random_state=0)
    new, t_new = data.helix(50, random_state=1)
    estimator = DiffusionMap(2, n_neighbors=10).fit(X)
    angle = np.unwrap(np.arctan2(*estimator.embedding_[np.argsort(t)].T))
    steps = np.diff(angle)
    assert (np.sign(steps) == np.sign(steps.sum())).mean() > 0.99
    nearest = np.abs(np.exp(1j * t_new)[:, None] - np.exp(1j * t)[None]).argmin(axis=1)
    gap = np.linalg.norm(estimator.transform(new) - estimator.embedding_[nearest], axis=1)
    assert gap.max() < 0.1 * np.abs(estimator.embedding_).max()


@pytest.mark.parametrize(
    "params", [{"alpha": -0.1}, {"alpha": 1.1}, {"alpha": "all"}, {"time": -1}, {"t": 0}]
)
def test_bad_parameters(X, params):
    with pytest.raises((TypeError, ValueError), match=f"^{next(iter(params))} must"):
        DiffusionMap(**params).fit(X)


@pytest.mark.parametrize(
    "params", [{"n_neighbors": 8}, {"n_neighbors": 8, "alpha": 0.0, "time": 3}]
)
def test_training_objects_get_their_coordinates_where_graphs_have_hubs(params):
    """In many dimensions a few objects are neighbours of a great many others."""
    X = np.random.RandomState(0).standard_normal((400, 40))
    estimator = DiffusionMap(**params).fit(X)
    assert np.bincount(estimator.graph_.indices.ravel()).max() > 60
    Y = estimator.embedding_
    np.testing.assert_allclose(estimator.transform(X), Y, atol=1e-8 * np.abs(Y).max())
    beside = estimator.transform(X + 1e-11)
    np.testing.assert_allclose(beside, Y, atol=1e-6 * np.abs(Y).max())
    alone = np.concatenate([estimator.transform(row[None, :]) for row in X[:20]])
    np.testing.assert_allclose(alone, Y[:20], atol=1e-8 * np.abs(Y).max())
