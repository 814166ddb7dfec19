"""Linear discriminants against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lowdim.learned.metric_learning.metric_learning import discriminant_axes


@pytest.mark.parametrize("load", [load_wine, load_digits])  # digits have constant columns
def test_as_scikit_learn(load):
    X, y = load(return_X_y=True)
    expected = LinearDiscriminantAnalysis().fit(X, y).scalings_.T
    found = discriminant_axes(X, y, 100)
    assert found.shape == expected.shape
    signs = np.sign(np.sum(found * expected, axis=1))[:, None]
    np.testing.assert_allclose(found * signs, expected, atol=1e-9 * abs(expected).max())
    np.testing.assert_array_equal(discriminant_axes(X, y, 2), found[:2])


def test_shifted_single_precision():
    X, y = load_wine(return_X_y=True)
    expected = discriminant_axes(X, y, 1)
    found = discriminant_axes((X + 1e3).astype(np.float32), y, 1)
    assert abs(np.vdot(found, expected)) > 0.999 * np.vdot(expected, expected)


def test_classes_without_width():
    X = np.array([[0.0, 0], [0, 0], [3, 4], [3, 4]])
    axis = discriminant_axes(X, np.array([0, 0, 1, 1]), 5)
    np.testing.assert_allclose(abs(axis), [[0.6, 0.8]])
    assert len(discriminant_axes(np.ones((4, 2)), np.array([0, 1, 2, 3]), 5)) == 0
