"""With `warm_start` a second fit goes on where the first one stood."""

from __future__ import annotations

import logging
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

import lowdim
from helpers import differences
from lowdim.catalog import CATALOG

# parameters that suit small data, and the numbers of iterations of the first fit and of both
DESCENT = ({"perplexity": 5}, 120, 270)
LONGER = {
    **dict.fromkeys(("SNE", "SymmetricSNE", "TSNE", "WeightedTSNE"), DESCENT),
    "MultiscaleSNE": ({"tol": 0}, 5, 9),
    "NeRV": ({"perplexity": 8, "tol": 0}, 30, 40),
    "Isomap": ({"n_neighbors": 8, "mds": "stress"}, 3, 6),
    "MDS": ({"eps": 0, "init": "random", "n_init": 2, "random_state": 0}, 5, 9),
    "Sammon": ({"tol": 0, "method": "majorize"}, 5, 9),
    "PHATE": ({"eps": 0}, 3, 6),
    "MaximumVarianceUnfolding": ({"n_neighbors": 8, "solver": "factorized"}, 3, 6),
    "PaCMAP": ({}, 10, 15),
    "TriMap": ({}, 10, 15),
    "INDSCAL": ({"tol": 0}, 5, 9),
    "NeighborhoodComponentsAnalysis": ({}, 3, 6),
    "LargeMarginNearestNeighbor": ({}, 10, 15),  # all impostors are searched every 5 iterations
    "InformationTheoreticMetricLearning": ({"random_state": 0}, 20, 30),
    "Autoencoder": ({"layers": (8,)}, 2, 4),
    "ParametricTSNE": ({"layers": (8,), "perplexity": 5}, 1, 2),
    "ParametricUMAP": ({"layers": (8,), "n_neighbors": 5}, 1, 2),
}
# methods whose steps become smaller with the share of `max_iter` that is done
SCHEDULED = {
    "UMAP": ({"n_neighbors": 8}, 10, 15),
    "LargeVis": ({"perplexity": 5}, 10, 15),
    "NegativeSamplingTSNE": ({"perplexity": 5}, 10, 15),
    "CurvilinearComponentAnalysis": ({}, 10, 15),
    "CurvilinearDistanceAnalysis": ({"n_neighbors": 8}, 10, 15),
    "SelfOrganizingMap": ({}, 5, 8),
}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that too few iterations were made
        yield


def length_of(cls):
    return "n_epochs" if cls is lowdim.UMAP else "max_iter"


def arguments_for(name, X):
    objects = next(method.objects for method in CATALOG if method.name == name)
    if objects == "subjects":
        D = np.linalg.norm(X[:12, None] - X[None, :12], axis=2)
        return (np.stack([D, D**2, np.sqrt(D)]),)
    if objects == "labelled":
        rows, labels = load_wine(return_X_y=True)
        return (rows - rows.mean(axis=0)) / rows.std(axis=0), labels
    return (X,)


def test_every_iterative_method_is_tested():
    known = {m.name for m in CATALOG if "warm_start" in m.load()().get_params()}
    assert known == {*LONGER, *SCHEDULED}


@pytest.mark.parametrize("name", LONGER)
def test_a_longer_second_fit_ends_with_the_bits_of_one_long_fit(name, X):
    cls, (params, few, many), seen = getattr(lowdim, name), LONGER[name], []
    arguments = arguments_for(name, X)
    alone = cls(**params, max_iter=many).fit(*arguments)
    found = cls(**params, max_iter=few, warm_start=True).fit(*arguments)
    found.set_params(max_iter=many, callback=seen.append).fit(*arguments)
    assert seen, "it did not go on"
    assert seen[0].iteration > 1, "it began again"
    found.set_params(callback=None, warm_start=False)
    del found._cached_states
    assert differences(vars(found), vars(alone)) == []


@pytest.mark.parametrize("name", SCHEDULED)
def test_where_steps_depend_on_their_number_the_fit_goes_on_with_smaller_ones(name, X):
    cls, (params, few, many), seen = getattr(lowdim, name), SCHEDULED[name], []
    model = cls(**params, **{length_of(cls): few}, warm_start=True).fit(X)
    before = model.embedding_
    model.set_params(**{length_of(cls): many}, callback=seen.append).fit(X)
    assert [state.iteration for state in seen] == list(range(few + 1, many + 1))
    assert np.isfinite(model.embedding_).all()
    assert not np.array_equal(model.embedding_, before)


