"""The report: what it says of noise, rolls, pieces and folds, and that its parts agree."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

import lowdim
from lowdim import quality


@pytest.fixture(scope="module")
def roll():
    X, position = lowdim.data.swiss_roll(800, random_state=0)[:2]
    return X, np.asarray(position)


@pytest.fixture(scope="module")
def roll_reports(roll):
    X, _ = roll
    models = (lowdim.PCA(2).fit(X), lowdim.Isomap(n_neighbors=10).fit(X))
    return [quality.assess(X, model) for model in models]


def test_noise_has_no_structure():
    X = np.random.default_rng(0).normal(size=(600, 50))
    report = quality.assess(X, lowdim.PCA(2).fit(X))
    assert report.structure.kind == "none"
    assert "no structure to see" in str(report)
    # nor has noise whose columns differ in scale, seen by another metric
    scaled = X[:300] * np.geomspace(0.1, 10, 50)
    assert quality.assess(scaled, scaled[:, -2:], metric="cityblock").structure.kind == "none"


def test_data_with_structure_are_not_called_noise(roll_reports):
    digits = load_digits().data
    reports = [*roll_reports, quality.assess(digits, lowdim.PCA(2).fit(digits))]
    for report in reports:
        assert report.structure.kind == "relations"
        assert "no structure" not in str(report)


def test_a_ring_under_noise_and_clumps_in_one_column():
    random = np.random.default_rng(1)
    angle = random.uniform(0, 2 * np.pi, 500)
    X = 0.3 * random.normal(size=(500, 20))
    X[:, 0] += np.cos(angle)
    X[:, 1] += np.sin(angle)
    assert quality.assess(X, X[:, :2]).structure.kind == "relations"
    clumps = random.normal(size=(500, 50))
    clumps[:, 0] += np.where(np.arange(500) % 2, 10, -10)
    report = quality.assess(clumps, clumps[:, :2])
    assert report.structure.kind == "columns"
    assert "single columns" in report.verdict


def test_isomap_is_above_pca_on_the_roll(roll_reports):
    pca, isomap = roll_reports
    assert (pca.method, isomap.method) == ("PCA", "Isomap")
    assert isomap.auc > pca.auc + 0.1
    assert isomap.trustworthiness > pca.trustworthiness
    assert isomap.geodesic > 0.95
    assert isomap.spearman_far < 0.5
    assert any("Straight-line distances" in text for text in isomap.warnings)
    assert "0.9" in isomap.verdict


def test_numbers_are_those_of_the_functions(roll, roll_reports):
    X, _ = roll
    report = roll_reports[0]
    Y = report.embedding
    k = report.n_neighbors
    assert report.trustworthiness == quality.trustworthiness(X, Y, k)
    assert report.auc == quality.rnx_auc(X, Y)
    assert report.stress_1 == quality.stress_1(X, Y)
    assert report.pieces == lowdim.neighbors(X, k=k).components()[0]
    np.testing.assert_array_equal(report.errors.torn, quality.point_errors(X, Y, k).torn)


def test_text_and_dict_hold_the_numbers(roll, roll_reports):
    report = quality.assess(roll[0], roll_reports[1].embedding, n_rows=200, method="mine")
    text = str(report)
    assert text.startswith("mine: 800 objects in 2 dimensions")
    assert f"{report.auc}" in text
    assert "±" in text
    assert "200 objects drawn at random" in text
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert found["auc"] == {"value": float(report.auc), "margin": report.auc.margin}
    assert found["warnings"] == list(report.warnings)
    assert len(found["rnx"]["K"]) == len(found["rnx"]["values"]) <= 120
    assert max(map(len, text.splitlines())) < 140


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
    assert f"{report.density:.2f}" in words
    assert "Distances between clusters: TSNE" in words
    assert report.pieces == 6
    assert "falls into 6 pieces" in words
    assert report.labels.map == 1
    assert report.labels.silhouette_map > 0.5


def test_a_concentrated_map():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 3))
    Y = X[:, :2] * np.where(np.arange(300) < 270, 1e-4, 1)[:, None]
    assert any("crowded middle" in text for text in quality.assess(X, Y).warnings)


def test_labels_on_a_scale(roll, roll_reports):
    X, position = roll
    values = position if position.ndim == 1 else position[:, 0]
    report = quality.assess(X, roll_reports[1].embedding, labels=values)
    assert report.labels.kind == "R2"
    assert report.labels.map > 0.95
    assert report.labels.silhouette_map is None


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
    assert report.auc == quality.rnx_auc(X[kept], Y[kept])
    assert any("Who is missing" in text for text in report.warnings)
    given = quality.assess(cdist(X, X), Y, metric="precomputed")
    assert given.auc == pytest.approx(report.auc)
    assert given.structure is None


def test_the_metric_is_that_of_the_estimator():
    random = np.random.default_rng(7)
    X = random.normal(size=(80, 4))
    D = cdist(X, X, "cityblock")
    given = quality.assess(D, lowdim.Isomap(n_neighbors=6, metric="precomputed").fit(D))
    by_name = quality.assess(X, lowdim.Isomap(n_neighbors=6, p=1).fit(X))
    assert given.auc == pytest.approx(by_name.auc, abs=1e-6)
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
    assert report.preservation > 0.3
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"size": np.arange(27.0), "kind": [w[0] for w in words]})
    assert quality.assess(table, np.arange(27.0), metric="gower").n_objects == 27


def test_one_dimension_few_objects_and_errors():
    X = np.random.default_rng(6).normal(size=(6, 2))
    report = quality.assess(X, X[:, 0])
    assert report.n_components == 1
    assert report.structure is None
    with pytest.raises(ValueError, match="fewer than 5"):
        quality.assess(X[:4], X[:4])
    with pytest.raises(ValueError, match="labels has 5 entries for 6 objects"):
        quality.assess(X, X, labels=np.arange(5))
    with pytest.raises(ValueError, match="at most 2"):
        quality.assess(X, X, n_neighbors=3)


def test_the_same_report_for_any_number_of_threads(roll, roll_reports):
    X, _ = roll
    one, three = (quality.assess(X, roll_reports[0].embedding, n_jobs=n) for n in (1, 3))
    assert one.to_dict() == three.to_dict()


def test_pictures(roll_reports):
    assert len(roll_reports[0].plot().axes) >= 3
