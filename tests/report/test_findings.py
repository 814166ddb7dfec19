"""The report shows what `quality.assess` found, each number at its object."""

from __future__ import annotations

from html import unescape

import numpy as np
import pytest

from lowdim import PCA, quality
from lowdim.report import Run, write

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(60, 6)), rng.normal(4, 1, size=(60, 6))])
LABELS = np.repeat(["low", "high"], 60)


@pytest.fixture(scope="module")
def assessed():
    Y = PCA(n_components=2).fit_transform(X)
    Y[[5, 70]] = np.nan  # objects that the map does not place
    report = quality.assess(X, Y, method="PCA", labels=LABELS, random_state=0)
    return Run("PCA", "PCA", {"n_components": 2}, Y, 0.1, report), report


def test_errors_stand_at_their_objects(assessed):
    run, report = assessed
    placed = np.delete(np.arange(120), [5, 70])
    np.testing.assert_array_equal(run.findings.torn[placed[report.errors.rows]], report.errors.torn)
    np.testing.assert_array_equal(run.findings.false[placed], report.errors.false)
    assert np.isnan(run.findings.torn[[5, 70]]).all()


def test_objects_outside_the_sample_have_no_errors():
    Y = PCA(n_components=2).fit_transform(X)
    report = quality.assess(X, Y, n_rows=30, random_state=0)
    found = Run("PCA", "PCA", {}, Y, assessment=report).findings
    assert np.isfinite(found.torn).sum() == 30
    assert found.measures["trustworthiness"].margin == report.trustworthiness.margin > 0


def test_measures_are_those_of_the_assessment(assessed):
    run, report = assessed
    measures = run.findings.measures
    assert measures["R_NX AUC"].value == float(report.rnx_auc)
    assert measures["stress-1"].value == report.stress_1
    assert measures["stress-1"].better == "lower"
    assert measures["k-NN accuracy"].value == float(report.knn_accuracy)
    assert measures["silhouette"].value == report.silhouette


def test_the_page_says_what_the_assessment_says(assessed, tmp_path):
    run, report = assessed
    path = write(tmp_path / "report.html", [run], labels=LABELS)
    shown = unescape(path.read_text(encoding="utf-8"))
    assert report.verdict in shown
    assert report.warnings
    for warning in report.warnings:
        assert warning in shown
    assert f"{float(report.rnx_auc):.3f}" in shown
