"""Curvilinear component and distance analysis: what they unfold, and what they promise."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import spearmanr
from sklearn.manifold import trustworthiness

import lowdim
from lowdim import (
    CurvilinearComponentAnalysis,
    CurvilinearDistanceAnalysis,
    Isomap,
    data,
    neighbors,
)
from lowdim.objects import objects

BOTH = [CurvilinearComponentAnalysis, CurvilinearDistanceAnalysis]
both = pytest.mark.parametrize("method", BOTH)


@pytest.fixture(scope="module")
def roll():
    """A Swiss roll with a hole, and the strip that it was rolled from."""
    X, t = data.swiss_roll(1000, hole=True, random_state=0)
    along = (t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2  # the arc length of the spiral
    return X, np.stack([along, X[:, 1]], axis=1)


@pytest.fixture(scope="module")
def box():
    return data.open_box(700, random_state=0)[0]


def agreement(Y, distances):
    return spearmanr(pdist(Y), distances)[0]


# --- the manifolds of the papers -----------------------------------------------------------


def test_a_swiss_roll_with_a_hole_is_unrolled_better_than_by_isomap(roll):
    X, strip = roll
    graph = neighbors(X, 10)
    ours = CurvilinearDistanceAnalysis(n_neighbors=10).fit(X, graph=graph).embedding_
    isomap = Isomap(n_neighbors=10).fit(X, graph=graph).embedding_
    true = pdist(strip)
    assert agreement(ours, true) > 0.994
    assert agreement(ours, true) > agreement(isomap, true)
    assert trustworthiness(X, ours, n_neighbors=12) > 0.999


def test_an_open_box_is_unfolded(box):
    """Every side beside the bottom: short distances are kept, which no projection can."""
    ours = CurvilinearComponentAnalysis().fit(box).embedding_
    isomap = Isomap(n_neighbors=10).fit(box)
    assert trustworthiness(box, ours, n_neighbors=12) > 0.995
    flat = trustworthiness(box, isomap.embedding_, n_neighbors=12)
    assert trustworthiness(box, ours, n_neighbors=12) > flat
    assert agreement(ours, squareform(isomap.dist_matrix_, checks=False)) > 0.85


def test_short_distances_are_kept_where_long_ones_cannot_be(box):
    found = CurvilinearComponentAnalysis().fit(box)
    D, Y = pdist(box), pdist(found.embedding_)
    near = D < 0.3
    assert np.median(np.abs(Y[near] / D[near] - 1)) < 0.15
    assert found.stress_ > 0.3


@pytest.mark.parametrize("neighborhood", ["exponential", "step"])
@both
def test_a_sheet_is_recovered(method, neighborhood):
    random = np.random.RandomState(0)
    sheet = random.uniform(size=(120, 2)) * [2, 1]
    X = sheet @ np.linalg.qr(random.standard_normal((5, 2)))[0].T + 3.0
    params = {"n_neighbors": 119} if method is CurvilinearDistanceAnalysis else {}
    found = method(neighborhood=neighborhood, **params).fit(X)
    np.testing.assert_allclose(pdist(found.embedding_), pdist(sheet), atol=1e-9)
    assert found.stress_ < 1e-9


def test_from_a_random_start():
    sheet = np.random.RandomState(0).uniform(size=(120, 2))
    found = CurvilinearComponentAnalysis(init="random", max_iter=100, random_state=1).fit(sheet)
    assert found.stress_ < 1e-3
    assert found.history_[0] > 1000 * found.history_[-1]


# --- what is kept of a fit ------------------------------------------------------------------


@both
def test_the_history_of_a_fit(method, roll):
    found = method(max_iter=7, random_state=3).fit(roll[0][:200])
    assert found.n_iter_ == len(found.history_) == 7
    assert found.error_ <= found.history_[-1]
    assert 0 < found.stress_ < 1
    assert (method(max_iter=7, random_state=4).fit(roll[0][:200]).history_ != found.history_).any()


@both
def test_a_callback_sees_each_epoch_and_stops(method, roll):
    seen = []

    def stop(state):
        seen.append(state)
        return state.iteration == 3

    found = method(callback=stop).fit(roll[0][:200])
    assert [state.iteration for state in seen] == [1, 2, 3]
    assert [state.loss for state in seen] == found.history_.tolist()
    assert {state.max_iter for state in seen} == {50}
    np.testing.assert_array_equal(seen[-1].embedding, found.embedding_)
    assert (seen[0].embedding != seen[1].embedding).any()


@both
def test_an_interrupted_fit_keeps_the_map(method, roll):
    def interrupt(state):
        if state.iteration == 2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="was interrupted; the best coordinates so far are kept"):
        found = method(callback=interrupt).fit(roll[0][:200])
    assert found.n_iter_ == 2
    assert np.isfinite(found.transform(roll[0][200:220])).all()


def test_progress_is_shown_on_request_only(roll, capsys):
    CurvilinearComponentAnalysis(max_iter=2).fit(roll[0][:50])
    assert capsys.readouterr() == ("", "")
    CurvilinearComponentAnalysis(verbose=1, max_iter=2).fit(roll[0][:50])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"CurvilinearComponentAnalysis: 100%.* 2/2 ", shown.err)


# --- distances that are not kept -------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_distances_are_measured_when_the_matrix_would_be_large(roll, metric, monkeypatch):
    X = roll[0][:300]
    kept = CurvilinearComponentAnalysis(metric=metric, init=X[:, :2]).fit(X)
    monkeypatch.setattr(objects, "LARGEST_KEPT_MATRIX", 0)
    monkeypatch.setattr(objects, "distance_matrix", lambda *a: pytest.fail("a matrix was made"))
    measured = CurvilinearComponentAnalysis(metric=metric, init=X[:, :2]).fit(X)
    np.testing.assert_allclose(measured.embedding_, kept.embedding_, atol=1e-9)
    started = CurvilinearComponentAnalysis(metric=metric).fit(X)
    assert trustworthiness(X, started.embedding_, n_neighbors=8, metric=metric) > 0.9


def test_a_graph_of_distances_is_not_enough(roll):
    graph = neighbors(roll[0], 8)
    for given, kind in ((graph, "a neighbour graph"), (graph.csr(), "a sparse graph")):
        message = f"X: the dissimilarities of all pairs are needed as a dense array, got {kind}"
        with pytest.raises(ValueError, match=message):
            CurvilinearComponentAnalysis(metric="precomputed").fit(given)


# --- prototypes ------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed"])
def test_prototypes(method, metric, roll, tmp_path):
    X = roll[0]
    rows = cdist(X, X) if metric == "precomputed" else X
    found = method(n_prototypes=200, metric=metric, random_state=0).fit(rows)
    assert 150 <= len(found.prototypes_) <= 200
    assert (np.diff(found.prototypes_) > 0).all()
    assert found.embedding_.shape == (1000, 2)
    assert trustworthiness(X, found.embedding_, n_neighbors=12) > 0.97
    size = np.abs(found.embedding_).max()
    gap = np.abs(found.transform(rows) - found.embedding_).max()
    assert gap < 1e-6 * size
    again = method(n_prototypes=200, metric=metric, random_state=0, n_jobs=1).fit(rows)
    np.testing.assert_array_equal(again.embedding_, found.embedding_)
    found.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(rows[:9]), found.transform(rows[:9]))
    whole = found.set_params(n_prototypes=None).fit(rows)
    assert not hasattr(whole, "prototypes_")


def test_prototypes_unroll_too(roll):
    X, strip = roll
    found = CurvilinearDistanceAnalysis(n_prototypes=250).fit(X)
    assert agreement(found.embedding_, pdist(strip)) > 0.99
    assert found.dist_matrix_.shape == (len(found.prototypes_), len(X))


@both
def test_more_prototypes_than_different_objects(method):
    X = np.repeat(np.random.RandomState(0).uniform(size=(8, 3)), 5, axis=0)
    params = {"n_neighbors": 12} if method is CurvilinearDistanceAnalysis else {}
    found = method(n_prototypes=20, **params).fit(X)
    assert np.isfinite(found.embedding_).all()
    np.testing.assert_allclose(found.embedding_[::5], found.embedding_[1::5], atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_prototypes_in_a_graph(sparse, roll):
    """No distances but those of the neighbours."""
    X, strip = roll
    graph = neighbors(X, 10)
    found = CurvilinearDistanceAnalysis(n_prototypes=250, metric="precomputed", random_state=0)
    found.fit(graph.csr() if sparse else graph)
    assert len(found.prototypes_) == 250
    assert agreement(found.embedding_, pdist(strip)) > 0.98


@both
@pytest.mark.parametrize("count", [2, 1001, 1.5, "many"])
def test_bad_numbers_of_prototypes(method, count, roll):
    with pytest.raises((TypeError, ValueError), match="n_prototypes must be"):
        method(n_prototypes=count).fit(roll[0])


# --- new objects ------------------------------------------------------------------------------


def test_new_objects_of_the_roll_land_on_the_strip(roll):
    X, strip = roll
    found = CurvilinearDistanceAnalysis().fit(X[:900])
    held = CurvilinearDistanceAnalysis().fit(X).embedding_[900:]
    placed = found.transform(X[900:])
    assert agreement(placed, pdist(strip[900:])) > 0.99
    assert agreement(placed, pdist(held)) > 0.99


@both
def test_training_objects_and_objects_beside_them(method, roll):
    X = roll[0]
    found = method().fit(X)
    size = np.abs(found.embedding_).max()
    assert np.abs(found.transform(X) - found.embedding_).max() <= 1e-9 * size
    beside = found.transform(X + 1e-8)
    assert np.abs(beside - found.embedding_).max() <= 1e-5 * size


# --- starts ----------------------------------------------------------------------------------


@both
def test_a_given_start(method, roll):
    X = roll[0][:100]
    start = np.random.RandomState(0).standard_normal((100, 2))
    found = method(init=start).fit(X)
    np.testing.assert_array_equal(method(init=start.tolist()).fit(X).embedding_, found.embedding_)
    assert (method().fit(X).embedding_ != found.embedding_).any()
    with pytest.raises(ValueError, match=r"init must be .* shape \(100, 2\), .*got \(100, 3\)"):
        method(init=X).fit(X)
    with pytest.raises(ValueError, match="init contains NaN"):
        method(init=np.full((100, 2), np.nan)).fit(X)


@both
@pytest.mark.parametrize("n", [2, 3, 4])
def test_very_few_objects(method, n):
    X = np.random.RandomState(0).uniform(size=(n, 3))
    Y = method(n_components=1).fit(X).embedding_
    assert Y.shape == (n, 1)
    assert np.isfinite(Y).all()


@both
@pytest.mark.filterwarnings("ignore:.*objects are the same")
def test_objects_all_in_one_place(method):
    found = method().fit(np.ones((12, 3)))
    np.testing.assert_array_equal(found.embedding_, 0)
    assert found.stress_ == found.error_ == 0
    assert np.isfinite(found.transform(np.full((2, 3), 2.0))).all()


@both
@pytest.mark.parametrize("max_iter", [0, -1, 2.5])
def test_bad_numbers_of_iterations(method, max_iter):
    with pytest.raises((TypeError, ValueError), match="max_iter must be"):
        method(max_iter=max_iter).fit(np.random.RandomState(0).uniform(size=(30, 3)))


def test_more_dimensions_than_the_vectors_have():
    X = np.random.RandomState(0).uniform(size=(30, 2))
    found = CurvilinearComponentAnalysis(3).fit(X)
    np.testing.assert_allclose(pdist(found.embedding_), pdist(X), atol=1e-9)
