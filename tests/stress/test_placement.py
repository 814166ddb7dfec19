"""New points by stress, against a general minimiser."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lowdim.stress.placement import place_by_stress


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 3))
def test_new_points_are_where_their_stress_is_least(seed, p):
    random = np.random.RandomState(seed)
    Y, D = random.standard_normal((15, p)), random.uniform(0.2, 3, (4, 15))
    W = random.uniform(0.1, 2, (4, 15))
    placed = place_by_stress(D, W, Y)
    for x, delta, w in zip(placed, D, W, strict=True):

        def loss(x, delta=delta, w=w):
            return float((w * (delta - np.linalg.norm(Y - x, axis=1)) ** 2).sum())

        assert loss(minimize(loss, x).x) >= loss(x) * (1 - 1e-7)  # no way down from there
        assert loss(x) <= min(loss(y) for y in Y[np.argsort(delta)[:8]])


def test_a_row_without_a_known_distance_is_refused():
    W = np.ones((3, 5))
    W[1] = 0
    with pytest.raises(ValueError, match="row 1 has no known dissimilarity"):
        place_by_stress(np.ones((3, 5)), W, np.random.RandomState(0).standard_normal((5, 2)))
