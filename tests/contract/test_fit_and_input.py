"""What goes in and what comes out: kinds of input, types, names, and the estimator protocol."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowdim
from helpers import aligned, axis_signs
from lowdim.catalog import CATALOG
from lowdim.estimator import docstrings


def test_the_catalog_is_what_can_be_imported():
    for method in CATALOG:
        assert getattr(lowdim, method.name) is method.load()
        assert method.name in dir(lowdim)
        for part in ("family", "sentence", "keeps", "cost", "extends", "paper"):
            assert getattr(method, part)


def test_init_only_stores_its_arguments(case):
    signature = inspect.signature(case.cls.__init__)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert inspect.Parameter.VAR_POSITIONAL not in kinds
    marks = {name: object() for name in signature.parameters if name != "self"}
    assert list(case.cls.__signature__.parameters) == list(marks)  # what `help` shows
    for name, mark in case.cls(**marks).get_params(deep=False).items():
        assert mark is marks[name]


def test_every_parameter_is_documented(case):
    described = docstrings.parameters(case.cls)
    for name in inspect.signature(case.cls).parameters:
        assert name in described, name
        assert described[name].text, name


def test_fit_returns_self_and_fit_transform_the_embedding(case, fitted, X):
    """A second fit, here by `fit_transform`, has the same bits."""
    estimator = case.make()
    np.testing.assert_array_equal(estimator.fit_transform(X), fitted.embedding_)
    assert estimator.fit(X[:50]) is estimator
    assert fitted.embedding_.shape == (len(X), 2)
    assert fitted.embedding_.dtype == np.float64
    assert np.isfinite(fitted.embedding_).all()
    assert fitted.n_features_in_ == X.shape[1]


def test_input_is_left_alone(case, X):
    given = X.copy()
    estimator = case.make().fit(given)
    estimator.transform(given)
    np.testing.assert_array_equal(given, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int8, np.int16, bool])
def test_small_types_stay_float32(kind_case, X, dtype):
    scaled = (20 * (X - X.min())).astype(dtype)
    if dtype is bool:
        scaled = np.random.RandomState(0).uniform(size=(60, 12)) > 0.5
    estimator = kind_case.make().fit(scaled)
    assert estimator.embedding_.dtype == np.float32
    assert estimator.transform(scaled[:3]).dtype == np.float32
    assert np.isfinite(estimator.embedding_).all()


def test_float32_agrees_with_float64(case, X):
    single = case.steady().fit(X.astype(np.float32)).embedding_
    double = case.steady().fit(X.astype(np.float32).astype(np.float64)).embedding_
    size = np.abs(double).max()
    np.testing.assert_allclose(aligned(single, double), double, atol=2e-3 * size)


def test_float32_comes_back_as_float32(case, X):
    estimator = case.make().fit(X.astype(np.float32))
    assert estimator.embedding_.dtype == np.float32
    assert estimator.transform(X[:3].astype(np.float32)).dtype == np.float32
    assert estimator.inverse_transform(estimator.embedding_[:3]).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int64, np.uint32])
def test_large_integers_become_float64(kind_case, X, dtype):
    Y = kind_case.make().fit((50 * (X - X.min())).astype(dtype)).embedding_
    assert Y.dtype == np.float64


@pytest.mark.parametrize("kind", ["list", "fortran", "strided", "DataFrame", "memory map"])
def test_other_containers_give_the_same_bits(kind_case, X, kind, tmp_path):
    if kind == "list":
        given = X.tolist()
    elif kind == "fortran":
        given = np.asfortranarray(X)
    elif kind == "strided":
        given = np.repeat(X, 2, axis=0)[::2]
    elif kind == "DataFrame":
        given = pd.DataFrame(X, columns=["a", "b", "c"])
    else:
        np.save(tmp_path / "X.npy", X)
        given = np.load(tmp_path / "X.npy", mmap_mode="r")
    estimator, reference = kind_case.make().fit(given), kind_case.make().fit(X)
    np.testing.assert_array_equal(estimator.embedding_, reference.embedding_)
    np.testing.assert_array_equal(estimator.transform(given[:5]), reference.transform(X[:5]))


@pytest.fixture(scope="module")
def gappy():
    """A dense array that is mostly zero."""
    random = np.random.RandomState(0)
    return random.uniform(1, 2, (70, 12)) * (random.uniform(size=(70, 12)) < 0.4)


def test_sparse_equals_dense(case, gappy):
    sparse, full = case.steady().fit(csr_array(gappy)), case.steady().fit(gappy)
    size = np.abs(full.embedding_).max()
    np.testing.assert_allclose(
        aligned(sparse.embedding_, full.embedding_), full.embedding_, atol=1e-7 * size
    )
    placed = sparse.transform(csr_array(gappy[:6]))
    assert isinstance(placed, np.ndarray)
    signs = axis_signs(sparse.embedding_, full.embedding_)
    np.testing.assert_allclose(placed * signs, full.transform(gappy[:6]), atol=1e-7 * size)


def test_kinds_of_sparse_matrices_give_the_same_bits(kind_case, gappy):
    reference = kind_case.make().fit(csr_array(gappy))
    for kind in (csr_matrix, lambda A: csr_array(A).tocsc()):
        estimator = kind_case.make().fit(kind(gappy))
        np.testing.assert_array_equal(estimator.embedding_, reference.embedding_)
        placed = estimator.transform(kind(gappy[:6]))
        np.testing.assert_array_equal(placed, reference.transform(csr_array(gappy[:6])))


def test_sparse_float32_stays_float32(case, gappy):
    estimator = case.make().fit(csr_array(gappy.astype(np.float32)))
    assert estimator.embedding_.dtype == np.float32


def test_dataframe_names_are_remembered_and_compared(case, X):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    estimator = case.make().fit(frame)
    assert list(estimator.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        estimator.transform(frame.rename(columns={"a": "z"}))


def test_names_of_the_coordinates_and_pandas_output(case, X):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(len(X)) + 7)
    estimator = case.make().set_output(transform="pandas")
    out = estimator.fit_transform(frame)
    names = [f"{case.name.lower()}{c}" for c in range(2)]
    assert list(estimator.get_feature_names_out()) == names
    assert list(out.columns) == names
    assert out.index.equals(frame.index)
    assert list(estimator.transform(frame[:4]).columns) == names


def test_clone_and_set_params(case, fitted, X):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(X)
    name = "n_components"
    assert copy.set_params(**{name: 1}).fit(X).embedding_.shape == (len(X), 1)


def test_not_fitted(case, X):
    for verb in ("transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(case.make(), verb)(X[:, :2])
    with pytest.raises(NotFittedError):
        case.make().get_feature_names_out()


def test_in_a_pipeline(kind_case, X, new):
    pipeline = make_pipeline(StandardScaler(), kind_case.make())
    scaler = StandardScaler().fit(X)
    expected = kind_case.make().fit(scaler.transform(X))
    np.testing.assert_array_equal(pipeline.fit_transform(X), expected.embedding_)
    np.testing.assert_array_equal(
        pipeline.transform(new), expected.transform(scaler.transform(new))
    )
    assert list(pipeline.get_feature_names_out()) == list(expected.get_feature_names_out())


def test_in_a_grid_search(kind_case, X):
    """Halves of the strip are told apart on the map of the other half."""
    y = (X[:, 2] > np.median(X[:, 2])).astype(int)
    search = GridSearchCV(
        make_pipeline(kind_case.make(), KNeighborsClassifier(3)),
        {f"{kind_case.name.lower()}__n_components": [1, 2]},
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert search.cv_results_["mean_test_score"].max() > 0.8
    assert search.score(X, y) > 0.8
