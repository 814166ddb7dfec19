"""Fitted state: nothing left of an earlier fit, nothing left of a failed one, honest snapshots."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import lowdim
from helpers import differences

ITERATIVE = {  # where the default has no iterations
    "Isomap": [{"mds": "stress"}],
    "MDS": [{}, {"metric_mds": False}, {"method": "sampled"}, {"init": "random", "n_init": 3}],
    "Sammon": [{"method": "lbfgs"}, {"method": "majorize"}],
    "MaximumVarianceUnfolding": [{"solver": "interior-point"}, {"solver": "factorized"}],
    "UMAP": [{"n_epochs": 30}, {"n_epochs": 30, "densmap": True}],
}


# --- a second fit --------------------------------------------------------------------------------


def other_fits(case, two_strips):
    """Fits with more options than the plain one has: (parameters, X, arguments of fit)."""
    frame = pd.DataFrame(two_strips, columns=["a", "b", "c"])
    flat = np.ascontiguousarray(two_strips[:60, :2])
    yield {}, frame, {}
    yield {"n_components": 1}, flat, {}
    options = {
        "n_landmarks": {"n_landmarks": 30},
        "n_prototypes": {"n_prototypes": 40},
        "radius": {"radius": 1.5, "n_neighbors": None},
        "disconnected": {"disconnected": "separate"},
        "correction": {"correction": "lingoes"},
        "kernel": {"kernel": "rbf"},
        "densmap": {"densmap": True, "output_dens": True},
        "metric_mds": {"metric_mds": False},
        "mds": {"mds": "stress"},
        "fit_inverse_transform": {"fit_inverse_transform": True, "kernel": "poly"},
        "whiten": {"whiten": True, "n_components": None},
        "metric": {"metric": "gower"},
        "init": {"init": "random"},
    }
    for name, params in options.items():
        clusters_the_whole = name == "disconnected" and case.has("n_clusters")
        needs_vectors = name == "metric" and case.name == "LocallyLinearEmbedding"
        of_a_grid = name == "radius" and not case.sees_graph
        other_names = name == "mds" and case.name == "PHATE"
        skipped = clusters_the_whole or needs_vectors or of_a_grid or other_names
        if case.has(name) and not skipped:
            yield params, two_strips, {}
    arguments = {
        "MDS": {"weights": np.ones((80, 80)), "init": two_strips[:, :2]},
        "WeightedTSNE": {"sample_weight": np.linspace(1, 2, 80)},
        "UMAP": {"y": np.arange(80) % 3},
    }
    if case.name in arguments:
        yield {}, two_strips, arguments[case.name]
    if case.sees_graph:
        yield {}, two_strips, {"graph": lowdim.neighbors(two_strips, 8)}


def test_a_second_fit_has_the_state_of_a_fresh_fit(case, X, two_strips):
    fresh = case.make().fit(X)
    plain = case.make().get_params()
    for params, rows, arguments in other_fits(case, two_strips):
        used = case.make(**params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            used.fit(rows, **arguments)
            used.transform(rows[:3])
        used.set_params(**plain).fit(X)
        assert differences(vars(used), vars(fresh)) == [], (params, list(arguments))


def test_differences_are_found(X):
    """The comparison that the test above rests on."""
    one, other = lowdim.PCA(2).fit(X), lowdim.PCA(2).fit(X)
    assert differences(vars(one), vars(other)) == []
    other.embedding_[3, 1] += 1e-9
    other.left_over_ = 1
    assert differences(vars(one), vars(other)) == ["estimator: ['left_over_'] in one alone"]
    del other.left_over_
    assert differences(vars(one), vars(other)) == ["estimator.embedding_"]


# --- a fit that fails ----------------------------------------------------------------------------


def broken_fits(case, X):
    """What makes a fit fail: (parameters, X, the error)."""
    hole = X.copy()
    hole[5, 1] = np.nan
    yield {}, hole, ValueError
    yield {}, None, (TypeError, ValueError)
    yield {"n_components": 0}, X, ValueError
    yield {"n_components": "two"}, X, (TypeError, ValueError)
    yield {"n_jobs": 0}, X, ValueError
    if case.has("metric"):
        yield {"metric": "no such metric"}, X, ValueError
    for options in iterative_options(case):
        yield {**options, "callback": raises}, X, ZeroDivisionError


def raises(state):
    raise ZeroDivisionError


def iterative_options(case):
    return ITERATIVE.get(case.name, [{}]) if case.has("callback") else []


def test_a_failed_fit_leaves_the_estimator_not_fitted(case, X):
    unfitted = vars(case.make()).keys()
    for params, rows, error in broken_fits(case, X):
        estimator = case.make().fit(X)
        estimator.set_params(**params)
        with pytest.raises(error):
            estimator.fit(rows)
        assert vars(estimator).keys() == unfitted, params
        with pytest.raises(NotFittedError):
            estimator.transform(X[:3])


# --- what a callback sees ------------------------------------------------------------------------


def test_a_callback_sees_snapshots_and_changes_nothing(case, X):
    if not case.has("callback"):
        pytest.skip("the method has no iterations")
    for options in iterative_options(case):
        states, copies = [], []

        def look(state, states=states, copies=copies):
            states.append(state)
            copies.append(state.embedding.copy())

        watched = case.make(**options, callback=look).fit(X)
        assert len(states) > 1, options
        for state, copy in zip(states, copies, strict=True):
            assert state.embedding.shape == watched.embedding_.shape
            assert not state.embedding.flags.writeable
            np.testing.assert_array_equal(state.embedding, copy)  # nothing changed it afterwards
            assert not np.shares_memory(state.embedding, watched.embedding_)
        for before, after in pairwise(states):
            assert not np.shares_memory(before.embedding, after.embedding)
            moved = (before.embedding != after.embedding).any()
            still = case.name == "SelfOrganizingMap"  # while prototypes move on
            assert moved or still or before.loss == after.loss, (options, after.iteration)
        assert (states[0].embedding != states[-1].embedding).any()
        alone = case.make(**options).fit(X)
        watched.callback = None
        assert differences(vars(watched), vars(alone)) == [], options
