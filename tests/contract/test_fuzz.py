"""Random bad input: an error of the right kind or a finite map, never a crash or silent NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

ERRORS = (TypeError, ValueError)

many = settings(max_examples=15)

dtypes = st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_, np.complex128])
shapes = st.one_of(
    st.tuples(st.integers(0, 14), st.integers(0, 5)),
    st.tuples(st.integers(0, 9)),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3)),
    st.just(()),
)
raw_arrays = dtypes.flatmap(lambda dtype: arrays.arrays(dtype, shapes))
small_floats = st.floats(-3, 3)
few_values = arrays.arrays(  # many ties and duplicates
    np.float64,
    st.tuples(st.integers(2, 14), st.integers(1, 4)),
    elements=st.sampled_from([0.0, 1.0, -1.0, 0.5]),
)
scalars = st.one_of(
    st.none(), st.text(max_size=3), small_floats, st.complex_numbers(max_magnitude=5)
)
ragged = st.lists(st.lists(scalars, max_size=4), max_size=8)
object_arrays = st.lists(st.lists(scalars, min_size=2, max_size=2), min_size=1, max_size=8).map(
    lambda rows: np.array(rows, dtype=object)
)


@st.composite
def corrupted(draw):
    """A fine matrix with something wrong in it."""
    rows = np.random.RandomState(draw(st.integers(0, 99))).standard_normal((20, 3))
    entry = draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e200, 1e-320]))
    rows[draw(st.integers(0, 19)), draw(st.integers(0, 2))] = entry
    return rows


anything = st.one_of(raw_arrays, few_values, ragged, object_arrays, corrupted(), scalars)


def answer_or_none(call, rows):
    """What the call returns, or None if it refused the rows with a message."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(rows)
        except ERRORS as error:
            if not str(error):
                raise AssertionError("an error without a message") from error
            return None


def fitted_or_refused(estimator, rows):
    """The estimator if it could be fitted, after looking at its map."""
    if answer_or_none(estimator.fit, rows) is None:
        return None
    Y = estimator.embedding_
    assert Y.ndim == 2
    assert len(Y) == len(rows)
    assert np.isfinite(Y).all()
    return estimator


def small(case, n, **params):
    """An estimator for n objects: one coordinate, few neighbours, two clusters."""
    clusters = {"n_clusters": 2} if case.has("n_clusters") else {}
    return case.make(n_components=1, **params, **case.few(n), **clusters)


@many
@given(rows=anything)
def test_fit(case, rows):
    estimator = fitted_or_refused(small(case, 99), rows)
    if estimator is None:
        return
    assert estimator.embedding_.shape[1] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        placed = estimator.transform(rows)
        assert placed.shape == estimator.embedding_.shape
        assert np.isfinite(placed).all()
        vectors = estimator.inverse_transform(placed)
        assert vectors.dtype == object or np.isfinite(vectors).all()  # objects: categories


@many
@given(rows=anything)
def test_dissimilarities(metric_case, rows):
    fitted_or_refused(small(metric_case, 99, metric="precomputed"), rows)


@many
@given(
    D=arrays.arrays(
        np.float64, st.integers(2, 12).map(lambda n: (n, n)), elements=st.integers(0, 3).map(float)
    )
)
def test_odd_but_valid_dissimilarities(metric_case, D):
    """Symmetric, not negative, with ties and zeros, breaking the triangle inequality."""
    D = D + D.T
    np.fill_diagonal(D, 0)
    placed = fitted_or_refused(small(metric_case, len(D), metric="precomputed"), D)
    assert placed is not None or not D.any()  # all in one place: stress has nothing to fit


@pytest.mark.parametrize(("verb", "width"), [("transform", 2), ("inverse_transform", 3)])
@many
@given(rows=anything)
def test_new_objects_and_coordinates(fitted, verb, width, rows):
    answer = answer_or_none(getattr(fitted, verb), rows)
    if answer is not None:
        assert answer.shape == (len(rows), width)
        assert np.isfinite(answer).all()
