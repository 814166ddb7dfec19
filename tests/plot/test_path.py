"""The walk over a map: where its points are and what is drawn for them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError

import lowdim
from lowdim.plot.path import points_along


@pytest.fixture(scope="module")
def isomap():
    X, _ = lowdim.data.swiss_roll(200, random_state=0)
    return lowdim.Isomap().fit(X)


def test_points_are_evenly_spaced_along_the_path():
    places = points_along(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 1.0]]), 5)
    np.testing.assert_allclose(places, [[0, 0], [1, 0], [2, 0], [3, 0], [3, 1]])


def test_the_strip_shows_what_the_points_decode_to(isomap):
    figure = lowdim.plot.path(isomap, [3, 8], n_steps=4)
    places = points_along(isomap.embedding_[[3, 8]], 4)
    shown = figure.axes[1].images[0].get_array()
    np.testing.assert_allclose(shown, isomap.inverse_transform(places).T)
    np.testing.assert_allclose(figure.axes[0].lines[1].get_xydata(), places)


def test_images_stand_side_by_side():
    random = np.random.RandomState(0)
    X = random.uniform(size=(40, 12))
    model = lowdim.PCA(2).fit(X)
    figure = lowdim.plot.path(model, model.embedding_[:2], n_steps=5, image_shape=(4, 3))
    assert figure.axes[1].images[0].get_array().shape == (4, 15)
    colored = lowdim.plot.path(model, [0, 1], n_steps=5, image_shape=(2, 2, 3))
    assert colored.axes[1].images[0].get_array().shape == (2, 10, 3)
    for shape, message in (
        ((5, 5), r"image_shape=\(5, 5\) has 25 values, but X has 12 features"),
        (12, r"image_shape must be \(height, width\)"),
        ((-1, 12), r"image_shape\[0\] must be at least 1, got -1"),
        ((3, 2, 2), "image_shape must have 1, 3 or 4 channels, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            lowdim.plot.path(model, [0, 1], image_shape=shape)


def test_features_have_names_and_a_scale():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.RandomState(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    figure = lowdim.plot.path(lowdim.PCA(2).fit(X), [0, 1])
    assert [text.get_text() for text in figure.axes[1].get_yticklabels()] == ["a", "b", "c"]
    low, high = figure.axes[2].get_ylim()
    assert -low == high > 0


def test_only_fitted_estimators_have_paths():
    with pytest.raises(NotFittedError, match="This Isomap instance is not fitted yet"):
        lowdim.plot.path(lowdim.Isomap(), [0, 1])
    with pytest.raises(TypeError, match="estimator must be a fitted estimator of lowdim"):
        lowdim.plot.path(np.eye(5), [0, 1])


def test_dissimilarities_show_the_nearest_objects(isomap):
    X = np.random.RandomState(0).uniform(size=(30, 2))
    model = lowdim.ClassicalMDS(metric="precomputed").fit(cdist(X, X))
    figure = lowdim.plot.path(model, [4, 9], n_steps=3)
    texts = [text.get_text() for text in figure.axes[1].texts]
    assert texts[0] == "4"
    assert texts[-1] == "9"


@pytest.mark.parametrize(
    ("waypoints", "message"),
    [
        ([0, 500], "no object 500 among 200"),
        ([3, 3], "the path has no length"),
        ([[0.0, 1.0, 2.0]], "must be coordinates"),
        ([0.5, 1.5], "must be coordinates"),
    ],
)
def test_bad_waypoints_are_named(isomap, waypoints, message):
    with pytest.raises(ValueError, match=message):
        lowdim.plot.path(isomap, waypoints)
