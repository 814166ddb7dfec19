"""Pictures of a self-organizing map: what the cells show."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import lowdim
from lowdim import plot


@pytest.fixture(scope="module", params=["hexagonal", "rectangular"])
def som(request):
    X = np.random.RandomState(0).normal(size=(150, 3)) * [3, 2, 1]
    return lowdim.SelfOrganizingMap(shape=(4, 6), topology=request.param).fit(X)


def areas(collection):
    """Areas of the polygons, by the shoelace formula."""
    found = []
    for path in collection.get_paths():
        x, y = path.vertices.T
        found.append(abs((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) / 2)
    return np.array(found)


def centers(collection):
    return np.array([path.vertices[:-1].mean(axis=0) for path in collection.get_paths()])


def test_the_u_matrix_has_a_cell_a_unit_and_the_brightest_is_the_largest_gap(som):
    cells = plot.u_matrix(som).collections[0]
    np.testing.assert_allclose(centers(cells), som.grid_, atol=1e-12)
    brightness = cells.get_facecolor()[:, :3].sum(axis=1)
    assert brightness.argmax() == som.u_matrix_.argmax()
    assert brightness.argmin() == som.u_matrix_.argmin()


def test_cells_cover_the_plane_once(som):
    cell = np.sqrt(3) / 2 if som.topology == "hexagonal" else 1.0
    np.testing.assert_allclose(areas(plot.hits(som).collections[0]), cell)


def test_the_area_of_a_cell_is_its_number_of_hits(som):
    drawn = areas(plot.hits(som).collections[1])
    np.testing.assert_allclose(drawn / drawn.max(), som.hits_ / som.hits_.max(), atol=1e-12)


def test_component_planes_show_the_codebook(som):
    figure = plot.component_planes(som, [2, 0], names=["a", "b", "c"])
    maps = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in maps] == ["c", "a"]
    for ax, feature in zip(maps, (2, 0), strict=True):
        brightness = ax.collections[0].get_facecolor()[:, 1]  # green rises along viridis
        assert brightness.argmax() == som.codebook_[:, feature].argmax()
    with pytest.raises(ValueError, match="features must be at most 2"):
        plot.component_planes(som, [3])
    with pytest.raises(ValueError, match="names has 1 entries, but there are 3"):
        plot.component_planes(som, names=["a"])


def test_cells_have_the_colour_of_their_most_frequent_label(som):
    labels = np.where(som.units_ < 12, "low", "high")
    ax = plot.unit_labels(som, labels)
    colors = ax.collections[-1].get_facecolor()
    some = som.hits_ > 0
    low, high = colors[:12][some[:12]], colors[12:][some[12:]]
    assert len(np.unique(low, axis=0)) == len(np.unique(high, axis=0)) == 1
    assert (low[0] != high[0]).any()
    drawn = areas(ax.collections[-1])
    np.testing.assert_allclose(drawn[some], drawn.max())
    np.testing.assert_allclose(drawn[~some], 0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["high", "low"]


def test_numbers_are_averaged(som):
    ax = plot.unit_labels(som, som.units_ * 1.5)
    green = ax.collections[-1].get_facecolor()[som.hits_ > 0, 1]
    assert (np.diff(green) > 0).all()


def test_names_stand_in_their_cells(som):
    names = [f"object {i}" for i in range(150)]
    texts = plot.unit_labels(som, names=names).texts
    assert sum(text.get_text().count("\n") + 1 for text in texts) == 150
    with pytest.raises(ValueError, match="names has 2 entries"):
        plot.unit_labels(som, names=["a", "b"])


def test_a_chain_and_a_map_of_dissimilarities(tmp_path):
    X = np.random.RandomState(0).normal(size=(40, 3))
    chain = lowdim.SelfOrganizingMap(1, shape=(9,)).fit(X)
    plot.save(plot.u_matrix(chain), tmp_path / "chain.png")
    D = np.abs(X[:, :1] - X[:, :1].T)
    given = lowdim.SelfOrganizingMap(metric="precomputed").fit(D)
    plot.save(plot.hits(given), tmp_path / "hits.png")
    with pytest.raises(ValueError, match="som has no codebook_"):
        plot.component_planes(given)
    with pytest.raises(NotFittedError):
        plot.u_matrix(lowdim.SelfOrganizingMap())
