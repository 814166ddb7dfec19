"""Accelerated SMACOF: Guttman transforms, monotone stress, callbacks and interrupts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from helpers import with_threads
from lowdim.backends.native import Backend
from lowdim.runtime.callbacks import Monitor
from lowdim.stress.majorization import smacof_matrix


def problem(n=40, d=2, seed=0, dtype=np.float64):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    return cdist(X, X, "cityblock").astype(dtype), random.normal(size=(n, d)).astype(dtype)


def stress(D, X):
    return ((D.astype(float) - cdist(X, X)) ** 2).sum() / 2


def guttman(D, X):
    """B(X) X / n, from its definition."""
    distances = cdist(X, X)
    B = -np.divide(D, distances, out=np.zeros_like(D, dtype=float), where=distances > 0)
    np.fill_diagonal(B, 0)
    np.fill_diagonal(B, -B.sum(axis=1))
    return B @ X / len(D)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_first_step_is_a_guttman_transform(d):
    D, X = problem(d=d)
    found = smacof_matrix(D, X, Monitor(1), eps=0)
    expected = guttman(D, X)
    np.testing.assert_allclose(
        found.embedding, expected - expected.mean(axis=0) + X.mean(axis=0), atol=1e-10
    )
    np.testing.assert_allclose(found.history, [stress(D, X), stress(D, expected)])


def test_lower_than_plain_majorization_after_as_many_steps():
    """The first 40 steps are those of plain majorization; after 80 the ratio is 0.911."""
    D, X = problem()
    plain = X
    for _ in range(80):
        plain = guttman(D, plain)
    assert smacof_matrix(D, X, Monitor(80), eps=0).stress < 0.95 * stress(D, plain)


@given(n=st.integers(2, 25), d=st.integers(1, 3), seed=st.integers(0, 10**6))
@settings(max_examples=50)
def test_stress_never_increases(n, d, seed):
    D, X = problem(n, d, seed)
    found = smacof_matrix(D, X, Monitor(40), eps=0)
    assert (np.diff(found.history) <= 1e-9 * found.history[0]).all()
    assert found.stress == found.history[-1] == pytest.approx(stress(D, found.embedding), abs=1e-9)


def test_the_gradient_vanishes_where_it_ends():
    D, X = problem()
    found = smacof_matrix(D, X, Monitor(5000), eps=0)
    Y = found.embedding
    step = 1e-5
    for i, c in ((0, 0), (7, 1), (30, 0)):
        up, down = Y.copy(), Y.copy()
        up[i, c] += step
        down[i, c] -= step
        slope = (stress(D, up) - stress(D, down)) / (2 * step)
        assert abs(slope) < 1e-3 * found.stress


def test_an_exact_configuration_is_kept():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X -= X.mean(axis=0)
    found = smacof_matrix(cdist(X, X), X, Monitor(300))
    assert found.stress == pytest.approx(0, abs=1e-20)
    np.testing.assert_allclose(found.embedding, X, atol=1e-12)


def test_coinciding_points_and_zero_dissimilarities_are_no_trouble():
    D = np.zeros((5, 5))
    found = smacof_matrix(D, np.ones((5, 2)), Monitor(300))
    assert found.stress == 0
    D, X = problem(10)
    X[:] = X[0]
    assert np.isfinite(smacof_matrix(D, X, Monitor(10)).embedding).all()


def test_the_criterion_does_not_depend_on_the_scale():
    D, X = problem()
    lengths = [
        len(smacof_matrix(s * D, s * X, Monitor(300), eps=1e-4).history) for s in (1e-6, 1.0, 1e6)
    ]
    assert lengths[0] == lengths[1] == lengths[2]
    assert 2 < lengths[0] < 300
    assert len(smacof_matrix(D, X, Monitor(300), eps=1e-7).history) > lengths[0]


def test_float32_stays_float32():
    D, X = problem(dtype=np.float32)
    found = smacof_matrix(D, X, Monitor(30))
    exact = smacof_matrix(D.astype(float), X.astype(float), Monitor(30))
    assert found.embedding.dtype == np.float32
    assert found.stress == pytest.approx(exact.stress, rel=1e-3)


def test_threads_change_no_bit():
    D, X = problem(200)
    one, two, three = (with_threads(n, smacof_matrix, D, X, Monitor(10), eps=0) for n in (1, 2, 3))
    for other in (two, three):
        assert np.array_equal(one.embedding, other.embedding)
        assert np.array_equal(one.history, other.history)


def test_a_callback_sees_every_iteration_and_can_stop():
    D, X = problem()
    states = []

    def watch(state):
        states.append(state)
        return state.iteration == 5

    found = smacof_matrix(D, X, Monitor(50, callback=watch), eps=0)
    assert [s.iteration for s in states] == [1, 2, 3, 4, 5]
    assert {s.max_iter for s in states} == {50}
    assert [s.loss for s in states] == found.history[1:].tolist()
    assert found.history[0] == pytest.approx(stress(D, X))
    assert np.array_equal(found.embedding, states[-1].embedding)
    assert found.stress == states[-1].loss


@pytest.mark.parametrize("where", ["callback", "kernel"])
def test_an_interrupt_keeps_the_best_and_warns(where, monkeypatch):
    D, X = problem()
    original, calls = Backend.stress_gradient, []

    def interrupted(*arguments):
        calls.append(1)
        if where == "kernel" and len(calls) == 4:
            raise KeyboardInterrupt
        return original(*arguments)

    def callback(state):
        if where == "callback" and state.iteration == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Backend, "stress_gradient", staticmethod(interrupted))
    with pytest.warns(UserWarning, match="SMACOF was interrupted; the best coordinates so far"):
        found = smacof_matrix(D, X, Monitor(300, "SMACOF", callback), eps=0)
    assert len(found.history) == (4 if where == "callback" else 3)
    assert found.stress == pytest.approx(stress(D, found.embedding))


def test_other_errors_pass_through():
    D, X = problem()

    def callback(state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        smacof_matrix(D, X, Monitor(300, callback=callback))


def test_no_iterations_return_the_start():
    D, X = problem()
    found = smacof_matrix(D, X, Monitor(0))
    assert np.array_equal(found.embedding, X)
    assert found.history.tolist() == [found.stress]


def test_progress_is_shown_on_request_only(capsys):
    D, X = problem()
    smacof_matrix(D, X, Monitor(3))
    assert capsys.readouterr() == ("", "")
    smacof_matrix(D, X, Monitor(3, "SMACOF", verbose=1))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"SMACOF: 100%.* 3/3 .*loss=", shown.err)
    assert shown.err.endswith("\n")
