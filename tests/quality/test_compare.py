"""Several maps: the same numbers as alone, and a failure that concerns one map only."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import lowdim
from lowdim import quality
from lowdim.quality import assess as assess_function
from lowdim.quality import structure


@pytest.fixture(scope="module")
def roll():
    return lowdim.data.swiss_roll(500, random_state=0)[0]


def test_each_map_is_assessed_as_alone(roll):
    models = {"PCA": lowdim.PCA(2).fit(roll), "Isomap": lowdim.Isomap(n_neighbors=8).fit(roll)}
    found = quality.compare(roll, models, labels=np.arange(500) % 3)
    for name, model in models.items():
        alone = assess_function(roll, model, labels=np.arange(500) % 3)
        assert found.assessments[name].to_dict() == alone.to_dict()
    assert found.failures == {}


def test_a_map_that_fails_costs_itself_only(roll):
    lost = np.full((500, 2), np.nan)
    lost[:3] = 0.0
    endless = roll[:, :2].copy()
    endless[7, 1] = np.inf
    maps = {"first": roll[:, :2], "lost": lost, "short": roll[:-1, :2], "endless": endless}
    found = quality.compare(roll, maps)
    assert list(found.assessments) == ["first"]
    assert list(found.failures) == ["lost", "short", "endless"]
    assert "places 3 objects" in found.failures["lost"]
    assert "places 499 objects, but X has 500" in found.failures["short"]
    assert "lost: not assessed" in str(found)
    as_json = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert as_json["failures"] == found.failures


def test_the_table_marks_the_best(roll):
    found = quality.compare(roll, {"good": roll, "bad": roll[:, :1]})
    assert found.best("rnx_auc") == ["good"]
    assert found.best("stress_1") == ["good"]
    assert found.best("silhouette") == []
    lines = {line.split("  ")[0]: line for line in str(found).splitlines()}
    for measure in quality.MEASURES:
        assert (measure.label in lines) == (measure.compared and not measure.needs_labels)
    assert lines["stress-1"].split()[2].endswith("*")


def test_the_data_are_tested_once(roll, monkeypatch):
    calls = []
    original = structure.structure_of

    def counted(*arguments):
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(sys.modules["lowdim.quality.assess"], "structure_of", counted)
    quality.compare(roll, {"a": roll[:, :2], "b": roll[:, 1:]})
    assert len(calls) == 1


def test_errors_of_the_data_are_raised(roll):
    with pytest.raises(ValueError, match="embeddings is empty"):
        quality.compare(roll, {})
    with pytest.raises(ValueError, match="NaN"):
        quality.compare(np.where(roll > 10, np.nan, roll), {"a": roll[:, :2]})


def test_leaders_are_the_best_and_those_that_cannot_be_told_from_them():
    estimate = quality.IntervalEstimate
    X = np.random.default_rng(0).normal(size=(40, 3))
    base = quality.assess(X, X[:, :2])
    values = {"a": estimate(0.9, 0.1), "b": estimate(0.85, 0.1), "c": estimate(0.5, 0.1)}
    made = {name: replace(base, trustworthiness=value) for name, value in values.items()}
    made["d"] = replace(base, trustworthiness=estimate(float("nan")))
    found = quality.Comparison(made, {})
    assert found.leaders("trustworthiness") == (["a"], ["b"])
    assert found.ranking("trustworthiness") == ["a", "b", "c"]
    assert found.leaders("stress_1") == ([], [])  # all the same
    assert quality.Comparison({"a": base}, {}).leaders("trustworthiness") == ([], [])
    errors = {name: replace(base, stress_1=value) for name, value in (("a", 0.3), ("b", 0.1))}
    assert quality.Comparison(errors, {}).leaders("stress_1") == (["b"], [])
