"""The descent: resumed or in one go, stopped by what should stop it."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.neighbor_embedding.descent import Descent, Phase, run_phases, step_size
from lowdim.runtime.callbacks import Monitor


class Bowl:
    """A bowl around a place of its own for every point, steeper along the second axis."""

    exaggeration = 1.0

    def __init__(self, centers=0.0):
        self.centers = centers

    def __call__(self, Y, *, value=True):
        steep, gap = np.array([1.0, 4.0]), Y - self.centers
        found = float((steep * gap**2).sum() / 2) if value else np.nan
        return found, self.exaggeration * steep * gap

    def renumber(self, order):
        self.centers = self.centers[order]


class Slope:
    """A constant gradient whose value is whatever a function says."""

    exaggeration = 1.0

    def __init__(self, gradient, value):
        self.gradient, self.value = gradient, value

    def __call__(self, Y, *, value=True):
        return self.value(), np.full_like(Y, self.gradient)


def start():
    return np.random.RandomState(0).standard_normal((50, 2))


@pytest.mark.parametrize(("first", "second"), [(10, 25), (1, 34), (49, 60)])
def test_two_runs_equal_one(first, second):
    parted, whole = Descent(Bowl(), start()), Descent(Bowl(), start())
    parted.run(Phase(first, 0.05, 0.5))
    parted.run(Phase(second, 0.05, 0.5))
    whole.run(Phase(first + second, 0.05, 0.5))
    np.testing.assert_array_equal(parted.Y, whole.Y)
    np.testing.assert_array_equal(parted.gains, whole.gains)
    assert parted.iteration == whole.iteration == first + second
    assert parted.history == whole.history


def test_renumbering_the_points_changes_nothing():
    centers = np.random.RandomState(1).standard_normal((50, 2))
    plain, renamed = Descent(Bowl(centers), start()), Descent(Bowl(centers), start())
    for _ in range(3):
        plain.run(Phase(7, 0.05, 0.5))
        renamed.run(Phase(7, 0.05, 0.5))
        renamed.renumber()
    assert (renamed.order != np.arange(50)).any()
    np.testing.assert_array_equal(renamed.embedding, plain.Y)


def test_the_minimum_is_found():
    descent = Descent(Bowl(), start())
    descent.run(Phase(300, 0.05, 0.8))
    assert np.abs(descent.Y).max() < 1e-6


def test_one_step_by_hand():
    Y = np.array([[3.0, 1.0], [-2.0, 0.5]])
    descent = Descent(Bowl(), Y.copy())
    descent.run(Phase(2, 0.1, 0.5))
    gains, velocity = np.ones((2, 2)), np.zeros((2, 2))
    for _ in range(2):
        gradient = Bowl()(Y)[1]
        gains = np.where(velocity * gradient < 0, gains + 0.2, gains * 0.8)
        velocity = 0.5 * velocity - 0.1 * gains * gradient
        Y = Y + velocity
    np.testing.assert_allclose(descent.Y, Y)


def test_the_step_of_a_point_is_limited():
    descent = Descent(Bowl(), 1e3 * start())
    before = descent.Y.copy()
    descent.run(Phase(1, 100.0, 0.5))
    assert np.linalg.norm(descent.Y - before, axis=1).max() == pytest.approx(5.0)


def test_a_collapsed_map_is_restarted():
    descent = Descent(Bowl(), start())
    run_phases(descent, [Phase(300, 0.05, 0.5), Phase(1, 1e-9, 0.5)], Monitor(301), start())
    np.testing.assert_allclose(descent.Y, start(), atol=1e-6)


def test_a_flat_gradient_ends_the_descent():
    descent = Descent(Bowl(np.full((50, 2), 3.0)), start(), min_grad_norm=1e-3)
    assert not descent.run(Phase(1000, 0.05, 0.8))
    assert descent.iteration < 1000
    assert descent.iteration % 50 == 0


def test_no_progress_ends_the_descent():
    losses = iter(np.arange(1e6))
    descent = Descent(Slope(1.0, lambda: next(losses)), start(), patience=100)
    assert not descent.run(Phase(1000, 1e-9, 0.0))
    assert descent.iteration == 200  # the best was met at 50


def test_the_callback_sees_every_iteration_and_stops_all_phases():
    seen = []

    def look(state):
        seen.append((state.iteration, state.loss))
        return state.iteration == 12

    descent = Descent(Bowl(), start())
    monitor = Monitor(100, callback=look)
    run_phases(descent, [Phase(10, 0.05, 0.5, 3.0), Phase(90, 0.05, 0.8)], monitor, start())
    assert [number for number, _ in seen] == list(range(1, 13))
    assert np.isfinite([loss for _, loss in seen]).all()


def test_divergence_is_an_error():
    descent = Descent(Slope(np.nan, lambda: 0.0), start())
    with pytest.raises(ValueError, match="diverged"):
        descent.run(Phase(1, 1.0, 0.5))


def test_step_size():
    assert step_size("auto", 4800, 12.0) == 100
    assert step_size(7, 4800, 12.0) == 7
    with pytest.raises(ValueError, match="learning_rate must be one of 'auto'"):
        step_size("fast", 100, 12.0)
    with pytest.raises(ValueError, match="learning_rate"):
        step_size(-1.0, 100, 12.0)
