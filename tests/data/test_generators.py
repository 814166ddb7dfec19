import numpy as np
import pytest

from lowdim import data

MANIFOLDS = [
    data.swiss_roll,
    data.s_curve,
    data.open_box,
    data.helix,
    data.trefoil,
    data.punctured_sphere,
]
RANDOM = [*MANIFOLDS, data.bars, data.clusters]


def by_name(function):
    return function.__name__


@pytest.mark.parametrize("generator", RANDOM, ids=by_name)
def test_same_seed_same_data(generator):
    X, t = generator(50, random_state=3)
    again, t_again = generator(50, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(t, t_again)
    assert not np.array_equal(X, generator(50, random_state=4)[0])


@pytest.mark.parametrize("generator", RANDOM, ids=by_name)
@pytest.mark.parametrize("n", [1, 57])
def test_shapes_and_types(generator, n):
    X, t = generator(n, random_state=0)
    assert X.dtype == np.float64
    assert X.shape == (n, {"bars": 1600, "clusters": 10}.get(generator.__name__, 3))
    assert t.shape == (n,)
    assert t.dtype == (np.int64 if generator in (data.bars, data.clusters) else np.float64)


@pytest.mark.parametrize("generator", MANIFOLDS, ids=by_name)
def test_noise_moves_the_points_by_its_standard_deviation_and_no_more(generator):
    clean, t = generator(4000, random_state=0)
    noisy, t_noisy = generator(4000, noise=0.1, random_state=0)
    np.testing.assert_array_equal(t, t_noisy)
    assert np.std(noisy - clean) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("generator", RANDOM, ids=by_name)
@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_bad_n_samples(generator, n):
    with pytest.raises((ValueError, TypeError), match="n_samples"):
        generator(n)


def test_bad_noise():
    with pytest.raises(ValueError, match="noise"):
        data.helix(10, noise=-0.1)


@pytest.mark.parametrize("hole", [False, True])
def test_swiss_roll_lies_on_its_formula(hole):
    X, t = data.swiss_roll(3000, hole=hole, random_state=0)
    np.testing.assert_allclose(X[:, 0], t * np.cos(t))
    np.testing.assert_allclose(X[:, 2], t * np.sin(t))
    along, across = (t / np.pi - 1.5) / 3, X[:, 1] / 21
    assert 0 <= along.min() < 0.01 < 0.99 < along.max() <= 1
    assert 0 <= across.min() < 0.01 < 0.99 < across.max() <= 1
    middle = (abs(along - 0.5) < 1 / 6) & (abs(across - 0.5) < 1 / 6)
    assert middle.mean() == pytest.approx(0 if hole else 1 / 9, abs=0.02)
    assert not hole or not middle.any()


def test_s_curve_lies_on_its_formula():
    X, t = data.s_curve(2000, random_state=0)
    np.testing.assert_allclose(X[:, 0], np.sin(t))
    np.testing.assert_allclose(X[:, 2], np.sign(t) * (np.cos(t) - 1))
    assert np.ptp(t) == pytest.approx(3 * np.pi, rel=0.01)
    assert np.ptp(X[:, 1]) == pytest.approx(2, rel=0.01)


def test_open_box_has_five_even_faces_and_no_lid():
    X, height = data.open_box(5000, random_state=0)
    np.testing.assert_allclose(abs(X).max(axis=1), 1)
    np.testing.assert_allclose(height, X[:, 2] + 1)
    walls = [X[:, 2] == -1, X[:, 0] == -1, X[:, 0] == 1, X[:, 1] == -1, X[:, 1] == 1]
    assert np.all(np.sum(walls, axis=0) == 1)
    np.testing.assert_allclose(np.mean(walls, axis=1), 0.2, atol=0.02)
    np.testing.assert_allclose(X.mean(axis=0)[:2], 0, atol=0.05)
    assert not np.any(X[:, 2] == 1)


def test_helix_winds_round_a_torus():
    X, t = data.helix(2000, random_state=0)
    ring = np.hypot(X[:, 0], X[:, 1])
    np.testing.assert_allclose((ring - 2) ** 2 + X[:, 2] ** 2, 1)
    np.testing.assert_allclose(np.arctan2(X[:, 1], X[:, 0]) % (2 * np.pi), t)
    assert np.sum(np.diff(np.sign(X[np.argsort(t), 2])) != 0) == 15  # eight closed turns


def test_trefoil_has_threefold_symmetry():
    X, t = data.trefoil(500, random_state=0)
    x, y = X[:, 0], X[:, 1]
    np.testing.assert_allclose(x**2 + y**2, 5 - 4 * np.cos(3 * t))
    np.testing.assert_allclose(X[:, 2], -np.sin(3 * t), atol=1e-12)


def test_punctured_sphere_is_a_sphere_dense_near_the_hole():
    X, z = data.punctured_sphere(2000, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    np.testing.assert_array_equal(z, X[:, 2])
    assert z.max() <= 12 / 13 + 1e-12
    disc = X[:, :2] / (1 - z)[:, None]  # the stereographic projection fills a disc evenly
    assert np.mean(np.linalg.norm(disc, axis=1) < 5 / np.sqrt(2)) == pytest.approx(0.5, abs=0.03)


def test_bars_are_whole_and_of_two_kinds():
    X, y = data.bars(100, random_state=0)
    images = X.reshape(100, 40, 40)
    assert set(np.unique(X)) == {0, 1}
    np.testing.assert_array_equal(X.sum(axis=1), 40)  # 20 x 2 pixels, never cut by the border
    np.testing.assert_array_equal(y, np.repeat([0, 1], 50))
    rows, columns = images.any(axis=2).sum(axis=1), images.any(axis=1).sum(axis=1)
    np.testing.assert_array_equal(rows, np.where(y == 0, 2, 20))
    np.testing.assert_array_equal(columns, np.where(y == 0, 20, 2))
    assert len(np.unique(X, axis=0)) > 90


def test_bars_reach_every_border():
    X, _ = data.bars(200, size=4, length=3, width=1, random_state=0)
    images = X.reshape(200, 4, 4)
    for edge in (images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]):
        assert edge.any()


@pytest.mark.parametrize("argument", ["length", "width"])
def test_a_bar_longer_than_the_image_is_refused(argument):
    with pytest.raises(ValueError, match=f"{argument} must be at most 8"):
        data.bars(10, size=8, **{"length": 4, argument: 9})


def test_clusters_have_the_promised_sizes_spreads_and_gaps():
    X, y = data.clusters(4000, random_state=0)
    np.testing.assert_array_equal(np.bincount(y), [2000, 1000, 500, 500])
    centers = np.array([X[y == kind].mean(axis=0) for kind in range(4)])
    spreads = [X[y == kind].std(axis=0).mean() for kind in range(4)]
    np.testing.assert_allclose(spreads, [1, 1, 0.5, 3], rtol=0.05)
    gaps = np.linalg.norm(centers[0] - centers, axis=1)
    assert gaps[1] < 10 < gaps[2] < gaps[3]


@pytest.mark.parametrize(
    ("one", "other", "kilometres"),
    [("London", "Paris", 344), ("New York", "Los Angeles", 3940), ("Sydney", "Tokyo", 7820)],
)
def test_city_distances_are_the_known_ones(one, other, kilometres):
    D, names = data.cities()
    assert D[names.index(one), names.index(other)] == pytest.approx(kilometres, rel=0.01)


def test_city_distances_are_a_metric_on_the_globe():
    D, names = data.cities()
    assert D.shape == (len(names), len(names))
    assert len(set(names)) == len(names) >= 20
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(np.diag(D), 0)
    assert D.max() <= np.pi * 6371.01
    assert np.all(D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-6)


def test_kinship_terms_are_those_of_the_table():
    D, names, scales = data.kinship()
    assert D.shape == (15, 15)
    assert len(names) == 15
    np.testing.assert_array_equal(D, D.T)
    assert (D > 0).sum() == 210
    nearest = {names[i]: names[j] for i, j in enumerate(np.where(D > 0, D, 100).argmin(axis=1))}
    assert nearest["aunt"] == "uncle"
    assert nearest["brother"] == "sister"
    assert nearest["cousin"] in ("uncle", "nephew", "aunt")
    assert all(len(scale) == 15 for scale in scales.values())
    assert np.isnan(scales["male"][names.index("cousin")])
