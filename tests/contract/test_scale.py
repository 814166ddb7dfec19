"""Data of any magnitude: the map of c X is that of X, times c if it has the unit of X."""

from __future__ import annotations

import functools
import pickle
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowdim

EXPONENTS = {np.float32: (-83, 60), np.float64: (-515, -249, 199, 400)}
SCALES = [(dtype, exponent) for dtype, all_of in EXPONENTS.items() for exponent in all_of]


def data(dtype, n=60):
    """Points whose largest coordinate is in [0.5, 1), to which extreme data are brought."""
    X, _ = lowdim.data.swiss_roll(n, random_state=3)
    return unscaled(X.astype(dtype))


def unscaled(X):
    return np.ldexp(X, -np.frexp(np.abs(X).max())[1])


@pytest.fixture(scope="session")
def ordinary_fit():
    """A function from a method and a type to its model of `data`, not to be changed."""
    return functools.cache(lambda case, dtype: case.make().fit(data(dtype)))


@pytest.mark.parametrize(("dtype", "exponent"), SCALES)
def test_maps_do_not_depend_on_the_unit(metric_case, ordinary_fit, dtype, exponent):
    X, new = data(dtype), data(dtype, 70)[60:]
    ordinary = ordinary_fit(metric_case, dtype)
    extreme = metric_case.make().fit(np.ldexp(X, exponent))
    power = extreme._unit_of("embedding_")
    assert power in (0, 1)
    expected = np.ldexp(ordinary.embedding_, int(exponent * power))
    np.testing.assert_array_equal(extreme.embedding_, expected)
    assert np.isfinite(extreme.embedding_).all()
    assert np.ptp(extreme.embedding_) > 0
    if metric_case.name != "SelfOrganizingMap":  # which keeps prototypes
        np.testing.assert_array_equal(extreme.X_fit_, np.ldexp(X, exponent))
    expected = np.ldexp(ordinary.transform(new), int(exponent * power))
    np.testing.assert_array_equal(extreme.transform(np.ldexp(new, exponent)), expected)


VECTORS = [
    ("PCA", {"n_components": 2}),
    ("PCA", {"n_components": "mle", "whiten": True}),
    ("KernelPCA", {"n_components": 2, "fit_inverse_transform": True}),
    ("KernelPCA", {"n_components": 2, "kernel": "cosine", "fit_inverse_transform": True}),
    ("NeighborhoodComponentsAnalysis", {"n_components": 2}),
    ("LargeMarginNearestNeighbor", {}),
    ("InformationTheoreticMetricLearning", {}),
    ("InformationTheoreticMetricLearning", {"prior": "covariance"}),
]


@pytest.mark.parametrize(("dtype", "exponent"), [*SCALES, (np.float64, 660)])
@pytest.mark.parametrize(("name", "params"), VECTORS)
def test_methods_of_vectors_do_not_depend_on_the_unit(name, params, dtype, exponent, tmp_path):
    X, labels = data(dtype), np.arange(60) % 3
    tiny = np.ldexp(X, exponent)
    ordinary = getattr(lowdim, name)(**params).fit(X, labels)
    extreme = getattr(lowdim, name)(**params).fit(tiny, labels)
    shift = int(exponent * extreme._unit_of("embedding_"))
    np.testing.assert_array_equal(extreme.embedding_, np.ldexp(ordinary.embedding_, shift))
    placed = np.ldexp(ordinary.transform(X[:7]), shift)
    np.testing.assert_array_equal(extreme.transform(tiny[:7]), placed)
    back = np.ldexp(ordinary.inverse_transform(ordinary.embedding_[:7]), exponent)
    np.testing.assert_array_equal(extreme.inverse_transform(extreme.embedding_[:7]), back)
    extreme.save(tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(tiny[:7]), placed)


@pytest.mark.parametrize("exponent", [-300, 300])
@pytest.mark.parametrize(
    ("name", "params", "powers"),
    [
        ("UMAP", {"n_epochs": 2}, {"rho_": 1, "sigma_": 1, "reach_": 1}),
        ("Autoencoder", {"max_iter": 2}, {"mean_": 1, "scale_": 1, "reconstruction_error_": 2}),
    ],
)
def test_attributes_are_in_the_unit_of_the_user(name, params, powers, exponent):
    X = data(np.float64)
    ordinary = getattr(lowdim, name)(random_state=0, **params).fit(X)
    extreme = getattr(lowdim, name)(random_state=0, **params).fit(np.ldexp(X, exponent))
    for attribute, power in powers.items():
        expected = np.ldexp(getattr(ordinary, attribute), power * exponent)
        np.testing.assert_array_equal(getattr(extreme, attribute), expected)


