"""Maps of several slices in which shared objects stay together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits

import lowdim
from lowdim.catalog import CATALOG

STEP, SIZE = 60, 200
SHARED = {i: i - STEP for i in range(STEP, SIZE)}
METHODS = {
    "UMAP": {"n_neighbors": 10, "n_epochs": 100, "random_state": 0},
    "TSNE": {"perplexity": 10, "max_iter": 300, "random_state": 0},
    "WeightedTSNE": {"perplexity": 10, "max_iter": 300, "random_state": 0},
    "LargeVis": {"perplexity": 10, "max_iter": 100, "random_state": 0},
    "NegativeSamplingTSNE": {"perplexity": 10, "max_iter": 100, "random_state": 0},
    "PaCMAP": {"random_state": 0},
    "TriMap": {"random_state": 0},
    "MDS": {"random_state": 0},
}


@pytest.fixture(scope="module")
def slices():
    X, y = load_digits(return_X_y=True)
    X = X[np.argsort(y, kind="stable")]
    return [X[i * STEP : i * STEP + SIZE] for i in range(4)]


def gaps(maps):
    """How far shared objects are from themselves on the next map, in widths of the map."""
    moved = [np.linalg.norm(a[STEP:] - b[: SIZE - STEP], axis=1) for a, b in pairwise(maps)]
    return [m.mean() / np.ptp(a, axis=0).max() for m, a in zip(moved, maps, strict=False)]


def kept(X, Y, k=10):
    pairs = zip(lowdim.neighbors(X, k).indices, lowdim.neighbors(Y, k).indices, strict=True)
    return np.mean([len(np.intersect1d(*pair)) / k for pair in pairs])


def test_every_method_that_pins_is_aligned():
    assert {method.name for method in CATALOG if method.pins} == METHODS.keys()


@pytest.mark.parametrize("name", METHODS)
def test_shared_objects_stay_together_and_neighbours_are_kept(name, slices):
    method = getattr(lowdim, name)(**METHODS[name])
    alone = [getattr(lowdim, name)(**METHODS[name]).fit_transform(X) for X in slices]
    aligned = lowdim.fit_aligned(method, slices, [SHARED] * 3)
    maps = [model.embedding_ for model in aligned]
    assert np.mean(gaps(maps)) < 0.25 * np.mean(gaps(alone))
    near = [np.mean([kept(X, Y) for X, Y in zip(slices, Ys, strict=True)]) for Ys in (maps, alone)]
    assert near[0] > near[1] - 0.03
    assert not hasattr(method, "embedding_")


def test_each_slice_has_a_transform(slices):
    model = lowdim.AlignedUMAP(n_neighbors=10, n_epochs=50).fit(slices[:2], relations=[SHARED])
    for mapper, embedding, X in zip(model.mappers_, model.embeddings_, slices, strict=False):
        np.testing.assert_array_equal(mapper.transform(X), embedding)
    np.testing.assert_array_equal(model.transform(slices[0], 0), model.embeddings_[0])


def test_an_update_keeps_the_maps_before_it(slices):
    model = lowdim.AlignedUMAP(n_neighbors=[10, 8], n_epochs=50).fit(slices[:2], relations=[SHARED])
    before = [embedding.copy() for embedding in model.embeddings_]
    model.update(slices[2], relations=SHARED, n_neighbors=12)
    for one, other in zip(before, model.embeddings_, strict=False):
        np.testing.assert_array_equal(one, other)
    assert [mapper.n_neighbors for mapper in model.mappers_] == [10, 8, 12]
    assert gaps(model.embeddings_)[1] < 0.1


def test_objects_are_followed_through_several_slices():
    """Each slice is pinned to the means of the maps of the others where its objects are too."""
    seen = []

    class Map(BaseEstimator):
        init = None

        def set_params(self, **params):
            return self

        def fit(self, X, y=None, *, pinned=None, pin_strength=1.0):
            seen.append(pinned)
            self.embedding_ = X
            return self

    X = [np.arange(8.0).reshape(4, 2), np.zeros((3, 2)), np.full((5, 2), 10.0)]
    lowdim.fit_aligned(Map(), X, [{0: 2, 3: 0}, {2: 4, 1: 1}], window=1)
    assert seen[0] is None
    first, middle, last = seen[3:]
    np.testing.assert_array_equal(middle[2], (X[0][0] + 10) / 2)
    np.testing.assert_array_equal(middle[0], X[0][3])
    np.testing.assert_array_equal(np.isnan(first[:, 0]), [False, True, True, False])
    np.testing.assert_array_equal(np.isnan(last[:, 0]), [True, False, True, True, False])
    seen.clear()
    lowdim.fit_aligned(Map(), X, [{0: 2, 3: 0}, {2: 4, 1: 1}], window=2)
    np.testing.assert_array_equal(seen[3][0], (0 + 10 / 2) / 1.5)
    np.testing.assert_array_equal(seen[5][4], X[0][0] / 2 / 1.5)


def test_slices_of_the_same_objects_need_no_relations(slices):
    noisy = [slices[0], slices[0] + np.random.default_rng(0).normal(size=slices[0].shape)]
    maps = lowdim.AlignedUMAP(n_neighbors=10, n_epochs=50, random_state=0).fit_transform(noisy)
    assert np.linalg.norm(maps[0] - maps[1], axis=1).mean() < 0.1 * np.ptp(maps[0])


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        (None, "relations is None"),
        ([], "relations has 0 entries for 2 slices"),
        ([{0: 7}], r"relations\[0\] has 0: 7, but the next slice has 3"),
        ([{9: 0}], r"relations\[0\] has 9: 0, but its slice has 4"),
        ([{0: 1, 1: 1}], r"relations\[0\] relates two objects"),
    ],
)
def test_wrong_relations_are_refused(relations, message):
    with pytest.raises(ValueError, match=message):
        lowdim.fit_aligned(lowdim.UMAP(), [np.zeros((4, 2)), np.zeros((3, 2))], relations)


def test_wrong_arguments_are_refused(slices):
    with pytest.raises(ValueError, match="PCA cannot be aligned"):
        lowdim.fit_aligned(lowdim.PCA(2), slices, [SHARED] * 3)
    with pytest.raises(TypeError, match="list of slices"):
        lowdim.AlignedUMAP().fit(slices[0])
    with pytest.raises(ValueError, match="n_neighbors has 1 values"):
        lowdim.AlignedUMAP(n_neighbors=[10]).fit(slices[:2], relations=[SHARED])
    with pytest.raises(ValueError, match="alignment_regularisation"):
        lowdim.AlignedUMAP(alignment_regularisation=2).fit(slices[:2], relations=[SHARED])
