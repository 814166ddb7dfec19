"""The list of measures describes the functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowdim import quality

X = np.random.default_rng(0).normal(size=(60, 4))
Y = X[:, :2]
LABELS = np.repeat([0, 1, 2], 20)
VALUES = X[:, 0] + 0.5


@pytest.fixture(scope="module")
def assessed():
    """Classes, and numbers on a scale."""
    return quality.assess(X, Y, labels=LABELS), quality.assess(X, Y, labels=VALUES)


@pytest.mark.parametrize("measure", quality.MEASURES, ids=lambda measure: measure.name)
def test_a_measure_is_that_of_its_function(measure, assessed):
    found = assessed[measure.name == "knn_r2"]
    value = found.measures[measure.name]
    assert measure.low <= value <= measure.high
    function = getattr(quality, measure.function)
    k = found.n_neighbors
    pairs = {"mrre_map": 0, "mrre_data": 1, "q_local": 1, "q_global": 2}
    if measure.needs_labels:
        labels = VALUES if measure.name == "knn_r2" else LABELS
        expected = function(
            Y, labels, **({} if measure.name == "silhouette" else {"n_neighbors": k})
        )
    elif measure.function in ("assess", "compare_ranks"):
        expected = getattr(function(X, Y, n_neighbors=k), measure.name)
    elif measure.name in pairs:
        options = {"n_neighbors": k} if measure.name.startswith("mrre") else {}
        expected = function(X, Y, **options)[pairs[measure.name]]
    elif "{k}" in measure.meaning:
        expected = function(X, Y, n_neighbors=k)
    else:
        expected = function(X, Y)
    assert value == expected


@pytest.mark.parametrize("measure", quality.MEASURES, ids=lambda measure: measure.name)
def test_the_better_direction_is_that_of_a_perfect_map(measure, assessed):
    """The data themselves are a perfect map; for labels, a map that is made of them."""
    worse = assessed[measure.name == "knn_r2"].measures[measure.name]
    labels = VALUES if measure.name == "knn_r2" else LABELS
    made = np.column_stack([labels, 1e-3 * X]) if measure.needs_labels else X
    better = quality.assess(X, made, labels=labels).measures[measure.name]
    assert (better > worse) == (measure.better == "higher")
    assert better != worse


def test_names_are_unique_and_unknown_ones_are_refused():
    for attribute in ("name", "label"):
        values = [getattr(measure, attribute) for measure in quality.MEASURES]
        assert len(set(values)) == len(values)
    with pytest.raises(ValueError, match="no quality measure 'kept'"):
        quality.find_measure("kept")


def test_the_user_guide_lists_the_measures():
    guide = (Path(__file__).parents[2] / "docs" / "quality.rst").read_text(encoding="utf-8")
    guide = guide.replace("\\_", "_")
    for measure in quality.MEASURES:
        meaning = measure.meaning.format(k="k", K_max="K_max")
        low = "-∞" if measure.low == float("-inf") else f"{measure.low:g}"
        row = [f"   * - {measure.label} (`{measure.name}`)", meaning, f"{low} to {measure.high:g}"]
        row += [measure.better, f"`{measure.function}`"]
        assert "\n     - ".join(row) in guide
