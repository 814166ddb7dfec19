"""Same seed, same bits: whatever the number of threads, ours or those of BLAS."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits


def results(case, rows, new, n_jobs):
    estimator = case.make(n_jobs=n_jobs).fit(rows)
    placed = estimator.transform(new)
    return estimator.embedding_, placed, estimator.inverse_transform(placed)


@pytest.fixture(params=["tall", "wide"], scope="session")
def many(request, wide):
    """Enough rows for several chunks: three features (a tree of neighbours) or twelve (tiles)."""
    return np.ascontiguousarray(wide[:, :3]) if request.param == "tall" else wide


# Noise does not unfold.
@pytest.mark.filterwarnings("ignore:MaximumVarianceUnfolding stopped after max_iter")
def test_the_number_of_threads_does_not_matter(case, many):
    new = many[::2] + 0.01
    reference = results(case, many, new, 1)
    for n_jobs in (2, 3):
        for one, other in zip(reference, results(case, many, new, n_jobs), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_threads_of_blas_do_not_matter(case, wide, threads):
    new = wide[::3] + 0.01
    reference = results(case, wide, new, None)
    with threadpool_limits(threads, user_api="blas"):
        limited = results(case, wide, new, 2)
    for one, other in zip(reference, limited, strict=True):
        np.testing.assert_array_equal(one, other)


def test_single_precision_too(case, wide):
    rows = wide.astype(np.float32)
    reference = results(case, rows, rows[:50], 1)
    for one, other in zip(reference, results(case, rows, rows[:50], 3), strict=True):
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_bad_n_jobs(case, X, n_jobs):
    with pytest.raises((TypeError, ValueError), match="n_jobs"):
        case.make(n_jobs=n_jobs).fit(X)


def test_the_seed_is_used_and_global_state_is_not(case, X):
    if not case.has("random_state"):
        pytest.skip("the method has no random numbers")
    np.random.seed(1)
    first = case.make(random_state=3).fit(X).embedding_
    np.random.seed(2)
    np.testing.assert_array_equal(case.make(random_state=3).fit(X).embedding_, first)
    again = case.make(random_state=np.random.RandomState(3)).fit(X).embedding_
    np.testing.assert_array_equal(again, first)
