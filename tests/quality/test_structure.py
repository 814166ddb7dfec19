"""Tests for structure on data whose structure is known; the dip against linear programmes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_digits

from helpers import with_threads
from lowdim import data
from lowdim.quality.dip import dip, dip_p_value
from lowdim.quality.rows import data_rows
from lowdim.quality.structure import LEVEL, structure_of


def kind(X, seed=0):
    return structure_of(data_rows(X), seed).kind


def noise(law, random, n, d):
    if law == "student":
        return random.standard_t(3, size=(n, d))
    return getattr(random, law)(size=(n, d))


@pytest.mark.parametrize("law", ["normal", "uniform", "student", "lognormal"])
def test_noise_of_any_distribution_has_no_structure(law):
    found = []
    for seed in range(12):
        for n, d in ((100, 3), (300, 10), (1000, 2)):
            X = noise(law, np.random.default_rng([seed, n]), n, d)
            found.append(kind(X, seed))
    # at a level of 1 % more than 3 of 36 have probability 0.0003
    assert sum(one != "none" for one in found) <= 3


def test_noise_of_columns_of_other_scales_and_metrics():
    X = np.random.default_rng(0).normal(size=(300, 50)) * np.geomspace(0.1, 10, 50)
    assert structure_of(data_rows(X, "cityblock")).kind == "none"


def test_rounding_is_no_structure_and_two_values_are():
    random = np.random.default_rng(1)
    X = random.normal(size=(1000, 4))
    assert kind(np.round(X, 1)) == "none"
    X[:, 2] = random.integers(2, size=1000)
    found = structure_of(data_rows(X))
    assert found.kind == "columns"
    assert "Column 2 falls into separate groups" in str(found)


@pytest.mark.parametrize("seed", range(5))
def test_groups_in_one_column_and_in_all(seed):
    random = np.random.default_rng(seed)
    one = random.normal(size=(300, 10))
    one[:, 4] += 10 * random.integers(2, size=300)
    found = structure_of(data_rows(one), seed)
    assert found.kind == "columns"
    assert "Column 4 falls" in found.findings[0]
    every = random.normal(size=(300, 10)) + 6 * random.integers(2, size=(300, 10))
    assert kind(every, seed) == "columns"


@pytest.mark.parametrize("seed", range(5))
def test_a_circle_in_two_columns(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(500, 10))
    angle = random.uniform(0, 2 * np.pi, 500)
    X[:, 3], X[:, 8] = np.cos(angle), np.sin(angle)
    found = structure_of(data_rows(X), seed)
    assert found.kind == "relations"
    assert any("columns 3 and 8" in text for text in found.findings)


@pytest.mark.parametrize("seed", range(3))
def test_a_small_tight_cluster(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(5000, 10))
    X[:50] = random.normal(size=10) + 0.05 * random.normal(size=(50, 10))
    found = structure_of(data_rows(X), seed)
    assert found.kind == "relations"
    assert any("dense spots" in text for text in found.findings)


def test_rings_clusters_and_factors_that_no_column_shows():
    random = np.random.default_rng(2)
    angle = random.uniform(0, 2 * np.pi, 500)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    axes = np.linalg.qr(random.normal(size=(20, 2)))[0]
    assert kind(ring @ axes.T + 0.3 * random.normal(size=(500, 20))) == "relations"
    centers = random.normal(size=(3, 20))
    assert (
        kind(centers[random.integers(3, size=500)] + random.normal(size=(500, 20))) == "relations"
    )
    factor = 0.3 * random.normal(size=(500, 1)) + random.normal(size=(500, 20))
    assert kind(factor) == "relations"


def test_real_data_and_manifolds():
    assert kind(load_digits().data[:600]) == "relations"
    assert kind(data.swiss_roll(500, random_state=0)[0]) == "relations"


def test_what_cannot_be_tested():
    X = np.random.default_rng(3).normal(size=(50, 3))
    assert structure_of(data_rows(X[:, :1])) is None
    assert structure_of(data_rows(X[:19])) is None
    assert structure_of(data_rows(np.abs(X[:, :1] - X[:, 0]), "precomputed")) is None
    constant = np.column_stack([X, np.ones(50), np.zeros(50)])
    assert kind(constant) == "none"
    coarse = np.random.default_rng(5).integers(0, 9, size=(2000, 6)) / 1.0  # with many ties
    assert kind(coarse + 0.3 * np.arange(6)) != "relations"
    same = np.repeat(X[:5], 10, axis=0)  # every object ten times
    assert kind(same) != "none"


def test_the_same_answer_for_any_number_of_threads():
    X = np.random.default_rng(4).normal(size=(200, 5))
    one, three = (with_threads(n, structure_of, data_rows(X), 0) for n in (1, 3))
    assert one == three


def naive_dip(values):
    """The least bound on the difference to a unimodal distribution, one linear programme a mode."""
    x = np.sort(values)
    return min(_distance_to_mode(x, mode) for mode in range(len(x)))


def _distance_to_mode(x, mode):
    """The same for a distribution function that is convex below the mode and concave above it.

    Unknowns are its values at the sample, two at the mode, where it may jump, and the bound. The
    empirical distribution function has two values at each point of the sample.
    """
    n = len(x)
    left, right = list(range(mode + 1)), list(range(mode + 1, n + 1))
    at = np.concatenate([x[: mode + 1], x[mode:]])
    constraints = []  # (terms, limit): the sum of factor * unknown is at most the limit
    for side, sign in ((left, 1), (right, -1)):
        for a, b, c in zip(side, side[1:], side[2:], strict=False):
            u, v = at[b] - at[a], at[c] - at[b]
            constraints.append(([(a, -sign * v), (b, sign * (u + v)), (c, -sign * u)], 0))
    constraints += [([(a, 1), (b, -1)], 0) for a, b in pairwise(left + right)]
    for one in left + right:
        i = one if one <= mode else one - 1
        steps = (
            [i / n] if one == mode else [(i + 1) / n] if one == mode + 1 else [i / n, (i + 1) / n]
        )
        for step in steps:
            constraints += [([(one, 1), (n + 1, -1)], step), ([(one, -1), (n + 1, -1)], -step)]
    A = np.zeros((len(constraints), n + 2))
    for row, (terms, _) in zip(A, constraints, strict=True):
        for unknown, factor in terms:
            row[unknown] += factor
    cost = np.zeros(n + 2)
    cost[-1] = 1
    found = linprog(cost, A, [limit for _, limit in constraints], bounds=[(0, 1)] * (n + 2))
    return found.fun if found.success else np.inf


@pytest.mark.parametrize("seed", range(12))
def test_the_dip_is_the_distance_to_the_nearest_unimodal_distribution(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(4, 16))
    x = random.normal(size=n) + (seed % 3) * 3 * random.integers(0, 3, size=n)
    assert dip(x) == pytest.approx(naive_dip(x), abs=1e-9)


def test_the_level_of_the_dip_test_on_uniform_samples():
    random = np.random.default_rng(5)
    p = [dip_p_value(dip(random.uniform(size=200)), 200) for _ in range(400)]
    assert np.mean(np.array(p) <= 0.05) <= 0.07
    assert np.mean(np.array(p) <= 0.3) >= 0.08  # and it is not vacuous
    two = np.concatenate([random.normal(size=100), random.normal(6, size=100)])
    assert dip_p_value(dip(two), 200) < LEVEL / 100
    assert dip(np.ones(10)) == pytest.approx(0.05)
