"""The self-organizing map: against a plain reference, on every kind of grid and of objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import StandardScaler

import lowdim
from lowdim.numerics.unit_grid import UnitGrid


@pytest.fixture(scope="module")
def blobs():
    random = np.random.RandomState(0)
    return np.concatenate([random.normal(c, 0.4, (60, 5)) for c in (0, 2, 5)])


def reference(X, codebook, grid, radii, function):
    """Batch training written down as in Kohonen's book."""
    apart = grid.coordinates[:, None] - grid.coordinates[None]
    if grid.toroidal:
        apart -= grid.periods * np.round(apart / grid.periods)
    squares = (apart**2).sum(axis=2)
    for radius in radii:
        best = cdist(X, codebook).argmin(axis=1)
        H = function(squares, radius)[:, best]
        some = H.any(axis=1)  # units without any object in reach keep their prototypes
        codebook = codebook.copy()
        codebook[some] = (H @ X)[some] / H[some].sum(axis=1, keepdims=True)
    return codebook


FUNCTIONS = {
    "gaussian": lambda s, r: np.exp(-s / (2 * r * r)),
    "bubble": lambda s, r: (np.sqrt(s) <= r + 1e-9) * 1.0,
    "cut_gaussian": lambda s, r: np.exp(-s / (2 * r * r)) * (np.sqrt(s) <= r + 1e-9),
}


@pytest.mark.parametrize("neighborhood", FUNCTIONS)
@pytest.mark.parametrize("topology", ["hexagonal", "rectangular"])
@pytest.mark.parametrize("toroidal", [False, True])
def test_batch_training_is_the_textbook_algorithm(blobs, neighborhood, topology, toroidal):
    start = np.random.RandomState(1).normal(2, 2, (48, 5))
    options = {"shape": (6, 8), "topology": topology, "toroidal": toroidal}
    som = lowdim.SelfOrganizingMap(
        **options, neighborhood=neighborhood, radius=(4, 2.2), max_iter=9, init=start
    ).fit(blobs)
    radii = 4 * (2.2 / 4) ** (np.arange(9) / 8)
    grid = UnitGrid((6, 8), topology, toroidal)
    expected = reference(blobs, start, grid, radii, FUNCTIONS[neighborhood])
    np.testing.assert_allclose(som.codebook_, expected, atol=1e-10)
    distances = cdist(blobs, expected)
    np.testing.assert_array_equal(som.units_, distances.argmin(axis=1))
    assert som.quantization_error_ == pytest.approx(distances.min(axis=1).mean())
    np.testing.assert_array_equal(som.hits_, np.bincount(som.units_, minlength=48))


def test_digits_keep_their_topology():
    X, _ = load_digits(return_X_y=True)
    som = lowdim.SelfOrganizingMap(shape=(20, 20)).fit(X)
    assert som.topographic_error_ < 0.05


def test_errors_and_u_matrix_by_definition(blobs):
    som = lowdim.SelfOrganizingMap(shape=(5, 7), topology="rectangular").fit(blobs)
    order = cdist(blobs, som.codebook_).argsort(axis=1)
    row, column = np.divmod(order[:, :2], 7)
    touching = np.maximum(abs(row[:, 0] - row[:, 1]), abs(column[:, 0] - column[:, 1])) <= 1
    assert som.topographic_error_ == pytest.approx(1 - touching.mean())
    prototypes = som.codebook_.reshape(5, 7, 5)
    corner = [prototypes[0, 1], prototypes[1, 0], prototypes[1, 1]]
    mean = np.mean([np.linalg.norm(p - prototypes[0, 0]) for p in corner])
    assert som.u_matrix_[0, 0] == pytest.approx(mean)
    assert som.u_matrix_.shape == som.shape_ == (5, 7)


@pytest.mark.parametrize(("topology", "adjacent"), [("hexagonal", 6), ("rectangular", 8)])
def test_every_unit_of_a_torus_has_as_many_adjacent_units(topology, adjacent):
    first, second = UnitGrid((6, 7), topology, True).edges
    np.testing.assert_array_equal(np.bincount(first), np.full(42, adjacent))
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    assert pairs == {(b, a) for a, b in pairs}


