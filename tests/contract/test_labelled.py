"""Methods that learn a metric from labels: the contract of the others, with labels."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import lowdim
from helpers import differences
from lowdim.catalog import CATALOG
from lowdim.estimator import docstrings

METHODS = [method for method in CATALOG if method.objects == "labelled"]


@pytest.fixture(params=METHODS, ids=lambda method: method.name)
def cls(request):
    return request.param.load()


@pytest.fixture(scope="module")
def wines():
    X, y = load_wine(return_X_y=True)
    return X / X.std(axis=0), y


def test_fit_learns_a_linear_map(cls, wines):
    X, y = wines
    estimator = cls(2)
    assert estimator.fit(X, y) is estimator
    assert estimator.embedding_.shape == (len(X), 2)
    assert estimator.components_.shape == (2, 13)
    np.testing.assert_allclose(estimator.embedding_, X @ estimator.components_.T)
    np.testing.assert_allclose(
        estimator.metric_, estimator.components_.T @ estimator.components_, atol=1e-12
    )
    np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)
    np.testing.assert_array_equal(cls(2).fit_transform(X, y), estimator.embedding_)
    assert list(estimator.classes_) == [0, 1, 2]
    name = cls.__name__.lower()
    assert list(estimator.get_feature_names_out()) == [f"{name}0", f"{name}1"]


def test_more_target_neighbours_than_objects(wines):
    X, y = wines
    all_of = lowdim.LargeMarginNearestNeighbor(n_neighbors=len(X), max_iter=2).fit(X, y)
    more = lowdim.LargeMarginNearestNeighbor(n_neighbors=2**63, max_iter=2).fit(X, y)
    np.testing.assert_array_equal(more.embedding_, all_of.embedding_)


def test_the_inverse_has_the_same_coordinates(cls, wines):
    X, y = wines
    estimator = cls(2).fit(X, y)
    back = estimator.inverse_transform(estimator.embedding_)
    np.testing.assert_allclose(estimator.transform(back), estimator.embedding_, atol=1e-8)
    middle = estimator.inverse_transform(estimator.transform(X.mean(axis=0)[None]))
    np.testing.assert_allclose(middle[0], X.mean(axis=0))


def test_kinds_of_labels_and_of_tables(cls, wines):
    X, y = wines
    reference = cls(2).fit(X, y).embedding_
    words = np.array(["a", "b", "c"])[y]
    np.testing.assert_array_equal(cls(2).fit(X, words).embedding_, reference)
    np.testing.assert_array_equal(cls(2).fit(X.tolist(), words.tolist()).embedding_, reference)
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    named = cls(2).fit(frame, pd.Series(words))
    np.testing.assert_array_equal(named.embedding_, reference)
    with pytest.raises(ValueError, match="feature names"):
        named.transform(frame.rename(columns={"ash": "z"}))
    sparse = cls(2).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.embedding_, reference, atol=1e-8)
    single = cls(2).fit(X.astype(np.float32), y)
    assert single.embedding_.dtype == single.metric_.dtype == np.float32
    assert single.inverse_transform(single.embedding_).dtype == np.float32


def test_the_number_of_threads_does_not_matter(cls, wines):
    X, y = np.tile(wines[0], (3, 1)), np.tile(wines[1], 3)
    X = X + 0.1 * np.random.RandomState(0).standard_normal(X.shape)
    one, three = (cls(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.components_, three.components_)
    np.testing.assert_array_equal(one.embedding_, three.embedding_)


def test_saved_and_pickled_models_are_the_same(cls, wines, tmp_path):
    X, y = wines
    estimator = cls(3).fit(X, y)
    estimator.save(tmp_path / "model")
    for copy in (lowdim.load(tmp_path / "model"), pickle.loads(pickle.dumps(estimator))):
        assert differences(vars(copy), vars(estimator)) == []
        np.testing.assert_array_equal(copy.transform(X[:4]), estimator.transform(X[:4]))


def test_a_second_and_a_failed_fit_leave_nothing(cls, wines):
    X, y = wines
    used = cls(2).fit(X[:, :5], np.where(y == 0, "first", "other")).fit(X, y)
    assert differences(vars(used), vars(cls(2).fit(X, y))) == []
    with pytest.raises(ValueError, match="y has 3 labels, but X has 178 rows"):
        used.fit(X, y[:3])
    with pytest.raises(NotFittedError):
        used.transform(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, None), "requires y to be passed"),
        (lambda X, y: (X, X[:, 0]), "continuous"),
        (lambda X, y: (np.where(X[3, 2] == X, np.nan, X), y), "NaN at"),
    ],
)
def test_bad_labels_and_bad_numbers(cls, wines, change, message):
    with pytest.raises(ValueError, match=message):
        cls().fit(*change(*wines))


@pytest.mark.parametrize("value", [0, -1, 14, 2.5, "two", True, 2**40])
def test_bad_n_components(cls, wines, value):
    with pytest.raises((TypeError, ValueError), match="n_components"):
        cls(value).fit(*wines)


def test_parameters_are_stored_and_documented(cls):
    described = docstrings.parameters(cls)
    marks = {name: object() for name in inspect.signature(cls).parameters}
    for name, value in cls(**marks).get_params(deep=False).items():
        assert value is marks[name]
        assert described[name].text


def test_callbacks_see_the_map_and_can_stop(cls, wines):
    seen = []

    def stop(state):
        seen.append(state)
        return len(seen) == 3

    estimator = cls(callback=stop).fit(*wines)
    assert estimator.n_iter_ == 3 or cls.__name__ == "NeighborhoodComponentsAnalysis"
    assert len(seen) == 3
    assert seen[-1].embedding.shape == (178, 13)
    assert (seen[0].embedding != seen[-1].embedding).any()


def test_extreme_units(cls, wines):
    X, y = wines
    for scale in (1e-8, 1e8):
        estimator = cls(2, **{"init": "lda"} if hasattr(cls(), "init") else {}).fit(X * scale, y)
        assert np.isfinite(estimator.embedding_).all()
        accuracy = KNeighborsClassifier(3).fit(estimator.embedding_, y)
        assert accuracy.score(estimator.embedding_, y) > 0.9


# --- a fitted one as a metric --------------------------------------------------------------------


def test_neighbors_under_a_learned_metric(cls, wines):
    X, y = wines
    learned = cls().fit(X, y)
    graph = lowdim.neighbors(X, 5, metric=learned)
    expected = lowdim.neighbors(np.ascontiguousarray(X @ learned.components_.T), 5)
    np.testing.assert_array_equal(graph.indices, expected.indices)
    np.testing.assert_allclose(graph.distances, expected.distances, rtol=1e-6)
    by_matrix = lowdim.neighbors(X, 5, metric="mahalanobis", metric_params={"VI": learned.metric_})
    np.testing.assert_array_equal(graph.indices, by_matrix.indices)


@pytest.mark.parametrize(
    "method", [m for m in CATALOG if m.objects == "vectors"], ids=lambda m: m.name
)
def test_every_method_takes_a_learned_metric(method, wines, tmp_path):
    if "metric" not in inspect.signature(method.load()).parameters:
        pytest.skip("the method has no metric")
    X, y = wines[0][::2], wines[1][::2]
    learned = lowdim.LargeMarginNearestNeighbor(max_iter=5).fit(X, y)
    estimator = method.load()(n_components=2, metric=learned)
    if hasattr(estimator, "perplexity"):
        estimator.set_params(perplexity=5)
    if hasattr(estimator, "max_iter"):
        estimator.set_params(max_iter=20)
    if hasattr(estimator, "n_clusters"):
        estimator.set_params(n_clusters=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(X)
        placed = estimator.transform(X[:5] + 0.01)
    assert np.isfinite(placed).all()
    assert clone(estimator).metric is learned
    estimator.save(tmp_path / "model")
    again = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X[:5] + 0.01), placed)


def test_a_metric_that_has_learned_nothing(cls, wines):
    with pytest.raises(ValueError, match=r"metric must be .*not fitted"):
        lowdim.Isomap(metric=cls()).fit(wines[0])


def test_classification_in_a_pipeline(cls, wines):
    X, y = wines
    pipeline = make_pipeline(cls(), KNeighborsClassifier(3)).fit(X[::2], y[::2])
    assert pipeline.score(X[1::2], y[1::2]) > 0.93


def test_more_constraints_than_memory(wines):
    with pytest.raises(MemoryError, match="n_constraints"):
        lowdim.InformationTheoreticMetricLearning(n_constraints=10**30).fit(*wines)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            lambda y: [None if i == 3 else str(c) for i, c in enumerate(y)],
            r"row 3 is missing \(None",
        ),
        (lambda y: np.where(np.arange(len(y)) == 5, np.nan, y), r"row 5 is missing \(nan\)"),
        (lambda y: ["a" if c else 1 for c in y], "y holds strings and other labels, such as 1"),
        (lambda y: y[:9], "y has 9 labels, but X has 178 rows"),
    ],
)
def test_bad_labels_are_named(cls, wines, labels, message):
    X, y = wines
    with pytest.raises((TypeError, ValueError), match=message):
        cls().fit(
            X, np.array(labels(y), dtype=object) if isinstance(labels(y), list) else labels(y)
        )


@pytest.mark.parametrize("labels", [lambda y: y * 0, lambda y: np.arange(len(y))])
def test_labels_that_teach_nothing(cls, wines, labels):
    """Neighbourhood components take them as scikit-learn does, and keep the first map."""
    X, y = wines
    if cls is not lowdim.NeighborhoodComponentsAnalysis:
        with pytest.raises(ValueError, match=r"y: .* (at least 2 classes|are different)"):
            cls().fit(X, labels(y))
        return
    with pytest.warns(UserWarning, match="first map is kept") as shown:
        fitted = cls(init="identity").fit(X, labels(y))
    assert len(shown) == 1
    np.testing.assert_array_equal(fitted.transform(X), X)


def test_an_end_by_max_iter_is_told_on_request(wines):
    X, y = wines
    with pytest.warns(ConvergenceWarning, match="max_iter=2 was reached"):
        lowdim.NeighborhoodComponentsAnalysis(max_iter=2, verbose=1).fit(X, y)
    lowdim.NeighborhoodComponentsAnalysis(max_iter=2).fit(X, y)


def test_a_learned_metric_is_for_its_own_features(cls, wines):
    X, y = wines
    learned = cls(2, max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match=rf"metric: {cls.__name__} was .* 13 features, .* has 5"):
        lowdim.Isomap(metric=learned).fit(X[:, :5])
