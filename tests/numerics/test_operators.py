"""Symmetric operators multiply as their matrices do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from lowdim.numerics.eigensolvers import Operator, as_operator, center

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(40, 40))
A = np.where(np.abs(A + A.T) > 1, A + A.T, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_an_operator_multiplies_as_its_matrix(form, dtype, columns):
    operator = as_operator(form(A.astype(dtype)))
    V = RANDOM.normal(size=(40, columns)).astype(dtype)
    assert operator.shape == (40, 40)
    assert operator.dtype == dtype
    assert operator.dense == (form is np.asarray)
    tolerance = 1e-3 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(operator.matmat(V), A @ V, atol=tolerance)
    J = np.eye(40) - 1 / 40
    np.testing.assert_allclose(center(operator).matmat(V), J @ A @ J @ V, atol=tolerance)


def test_an_operator_stays_what_it_is():
    operator = Operator(3, np.dtype(float), lambda V: V)
    assert as_operator(operator) is operator
    assert center(operator).dense is False