def test_units_of_a_hexagonal_grid_are_at_distance_one():
    grid = UnitGrid((5, 6), "hexagonal", False)
    first, second = grid.edges
    gaps = np.linalg.norm(grid.coordinates[first] - grid.coordinates[second], axis=1)
    np.testing.assert_allclose(gaps, 1)
    np.testing.assert_allclose(grid.coordinates.min(axis=0), -grid.coordinates.max(axis=0))


def test_a_torus_wraps_around_a_torus():
    """The product of two circles: a grid without borders needs no fold."""
    angles = np.random.RandomState(0).uniform(0, 2 * np.pi, (1500, 2))
    X = np.column_stack([f(a) for a in angles.T for f in (np.cos, np.sin)]) * [2, 2, 1, 1]
    for topology in ("rectangular", "hexagonal"):
        options = {"shape": (10, 20), "topology": topology}
        flat, torus = (
            lowdim.SelfOrganizingMap(**options, toroidal=toroidal).fit(X)
            for toroidal in (False, True)
        )
        assert torus.topographic_error_ < 0.5 * flat.topographic_error_
        assert torus.u_matrix_.std() < 0.2 * torus.u_matrix_.mean()


def test_relational_map_of_another_metric_has_prototypes(blobs):
    som = lowdim.SelfOrganizingMap(metric="cityblock").fit(blobs)
    np.testing.assert_allclose(som.coefficients_.sum(axis=1), 1)
    np.testing.assert_allclose(som.coefficients_ @ blobs, som.codebook_)
    assert som.quantization_error_ < cdist(blobs, blobs, "cityblock").mean() / 3


@pytest.mark.parametrize("training", ["batch", "online"])
def test_relational_and_vector_maps_agree_for_distances(blobs, training):
    """Also with random starts and steps: the algorithm is the same in other coordinates."""
    options = {"training": training, "init": "random", "random_state": 4, "max_iter": 5}
    vectors = lowdim.SelfOrganizingMap(shape=(4, 6), **options).fit(blobs)
    D = cdist(blobs, blobs)
    given = lowdim.SelfOrganizingMap(shape=(4, 6), metric="precomputed", **options).fit(D)
    np.testing.assert_array_equal(given.units_, vectors.units_)
    np.testing.assert_allclose(given.coefficients_ @ blobs, vectors.codebook_, atol=1e-8)
    assert given.quantization_error_ == pytest.approx(vectors.quantization_error_)
    assert given.topographic_error_ == vectors.topographic_error_
    np.testing.assert_allclose(given.u_matrix_, vectors.u_matrix_, atol=1e-7)
    np.testing.assert_array_equal(given.medoids_, cdist(vectors.codebook_, blobs).argmin(axis=1))


def test_median_prototypes_are_objects(blobs):
    D = cdist(blobs, blobs, "cityblock")
    som = lowdim.SelfOrganizingMap(metric="precomputed", prototypes="median").fit(D)
    assert set(np.unique(som.coefficients_)) == {0.0, 1.0}
    np.testing.assert_array_equal(som.coefficients_.argmax(axis=1), som.medoids_)
    np.testing.assert_array_equal(som.units_, D[:, som.medoids_].argmin(axis=1))
    np.testing.assert_array_equal(som.predict(D[:5]), som.units_[:5])


def test_online_training_reaches_the_batch_map(blobs):
    batch = lowdim.SelfOrganizingMap(shape=(5, 8)).fit(blobs)
    online = lowdim.SelfOrganizingMap(shape=(5, 8), training="online").fit(blobs)
    assert online.quantization_error_ < 1.2 * batch.quantization_error_
    assert online.topographic_error_ < 0.15
    colors = np.random.default_rng(0).uniform(size=(500, 3))
    maps = [
        lowdim.SelfOrganizingMap(shape=(15, 15), training=training, max_iter=20).fit(colors)
        for training in ("batch", "online")
    ]
    assert maps[1].quantization_error_ < 1.05 * maps[0].quantization_error_
    other = lowdim.SelfOrganizingMap(shape=(5, 8), training="online", random_state=1).fit(blobs)
    assert (other.codebook_ != online.codebook_).any()


