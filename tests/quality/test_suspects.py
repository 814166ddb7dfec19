"""Suspects: planted errors come first, small classes and clean data are left alone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from lowdim import quality

ROOT = Path(__file__).parents[2]
FASHION = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data")) / "fashion-mnist.npz"


@pytest.fixture(scope="module")
def clusters():
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], 100)
    centers = 8 * np.eye(4, 6)
    return centers[y] + random.normal(size=(400, 6)), y


def test_planted_labels_and_outliers_come_first(clusters):
    X, y = clusters
    random = np.random.default_rng(1)
    wrong = random.choice(400, 12, replace=False)
    away = np.setdiff1d(np.arange(400), wrong)[:: 400 // 8][:5]
    given, moved = y.copy(), X.copy()
    given[wrong] = (given[wrong] + random.integers(1, 4, size=12)) % 4
    moved[away] += 30 * random.normal(size=(5, 6))
    found = quality.suspects(moved, given)
    assert set(found.objects[:17]) == {*wrong, *away}
    assert len(found) <= 20
    reasons = dict(zip(found.objects.tolist(), found.reasons.tolist(), strict=True))
    assert all(reasons[i] == "label" for i in wrong)
    assert all(reasons[i] == "outlier" for i in away)
    rank = {int(i): at for at, i in enumerate(found.objects)}
    for i in wrong:
        at = rank[i]
        assert (found.labels[at], found.suggested[at]) == (given[i], y[i])
        assert found.n_suggested[at] >= 8
    assert (np.diff(found.scores) <= 0).all()
    assert f"{len(found)} suspects" in str(found)


def test_precision_on_digits_with_one_label_in_fifty_changed():
    X, y = load_digits(return_X_y=True)
    random = np.random.default_rng(2)
    wrong = random.choice(len(y), len(y) // 50, replace=False)
    given = y.copy()
    given[wrong] = (given[wrong] + random.integers(1, 10, size=len(wrong))) % 10
    found = quality.suspects(X, given)
    labels = found.objects[found.reasons == "label"]
    assert np.isin(labels[: len(wrong)], wrong).mean() > 0.9  # precision at k
    assert np.isin(wrong, labels).mean() > 0.95
    right = np.isin(found.objects, wrong)
    assert (found.suggested[right] == y[found.objects[right]]).mean() > 0.95


def test_neighbour_counts_are_those_of_the_data(clusters):
    X, y = clusters
    given = y.copy()
    given[5] = 3
    found = quality.suspects(X, given, n_neighbors=7)
    at = int(np.flatnonzero(found.objects == 5)[0])
    near = np.argsort(cdist(X[5:6], X)[0], kind="stable")[1:8]
    assert found.n_same[at] == (given[near] == 3).sum()
    assert found.n_suggested[at] == (given[near] == 0).sum()


def test_small_classes_are_not_suspected_for_their_size(clusters):
    X, y = clusters
    random = np.random.default_rng(3)
    few = 3 * random.normal(size=6) + 0.5 * random.normal(size=(4, 6)) + 40
    found = quality.suspects(np.vstack([X, few]), np.append(y, [9] * 4))
    labelled = found.objects[found.reasons == "label"]
    assert not np.isin(labelled, np.arange(400, 404)).any()
    alone = y.astype(object)
    alone[50] = "only one"
    assert quality.suspects(X, alone).label_scores[50] == 0


def test_names_dissimilarities_duplicates_and_threads(clusters):
    X, y = clusters
    names = np.array(["a", "b", "c", "d"])[y]
    names[3] = "d"
    found = quality.suspects(X, names)
    assert found.suggested[list(found.objects).index(3)] == "a"
    given = quality.suspects(cdist(X, X), names, metric="precomputed", n_jobs=2)
    np.testing.assert_array_equal(given.objects, found.objects)
    same = quality.suspects(np.repeat(X[:20], 15, axis=0), np.repeat(y[:20], 15))
    assert len(same) == 0
    assert str(same) == "No suspects among 300 objects."


def test_labels_are_not_ordered_by_their_rows():
    X, y = load_digits(return_X_y=True)
    given = y.copy()
    given[::40] = (given[::40] + 1) % 10
    found = quality.suspects(X, given)
    scores = found.scores[:40]
    assert len(set(scores.tolist())) > 30
    factors = found.outlier_factors[found.objects[:40]]
    tied = np.flatnonzero(np.diff(scores) == 0)
    assert (np.diff(factors)[tied] > 0).all()


@pytest.mark.skipif(not FASHION.exists(), reason=f"there is no {FASHION}")
@pytest.mark.parametrize("seed", [0, 1])
def test_most_of_the_first_sixty_images_are_mislabelled(seed):
    with np.load(FASHION) as file:
        images, kinds = file["X"], file["y"]
    random = np.random.default_rng(seed)
    chosen = random.choice(len(kinds), 3000, replace=False)
    given = kinds[chosen].astype(int)
    wrong = random.choice(3000, 79, replace=False)
    given[wrong] = (given[wrong] + random.integers(1, 10, size=79)) % 10
    found = quality.suspects(images[chosen].astype(np.float32), given)
    assert np.isin(found.objects[:60], wrong).sum() >= 48


def test_a_sample_of_many_objects_says_so(clusters):
    X, y = clusters
    found = quality.suspects(X, y, n_objects=150, random_state=0)
    assert found.n_searched == 150
    assert np.isfinite(found.label_scores).sum() == 150
    assert "among 150 of 400 objects, drawn at random" in str(found)


def test_errors():
    X = np.random.default_rng(4).normal(size=(10, 2))
    with pytest.raises(ValueError, match="labels has 9 entries for 10 objects"):
        quality.suspects(X, np.zeros(9))
    with pytest.raises(ValueError, match="at least 4 objects"):
        quality.suspects(X[:3], np.zeros(3))
    with pytest.raises(ValueError, match="n_neighbors must be"):
        quality.suspects(X, np.zeros(10), n_neighbors=10)
