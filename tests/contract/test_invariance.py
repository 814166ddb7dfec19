"""What must not matter: the coordinate system, the unit of length, the order of the objects."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import aligned, axis_signs

# How the map scales when the data does: with it, or not at all.
SCALES_WITH_DATA = ("PCA", "ClassicalMDS", "Isomap", "MaximumVarianceUnfolding", "NeRV")

few = settings(max_examples=5)


def close(Y, reference, atol=1e-6):
    np.testing.assert_allclose(
        aligned(Y, reference), reference, atol=atol * np.abs(reference).max()
    )


@pytest.fixture(scope="session")
def still(X):
    """A function from a method to its model of X, not to be changed."""
    return functools.cache(lambda case: case.steady().fit(X))


def rotation(seed, d):
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((d, d)))[0]


@few
@given(seed=st.integers(0, 2**31 - 1), shift=st.floats(-100, 100), mirror=st.booleans())
def test_rigid_motions(invariant_case, still, X, new, seed, shift, mirror):
    turn = rotation(seed, 3)
    if invariant_case.name == "FactorAnalysisOfMixedData":  # standardises each column
        turn = np.eye(3)[np.random.RandomState(seed).permutation(3)]
    turn[:, 0] *= -1 if mirror else 1
    before, moved = still(invariant_case), invariant_case.steady().fit(X @ turn + shift)
    close(moved.embedding_, before.embedding_)
    signs = axis_signs(moved.embedding_, before.embedding_)
    size = np.abs(before.embedding_).max()
    np.testing.assert_allclose(
        moved.transform(new @ turn + shift) * signs, before.transform(new), atol=1e-5 * size
    )


@few
@given(scale=st.floats(1e-3, 1e3))
def test_the_unit_of_length(case, still, X, scale):
    params = {"gamma": 0.1 / scale**2} if case.has("kernel") and case.has("gamma") else {}
    Y = still(case).embedding_
    scaled = case.steady(**params).fit(X * scale).embedding_
    follows = case.name in SCALES_WITH_DATA or (case.family == "stress" and case.name != "PHATE")
    close(scaled, Y * scale if follows else Y)


@few
@given(seed=st.integers(0, 2**31 - 1))
def test_the_order_of_the_objects(invariant_case, still, X, new, seed):
    """Neighbours have no ties in this data."""
    order = np.random.RandomState(seed).permutation(len(X))
    straight, mixed = still(invariant_case), invariant_case.steady().fit(X[order])
    close(mixed.embedding_, straight.embedding_[order])
    signs = axis_signs(mixed.embedding_, straight.embedding_[order])
    size = np.abs(straight.embedding_).max()
    np.testing.assert_allclose(
        mixed.transform(new) * signs, straight.transform(new), atol=1e-5 * size
    )


def test_the_order_of_the_features(invariant_case, still, X):
    mixed = invariant_case.steady().fit(X[:, [2, 0, 1]])
    close(mixed.embedding_, still(invariant_case).embedding_)


@pytest.mark.parametrize("n_components", [1, 3])
def test_fewer_or_more_coordinates(case, X, n_components):
    """A spectral map has its first coordinates whatever their number."""
    if case.family != "spectral":
        pytest.skip("coordinates are found together, not one after the other")
    Y = case.steady(n_components=n_components).fit(X).embedding_
    close(Y[:, :2], case.steady(n_components=2).fit(X).embedding_[:, : Y.shape[1]])
