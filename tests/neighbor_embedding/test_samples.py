"""Samples of the other objects: weights that stand for all objects, near ones all there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from helpers import with_threads
from lowdim.distances.metrics import euclidean
from lowdim.neighbor_embedding.samples import (
    NEAR,
    RATIO,
    SampledObjects,
    n_levels,
    n_near,
    sample_of_new,
)
from lowdim.objects.new_objects import MeasuredNewObjects
from lowdim.objects.objects import Dissimilarities, MeasuredObjects


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((3000, 5))


@pytest.fixture(scope="module")
def sample(X):
    return SampledObjects(MeasuredObjects(X, euclidean()))


def rows_of(lists):
    return [slice(*pair) for pair in zip(lists.indptr[:-1], lists.indptr[1:], strict=True)]


@pytest.mark.parametrize("on_map", [False, True])
def test_weights_estimate_sums_over_all_objects(X, sample, on_map):
    Y = np.random.default_rng(1).standard_normal((len(X), 2)) if on_map else None
    lists = sample.lists(Y)
    D = cdist(X, X) / sample.largest
    true = np.exp(-4 * D**2).sum(axis=1) - 1
    counts, sums = np.empty(len(X)), np.empty(len(X))
    for i, row in enumerate(rows_of(lists)):
        ids = lists.indices[row]
        assert len(np.unique(ids)) == len(ids)
        assert i not in ids
        np.testing.assert_allclose(lists.squared[row], D[i, ids] ** 2, rtol=1e-4, atol=1e-9)
        counts[i] = lists.weights[row].sum()
        sums[i] = (lists.weights[row] * np.exp(-4 * lists.squared[row])).sum()
    assert counts.mean() == pytest.approx(len(X) - 1, rel=0.01)
    assert sums.mean() == pytest.approx(true.mean(), rel=0.01)
    assert np.abs(sums / true - 1).mean() < 0.1


@pytest.mark.parametrize("on_map", [False, True])
@pytest.mark.parametrize(("perplexity", "level"), [(511, 0), (512, 1), (4096, 2)])
def test_samples_for_large_perplexities_leave_out_fine_levels(X, sample, on_map, perplexity, level):
    Y = np.random.default_rng(1).standard_normal((len(X), 2)) if on_map else None
    lists = sample.lists(Y, perplexity)
    assert lists.weights.min() == pytest.approx((len(X) - 1) / (len(X) / RATIO**level - 1))
    D = cdist(X, X) / sample.largest
    true = np.exp(-(D**2)).sum(axis=1) - 1
    counts, sums = np.empty(len(X)), np.empty(len(X))
    for i, row in enumerate(rows_of(lists)):
        ids = lists.indices[row]
        assert len(np.unique(ids)) == len(ids)
        assert i not in ids
        counts[i] = lists.weights[row].sum()
        sums[i] = (lists.weights[row] * np.exp(-(D[i, ids] ** 2))).sum()
    assert counts.mean() == pytest.approx(len(X) - 1, rel=0.01)
    assert sums.mean() == pytest.approx(true.mean(), rel=0.02)
    assert np.abs(sums / true - 1).mean() < 0.1


def test_near_objects_are_listed_with_weight_one(X, sample):
    Y = np.random.default_rng(1).standard_normal((len(X), 2))
    lists = sample.lists(Y)
    for Z, near in ((X, n_near(len(X))), (Y, n_near(len(X)))):
        nearest = cdist(Z[:20], Z).argsort(axis=1)[:, 1 : near + 1]
        for i, row in enumerate(rows_of(lists)[:20]):
            single = lists.indices[row][lists.weights[row] == 1]
            assert np.isin(nearest[i], single).all()


def test_the_number_of_threads_does_not_matter(X, sample):
    Y = np.random.default_rng(1).standard_normal((len(X), 2))
    one, *others = (with_threads(n, sample.lists, Y) for n in (1, 2, 3))
    for other in others:
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)


def test_a_matrix_of_dissimilarities_has_the_same_sample(X, sample):
    matrix = SampledObjects(Dissimilarities(cdist(X, X)))
    Y = X[:, :2].copy()
    for one, other in zip(sample.lists(Y), matrix.lists(Y), strict=True):
        assert len(one) == len(other)
    np.testing.assert_allclose(np.sort(sample.lists().squared), np.sort(matrix.lists().squared))


def test_sample_of_new_objects(X):
    known = MeasuredObjects(X, euclidean())
    new = np.random.default_rng(2).standard_normal((40, 5))
    ids, d, weights = sample_of_new(MeasuredNewObjects(new, known), len(X))
    np.testing.assert_allclose(d, np.take_along_axis(cdist(new, X), ids, axis=1))
    assert weights.sum(axis=1).mean() == pytest.approx(len(X), rel=0.1)
    assert (ids[:, 0] == cdist(new, X).argmin(axis=1)).all()


def test_number_of_levels():
    assert n_levels(NEAR + 1, NEAR) == 1
    assert n_levels(NEAR + 2, NEAR) == 2
    assert n_levels(RATIO * (NEAR + 1) + 1, NEAR) == 3
