"""Procrustes alignment against closed forms, SciPy, and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial import procrustes as scipy_procrustes

import lowdim

few = settings(max_examples=40)


def cloud(seed, n=20, p=3):
    return np.random.RandomState(seed).standard_normal((n, p))


def turn(seed, p=3, mirrored=False):
    Q = np.linalg.qr(np.random.RandomState(seed).standard_normal((p, p)))[0]
    if (np.linalg.det(Q) < 0) != mirrored:
        Q[:, 0] *= -1
    return Q


@few
@given(
    seed=st.integers(0, 10**6),
    log_scale=st.floats(-30, 30),
    shift=st.floats(-1e3, 1e3),
    mirrored=st.booleans(),
    p=st.integers(1, 4),
)
def test_a_moved_copy_comes_back(seed, log_scale, shift, mirrored, p):
    Y = cloud(seed, p=p)
    scale, Q = 10**log_scale, turn(seed + 1, p, mirrored)
    target = scale * (Y @ Q + shift)
    found = lowdim.procrustes(target, Y)
    np.testing.assert_allclose(found.aligned, target, atol=1e-9 * np.abs(target).max())
    np.testing.assert_allclose(found.rotation, Q, atol=1e-9)
    assert found.scale == pytest.approx(scale, rel=1e-9)
    assert found.correlation == pytest.approx(1.0, abs=1e-12)
    assert found.disparity < 1e-18 * max(1.0, shift**2)
    np.testing.assert_allclose(found.apply(Y), target, atol=1e-9 * np.abs(target).max())


@few
@given(seed=st.integers(0, 10**6), scaling=st.booleans(), reflection=st.booleans())
def test_no_other_motion_is_better(seed, scaling, reflection):
    """Against a numerical search over the plane's rotations (and mirrored rotations)."""
    random = np.random.RandomState(seed)
    target, Y, w = cloud(seed, 8, 2), cloud(seed + 1, 8, 2), random.uniform(0.1, 2, 8)
    found = lowdim.procrustes(target, Y, scaling=scaling, reflection=reflection, weights=w)

    def loss(moved):
        return float((w * ((target - moved) ** 2).sum(axis=1)).sum())

    def other(parameters, mirror):
        angle, scale, *shift = parameters
        Q = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        Q[:, 0] *= mirror
        return loss((scale if scaling else 1.0) * Y @ Q + shift)

    best = min(
        minimize(other, [angle, 0.5, 0, 0], args=(mirror,)).fun
        for angle in (0.0, 2.0, 4.0)
        for mirror in ((1, -1) if reflection else (1,))
    )
    assert loss(found.aligned) <= best * (1 + 1e-6) + 1e-9
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(2), atol=1e-12)
    if not reflection:
        assert np.linalg.det(found.rotation) == pytest.approx(1.0)


def test_scipy_agrees():
    target, Y = cloud(0), cloud(1) + 0.5 * cloud(0)
    found = lowdim.procrustes(target, Y)
    _, _, disparity = scipy_procrustes(target, Y)
    assert found.disparity == pytest.approx(disparity)
    assert found.disparity == pytest.approx(1 - found.correlation**2)
    assert lowdim.procrustes(Y, target).correlation == pytest.approx(found.correlation)


def test_without_scaling_the_size_stays():
    target, Y = cloud(0), 5 * cloud(0) @ turn(3)
    found = lowdim.procrustes(target, Y, scaling=False)
    assert found.scale == 1.0
    assert found.correlation == pytest.approx(1.0)
    np.testing.assert_allclose(np.ptp(found.aligned, axis=0), 5 * np.ptp(target, axis=0))
    assert found.disparity == pytest.approx(16.0)


def test_weights_of_the_points():
    target = cloud(0)
    Y = target @ turn(2)
    Y[-1] += 100.0
    weights = np.ones(20)
    weights[-1] = 0
    found = lowdim.procrustes(target, Y, weights=weights)
    np.testing.assert_allclose(found.aligned[:-1], target[:-1], atol=1e-12)
    assert found.correlation == pytest.approx(1.0)
    doubled = lowdim.procrustes(target, Y, weights=np.r_[2.0, np.ones(19)])
    repeated = lowdim.procrustes(np.r_[target, target[:1]], np.r_[Y, Y[:1]])
    np.testing.assert_allclose(doubled.rotation, repeated.rotation, atol=1e-12)


@pytest.mark.parametrize("scaling", [True, False])
@pytest.mark.parametrize("reflection", [True, False])
def test_degenerate_configurations(scaling, reflection):
    point, line, full = np.ones((6, 2)), np.outer(np.arange(6.0), [1.0, 2.0]), cloud(0, 6, 2)
    for target in (point, line, full, full * 1e150, full * 1e-150):
        for Y in (point, line, full, full * 1e-150, full * 1e150):
            found = lowdim.procrustes(target, Y, scaling=scaling, reflection=reflection)
            np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(2), atol=1e-9)
            assert np.isfinite(found.aligned).all()
            assert np.isfinite(found.shift).all()
            assert 0 <= found.correlation <= 1
            assert found.disparity >= 0
    assert lowdim.procrustes(line, full @ turn(1, 2)).correlation > 0
    assert lowdim.procrustes(point, full).correlation == 0
    np.testing.assert_allclose(lowdim.procrustes(point, full).aligned, point, rtol=1e-15)
    assert lowdim.procrustes(point, point, scaling=scaling).disparity == 0
    assert lowdim.procrustes(full[:1], full[1:2]).disparity == 0


def test_types():
    target, Y = cloud(0).astype(np.float32), cloud(1).astype(np.float32)
    found = lowdim.procrustes(target, Y, weights=np.arange(20))
    for array in (found.aligned, found.rotation, found.shift, found.apply(Y)):
        assert array.dtype == np.float32
    assert lowdim.procrustes(target, Y.astype(np.float64)).aligned.dtype == np.float64
    assert lowdim.procrustes([[0, 0], [1, 2]], [[1, 1], [3, 5]]).aligned.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": np.zeros((3, 2)), "Y": np.zeros((4, 2))}, r"target has shape \(3, 2\) and Y"),
        ({"target": np.zeros((3, 2)), "Y": np.zeros((3, 1))}, "Add columns of zeros"),
        ({"target": np.full((3, 2), np.nan), "Y": np.zeros((3, 2))}, r"target contains NaN at \[0"),
        ({"target": np.zeros((3, 2)), "Y": np.zeros(3)}, "2D"),
        ({"weights": [1.0, 2.0]}, "weights has 2 entries for 3"),
        ({"weights": [1.0, -2.0, 1.0]}, r"weights\[1\] is -2"),
        ({"weights": [0.0, 0.0, 0.0]}, "all zero"),
        ({"weights": [0.0, np.inf, 0.0]}, "weights contains infinity"),
    ],
)
def test_bad_arguments(arguments, message):
    given = {"target": np.eye(3), "Y": np.eye(3), **arguments}
    with pytest.raises(ValueError, match=message):
        lowdim.procrustes(given.pop("target"), given.pop("Y"), **given)


def test_apply_to_other_points():
    found = lowdim.procrustes(cloud(0), cloud(1))
    assert found.apply(cloud(2, n=4)).shape == (4, 3)
    with pytest.raises(ValueError, match="new has 2 columns"):
        found.apply(np.zeros((4, 2)))
