"""Same seed, same bits: whatever the number of threads, ours or those of BLAS."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

# Whose iterations are slow, and all alike.
FEW_ITERATIONS = {"MaximumVarianceUnfolding": {"max_iter": 10}}
few_iterations = pytest.mark.filterwarnings("ignore:.* stopped after max_iter")


def results(case, rows, new, n_jobs):
    estimator = case.steady(n_jobs=n_jobs, **FEW_ITERATIONS.get(case.name, {})).fit(rows)
    placed = estimator.transform(new)
    return estimator.embedding_, placed, estimator.inverse_transform(placed)


# Enough rows for several chunks: three features (a tree of neighbours) or twelve (tiles).
@few_iterations
@pytest.mark.parametrize(("n_features", "dtype"), [(3, np.float64), (12, np.float32)])
def test_the_number_of_threads_does_not_matter(case, wide, n_features, dtype):
    """Neither ours nor those that BLAS has outside of our calls."""
    rows = wide[:, :n_features].astype(dtype)
    new = rows[::4] + dtype(0.01)
    with threadpool_limits(1, user_api="blas"):
        reference = results(case, rows, new, 1)
    with threadpool_limits(2, user_api="blas"):
        for one, other in zip(reference, results(case, rows, new, 3), strict=True):
            assert one.dtype == dtype
            np.testing.assert_array_equal(one, other)


def test_bad_n_jobs(case, X):
    for n_jobs in (0, 1.5, "two", True):
        with pytest.raises((TypeError, ValueError), match="n_jobs"):
            case.make(n_jobs=n_jobs).fit(X)


def test_the_seed_is_used_and_global_state_is_not(seeded_case, X):
    case = seeded_case
    np.random.seed(1)
    first = case.make(random_state=3).fit(X).embedding_
    np.random.seed(2)
    np.testing.assert_array_equal(case.make(random_state=3).fit(X).embedding_, first)
    again = case.make(random_state=np.random.RandomState(3)).fit(X).embedding_
    np.testing.assert_array_equal(again, first)


def test_another_seed_gives_another_map(seeded_case, X):
    if not seeded_case.has("init"):
        pytest.skip(
            "the random numbers of the method change its map by rounding only, or not at all"
        )
    maps = [seeded_case.steady(init="random", random_state=s).fit(X).embedding_ for s in (3, 4)]
    assert np.abs(maps[0] - maps[1]).max() > 1e-3 * np.abs(maps[0]).max()
