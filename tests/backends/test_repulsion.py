"""Repulsion by a tree and by a grid is that of all pairs; all pairs are what the formula says."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import with_threads
from lowdim.backends import backend
from lowdim.backends.native.repulsion import AllPairs, BarnesHut, GridField
from lowdim.backends.similarity import Similarity
from lowdim.neighbor_embedding.stochastic_neighbors import choose_repulsion

KINDS = [
    Similarity(),
    Similarity("student", 0.5),
    Similarity("student", 3.0),
    Similarity("gaussian"),
]


def clusters(n, dim, size, dtype=np.float64):
    random = np.random.RandomState(0)
    centers = random.uniform(-size, size, (20, dim))
    label = random.randint(0, 20, n)
    points = centers[label] + random.standard_normal((n, dim)) * size / 20
    return np.ascontiguousarray(points.astype(dtype))


def naive(Y, kind, mass):
    gaps = Y[:, None] - Y[None]
    s = (gaps**2).sum(axis=2)
    w = kind(s) * mass[None, :]
    np.fill_diagonal(w, 0)
    u = 1.0 if kind.name == "gaussian" else 1 / (1 + s / kind.dof)
    return ((w * u)[:, :, None] * gaps).sum(axis=1), w.sum(axis=1)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_pairs(kind, dim, dtype):
    Y = clusters(300, dim, 4.0, dtype)
    mass = np.random.RandomState(1).uniform(0.5, 2, 300).astype(dtype)
    force, z = AllPairs(kind)(Y, mass)
    expected = naive(Y.astype(np.float64), kind, mass.astype(np.float64))
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert np.linalg.norm(force - expected[0]) < tolerance * np.linalg.norm(expected[0])
    np.testing.assert_allclose(z, expected[1], rtol=10 * tolerance)
    assert force.dtype == dtype


def test_the_force_is_the_slope_of_the_similarity():
    """-w' / w = u / width."""
    s = np.linspace(0.1, 9, 50)
    for kind in KINDS:
        slope = (kind(s + 1e-6) - kind(s - 1e-6)) / 2e-6
        u = 1.0 if kind.name == "gaussian" else 1 / (1 + s / kind.dof)
        np.testing.assert_allclose(-slope / kind(s), u / kind.width, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("size", [60.0, 3.0, 1e-4])
@pytest.mark.parametrize("dim", [1, 2])
def test_the_grid_agrees_with_all_pairs(kind, size, dim):
    """To 1e-3 of the forces, in float32, on wide maps and where the descent begins."""
    Y = clusters(3000, dim, size, np.float32)
    mass = np.random.RandomState(1).uniform(0.5, 2, 3000).astype(np.float32)
    for m in (None, mass):
        exact = AllPairs(kind)(Y.astype(np.float64), None if m is None else m.astype(np.float64))
        force, z = GridField(kind)(Y, m)
        assert np.linalg.norm(force - exact[0]) < 1e-3 * np.linalg.norm(exact[0])
        assert z.sum(dtype=np.float64) == pytest.approx(exact[1].sum(), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("size", [60.0, 1e-4])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_tree_agrees_with_all_pairs(kind, size, dim):
    Y = clusters(3000, dim, size)
    mass = np.random.RandomState(1).uniform(0.5, 2, 3000)
    for m in (None, mass):
        exact = AllPairs(kind)(Y, m)
        force, z = BarnesHut(kind)(Y, m)
        assert np.linalg.norm(force - exact[0]) < 1e-3 * np.linalg.norm(exact[0])
        assert z.sum() == pytest.approx(exact[1].sum(), rel=1e-3)


def test_a_tree_that_opens_every_cell_is_exact():
    Y = clusters(500, 2, 10.0)
    force, z = BarnesHut(Similarity(), angle=0.0)(Y)
    expected = AllPairs(Similarity())(Y)
    np.testing.assert_allclose(force, expected[0], atol=1e-12 * np.abs(expected[0]).max())
    np.testing.assert_allclose(z, expected[1])


@pytest.mark.parametrize("how", [AllPairs, BarnesHut, GridField])
def test_points_in_one_place(how):
    Y = np.full((700, 2), 3.0, np.float32)
    force, z = how(Similarity())(Y)
    np.testing.assert_allclose(force, 0, atol=1e-3)
    np.testing.assert_allclose(z, 699, rtol=1e-4)


@pytest.mark.parametrize("how", [AllPairs, BarnesHut, GridField])
@pytest.mark.parametrize("dim", [1, 2])
def test_the_same_bits_for_any_number_of_threads(how, dim):
    Y = clusters(4000, dim, 20.0, np.float32)
    one, three = (with_threads(n, how(Similarity()), Y) for n in (1, 3))
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1], three[1])


def test_a_frozen_field_acts_on_new_points_as_the_map_does():
    Y = clusters(3000, 2, 30.0)
    new = np.random.RandomState(2).uniform(-35, 35, (200, 2))
    force, z = backend().frozen_field(Y, Similarity(), 10.0)(new)
    gaps = new[:, None] - Y[None]
    w = 1 / (1 + (gaps**2).sum(axis=2))
    expected = (w[:, :, None] ** 2 * gaps).sum(axis=1)
    assert np.linalg.norm(force - expected) < 1e-3 * np.linalg.norm(expected)
    np.testing.assert_allclose(z, w.sum(axis=1), rtol=1e-3)


def test_size_and_dimension_choose_the_algorithm():
    def chosen(n, dim, method="auto"):
        return type(choose_repulsion(method, Similarity(), n, dim, 0.5))

    assert chosen(500, 2) is AllPairs
    assert chosen(8_000, 2) is BarnesHut
    assert chosen(50_000, 2) is GridField
    assert chosen(50_000, 1) is GridField
    assert chosen(50_000, 3) is BarnesHut
    assert chosen(50_000, 4) is AllPairs
    with pytest.raises(ValueError, match=r"fft.*n_components=3"):
        chosen(100, 3, "fft")
    with pytest.raises(ValueError, match=r"barnes_hut.*n_components=4"):
        chosen(100, 4, "barnes_hut")
