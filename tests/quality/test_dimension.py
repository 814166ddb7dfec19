"""Intrinsic dimension of sets whose dimension is known."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import data, quality
from lowdim.quality import dimension


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_a_flat_cube_in_ten_dimensions(d):
    random = np.random.default_rng(d)
    axes = np.linalg.qr(random.normal(size=(10, 10)))[0][:d]
    X = random.uniform(size=(2500, d)) @ axes
    found = quality.intrinsic_dimension(X, isomap=False)
    for value in (found.maximum_likelihood, found.two_nn, found.correlation, found.consensus):
        assert value == pytest.approx(d, rel=0.15)


def test_the_swiss_roll_has_two_dimensions():
    X = data.swiss_roll(1200, random_state=0)[0]
    found = quality.intrinsic_dimension(X)
    assert found.isomap == 2
    assert found.consensus == pytest.approx(2, abs=0.3)
    assert "about 2" in str(found)


def test_closed_forms():
    # ln(T_k / T_j) of distances j^(1/d) is ln(k / j) / d
    k, d = 30, 4.0
    near = np.tile(np.arange(1, k + 1) ** (1 / d), (10, 1))
    logs = np.log(k / np.arange(1, k))
    assert dimension.from_neighbors(near) == pytest.approx(d / logs.mean())
    # quantiles of the Pareto law F(mu) = 1 - mu^-d
    share = np.arange(1, 2001) / 2001
    near = np.stack([np.ones(2000), (1 - share) ** (-1 / d)], axis=1)
    assert dimension.from_two_neighbors(near) == pytest.approx(d, rel=1e-6)
    # C(r) = r^d
    assert dimension.from_pairs(share ** (1 / d)) == pytest.approx(d, rel=0.05)
    assert dimension.elbow([0.5, 0.2, 0.02, 0.015, 0.012, 0.01]) == 3
    assert dimension.elbow([0.97, 0.94, 0.9, 0.88]) is None
    assert dimension.elbow([0.001, 0.0009, 0.0008]) == 1
    assert dimension.elbow([0.04, 0.0008, 0.0007, 0.0006]) == 2


def test_the_separate_estimators_and_other_input():
    X = np.random.default_rng(0).uniform(size=(600, 2))
    found = quality.intrinsic_dimension(X, isomap=False)
    assert quality.maximum_likelihood(X) == found.maximum_likelihood
    assert quality.two_nn(X) == found.two_nn
    assert quality.correlation_dimension(X) == found.correlation
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    given = quality.intrinsic_dimension(D, metric="precomputed", isomap=False)
    assert given.two_nn == pytest.approx(found.two_nn)


def test_duplicates_do_not_count():
    X = np.random.default_rng(0).uniform(size=(400, 2))
    found = quality.intrinsic_dimension(np.concatenate([X, X[:100]]), isomap=False)
    assert found.two_nn == pytest.approx(2, rel=0.25)