@pytest.mark.parametrize("name", ["PCA", "Isomap", "MDS"])
def test_new_objects_in_another_unit_are_refused(name):
    X = data(np.float64)
    estimator = getattr(lowdim, name)(n_components=2).fit(np.ldexp(X, -600))
    with pytest.raises(ValueError, match="units of the training data"):
        estimator.transform(np.ldexp(X[:3], 600))


@pytest.mark.parametrize("exponent", [-515, 660])
def test_the_probabilistic_model_of_extreme_data(exponent):
    X = data(np.float64)
    tiny = np.ldexp(X, exponent)
    ordinary, extreme = lowdim.PCA(2).fit(X), lowdim.PCA(2).fit(tiny)
    densities = ordinary.score_samples(X) - 3 * exponent * np.log(2)
    np.testing.assert_allclose(extreme.score_samples(tiny), densities)
    np.testing.assert_array_equal(
        extreme.singular_values_, np.ldexp(ordinary.singular_values_, exponent)
    )
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(
            extreme.get_covariance(), np.ldexp(ordinary.get_covariance(), 2 * exponent)
        )
        np.testing.assert_array_equal(
            extreme.get_precision(), np.ldexp(ordinary.get_precision(), -2 * exponent)
        )


@pytest.mark.parametrize(("dtype", "exponent"), [*SCALES, (np.float64, 660)])
def test_subjects_of_extreme_size(dtype, exponent):
    X = data(dtype, 12)
    judged = [cdist(X * axes, X * axes).astype(dtype) for axes in ([1, 3, 1], [2, 1, 1])]
    ordinary = lowdim.INDSCAL(random_state=0).fit(judged)
    extreme = lowdim.INDSCAL(random_state=0).fit([np.ldexp(D, exponent) for D in judged])
    np.testing.assert_array_equal(extreme.embedding_, ordinary.embedding_)
    np.testing.assert_array_equal(extreme.weights_, ordinary.weights_)
    np.testing.assert_array_equal(extreme.scales_, np.ldexp(ordinary.scales_, exponent))


@pytest.mark.parametrize("exponent", [-515, 400])
@pytest.mark.parametrize("training", ["batch", "online"])
def test_a_map_of_units_is_trained_further_on_extreme_data(training, exponent):
    X = data(np.float64)
    tiny = np.ldexp(X, exponent)
    maps = [lowdim.SelfOrganizingMap(shape=(3, 4), training=training) for _ in range(2)]
    ordinary, extreme = maps[0].fit(X[:40]), maps[1].fit(tiny[:40])
    np.testing.assert_array_equal(extreme.predict(tiny), ordinary.predict(X))
    ordinary.partial_fit(X[40:])
    extreme.partial_fit(tiny[40:])
    np.testing.assert_array_equal(extreme.codebook_, np.ldexp(ordinary.codebook_, exponent))
    np.testing.assert_array_equal(extreme.predict(tiny), ordinary.predict(X))


class Recorder:
    """A callback that keeps what it was given."""

    def __init__(self):
        self.states = []

    def __call__(self, state):
        self.states.append(state)


