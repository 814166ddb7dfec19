"""Suggestions: the right method for a roll, ranked with reasons, on a sample, never failing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_wine, make_blobs, make_s_curve

import lowdim
from lowdim import quality
from lowdim.catalog import CATALOG


@pytest.fixture(scope="module")
def roll():
    return lowdim.data.swiss_roll(700, random_state=0)[0]


@pytest.fixture(scope="module")
def found(roll):
    methods = ["PCA", "Isomap", "LaplacianEigenmaps"]
    return quality.suggest(roll, methods, n_neighbors=[5, 10, 60])


def test_isomap_with_few_neighbours_comes_first(found):
    assert found.best.method == "Isomap"
    assert found.best.params["n_neighbors"] in (5, 10)
    assert found.keep == "geodesics"
    scores = [one.geodesic_correlation for one in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(found.candidates) == 7
    assert "best by geodesic correlation" in found.best.reason
    assert all(one.reason for one in found.candidates)
    assert found.n_components == 2


def known_answers():
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(30, 2)))[0].T
    noise = 0.01 * random.normal(size=(500, 30))
    wine = load_wine().data
    return {
        "roll": (lowdim.data.swiss_roll(900, random_state=0)[0], {"Isomap"}),
        "S curve": (make_s_curve(700, random_state=0)[0], {"Isomap"}),
        "plane": (random.uniform(size=(500, 2)) @ axes + noise, {"PCA"}),
        "line": (5 * random.uniform(size=(500, 1)) @ axes[:1] + noise, {"PCA"}),
        "noise": (random.normal(size=(500, 10)), {None}),
        "digits": (load_digits().data[:600], {"TSNE", "UMAP"}),
        "blobs": (make_blobs(500, 10, centers=6, random_state=1)[0], {"TSNE", "UMAP"}),
        "wine": ((wine - wine.mean(axis=0)) / wine.std(axis=0), {"TSNE", "UMAP"}),
    }


@pytest.mark.parametrize("name", known_answers())
def test_advice_on_data_with_a_known_answer(name):
    X, right = known_answers()[name]
    methods = ["PCA", "Isomap", "UMAP", "TSNE"]
    found = quality.suggest(X, methods, n_neighbors=[10], perplexity=[30], random_state=0)
    assert (found.recommended and found.recommended.method) in right


def test_candidates_are_judged_by_what_is_to_be_kept():
    X = load_digits().data[:400]
    options = {"n_neighbors": [10], "perplexity": [30], "random_state": 0}
    methods = ["PCA", "TSNE"]
    assert quality.suggest(X, methods, keep="neighbors", **options).best.method == "TSNE"
    assert quality.suggest(X, methods, keep="distances", **options).best.method == "PCA"
    with pytest.raises(ValueError, match="keep"):
        quality.suggest(X, keep="everything")


def test_a_column_that_outweighs_the_others_is_standardized():
    wine = load_wine().data
    found = quality.suggest(wine, ["PCA"])
    assert "388 times" in found.standardized
    assert found.standardized in str(found)
    scaled = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    again = quality.suggest(scaled, ["PCA"])
    assert again.standardized == ""
    assert found.best.rnx_auc == pytest.approx(again.best.rnx_auc)
    raw = quality.suggest(wine, ["PCA"], standardize=False)
    assert raw.best.rnx_auc != pytest.approx(again.best.rnx_auc, abs=0.05)


def test_scores_are_those_of_the_map(found, roll):
    model = found.best.estimator().fit(roll)
    assert found.best.rnx_auc == pytest.approx(quality.rnx_auc(roll, model.embedding_), abs=1e-9)


def test_the_text_is_a_ranked_table(found):
    lines = str(found).splitlines()
    assert "R_NX AUC, local" in lines[0]
    assert lines[1].startswith(found.best.name)
    assert f"{found.best.rnx_auc_local:.3f}" in lines[1]
    assert "Tried on all 700 objects" in str(found)
    as_json = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert as_json["candidates"][0]["rnx_auc"] == found.best.rnx_auc


def test_default_methods_are_those_of_the_catalog():
    X = np.random.default_rng(0).normal(size=(60, 4))
    found = quality.suggest(X, n_neighbors=[5], perplexity=[5])
    tried = {one.method for one in found.candidates}
    assert tried == {row.name for row in CATALOG if row.suggested} - {"ClassicalMDS"}
    along = quality.suggest(X, keep="geodesics", n_neighbors=[5], perplexity=[5])
    assert {one.method for one in along.candidates} == tried | {"PHATE"}
    D = cdist(X, X)  # of dissimilarities, classical scaling is not PCA
    given = quality.suggest(D, metric="precomputed", n_neighbors=[5], perplexity=[5])
    assert {one.method for one in given.candidates} == (tried | {"ClassicalMDS"}) - {"PCA"}
    assert "No structure was found" in str(found)


def test_many_objects_are_sampled(roll):
    found = quality.suggest(roll, ["PCA"], n_objects=100)
    assert (found.n_objects, found.n_tried) == (700, 100)
    assert "100 of 700 objects" in str(found)


def test_dissimilarities_leave_out_methods_of_vectors(roll):
    D = cdist(roll[:200], roll[:200])
    found = quality.suggest(D, ["PCA", "Isomap"], metric="precomputed", n_neighbors=[8])
    assert [one.method for one in found.candidates] == ["Isomap"]
    assert found.best.params["metric"] == "precomputed"


def test_failures_are_reported(roll):
    found = quality.suggest(roll, ["PCA", "INDSCAL"])
    assert found.candidates[-1].failed
    assert "failed:" in str(found)
    with pytest.raises(ValueError, match="no method 'Nonsense'"):
        quality.suggest(roll, ["Nonsense"])
    with pytest.raises(ValueError, match="n_neighbors is empty"):
        quality.suggest(roll, n_neighbors=[])
