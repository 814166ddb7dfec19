"""Densities: what is drawn in place of too many points."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from lowdim import plot
from lowdim.plot.colors import COLORS
from lowdim.plot.density import FROM, counts, opacity

rng = np.random.default_rng(0)
Y = rng.normal(size=(5000, 2))


def test_counts_are_a_histogram():
    extent = (-1.5, 2.0, -1.0, 1.75)  # some points fall outside
    edges = [np.linspace(-1.5, 2.0, 41), np.linspace(-1.0, 1.75, 31)]
    weights = rng.uniform(size=len(Y))
    found, sums = counts(Y, extent, (30, 40), weights)
    np.testing.assert_array_equal(found, np.histogram2d(*Y.T, bins=edges)[0].T)
    np.testing.assert_allclose(sums, np.histogram2d(*Y.T, bins=edges, weights=weights)[0].T)


def test_points_on_the_last_edge_count():
    corners = np.array([(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.5, 0.5)])
    (found,) = counts(corners, (0.0, 1.0, 0.0, 1.0), (2, 2))
    np.testing.assert_array_equal(found, [[1, 0], [1, 2]])


@pytest.mark.parametrize("how", ["log", "equalize"])
def test_more_points_are_never_fainter(how):
    count = rng.poisson(3, size=(20, 20))
    alpha = opacity(count, how)
    assert np.all(alpha[count == 0] == 0)
    order = np.argsort(count, axis=None)
    assert np.all(np.diff(alpha.ravel()[order]) >= 0)
    assert alpha.max() == 1
    assert alpha[count > 0].min() >= 0.2


def test_the_picture_holds_every_point_and_lies_where_they_lie():
    ax = plot.scatter(Y, density=True)
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    rows, columns = image.get_array().shape[:2]
    assert (right - left) / columns == pytest.approx((top - bottom) / rows)  # square bins
    edges = [np.linspace(left, right, columns + 1), np.linspace(bottom, top, rows + 1)]
    filled = np.histogram2d(*Y.T, bins=edges)[0].T > 0
    assert np.histogram2d(*Y.T, bins=edges)[0].sum() == len(Y)
    np.testing.assert_array_equal(image.get_array()[..., 3] > 0, filled)
    assert len(ax.collections) == 0
    low, high = ax.get_xlim()
    assert low < left < right < high


def test_colours_mix_by_their_counts():
    apart = np.array([[0.0, 0.0]] * 6 + [[1.0, 1.0]] * 4 + [[0.0, 0.0]] * 2)
    kinds = np.repeat([0, 1, 1], [6, 4, 2])
    image = plot.scatter(apart, kinds, density="log").images[0].get_array()
    blue, orange = np.array(to_rgb(COLORS[0])), np.array(to_rgb(COLORS[1]))
    np.testing.assert_allclose(image[0, 0, :3], (6 * blue + 2 * orange) / 8)
    np.testing.assert_allclose(image[-1, -1, :3], orange)


def test_many_points_become_a_density_by_themselves():
    many = rng.normal(size=(FROM, 2))
    many[0] = np.nan
    assert len(plot.scatter(many).images) == 0  # one too few can be drawn
    many[0] = 0
    assert len(plot.scatter(many).images) == 1
    assert len(plot.scatter(many, density=False).images) == 0
    assert len(plot.scatter(many[:, 0]).images) == 1
    assert len(plot.scatter(np.column_stack([many, many[:, 0]])).collections) == 1


def test_density_of_one_point_and_of_a_line():
    assert len(plot.scatter(np.zeros((3, 2)), density=True).images) == 1
    line = np.column_stack([np.arange(50.0), np.zeros(50)])
    assert plot.scatter(line, density=True).images[0].get_array()[..., 3].any()
    assert len(plot.scatter(np.full((3, 2), np.nan), density=True).images) == 0


def test_bad_density_is_named():
    with pytest.raises(ValueError, match="density must be one of"):
        plot.scatter(Y, density="sqrt")
    with pytest.raises(
        ValueError, match="density: it can be drawn on a map of two dimensions only"
    ):
        plot.scatter(np.zeros((3, 3)), density=True)


def test_shepard_draws_many_pairs_as_a_density():
    given = rng.uniform(size=30_000)
    ax = plot.shepard((given, given**2))
    assert len(ax.images) == 1
    assert len(ax.collections) == 0
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0