def test_missing_values_take_no_part(blobs):
    """Entries are missing at random: the map is nearly that of the complete data."""
    holes = blobs.copy()
    holes[np.random.RandomState(2).uniform(size=holes.shape) < 0.1] = np.nan
    whole = lowdim.SelfOrganizingMap(shape=(5, 7)).fit(blobs)
    som = lowdim.SelfOrganizingMap(shape=(5, 7), metric="nan_euclidean").fit(holes)
    assert np.isfinite(som.codebook_).all()
    error = cdist(blobs, som.codebook_).min(axis=1).mean()
    assert error < 1.1 * whole.quantization_error_
    same = lowdim.SelfOrganizingMap(shape=(5, 7), metric="nan_euclidean").fit(blobs)
    np.testing.assert_allclose(same.codebook_, whole.codebook_, atol=1e-8)


def test_a_mean_is_over_known_entries():
    X = np.array([[0.0, 1.0], [0.2, np.nan], [9.0, 5.0], [9.2, 7.0]])
    som = lowdim.SelfOrganizingMap(
        1, shape=(2,), metric="nan_euclidean", radius=(0.1, 0.1), max_iter=3
    ).fit(X)
    found = som.codebook_[som.codebook_[:, 0].argsort()]
    np.testing.assert_allclose(found, [[0.1, 1.0], [9.1, 6.0]])


def test_cosine_ignores_lengths():
    random = np.random.RandomState(0)
    X = random.uniform(0.1, 1, (120, 6))
    longer = X * random.uniform(0.1, 10, (120, 1))
    one, other = (lowdim.SelfOrganizingMap(metric="cosine").fit(rows) for rows in (X, longer))
    np.testing.assert_allclose(one.codebook_, other.codebook_, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(one.codebook_, axis=1), 1)
    error = cdist(X, one.codebook_, "cosine").min(axis=1).mean()
    assert one.quantization_error_ == pytest.approx(error, abs=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "nan_euclidean"])
def test_an_object_of_weight_three_is_three_objects(blobs, metric):
    rows = blobs + 3
    weights = np.random.RandomState(4).randint(0, 4, len(rows))
    copies = np.repeat(np.arange(len(rows)), weights)
    if metric == "nan_euclidean":
        rows[5, 2] = np.nan
    start = 3 + np.random.RandomState(1).normal(2, 2, (20, 5))
    options = {"shape": (4, 5), "metric": metric, "init": start}
    counted = lowdim.SelfOrganizingMap(**options).fit(rows, sample_weight=weights)
    repeated = lowdim.SelfOrganizingMap(**options).fit(rows[copies])
    np.testing.assert_allclose(counted.codebook_, repeated.codebook_, atol=1e-9)
    np.testing.assert_array_equal(counted.units_[copies], repeated.units_)
    np.testing.assert_allclose(counted.hits_, repeated.hits_)
    np.testing.assert_allclose(counted.history_, repeated.history_)
    assert counted.quantization_error_ == pytest.approx(repeated.quantization_error_)
    assert counted.topographic_error_ == pytest.approx(repeated.topographic_error_)


def test_weights_of_a_relational_map_are_those_of_the_vectors(blobs):
    weights = np.random.RandomState(4).uniform(0, 3, len(blobs))
    options = {"shape": (4, 5), "init": "random", "max_iter": 5}
    vectors = lowdim.SelfOrganizingMap(**options).fit(blobs, sample_weight=weights)
    given = lowdim.SelfOrganizingMap(metric="precomputed", **options)
    given.fit(cdist(blobs, blobs), sample_weight=weights)
    np.testing.assert_allclose(given.coefficients_ @ blobs, vectors.codebook_, atol=1e-8)
    np.testing.assert_allclose(given.hits_, vectors.hits_)
    assert given.quantization_error_ == pytest.approx(vectors.quantization_error_)


