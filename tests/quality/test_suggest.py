"""Suggestions: the right method for a roll, ranked with reasons, on a sample, never failing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist

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
    scores = [one.rnx_auc for one in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(found.candidates) == 7
    assert "best over all scales" in found.best.reason
    assert all(one.reason for one in found.candidates)
    assert found.n_components == 2


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
