"""Isomap against scikit-learn's, the paper's figures, landmarks and stress."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.manifold import Isomap as Reference

from helpers import aligned, axis_signs
from lowdim import Isomap, data, geodesics, neighbors

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="module")
def roll():
    return data.swiss_roll(800, random_state=0)


@pytest.fixture(scope="module")
def unrolled(roll):
    return Isomap(n_neighbors=8).fit(roll[0])


@pytest.mark.parametrize(
    "params", [{"n_neighbors": 8}, {"n_neighbors": None, "radius": 4.5}, {"metric": "cityblock"}]
)
def test_as_in_scikit_learn(roll, params):
    X, new = roll[0], data.swiss_roll(20, random_state=1)[0]
    params = {"n_neighbors": 12, **params}
    ours = Isomap(n_components=3, **params).fit(X)
    theirs = Reference(n_components=3, **params).fit(X)
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-9)
    Y = theirs.embedding_
    size = np.abs(Y).max()
    np.testing.assert_allclose(aligned(ours.embedding_, Y), Y, atol=1e-6 * size)
    signs = axis_signs(ours.embedding_, Y)
    np.testing.assert_allclose(ours.transform(new) * signs, theirs.transform(new), atol=1e-6 * size)
    assert ours.reconstruction_error() == pytest.approx(theirs.reconstruction_error(), rel=1e-6)


@pytest.mark.parametrize("path_method", ["auto", "FW", "D"])
@pytest.mark.parametrize("eigen_solver", ["auto", "dense", "arpack"])
def test_path_methods_and_eigensolvers_agree(roll, unrolled, path_method, eigen_solver):
    Y = Isomap(n_neighbors=8, path_method=path_method, eigen_solver=eigen_solver).fit_transform(
        roll[0]
    )
    size = np.abs(Y).max()
    np.testing.assert_allclose(
        aligned(Y, unrolled.embedding_), unrolled.embedding_, atol=1e-7 * size
    )


def test_the_roll_is_unrolled(roll, unrolled):
    """One axis is the length along the strip, the other its height."""
    X, t = roll
    along = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2  # the arc length of the spiral
    found = [
        max(abs(np.corrcoef(axis, truth)[0, 1]) for axis in unrolled.embedding_.T)
        for truth in (along, X[:, 1])
    ]
    assert min(found) > 0.97


def test_geodesics_are_shortest_paths_of_the_graph(roll, unrolled):
    lengths = geodesics(neighbors(roll[0], 8).adjacency())
    np.testing.assert_array_equal(unrolled.dist_matrix_, lengths)
    assert (unrolled.dist_matrix_ >= cdist(roll[0], roll[0]) - 1e-9).all()
    np.testing.assert_array_equal(unrolled.dist_matrix_, unrolled.dist_matrix_.T)
    assert unrolled.nbrs_ is unrolled.graph_


def test_residual_variance_bends_at_the_dimension_of_the_manifold(unrolled):
    curve = unrolled.residual_variance(6)
    assert curve.shape == (6,)
    D = unrolled.dist_matrix_
    for k in (1, 2):
        Y = Isomap(n_neighbors=8, n_components=k).fit(unrolled.X_fit_).embedding_
        r = np.corrcoef(squareform(D, checks=False), pdist(Y))[0, 1]
        full = np.corrcoef(D.ravel(), cdist(Y, Y).ravel())[0, 1]
        assert curve[k - 1] == pytest.approx(1 - full**2, abs=1e-6)
        assert r > 0.9
    drops = -np.diff(curve)
    assert curve[1] < 0.02
    assert drops[0] > 10 * np.abs(drops[1:]).max()


@pytest.mark.parametrize("n_landmarks", [60, 200])
def test_landmarks_approximate_the_full_map(roll, unrolled, n_landmarks):
    estimator = Isomap(n_neighbors=8, n_landmarks=n_landmarks, random_state=0).fit(roll[0])
    assert estimator.dist_matrix_.shape == (n_landmarks, 800)
    assert procrustes(unrolled.embedding_, estimator.embedding_)[2] < 0.01
    np.testing.assert_allclose(
        estimator.transform(roll[0]),
        estimator.embedding_,
        atol=1e-8 * np.abs(estimator.embedding_).max(),
    )


def test_all_objects_as_landmarks_give_the_full_map(roll, unrolled):
    estimator = Isomap(n_neighbors=8, n_landmarks=800).fit(roll[0])
    size = np.abs(unrolled.embedding_).max()
    np.testing.assert_allclose(
        aligned(estimator.embedding_, unrolled.embedding_), unrolled.embedding_, atol=1e-6 * size
    )


def raw_stress(estimator):
    D = squareform(estimator.dist_matrix_, checks=False)
    return ((D - pdist(estimator.embedding_)) ** 2).sum()


def test_stress_is_lowered_and_reported(roll, unrolled):
    estimator = Isomap(n_neighbors=8, mds="stress").fit(roll[0])
    assert estimator.history_[0] == pytest.approx(raw_stress(unrolled), rel=1e-9)
    assert (np.diff(estimator.history_) <= 1e-9 * estimator.history_[0]).all()
    assert estimator.stress_ == pytest.approx(raw_stress(estimator), rel=1e-9)
    assert estimator.stress_ < 0.9 * estimator.history_[0]
    assert estimator.n_iter_ == len(estimator.history_) - 1 > 0


def test_a_callback_sees_every_iteration_and_can_stop(roll):
    seen = []

    def stop_at_three(state):
        seen.append((state.iteration, state.loss, state.embedding.shape, state.max_iter))
        return state.iteration == 3

    estimator = Isomap(n_neighbors=8, mds="stress", callback=stop_at_three).fit(roll[0])
    assert [s[0] for s in seen] == [1, 2, 3]
    assert [s[1] for s in seen] == list(estimator.history_[1:])
    assert seen[0][2:] == ((800, 2), 300)
    assert estimator.n_iter_ == 3
    assert estimator.stress_ == pytest.approx(raw_stress(estimator), rel=1e-9)


def test_an_interrupt_leaves_a_fitted_estimator(roll):
    def interrupt(state):
        if state.iteration == 4:
            raise KeyboardInterrupt

    estimator = Isomap(n_neighbors=8, mds="stress", callback=interrupt)
    with pytest.warns(UserWarning, match="interrupted; the best coordinates so far are kept"):
        estimator.fit(roll[0])
    assert len(estimator.history_) == 5  # the start and four iterations
    assert estimator.stress_ == pytest.approx(raw_stress(estimator), rel=1e-9)
    assert np.isfinite(estimator.transform(roll[0][:3])).all()


def test_progress_is_shown_on_request_only(roll, capsys):
    Isomap(n_neighbors=8, mds="stress", max_iter=4).fit(roll[0])
    assert capsys.readouterr() == ("", "")
    Isomap(n_neighbors=8, mds="stress", verbose=1, max_iter=4).fit(roll[0])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"Isomap: 100%.* 4/4 .*loss=", shown.err)


def test_stress_and_landmarks_exclude_each_other(roll, monkeypatch):
    monkeypatch.setattr("lowdim.spectral.isomap.shortest_path_lengths", None)  # not reached
    with pytest.raises(ValueError, match=r"mds='stress' needs all geodesics.*n_landmarks=None"):
        Isomap(n_neighbors=8, mds="stress", n_landmarks=50).fit(roll[0])


@pytest.mark.parametrize("n_landmarks", [0, 2, 801, 30.0])
def test_bad_numbers_of_landmarks(roll, n_landmarks):
    with pytest.raises((TypeError, ValueError), match="n_landmarks"):
        Isomap(n_neighbors=8, n_landmarks=n_landmarks).fit(roll[0])


def test_minkowski_takes_its_power(roll):
    ours = Isomap(n_neighbors=8, p=1).fit(roll[0])
    named = Isomap(n_neighbors=8, metric="cityblock").fit(roll[0])
    np.testing.assert_array_equal(ours.embedding_, named.embedding_)


def test_a_flat_sheet_has_a_small_negative_share():
    X = np.random.RandomState(0).uniform(size=(200, 2))
    estimator = Isomap(n_neighbors=199).fit(X)  # all geodesics are straight lines
    assert estimator.negative_share_ == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(pdist(estimator.embedding_), pdist(X), atol=1e-9)


def test_the_faces_of_the_paper():
    """Three degrees of freedom of 698 rendered faces, with the paper's K = 6."""
    file = DATA / "faces698.npz"
    if not file.exists():
        pytest.skip(f"{file} is not there (set LOWDIM_DATA to its folder)")
    with np.load(file) as faces:
        Y = Isomap(n_neighbors=6, n_components=3).fit_transform(faces["X"])
        for truth, least in (("pose_left_right", 0.98), ("pose_up_down", 0.90), ("lighting", 0.92)):
            best = max(abs(np.corrcoef(axis, faces[truth])[0, 1]) for axis in Y.T)
            assert best >= least, truth