def test_weights_draw_objects_in_online_training_and_count_in_partial_fit(blobs):
    weights = np.where(np.arange(len(blobs)) < 60, 1e9, 0)
    online = lowdim.SelfOrganizingMap(shape=(3, 4), training="online", init="random", max_iter=20)
    online.fit(blobs, sample_weight=weights)
    low, high = blobs[:60].min(axis=0), blobs[:60].max(axis=0)
    used = online.codebook_[online.hits_ > 0]
    assert ((used > low) & (used < high)).all()
    assert online.hits_.sum() == 60e9
    som = lowdim.SelfOrganizingMap(shape=(3, 4)).fit(blobs)
    twice = lowdim.SelfOrganizingMap(shape=(3, 4)).fit(blobs)
    som.partial_fit(blobs[:50], sample_weight=np.full(50, 2))
    twice.partial_fit(np.concatenate([blobs[:50], blobs[:50]]))
    np.testing.assert_allclose(som.codebook_, twice.codebook_)
    assert som.hits_.sum() == twice.hits_.sum() == len(blobs) + 100


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight has 2 entries, but X has 180 objects"),
        (np.r_[-1, np.ones(179)], r"sample_weight must not be negative, found -1 at \[0\]"),
        (np.zeros(180), "Sample weights must contain at least one non-zero number"),
        (np.full(180, np.nan), "sample_weight"),
    ],
)
def test_bad_weights(blobs, weights, message):
    with pytest.raises(ValueError, match=message):
        lowdim.SelfOrganizingMap().fit(blobs, sample_weight=weights)


def test_the_quantization_error_is_that_of_other_libraries_at_the_same_order():
    """MiniSom, with its default schedule and sigma=2.5, has .379 and .020 on this grid."""
    X = StandardScaler().fit_transform(load_iris().data)
    som = lowdim.SelfOrganizingMap(shape=(8, 8), topology="rectangular").fit(X)
    assert som.quantization_error_ < 0.379
    assert som.topographic_error_ < 0.03


# --- new objects ---------------------------------------------------------------------------------


def test_partial_fit_in_parts_is_one_step_of_all(blobs):
    """The sums of all parts are kept: the prototypes are means over all objects seen."""
    order = np.random.RandomState(3).permutation(len(blobs))
    first, second = blobs[order[:100]], blobs[order[100:]]
    som = lowdim.SelfOrganizingMap(shape=(4, 5)).partial_fit(first)
    np.testing.assert_array_equal(
        som.codebook_, lowdim.SelfOrganizingMap(shape=(4, 5)).fit(first).codebook_
    )
    units = np.concatenate([som.units_, som.predict(second)])
    som.partial_fit(second)
    everything = np.concatenate([first, second])
    apart = som.grid_[:, None] - som.grid_[None]
    H = np.exp(-(apart**2).sum(axis=2) / (2 * 0.8**2))[:, units]
    np.testing.assert_allclose(som.codebook_, H @ everything / H.sum(axis=1)[:, None], atol=1e-10)
    assert som.hits_.sum() == len(blobs)
    assert som.embedding_.shape == (80, 2)


def test_partial_fit_moves_the_map_to_new_data(blobs):
    for training in ("batch", "online"):
        som = lowdim.SelfOrganizingMap(shape=(5, 7), training=training, max_iter=5)
        som.partial_fit(blobs[:60])
        before = cdist(blobs[60:], som.codebook_).min(axis=1).mean()
        for _ in range(4):
            som.partial_fit(blobs[60:])
        assert cdist(blobs[60:], som.codebook_).min(axis=1).mean() < 0.5 * before
    with pytest.raises(ValueError, match=r"partial_fit needs vectors.*metric='cityblock'"):
        lowdim.SelfOrganizingMap(metric="cityblock").fit(blobs).partial_fit(blobs)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
def test_interpolated_places_are_between_units(blobs, metric):
    rows = blobs + 3
    unit = lowdim.SelfOrganizingMap(metric=metric).fit(rows)
    between = lowdim.SelfOrganizingMap(metric=metric, placement="interpolated").fit(rows)
    np.testing.assert_array_equal(between.units_, unit.units_)
    moved = np.linalg.norm(between.embedding_ - unit.embedding_, axis=1)
    assert 0 < moved.max() <= 0.5 + 1e-12
    assert len(np.unique(between.embedding_, axis=0)) > 0.95 * len(rows)
    np.testing.assert_allclose(between.transform(rows), between.embedding_, atol=1e-9)