@pytest.mark.parametrize("exponent", [-400, 400])
@pytest.mark.parametrize("name", ["MDS", "Sammon", "CurvilinearComponentAnalysis", "TSNE"])
def test_callbacks_see_the_unit_of_the_user(name, exponent):
    X, seen = data(np.float64), []
    for rows in (X, np.ldexp(X, exponent)):
        recorder = Recorder()
        estimator = getattr(lowdim, name)(max_iter=5, callback=recorder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that five iterations are few
            estimator.fit(rows)
        assert recorder.states
        assert not recorder.states[-1].embedding.flags.writeable
        seen.append((estimator, recorder.states))
    shift = int(exponent * estimator._unit_of("embedding_"))
    loss_shift = int(exponent * estimator._unit_of("history_"))
    for ordinary, extreme in zip(seen[0][1], seen[1][1], strict=True):
        np.testing.assert_array_equal(extreme.embedding, np.ldexp(ordinary.embedding, shift))
        assert extreme.loss == np.ldexp(ordinary.loss, loss_shift)
    pickle.dumps(estimator.set_params(callback=None))


@pytest.mark.parametrize("exponent", [-515, 660])
@pytest.mark.parametrize(
    "name",
    [
        "ClassicalMDS",
        "MDS",
        "Sammon",
        "Isomap",
        "LaplacianEigenmaps",
        "DiffusionMap",
        "UMAP",
        "TSNE",
    ],
)
def test_dissimilarities_of_extreme_size(name, exponent):
    X = data(np.float64)
    D = unscaled(cdist(X, X))
    new = D[:5] * 1.25
    params = {"perplexity": 8, "max_iter": 250} if name == "TSNE" else {}
    make = getattr(lowdim, name)
    ordinary = make(metric="precomputed", **params).fit(D)
    extreme = make(metric="precomputed", **params).fit(np.ldexp(D, exponent))
    shift = int(exponent * extreme._unit_of("embedding_"))
    np.testing.assert_array_equal(extreme.embedding_, np.ldexp(ordinary.embedding_, shift))
    np.testing.assert_array_equal(
        extreme.transform(np.ldexp(new, exponent)), np.ldexp(ordinary.transform(new), shift)
    )


@pytest.mark.parametrize(("dtype", "exponent"), SCALES)
def test_neighbours_of_extreme_data(dtype, exponent):
    X = data(dtype, 300)
    ordinary, extreme = lowdim.neighbors(X, 5), lowdim.neighbors(np.ldexp(X, exponent), 5)
    np.testing.assert_array_equal(extreme.indices, ordinary.indices)
    np.testing.assert_array_equal(extreme.distances, np.ldexp(ordinary.distances, exponent))


@pytest.mark.parametrize("metric", ["cosine", "correlation", "canberra", "mahalanobis"])
def test_metrics_without_a_unit(metric):
    X = data(np.float64, 100)
    ordinary = lowdim.neighbors(X, 5, metric=metric)
    extreme = lowdim.neighbors(np.ldexp(X, -600), 5, metric=metric)
    np.testing.assert_array_equal(extreme.indices, ordinary.indices)
    np.testing.assert_array_equal(extreme.distances, ordinary.distances)


def test_parameters_and_results_with_a_unit():
    X = data(np.float64, 150)
    tiny, e = np.ldexp(X, -400), -400
    ordinary = lowdim.LaplacianEigenmaps(radius=0.5, t=0.25).fit(X)
    extreme = lowdim.LaplacianEigenmaps(radius=np.ldexp(0.5, e), t=np.ldexp(0.25, 2 * e)).fit(tiny)
    np.testing.assert_array_equal(extreme.embedding_, ordinary.embedding_)
    assert extreme.t_ == np.ldexp(0.25, 2 * e)
    np.testing.assert_array_equal(extreme.graph_.distances, np.ldexp(ordinary.graph_.distances, e))
    graph = lowdim.neighbors(tiny, 10)
    isomap = lowdim.Isomap(n_neighbors=10).fit(tiny, graph=graph)
    np.testing.assert_array_equal(
        isomap.dist_matrix_, np.ldexp(lowdim.Isomap(n_neighbors=10).fit(X).dist_matrix_, e)
    )
    scaling = lowdim.MDS(random_state=0).fit(tiny)
    plain = lowdim.MDS(random_state=0).fit(X)
    assert scaling.stress_ == np.ldexp(plain.stress_, 2 * e)
    assert scaling.stresses_["stress-1"] == plain.stresses_["stress-1"]
    np.testing.assert_allclose(isomap.inverse_transform(isomap.embedding_[:3]), tiny[:3], rtol=1e-6)


@pytest.mark.parametrize("make", [lowdim.LaplacianEigenmaps, lowdim.DiffusionMap])
def test_infinite_width_of_the_heat_kernel(make):
    """All arcs weigh the same, as they do nearly for a large width."""
    X = data(np.float64)
    infinite, large = (make(n_neighbors=8, t=t).fit_transform(X) for t in (np.inf, 1e9))
    np.testing.assert_allclose(infinite, large, atol=1e-6 * np.abs(large).max())


def test_a_model_of_extreme_data_is_saved_and_loaded(tmp_path):
    X = np.ldexp(data(np.float64), -400)
    isomap = lowdim.Isomap(n_neighbors=8).fit(X)
    isomap.save(tmp_path / "model.lowdim")
    found = lowdim.load(tmp_path / "model.lowdim")
    np.testing.assert_array_equal(found.transform(X[:7]), isomap.transform(X[:7]))


def test_quality_of_extreme_data():
    X = data(np.float32, 100)
    Y = lowdim.PCA(n_components=2).fit_transform(X)
    ordinary = lowdim.quality.assess(X, Y)
    extreme = lowdim.quality.assess(np.ldexp(X, -83), np.ldexp(Y, -83))
    assert extreme.trustworthiness == ordinary.trustworthiness
