"""NumPy operations in blocks agree with the plain ones, on any number of threads."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, diags_array, random_array

from helpers import with_threads
from lowdim.backends import numpy_blocks
from lowdim.backends.numpy_blocks import Shifted, elementwise, scale_entries, unit_length
from lowdim.runtime.scheduling import blocks, run

RANDOM = np.random.default_rng(0)
N = 3 * numpy_blocks.ROWS + 5


def on_threads(function, *arguments):
    """The result on one thread, which must be that on three."""
    one, three = (with_threads(n, function, *arguments) for n in (1, 3))
    assert np.array_equal(one, three)
    return one


def test_functions_of_vectors():
    x = RANDOM.uniform(1, 2, numpy_blocks.ENTRIES + 3)
    found = on_threads(lambda: elementwise(np.square, np.empty_like(x), x))
    assert np.array_equal(found, x**2)
    assert np.array_equal(elementwise(np.divide, x.copy(), x, 3.0), x / 3.0)


def test_a_sparse_matrix_scaled_on_both_sides():
    A = random_array((N, N), density=1e-4, rng=RANDOM, format="csr")
    scale = RANDOM.uniform(1, 2, N)
    expected = (diags_array(scale) @ A @ diags_array(scale)).tocsr()
    A.data = on_threads(scale_entries, A, scale, np.float64)
    assert abs(A - expected).max() < 1e-12
    assert scale_entries(A, scale, np.float32).dtype == np.float32


def test_rows_of_unit_length():
    X = RANDOM.normal(size=(N, 4)).astype(np.float32)
    X[7] = 0
    X[8] *= 1e-12  # small rows are scaled too
    lengths = np.linalg.norm(X.astype(np.float64), axis=1)
    expected = X / np.where(lengths == 0, 1, lengths)[:, None]
    found = on_threads(unit_length, X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    sparse = unit_length(csr_array(X))
    assert sparse.dtype == np.float32
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-6)


def test_shifted_rows_do_not_share_a_buffer_between_threads():
    X, center = RANDOM.normal(size=(N, 4)), RANDOM.normal(size=4)
    shifted = Shifted(X, center)
    found = on_threads(
        lambda: np.concatenate(run(lambda rows: shifted(rows).copy(), blocks(N, 100)))
    )
    assert np.array_equal(found, X - center)
