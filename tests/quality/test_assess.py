"""`assess`: verdicts and warnings on data whose answer is known, and that its parts agree."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_wine

import lowdim
from lowdim import PCA, quality
from lowdim.quality.advice import DEGREES, LEVELS, advice, verdict


@pytest.fixture(scope="module")
def roll():
    X, position = lowdim.data.swiss_roll(800, random_state=0)[:2]
    return X, np.asarray(position)


@pytest.fixture(scope="module")
def assessed_roll(roll):
    X, _ = roll
    models = (lowdim.PCA(2).fit(X), lowdim.Isomap(n_neighbors=10).fit(X))
    return [quality.assess(X, model) for model in models]


def test_the_verdict_on_noise_and_on_groups_in_a_column():
    random = np.random.default_rng(0)
    noise = random.normal(size=(600, 50))
    report = quality.assess(noise, lowdim.PCA(2).fit(noise))
    assert report.verdict.startswith("No structure was found")
    assert report.verdict in " ".join(str(report).split())
    groups = random.normal(size=(500, 50))
    groups[:, 7] += np.where(np.arange(500) % 2, 10, -10)
    report = quality.assess(groups, groups[:, 6:8])
    assert "Column 7 falls into separate groups" in report.verdict
    assert "No relation between columns" in report.verdict


def test_isomap_is_above_pca_on_the_roll(assessed_roll):
    pca, isomap = assessed_roll
    assert (pca.method, isomap.method) == ("PCA", "Isomap")
    assert isomap.rnx_auc > pca.rnx_auc + 0.1
    assert isomap.trustworthiness > pca.trustworthiness
    assert isomap.geodesic_correlation > 0.95
    assert isomap.spearman_far < 0.5
    assert any("Straight-line distances" in text for text in isomap.warnings)
    assert f"geodesic correlation {isomap.geodesic_correlation:.2f}" in isomap.verdict


def test_numbers_are_those_of_the_functions(roll, assessed_roll):
    X, _ = roll
    report = assessed_roll[0]
    Y = report.embedding
    k = report.n_neighbors
    assert report.trustworthiness == quality.trustworthiness(X, Y, k)
    assert report.rnx_auc == quality.rnx_auc(X, Y)
    assert report.stress_1 == quality.stress_1(X, Y)
    assert report.n_graph_components == lowdim.neighbors(X, k=k).components()[0]
    np.testing.assert_array_equal(report.errors.torn, quality.point_errors(X, Y, k).torn)


def test_text_and_dict_hold_the_numbers(roll, assessed_roll):
    report = quality.assess(roll[0], assessed_roll[1].embedding, n_rows=200, method="mine")
    text = str(report)
    assert text.startswith("mine: 800 objects in 2 dimensions")
    assert f"{report.rnx_auc}" in text
    assert "±" in text
    assert "200 objects drawn at random" in text
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert found["rnx_auc"] == {"value": float(report.rnx_auc), "margin": report.rnx_auc.margin}
    assert found["warnings"] == list(report.warnings)
    assert len(found["rnx"]["K"]) == len(found["rnx"]["values"]) <= 120
    assert max(map(len, text.splitlines())) < 140
    for measure in quality.MEASURES:
        known = not measure.needs_labels and measure.source != "geodesics"  # of a sample of rows
        assert (measure.name in report.measures) == known
        assert (f"  {measure.label} " in text) == (measure.name in report.measures)


def test_cluster_sizes_and_gaps_are_warned_of_by_their_numbers():
    random = np.random.default_rng(2)
    centers = random.normal(size=(6, 10)) * np.geomspace(2, 40, 6)[:, None]
    X = np.concatenate(
        [
            c + s * random.normal(size=(60, 10))
            for s, c in zip(np.geomspace(0.05, 3, 6), centers, strict=True)
        ]
    )
    groups = np.repeat(np.arange(6), 60)
    circle = np.stack([np.cos(groups), np.sin(groups)], axis=1)
    Y = 10 * circle + random.normal(size=(360, 2))  # every cluster as large as the others
    fitted = SimpleNamespace(embedding_=Y)
    report = quality.assess(X, fitted, method="TSNE", labels=groups)
    words = " ".join(report.warnings)
    assert "Sizes and densities of clusters: TSNE evens them out" in words
    assert f"{report.density_correlation:.2f}" in words
    assert "Distances between clusters: TSNE" in words
    assert report.n_graph_components == 6
    assert "6 connected components" in words
    assert report.knn_accuracy == 1
    assert report.silhouette > 0.5


def test_a_concentrated_map():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 3))
    Y = X[:, :2] * np.where(np.arange(300) < 270, 1e-4, 1)[:, None]
    assert any("crowded middle" in text for text in quality.assess(X, Y).warnings)


def test_labels_on_a_scale(roll, assessed_roll):
    X, position = roll
    values = position if position.ndim == 1 else position[:, 0]
    report = quality.assess(X, assessed_roll[1].embedding, labels=values)
    assert report.labels.kind == "scale"
    assert report.knn_r2 > 0.95
    assert report.knn_r2 == quality.knn_r2(report.embedding, values, report.n_neighbors)
    assert (report.knn_accuracy, report.silhouette) == (None, None)


def test_knn_accuracy_and_silhouette_are_scikit_learns():
    from sklearn.metrics import silhouette_score
    from sklearn.neighbors import NearestNeighbors

    X, y = load_digits(return_X_y=True)
    X = X[:200] + 1e-6 * np.random.default_rng(0).normal(size=(200, 64))
    y = y[:200]
    near = NearestNeighbors(n_neighbors=7).fit(X).kneighbors(return_distance=False)
    votes = [np.bincount(y[others]).argmax() for others in near]
    expected = np.mean(votes == y)
    assert quality.knn_accuracy(X, y, 7) == pytest.approx(expected)
    names = np.array([f"digit {value}" for value in y])
    assert quality.knn_accuracy(X, names, 7) == pytest.approx(expected)
    assert quality.silhouette(X, y) == pytest.approx(silhouette_score(X, y))


def test_objects_without_a_place_are_left_out():
    random = np.random.default_rng(5)
    X = random.normal(size=(60, 3))
    Y = X[:, :2].copy()
    Y[::10] = np.nan
    kept = np.isfinite(Y).all(axis=1)
    report = quality.assess(X, Y)
    assert (report.n_objects, report.n_left_out) == (54, 6)
    assert report.rnx_auc == quality.rnx_auc(X[kept], Y[kept])
    assert any("Missing objects: 6" in text for text in report.warnings)
    given = quality.assess(cdist(X, X), Y, metric="precomputed")
    assert given.rnx_auc == pytest.approx(report.rnx_auc)
    assert given.structure is None


def test_the_metric_is_that_of_the_estimator():
    random = np.random.default_rng(7)
    X = random.normal(size=(80, 4))
    D = cdist(X, X, "cityblock")
    given = quality.assess(D, lowdim.Isomap(n_neighbors=6, metric="precomputed").fit(D))
    by_name = quality.assess(X, lowdim.Isomap(n_neighbors=6, p=1).fit(X))
    assert given.rnx_auc == pytest.approx(by_name.rnx_auc, abs=1e-6)
    assert given.trustworthiness == quality.trustworthiness(
        D, given.embedding, given.n_neighbors, metric="precomputed"
    )


def test_words_and_mixed_tables():
    words = [a + b + c for a in "abc" for b in "rst" for c in "xyz"]
    report = quality.assess(
        words,
        np.array([[ord(w[0]), ord(w[1])] for w in words], dtype=float),
        metric=lambda a, b: float(sum(x != y for x, y in zip(a, b, strict=True))),
    )
    assert report.structure is None
    assert report.neighborhood_preservation > 0.3
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"size": np.arange(27.0), "kind": [w[0] for w in words]})
    assert quality.assess(table, np.arange(27.0), metric="gower").n_objects == 27


def test_one_dimension_few_objects_and_errors():
    X = np.random.default_rng(6).normal(size=(6, 2))
    report = quality.assess(X, X[:, 0])
    assert report.n_components == 1
    assert report.structure is None
    with pytest.raises(ValueError, match="places 4 objects; an assessment needs at least 5"):
        quality.assess(X[:4], X[:4])
    with pytest.raises(ValueError, match="labels has 5 entries for 6 objects"):
        quality.assess(X, X, labels=np.arange(5))
    with pytest.raises(ValueError, match="at most 2"):
        quality.assess(X, X, n_neighbors=3)


def test_the_same_report_for_any_number_of_threads(roll, assessed_roll):
    X, _ = roll
    one, three = (quality.assess(X, assessed_roll[0].embedding, n_jobs=n) for n in (1, 3))
    assert one.to_dict() == three.to_dict()


def test_pictures(assessed_roll):
    figure = assessed_roll[0].plot()
    curve = figure.axes[0].lines[-1]
    assert assessed_roll[0].rnx.values.max() == pytest.approx(curve.get_ydata().max())
    assert len(figure.axes) >= 3


def test_a_matrix_of_memberships_is_no_neighbour_graph():
    X = np.random.default_rng(8).normal(size=(5100, 3))
    model = lowdim.UMAP(n_epochs=1, random_state=0).fit(X)
    report = quality.assess(X, model)
    assert (report.n_objects, report.n_rows) == (5100, 1000)
    assert report.n_graph_components is None


def test_a_neighbour_graph_of_the_estimator_is_used():
    X = np.random.default_rng(8).normal(size=(5100, 3))
    model = SimpleNamespace(embedding_=X[:, :2], graph_=lowdim.neighbors(X, k=8))
    report = quality.assess(X, model)
    assert report.n_graph_components == model.graph_.components()[0]
    assert report.geodesic_correlation > 0.5


def test_the_arguments_of_the_metric_are_those_of_the_estimator():
    random = np.random.default_rng(9)
    X = random.normal(size=(90, 4))
    weights = np.array([100.0, 1, 1, 0.01])
    D = cdist(X, X, "minkowski", p=3, w=weights)
    params = {"p": 3, "w": weights}
    models = (
        lowdim.UMAP(n_neighbors=6, metric="minkowski", metric_kwds=params, n_epochs=20),
        lowdim.Isomap(n_neighbors=6, metric="minkowski", p=3, metric_params={"w": weights}),
    )
    for model in models:
        report = quality.assess(X, model.fit(X))
        expected = quality.rnx_auc(D, model.embedding_, metric="precomputed")
        assert report.rnx_auc == pytest.approx(expected, abs=1e-9)
        assert report.rnx_auc != pytest.approx(quality.rnx_auc(X, model.embedding_), abs=1e-3)
    other = quality.assess(X, models[0], metric_params={"p": 1})
    assert other.rnx_auc == quality.rnx_auc(X, models[0].embedding_, metric="cityblock")


def test_labels_of_any_number_of_classes():
    X = np.random.default_rng(10).normal(size=(1200, 3))
    names = np.array([f"object {i}" for i in range(1200)])
    report = quality.assess(X, X[:, :2], labels=names)
    assert report.knn_accuracy == 0
    assert report.silhouette is None


def test_the_words_of_the_verdict_change_in_small_steps(assessed_roll):
    report = assessed_roll[0]
    texts = []
    for trust in (0.897, 0.902):
        one = replace(report, trustworthiness=quality.IntervalEstimate(trust))
        texts.append(verdict(one).replace(f"{trust:.3f}", ""))
    assert texts[0] == texts[1]
    for ladder in (LEVELS, DEGREES):
        steps = [least for least, _ in ladder[:-1]]
        assert max(-np.diff(steps)) <= 0.25
    share = float(report.neighborhood_preservation)
    words = " ".join([verdict(report), *advice(report)])
    assert f"{share:.0%} of an object's" in words
    assert "{" not in words


def test_columns_of_different_units_are_part_of_the_verdict():
    X = load_wine().data
    report = quality.assess(X, PCA(2).fit(X))
    assert report.dominant_column[0] == 12
    assert "column 12 of the data varies 388 times" in report.verdict
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert quality.assess(scaled, PCA(2).fit(scaled)).dominant_column is None
    cosine = quality.assess(X, PCA(2).fit(X), metric="cosine")
    assert cosine.dominant_column is None
