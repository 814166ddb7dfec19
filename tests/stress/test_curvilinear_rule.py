"""The rule of curvilinear component analysis against its plainest reading."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform

import lowdim
from lowdim.backends import backend
from lowdim.checks import fixed_seed
from lowdim.runtime.callbacks import Monitor
from lowdim.stress.curvilinear import rule as solver
from lowdim.stress.curvilinear.rule import Decrease, curvilinear, initial


def plain_sweep(D, pins, Y, alpha, reach, step):
    """Each pin in turn, each other point in turn; Y in rows, moved in place."""
    error = 0.0
    for i in pins:
        for j in range(len(Y)):
            y = np.sqrt(((Y[i] - Y[j]) ** 2).sum())
            if j == i:
                continue
            weight = float(y <= reach) if step else np.exp(-y / reach)
            error += weight * (D[i, j] - y) ** 2
            if y > 0:
                Y[j] += alpha * weight * (D[i, j] - y) / y * (Y[j] - Y[i])
    return error


def sweep(D, pins, Y, alpha, reach, step, unit=1.0):
    columns = np.ascontiguousarray(Y.T)
    pins = np.asarray(pins, dtype=np.int32)
    error = backend().curvilinear_sweep(
        D, pins, pins, columns, unit=unit, alpha=alpha, reach=reach, step=step
    )
    return columns.T, error


def problem(n, dim, dtype=np.float64):
    random = np.random.RandomState(n + dim)
    D = squareform(pdist(random.standard_normal((n, dim + 1)))).astype(dtype)
    return D, random.standard_normal((n, dim)), random.permutation(n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize(("n", "dim"), [(1, 2), (2, 1), (31, 1), (33, 2), (70, 3), (70, 5)])
def test_a_sweep_is_the_rule(n, dim, step, dtype):
    D, Y, pins = problem(n, dim, dtype)
    expected = Y.copy()
    error = plain_sweep(D.astype(np.float64), pins, expected, 0.3, 0.8, step)
    moved, met = sweep(D, pins, Y, 0.3, 0.8, step)
    np.testing.assert_allclose(moved, expected, atol=1e-11)
    assert met == pytest.approx(error, rel=1e-11)


def test_more_points_than_a_chunk():
    D, Y, pins = problem(1100, 2)
    expected = Y.copy()
    plain_sweep(D, pins[:40], expected, 0.3, 0.8, False)
    np.testing.assert_allclose(sweep(D, pins[:40], Y, 0.3, 0.8, False)[0], expected, atol=1e-11)


def test_the_unit_multiplies_the_distances():
    D, Y, pins = problem(40, 2)
    one, error = sweep(D, pins, Y, 0.3, 0.8, False)
    other, same = sweep(D * 4, pins, Y, 0.3, 0.8, False, unit=0.25)
    np.testing.assert_array_equal(one, other)
    assert error == same


def test_a_pin_stands_still_and_a_far_point_too():
    D, Y, _ = problem(50, 2)
    Y[7] = 100.0
    moved, _ = sweep(D, [3], Y, 0.5, 5.0, True)
    np.testing.assert_array_equal(moved[3], Y[3])
    np.testing.assert_array_equal(moved[7], Y[7])
    others = [j for j in range(50) if j not in (3, 7)]
    assert (moved[others] != Y[others]).any(axis=1).all()


def test_the_largest_step_puts_a_point_at_its_distance():
    D, Y, _ = problem(50, 2)
    moved, _ = sweep(D, [3], Y, 1.0, np.inf, True)
    np.testing.assert_allclose(np.linalg.norm(moved - moved[3], axis=1), D[3], atol=1e-12)


def test_threads_give_the_same_bits():
    """Enough points that the core does use them."""
    random = np.random.RandomState(0)
    X = random.standard_normal((8300, 3))
    pins = random.permutation(8300)[:100].astype(np.int32)
    D = cdist(X[pins], X)
    rows = np.arange(100, dtype=np.int32)
    answers = []
    for n_jobs in (1, 2, 3):
        Y = np.ascontiguousarray(X[:, :2].T)
        with lowdim.compute(n_jobs=n_jobs):
            error = backend().curvilinear_sweep(
                D, rows, pins, Y, unit=1.0, alpha=0.3, reach=1.0, step=False
            )
        answers.append((Y, error))
    for Y, error in answers[1:]:
        np.testing.assert_array_equal(Y, answers[0][0])
        assert error == answers[0][1]


def test_points_in_one_place_stay_together():
    D, Y, pins = problem(30, 2)
    zeros = np.zeros_like(Y)
    moved, error = sweep(D, pins, zeros, 0.5, 1.0, False)
    np.testing.assert_array_equal(moved, zeros)  # there is no direction to go
    assert error == pytest.approx((D**2).sum())
    moved, error = sweep(np.zeros_like(D), pins, zeros, 0.5, 1.0, False)
    assert error == 0


def test_bad_indices_are_refused():
    D, Y, _ = problem(10, 2)
    for rows, pins in (([0], [10]), ([10], [0]), ([0], [-1]), ([0, 1], [0])):
        with pytest.raises(ValueError):
            backend().curvilinear_sweep(
                D,
                np.array(rows, np.int32),
                np.array(pins, np.int32),
                np.ascontiguousarray(Y.T),
                unit=1.0,
                alpha=0.5,
                reach=1.0,
                step=False,
            )


@pytest.mark.parametrize("neighborhood", solver.NEIGHBORHOODS)
def test_the_epochs_are_sweeps(neighborhood):
    """alpha and lambda fall geometrically, and the order of the pins is drawn anew."""
    D, start, _ = problem(60, 2)
    start -= start.mean(axis=0)
    found = curvilinear(
        D,
        start,
        Monitor(3),
        alpha=(0.4, 0.1),
        lambda_range=(2.0, 0.5),
        neighborhood=neighborhood,
        random_state=5,
    )
    Y, history = start.copy(), []
    ranked = np.argsort((start**2).sum(axis=1))
    for epoch, (alpha, reach) in enumerate([(0.4, 2.0), (0.2, 1.0), (0.1, 0.5)]):
        pins = ranked[np.random.default_rng([fixed_seed(5), epoch]).permutation(60)]
        step = neighborhood == "step"
        history.append(plain_sweep(D, pins, Y, alpha, reach, step) / 2)
    np.testing.assert_allclose(found.embedding, Y - Y.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(found.history, history, rtol=1e-10)
    apart = pdist(found.embedding)
    given = squareform(D)
    assert found.stress == pytest.approx(np.sqrt(((given - apart) ** 2).sum() / (given**2).sum()))
    weights = apart <= 0.5 if neighborhood == "step" else np.exp(-apart / 0.5)
    assert found.error == pytest.approx((weights * (given - apart) ** 2).sum())


def test_distances_measured_on_the_way_give_the_same_bits(monkeypatch):
    random = np.random.RandomState(0)
    X = random.standard_normal((300, 4))
    D = cdist(X, X)
    asked = []

    def from_pins(pins):
        asked.append(len(pins))
        return D[pins]

    monkeypatch.setattr(solver, "PAIRS_AT_ONCE", 1)
    whole = curvilinear(D, X[:, :2], Monitor(3))
    parts = curvilinear(from_pins, X[:, :2], Monitor(3))
    np.testing.assert_array_equal(parts.embedding, whole.embedding)
    assert max(asked) == solver.BLOCK_PINS
    assert sum(asked) == 300 * 6


def test_a_planar_configuration_is_found_from_a_random_start():
    random = np.random.RandomState(1)
    truth = random.uniform(size=(150, 2)) * [3, 1]
    D = cdist(truth, truth)
    start = initial("random", D, (150, 2), np.float64, 0, lambda: truth)
    found = curvilinear(D, start, Monitor(100))
    assert found.stress < 1e-3
    np.testing.assert_allclose(pdist(found.embedding), pdist(truth), atol=2e-3)


def test_a_true_map_stays_where_it_is():
    truth = np.random.RandomState(1).standard_normal((80, 2))
    found = curvilinear(cdist(truth, truth), truth, Monitor(50))
    np.testing.assert_allclose(found.embedding, truth - truth.mean(axis=0), atol=1e-10)
    assert found.stress < 1e-10


def test_decrease():
    fall = Decrease(8.0, 1.0)
    assert [round(fall.at(epoch, 4), 12) for epoch in range(4)] == [8, 4, 2, 1]
    assert fall.at(0, 1) == 8


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": 0.5}, r"alpha must be a pair .*got 0.5"),
        ({"alpha": (0.1, 0.5)}, r"alpha must be a pair .*decreasing.*got \(0.1, 0.5\)"),
        ({"alpha": (2.0, 0.5)}, r"alpha must lie in \(0, 1\], got 2.0"),
        ({"alpha": (0.5, 0.0)}, r"alpha must lie in \(0, 1\], got 0.0"),
        ({"lambda_range": (1.0, 2.0)}, r"lambda_range must be a pair.*'auto', got \(1.0, 2.0\)"),
        ({"lambda_range": (np.inf, 1.0)}, "lambda_range must be a pair"),
        ({"lambda_range": "wide"}, r"lambda_range must be a pair.*got 'wide'"),
        ({"lambda_range": (1.0, "x")}, "lambda_range must be a number, got 'x'"),
        ({"neighborhood": "round"}, "neighborhood must be one of 'exponential', 'step'"),
    ],
)
def test_bad_arguments(params, message):
    D, start, _ = problem(10, 2)
    with pytest.raises((TypeError, ValueError), match=message):
        curvilinear(D, start, Monitor(50), **params)


def test_distances_too_large_to_square():
    D, start, _ = problem(10, 2)
    with pytest.raises(ValueError, match=r"too large.*Divide X"):
        curvilinear(D * 1e200, start * 1e200, Monitor(50))
    with pytest.raises(ValueError, match=r"too large.*Divide X"):
        curvilinear(D, start * np.inf, Monitor(50))
