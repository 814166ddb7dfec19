"""The limited-memory BFGS method and its line search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from lowdim.numerics.quasi_newton import CORRECTIONS, CURVATURE, DECREASE, Trial, lbfgs, wolfe_step
from lowdim.runtime.callbacks import Monitor


class Counted:
    """An objective of vectors as one of arrays of shape (2, n / 2), with its number of calls."""

    def __init__(self, value, gradient):
        self.value, self.gradient, self.calls = value, gradient, 0
        self.buffer = None

    def __call__(self, Y):
        self.calls += 1
        if self.buffer is None:
            self.buffer = np.empty_like(Y)
        self.buffer[...] = self.gradient(Y.ravel()).reshape(Y.shape)  # as some objectives do
        return self.value(Y.ravel()), self.buffer


def minimize(objective, start, max_iter=500, **settings):
    settings = {"tol": 0.0, "show": lambda Y: Y, **settings}
    return lbfgs(objective, start, Monitor(max_iter), **settings)


def test_the_minimum_of_a_curved_valley_takes_about_as_many_evaluations_as_scipy():
    start = np.tile([-1.2, 1.0], 20).reshape(2, 20)
    options = {"maxcor": CORRECTIONS, "ftol": 0.0, "gtol": 1e-12}
    peer = optimize.minimize(
        optimize.rosen, start.ravel(), jac=optimize.rosen_der, method="L-BFGS-B", options=options
    )
    objective = Counted(optimize.rosen, optimize.rosen_der)
    found = minimize(objective, start, enough=peer.fun)
    np.testing.assert_allclose(found.x, 1, atol=1e-7)
    assert found.x.shape == start.shape
    assert (np.diff(found.history) <= 0).all()
    assert found.history[-1] == found.value
    assert objective.calls <= 1.2 * peer.nfev  # the searches of lines differ in detail


def test_ends_when_progress_is_small_or_the_value_is():
    bowl = Counted(lambda z: float(z @ (z * [1, 50])), lambda z: 2 * z * [1, 50])
    start = np.array([[3.0], [1.0]])
    whole = minimize(bowl, start)
    enough = minimize(bowl, start, enough=1.0)
    assert enough.value <= 1.0 < enough.history[-2]
    some = minimize(bowl, start, tol=0.5, span=1)
    drops = -np.diff(some.history)
    assert len(some.history) < len(whole.history)
    assert drops[-1] <= 0.5 * some.value or some.value == 0
    assert len(minimize(bowl, start, max_iter=2).history) == 3
    assert len(minimize(bowl, start, most=1).history) == 2
    assert len(minimize(bowl, np.zeros((2, 1))).history) == 1


def test_a_function_that_cannot_be_lowered_is_left_where_it_is():
    wrong = Counted(lambda z: float(z @ z), lambda z: -2 * z)  # the gradient of another one
    start = np.array([[1.0], [2.0]])
    found = minimize(wrong, start)
    np.testing.assert_array_equal(found.x, start)
    assert found.history.tolist() == [5.0]


def test_ctrl_c_in_the_first_evaluation_leaves_the_start():
    def interrupted(Y):
        raise KeyboardInterrupt

    start = np.array([[1.0], [2.0]])
    with pytest.warns(UserWarning, match="was interrupted"):
        found = minimize(interrupted, start)
    np.testing.assert_array_equal(found.x, start)
    assert math.isnan(found.value)
    assert len(found.history) == 1  # no iteration


def line(value, slope):
    def along(step):
        return Trial(step, value(step), slope(step), np.zeros(1), np.zeros(1))

    return along


@pytest.mark.parametrize("first", [1e-6, 0.1, 1.0, 30.0, 1e3])
@pytest.mark.parametrize(
    ("value", "slope"),
    [
        (lambda a: (a - 2) ** 2, lambda a: 2 * (a - 2)),
        (lambda a: math.cosh(a - 5), lambda a: math.sinh(a - 5)),
        (lambda a: -a / (a**2 + 2), lambda a: (a**2 - 2) / (a**2 + 2) ** 2),
        (
            lambda a: (a + 0.004) ** 5 - 2 * (a + 0.004) ** 4,
            lambda a: 5 * (a + 0.004) ** 4 - 8 * (a + 0.004) ** 3,
        ),
    ],
    ids=["parabola", "cosh", "More and Thuente 1", "More and Thuente 2"],
)
def test_a_step_meets_the_wolfe_conditions(value, slope, first):
    def bounded(function):  # beyond it the functions overflow
        return lambda a: function(a) if a < 50 else math.inf

    along = line(bounded(value), bounded(slope))
    start = along(0.0)
    found = wolfe_step(along, start, first)
    assert found.value <= start.value + DECREASE * found.step * start.slope
    assert abs(found.slope) <= -CURVATURE * start.slope


def test_no_step_if_the_value_only_rises():
    along = line(lambda a: a, lambda a: -1.0)
    assert wolfe_step(along, along(0.0), 1.0) is None
