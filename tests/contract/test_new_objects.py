"""transform and inverse_transform: each row on its own, close to the map, and back."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

NO_SPARSE_INVERSE = {"KernelPCA": "dense vectors"}


def test_a_row_alone_equals_the_row_in_a_batch(fitted, new):
    estimator = fitted
    batch = estimator.transform(new)
    assert batch.shape == (len(new), 2)
    assert np.isfinite(batch).all()
    alone = np.concatenate([estimator.transform(row[None, :]) for row in new])
    np.testing.assert_allclose(alone, batch, rtol=1e-10, atol=1e-10 * np.abs(batch).max())
    np.testing.assert_allclose(
        estimator.transform(new[::-1])[::-1], batch, rtol=1e-10, atol=1e-10 * np.abs(batch).max()
    )


def test_a_row_of_a_large_batch_on_large_data(fitted_wide, wide):
    estimator = fitted_wide
    moved = wide + 0.003 * np.random.RandomState(5).standard_normal(wide.shape)
    batch = estimator.transform(moved)
    chosen = [0, 255, 256, 511, 512, 519]
    alone = np.concatenate([estimator.transform(moved[i : i + 1]) for i in chosen])
    np.testing.assert_allclose(alone, batch[chosen], rtol=1e-10, atol=1e-10 * np.abs(batch).max())


def test_an_inverse_row_alone_equals_the_row_in_a_batch(fitted):
    estimator = fitted
    Y = estimator.embedding_[:7] * 0.97
    batch = estimator.inverse_transform(Y)
    alone = np.concatenate([estimator.inverse_transform(row[None, :]) for row in Y])
    np.testing.assert_allclose(alone, batch, rtol=1e-10, atol=1e-10 * np.abs(batch).max())


@pytest.mark.parametrize("model", ["fitted", "fitted_wide"])
def test_training_objects_get_their_coordinates(case, X, wide, model, request):
    rows = X if model == "fitted" else wide
    estimator = request.getfixturevalue(model)
    size = np.abs(estimator.embedding_).max()
    gap = np.abs(estimator.transform(rows) - estimator.embedding_).max()
    assert gap <= case.closeness * size


@pytest.mark.parametrize("model", ["fitted", "fitted_wide"])
def test_objects_beside_training_objects_land_beside_them(case, X, wide, model, request):
    rows = X if model == "fitted" else wide
    estimator = request.getfixturevalue(model)
    size = np.abs(estimator.embedding_).max()
    noise = 1e-10 * np.random.RandomState(0).standard_normal(rows.shape)
    gaps = np.abs(estimator.transform(rows + noise) - estimator.embedding_).max(axis=1)
    assert np.quantile(gaps, 1 - case.apart) <= case.nearby * size


def test_new_objects_land_among_their_neighbours(fitted, X, new):
    """The image of a new point is near the images of the training points it is near to."""
    estimator = fitted
    nearest = cdist(new, X).argsort(axis=1)[:, :5]
    centers = estimator.embedding_[nearest].mean(axis=1)
    spread = np.ptp(estimator.embedding_, axis=0).max()
    assert np.linalg.norm(estimator.transform(new) - centers, axis=1).max() < 0.3 * spread


def test_the_inverse_has_the_shape_of_the_input(fitted, X, new):
    estimator = fitted
    back = estimator.inverse_transform(estimator.transform(new))
    assert back.shape == new.shape
    assert np.isfinite(back).all()
    assert estimator.inverse_transform(estimator.embedding_.tolist()).shape == X.shape


def test_the_inverse_returns_training_objects(case):
    """On a flat sheet, which two coordinates can hold."""
    random = np.random.RandomState(0)
    flat = random.uniform(size=(80, 2)) @ random.standard_normal((2, 5)) + 3.0
    estimator = case.make().fit(flat)
    back = estimator.inverse_transform(estimator.embedding_)
    assert np.abs(back - flat).max() <= case.inverse * flat.std(axis=0).max()


def test_the_inverse_of_a_map_of_sparse_rows(case):
    random = np.random.RandomState(0)
    dense = random.uniform(1, 2, (70, 12)) * (random.uniform(size=(70, 12)) < 0.4)
    estimator = case.make().fit(csr_array(dense))
    if case.name in NO_SPARSE_INVERSE:  # the message says what to do
        with pytest.raises(ValueError, match=NO_SPARSE_INVERSE[case.name]):
            estimator.inverse_transform(estimator.embedding_[:4])
        return
    back = estimator.inverse_transform(estimator.embedding_[:4])
    assert isinstance(back, np.ndarray)
    assert back.shape == (4, 12)
    assert np.isfinite(back).all()


def test_transform_with_another_number_of_features(fitted, X):
    estimator = fitted
    with pytest.raises(ValueError, match=r"2 features.*3 features"):
        estimator.transform(X[:, :2])


def test_transform_of_bad_rows(fitted, X):
    estimator = fitted
    bad = X[:4].copy()
    bad[2, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN at \[2, 1\]"):
        estimator.transform(bad)
    bad[2, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity at \[2, 1\]"):
        estimator.transform(bad)
    with pytest.raises(ValueError, match="0 sample"):
        estimator.transform(X[:0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        estimator.transform(X[0])


def test_inverse_transform_of_bad_coordinates(fitted):
    estimator = fitted
    with pytest.raises(ValueError, match=r"3 columns.*2 coordinates"):
        estimator.inverse_transform(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"Y contains NaN at \[1, 0\]"):
        estimator.inverse_transform([[0.0, 1.0], [np.nan, 0.0]])
    with pytest.raises(ValueError, match="Expected 2D array"):
        estimator.inverse_transform(np.zeros(2))


def test_far_away_objects_still_get_finite_coordinates(fitted):
    estimator = fitted
    far = estimator.transform(np.array([[1e4, -1e4, 1e4], [-1e6, 0.0, 0.0]]))
    assert np.isfinite(far).all()
    assert np.isfinite(estimator.inverse_transform(1e6 * np.ones((2, 2)))).all()


@pytest.mark.parametrize(("verb", "width"), [("transform", 3), ("inverse_transform", 2)])
def test_an_answer_that_would_overflow_is_an_error(fitted, verb, width, quiet):
    rows = np.full((2, width), np.finfo(np.float64).max) * [1, -1, 1][:width]
    answer, message = np.zeros(1), "overflow"
    try:
        answer = getattr(fitted, verb)(rows)
    except ValueError as error:
        message = str(error)
    assert np.isfinite(answer).all()
    assert re.search("overflow|infinity", message)