def test_the_same_fit_again_has_nothing_to_do(X):
    seen = []
    model = lowdim.Sammon(warm_start=True).fit(X)
    first = model.embedding_
    model.set_params(callback=seen.append).fit(X)
    assert seen == []
    np.testing.assert_array_equal(model.embedding_, first)


def test_a_fit_that_was_stopped_goes_on(X):
    model = lowdim.TSNE(
        perplexity=5, max_iter=300, warm_start=True, callback=lambda state: state.iteration == 260
    ).fit(X)
    assert model.n_iter_ == 260
    seen = []
    model.set_params(callback=lambda state: seen.append(state.iteration)).fit(X)
    assert 1 < seen[0] <= 261
    alone = lowdim.TSNE(perplexity=5, max_iter=300, callback=lambda state: None).fit(X)
    np.testing.assert_array_equal(model.embedding_, alone.embedding_)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"perplexity": 8}, "perplexity was 5, is 8"),
        ({"max_iter": 40}, "max_iter was 60, is 40"),
        ({"X": 2.0}, "X is another one"),
    ],
)
def test_other_data_or_parameters_start_over(change, reason, X, caplog):
    model = lowdim.TSNE(perplexity=5, max_iter=60, warm_start=True, random_state=0).fit(X)
    rows = X * change.pop("X", 1.0)
    with caplog.at_level(logging.INFO, "lowdim"):
        model.set_params(**change).fit(rows)
    assert reason in caplog.text
    alone = clone(model).set_params(warm_start=False).fit(rows)
    np.testing.assert_array_equal(model.embedding_, alone.embedding_)


def test_without_warm_start_nothing_is_kept(X):
    model = lowdim.TSNE(perplexity=5, max_iter=60, warm_start=True).fit(X)
    model.set_params(warm_start=False, max_iter=80).fit(X)
    assert not hasattr(model, "_cached_states")
    alone = lowdim.TSNE(perplexity=5, max_iter=80).fit(X)
    np.testing.assert_array_equal(model.embedding_, alone.embedding_)


def test_the_states_are_not_part_of_a_copy_or_a_file(X, tmp_path):
    model = lowdim.MDS(max_iter=5, warm_start=True).fit(X)
    model.save(tmp_path / "mds.lowdim")
    for copy in (
        clone(model),
        pickle.loads(pickle.dumps(model)),
        lowdim.load(tmp_path / "mds.lowdim"),
    ):
        assert copy.warm_start
        assert not hasattr(copy, "_cached_states")


def test_random_state_none_goes_on_with_the_same_numbers(X):
    params = {"init": "random", "perplexity": 5}
    model = lowdim.TSNE(**params, max_iter=60, warm_start=True).fit(X)
    seed = model._cached_states.seed
    model.set_params(max_iter=80).fit(X)
    alone = lowdim.TSNE(**params, max_iter=80, random_state=seed).fit(X)
    np.testing.assert_array_equal(model.embedding_, alone.embedding_)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_data_of_extreme_magnitude_go_on(X, unit):
    seen = []
    model = lowdim.Sammon(method="majorize", tol=0, max_iter=4, warm_start=True).fit(X * unit)
    model.set_params(max_iter=6, callback=seen.append).fit(X * unit)
    assert len(seen) == 2
    alone = lowdim.Sammon(method="majorize", tol=0, max_iter=6).fit(X * unit)
    np.testing.assert_array_equal(model.embedding_, alone.embedding_)


def test_a_file_comes_first(X, tmp_path):
    file = tmp_path / "run.lowdim"
    model = lowdim.Sammon(max_iter=5, warm_start=True, checkpoint=file).fit(X)
    assert not hasattr(model, "_cached_states")


def test_other_values_are_refused(X):
    with pytest.raises(TypeError, match="warm_start must be True or False, got 'yes'"):
        lowdim.MDS(warm_start="yes").fit(X)
