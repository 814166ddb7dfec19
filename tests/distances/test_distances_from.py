"""Distances from a few rows to all are those of the metric."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import lowdim
from lowdim.distances.matrices import distances_from
from lowdim.distances.metrics import resolve_metric


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_of_the_distance_matrix(kind, metric, dtype):
    X = (np.random.RandomState(0).standard_normal((1100, 4)) + 50).astype(dtype)
    X[7] = X[3]
    chosen = np.array([3, 1099, 0], dtype=np.int32)
    found, rows = resolve_metric(metric, None, kind(X))
    with lowdim.compute(n_jobs=1):
        D = distances_from(rows, found)(chosen)
    assert D.flags.c_contiguous
    np.testing.assert_allclose(D, cdist(X[chosen], X, metric), atol=2e-6)
    np.testing.assert_array_equal(D[np.arange(3), chosen], 0)
    with lowdim.compute(n_jobs=3):
        np.testing.assert_array_equal(distances_from(rows, found)(chosen), D)
