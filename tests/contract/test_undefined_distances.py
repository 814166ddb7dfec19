"""Rows for which a metric has no answer: an error that names the row, never silent nonsense."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim.neighbor_graphs.indexes import build_index
from lowdim.objects.new_objects import MeasuredNewObjects
from lowdim.objects.objects import objects_of

BLANK = np.full(5, np.nan)
NEGATIVE = np.array([1.0, 1.0, -1.0, 1.0, 1.0])  # no distribution
UNDEFINED = {"nan_euclidean": BLANK, "gower": BLANK, "hellinger": NEGATIVE}


@pytest.fixture(scope="module")
def box():
    return np.random.RandomState(4).uniform(0.5, 2, (60, 5))


def message(metric, row):
    return rf"metric='{metric}' gives NaN for row {row} of X and training object \d+\. Remove"


@pytest.mark.parametrize("metric", UNDEFINED)
def test_transform_names_a_row_without_distances(metric_case, box, metric, quiet):
    if metric_case.name == "LocallyLinearEmbedding" and np.isnan(UNDEFINED[metric]).any():
        pytest.skip("needs differences of vectors, which missing values do not have")
    options = [{}]
    if metric_case.has("n_landmarks"):
        options.append({"n_landmarks": 20})
    if metric_case.has("n_prototypes"):
        options.append({"n_prototypes": 30})
    if metric_case.has("radius") and metric_case.sees_graph:
        options.append({"radius": 0.6 if metric == "gower" else 1.0, "n_neighbors": None})
    new = box[:4] * 1.01
    new[2] = UNDEFINED[metric]
    for params in options:
        estimator = metric_case.steady(metric=metric, **params).fit(box)
        with pytest.raises(ValueError, match=message(metric, 2)):
            estimator.transform(new)
        assert np.isfinite(estimator.transform(new[:2])).all()


@pytest.mark.parametrize("metric", UNDEFINED)
def test_fit_names_two_objects_without_a_distance(metric_case, box, metric):
    if metric_case.name == "LocallyLinearEmbedding" and np.isnan(UNDEFINED[metric]).any():
        pytest.skip("needs differences of vectors, which missing values do not have")
    bad = box.copy()
    bad[7] = UNDEFINED[metric]
    with pytest.raises(ValueError, match=rf"metric='{metric}' gives NaN for objects \d+ and \d+"):
        metric_case.make(metric=metric).fit(bad)


@pytest.mark.parametrize("rows", [slice(10, 20), np.array([3, 12])])
def test_the_row_of_a_block_has_its_number_in_the_whole(box, rows):
    """Methods place new objects block by block, against some of the training objects."""
    known = objects_of(box, "hellinger")
    bad = box[:25] * 1.01
    bad[12] = NEGATIVE
    block = MeasuredNewObjects(bad, known).subset(rows).among(np.array([40, 50]))
    with pytest.raises(ValueError, match="row 12 of X and training object 40"):
        block.distances()


def test_an_approximate_search_names_the_row():
    """Its queries are compared in groups, whose members have other numbers than the rows."""
    random = np.random.RandomState(0)
    centers = random.uniform(size=(40, 12))
    known = 1 + centers[random.randint(0, 40, 4000)] + 0.02 * random.standard_normal((4000, 12))
    metric = objects_of(known, "hellinger").metric
    index = build_index(known, metric, 5, 0.9, 0)
    assert index is not None
    new = known[:900] + 0.01
    assert np.isfinite(index.query(new, 5)[1]).all()
    new[777, 4] = -1.0
    with pytest.raises(ValueError, match=message("hellinger", 777)):
        index.query(new, 5)