def test_interpolation_recovers_places_on_a_sheet():
    """A grid of prototypes that lies flat in the data is a coordinate system."""
    grid = UnitGrid((6, 9), "rectangular", False).coordinates
    turn = np.linalg.qr(np.random.RandomState(0).standard_normal((4, 4)))[0][:2]
    som = lowdim.SelfOrganizingMap(
        shape=(6, 9),
        topology="rectangular",
        placement="interpolated",
        init=grid @ turn,
        neighborhood="bubble",
        radius=(0.5, 0.5),
        max_iter=1,
    ).fit(grid @ turn)
    inside = np.random.RandomState(1).uniform(-0.35, 0.35, (54, 2))
    np.testing.assert_allclose(som.transform((grid + inside) @ turn), grid + inside, atol=1e-9)
    np.testing.assert_allclose(som.inverse_transform(grid), grid @ turn, atol=1e-9)


def test_the_inverse_is_the_prototype(blobs):
    som = lowdim.SelfOrganizingMap(shape=(4, 6)).fit(blobs)
    np.testing.assert_array_equal(som.inverse_transform(som.grid_ + 0.2), som.codebook_)
    np.testing.assert_array_equal(som.grid_[som.predict(blobs)], som.transform(blobs))


def test_prototypes_of_other_objects_decode_to_the_nearest_object(blobs):
    som = lowdim.SelfOrganizingMap(shape=(4, 6), metric="gower").fit(blobs)
    found = som.inverse_transform(som.grid_)
    np.testing.assert_array_equal(found.objects[:, 0], som.medoids_)


def test_a_relational_map_without_its_prototypes_is_not_saved(blobs, tmp_path):
    som = lowdim.SelfOrganizingMap(shape=(4, 6), metric="cityblock").fit(blobs)
    del som.codebook_
    with pytest.raises(ValueError, match="lacks codebook_"):
        som.save(tmp_path / "model")


def test_sparse_rows(blobs):
    dense = np.where(blobs > 1, blobs, 0)
    full = lowdim.SelfOrganizingMap(shape=(4, 6)).fit(dense)
    sparse = lowdim.SelfOrganizingMap(shape=(4, 6)).fit(csr_array(dense))
    np.testing.assert_allclose(sparse.codebook_, full.codebook_, atol=1e-8)
    sparse.partial_fit(csr_array(dense))
    assert sparse.hits_.sum() == 2 * len(dense)


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"shape": (4,)}, "shape must be 'auto' or a tuple of 2 integers"),
        ({"shape": "large"}, "shape must be 'auto' or a tuple of 2 integers"),
        ({"shape": (2.5, 3)}, r"shape\[0\] must be an integer"),
        ({"toroidal": "no"}, "toroidal must be True or False, got 'no'"),
        ({"shape": (1, 1)}, "shape must have at least 2 units"),
        ({"shape": (3, 4), "toroidal": True}, "even number of rows"),
        ({"radius": (1, 2)}, "radius must be a pair"),
        ({"radius": (1, 0)}, "radius must lie in"),
        ({"radius": 3}, "radius must be a pair"),
        ({"learning_rate": (2, 1), "training": "online"}, "learning_rate must lie in"),
        ({"init": np.zeros((3, 3)), "shape": (2, 2)}, r"init must be .* \(4, 5\).*got \(3, 3\)"),
        ({"init": np.zeros((4, 5)), "metric": "cityblock"}, "init must be 'pca' or 'random'"),
        ({"prototypes": "median", "training": "online"}, "prototypes='median' needs"),
        ({"n_components": 3}, "n_components"),
    ],
)
def test_bad_parameters(blobs, params, message):
    with pytest.raises(ValueError, match=message):
        lowdim.SelfOrganizingMap(**params).fit(blobs)


def test_the_shape_follows_the_spread_of_the_data():
    wide = np.random.RandomState(0).normal(size=(400, 3)) * [6, 2, 0.1]
    som = lowdim.SelfOrganizingMap(topology="rectangular").fit(wide)
    rows, columns = som.shape_
    assert 2 < columns / rows < 4
    assert 80 < rows * columns < 120
    assert lowdim.SelfOrganizingMap(1).fit(wide).shape_ == (100,)


@pytest.mark.parametrize("shape", [(1e308, 1e308), (3, 5), (-3, -4), (3.0, 4.0), (12,)])
def test_a_map_of_another_shape_than_its_grid_is_not_saved(blobs, shape, tmp_path):
    model = lowdim.SelfOrganizingMap(shape=(3, 4)).fit(blobs)
    model.shape_ = shape
    with pytest.raises(ValueError, match="shape_ is not the shape of a grid of 12 units"):
        model.save(tmp_path / "model")
