"""metric="geodesic", and learned metrics by the searches of the Euclidean distance."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import lowdim
from lowdim.objects.geodesic_metric import geodesic


@pytest.fixture(scope="module")
def roll():
    return lowdim.data.swiss_roll(250, random_state=0)[0]


def test_distances_are_shortest_paths(roll):
    metric, rows = geodesic(roll, {"n_neighbors": 8})
    expected = lowdim.geodesics(lowdim.neighbors(roll, 8))
    np.testing.assert_allclose(metric.block(rows[10:30], rows), expected[10:30])


def test_new_objects_are_linked_to_their_neighbors(roll):
    metric, rows = geodesic(roll, {"n_neighbors": 6})
    new = roll[:5] + 0.01
    lengths = lowdim.geodesics(lowdim.neighbors(roll, 6))
    apart = np.linalg.norm(new[:, None] - roll[None], axis=2)
    nearest = np.argsort(apart, axis=1)[:, :6]
    for i in range(5):
        expected = (apart[i, nearest[i], None] + lengths[nearest[i]]).min(axis=0)
        np.testing.assert_allclose(metric.block(new[i : i + 1], rows)[0], expected)


def test_components_are_joined_with_a_warning():
    X = np.random.RandomState(0).uniform(size=(40, 2))
    X[20:] += 50
    with pytest.warns(UserWarning, match="2 components, which were joined"):
        metric, rows = geodesic(X, {"n_neighbors": 4})
    assert np.isfinite(metric.block(rows, rows)).all()


@pytest.mark.parametrize("cls", [lowdim.MDS, lowdim.Sammon, lowdim.SelfOrganizingMap, lowdim.TSNE])
def test_methods_take_geodesic_distances(cls, roll, tmp_path):
    params = {"metric": "geodesic", "metric_params": {"n_neighbors": 8}, "max_iter": 20}
    model = cls(**params).fit(roll)
    D = lowdim.geodesics(lowdim.neighbors(roll, 8))
    given = cls(**params | {"metric": "precomputed", "metric_params": None}).fit(D)
    if cls is not lowdim.TSNE:  # whose start is by vectors if there are any
        np.testing.assert_allclose(np.abs(model.embedding_), np.abs(given.embedding_), atol=1e-4)
    model.save(tmp_path / "model.lowdim")
    loaded = lowdim.load(tmp_path / "model.lowdim")
    np.testing.assert_array_equal(
        loaded.transform(roll[:9] + 0.05), model.transform(roll[:9] + 0.05)
    )


def test_a_map_of_geodesics_unrolls_and_its_quality_is_measured_by_them(roll):
    flat = lowdim.MDS(metric="geodesic", metric_params={"n_neighbors": 8}).fit_transform(roll)
    straight = lowdim.MDS().fit_transform(roll)

    def stress(Y):
        options = {"metric": "geodesic", "metric_params": {"n_neighbors": 8}}
        return lowdim.quality.stress_1(roll, Y, **options)

    assert stress(flat) < 0.7 * stress(straight)


def test_wrong_parameters_are_named(roll):
    with pytest.raises(TypeError, match="n_neighbors alone"):
        lowdim.MDS(metric="geodesic", metric_params={"k": 3}).fit(roll)


def test_a_learned_metric_is_searched_as_the_euclidean_one(monkeypatch):
    X, y = load_iris(return_X_y=True)
    learned = lowdim.NeighborhoodComponentsAnalysis(max_iter=5).fit(X, y)
    calls = []
    native = lowdim.backends.backend().nearest

    def recorded(rows, k, cosine):
        calls.append(rows)
        return native(rows, k, cosine)

    monkeypatch.setattr("lowdim.backends.native.Backend.nearest", staticmethod(recorded))
    graph = lowdim.neighbors(X, 5, metric=learned)
    assert len(calls) == 1
    np.testing.assert_allclose(calls[0], X @ learned.components_.T)
    assert graph.metric == "learned"
