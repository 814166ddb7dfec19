"""Starts of iterations: given arrays, principal scores, classical and landmark scaling, sizes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

import lowdim
from lowdim.neighbor_embedding.starts import spread_extents, spread_out
from lowdim.numerics.starts import check_start, random_start, separate_points
from lowdim.numerics.svd import principal_scores
from lowdim.objects.pairs import dense_pairs
from lowdim.spectral.starts import classical_start, landmark_start
from lowdim.stress.mds.problems import start_from_pairs


def random():
    return np.random.RandomState(0)


def test_a_given_start_is_taken_as_it_is():
    start = np.random.RandomState(1).standard_normal((5, 2))
    np.testing.assert_array_equal(check_start(start, (5, 2), ("pca",)), start)
    np.testing.assert_array_equal(check_start(start.tolist(), (5, 2), ("pca",)), start)


@pytest.mark.parametrize(
    ("init", "found"), [(np.zeros((4, 2)), r"\(4, 2\)"), ([[1.0, 2.0]], r"\(1, 2\)"), (7, "7")]
)
def test_a_given_start_of_another_shape_is_refused(init, found):
    message = (
        r"init must be one of 'pca', 'random' or an array of shape \(5, 2\), one row of "
        rf"n_components coordinates for each object; got {found}\."
    )
    with pytest.raises(ValueError, match=message):
        check_start(init, (5, 2), ("pca", "random"))


def test_a_random_start_has_the_size_asked_for():
    Y = random_start(4000, 3, 7.0, random(), np.dtype(np.float32))
    assert Y.dtype == np.float32
    assert np.sqrt((pdist(Y) ** 2).mean()) == pytest.approx(7.0, rel=0.02)


def test_classical_and_landmark_starts_recover_a_plane():
    X = np.random.RandomState(1).standard_normal((300, 2))
    D = cdist(X, X)
    holes = np.where(np.quantile(D, 0.99) < D, np.nan, D)
    exact = classical_start(D, 2), landmark_start(lambda rows: D[rows], 300, 2, random())
    for start in exact:
        np.testing.assert_allclose(pdist(start), pdist(X), atol=1e-8)
    filled = start_from_pairs(dense_pairs(holes), 2, random())
    assert lowdim.procrustes(X, filled).correlation > 0.999


def test_separated_moves_only_what_coincides():
    Y = np.random.RandomState(1).standard_normal((20, 2))
    Y[7] = Y[3]
    out = separate_points(Y.copy())
    alone = np.delete(np.arange(20), [3, 7])
    np.testing.assert_array_equal(out[alone], Y[alone])
    assert 0 < np.linalg.norm(out[3] - out[7]) < 1e-2 * np.abs(Y).max()
    line = np.column_stack([np.arange(20.0), np.zeros(20)])
    assert np.ptp(separate_points(line.copy())[:, 1]) > 0


def test_principal_scores():
    X = np.random.RandomState(0).standard_normal((80, 5)) * np.arange(1, 6)
    Y = principal_scores(X, 2)
    np.testing.assert_allclose(np.abs(Y), np.abs(lowdim.PCA(2).fit_transform(X)), atol=1e-9)
    flat = principal_scores(X[:, :1], 3)
    np.testing.assert_array_equal(flat[:, 1:], 0)


def test_spread_out_gives_every_axis_its_extent():
    Y = np.random.RandomState(1).standard_normal((50, 2)) * [5, 0.1]
    Y = spread_out(Y, random(), np.array([10, 40]), 0)
    np.testing.assert_allclose(np.ptp(Y, axis=0), [10, 40])
    np.testing.assert_allclose(Y.max(axis=0), [5, 20])
    same = spread_out(np.zeros((50, 2)), random(), np.array([10, 10]), 1e-5)
    assert len(np.unique(same, axis=0)) == 50  # noise separates coinciding points


def test_the_noise_does_not_depend_on_the_order_of_the_rows():
    Y = np.random.RandomState(1).standard_normal((50, 2))
    order = np.random.RandomState(2).permutation(50)
    extents = np.array([10, 20])
    np.testing.assert_array_equal(
        spread_out(Y[order], random(), extents, 0.1), spread_out(Y, random(), extents, 0.1)[order]
    )


def test_axes_with_short_edges_get_room_for_all_points():
    n = 20_000
    curve = np.column_stack([np.sort(np.random.RandomState(0).uniform(size=n)), np.zeros(n)])
    graph = lowdim.neighbors(curve, k=10).adjacency("union").tocsr()
    room = 0.25 * np.sqrt(n)
    # The second axis is noise, along which neighbours are far apart. The scale does not matter.
    start = np.column_stack([1e3 * curve[:, 0], np.random.RandomState(1).uniform(size=n)])
    np.testing.assert_allclose(spread_extents(start, graph), [room, 13])
    assert np.isfinite(spread_extents(curve, graph)).all()  # an axis without extent
    square = np.random.RandomState(0).uniform(size=(n, 2))
    graph = lowdim.neighbors(square, k=10).adjacency("union").tocsr()
    assert (spread_extents(square, graph) < room / 2).all()
    few = curve[:: n // 500]
    graph = lowdim.neighbors(few, k=10).adjacency("union").tocsr()
    np.testing.assert_allclose(spread_extents(few, graph)[0], 26)
