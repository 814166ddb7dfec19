"""The published comparison runs on small data of the same layout, and its measures are right."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import published

N = 120
BY_CLASS = {"SVM accuracy", "5-NN accuracy", "centroid neighbors", "centroid distances"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Digits in the place of every data set."""
    images, labels = load_digits(n_class=4, return_X_y=True)
    X, y = images[:N], labels[:N]
    for data in published.DATA_SETS.values():
        path = tmp_path / data.file
        if path.suffix == ".json":
            path.write_text(json.dumps(X[:, 20:23].tolist()))
        elif path.suffix == ".npz":
            np.savez(path, X=np.tile(X, (1, 2)), y=y)
        else:
            np.save(path, X)
        if data.labels:
            np.save(tmp_path / data.labels, y)
    monkeypatch.setattr(published, "COLUMNS", 30)
    return tmp_path


@pytest.mark.parametrize("method", published.METHODS)
def test_every_method_runs(folder, method):
    rows = published.judge("4eq", method, *published.DATA_SETS["4eq"].read(folder), 1, "")
    assert {row.measure for row in rows} >= BY_CLASS
    assert all(np.isfinite(row.ours).all() and len(row.ours) == 1 for row in rows)


@pytest.mark.parametrize("name", published.DATA_SETS)
def test_every_data_set_is_read(folder, name):
    X, y = published.DATA_SETS[name].read(folder)
    known = set(published.measures(X, X[:, :2].astype(np.float64), y, 0))
    assert known >= {"30 neighbors kept", "random triplets", "spearman"}
    assert (y is None) == known.isdisjoint(BY_CLASS)
    for method in published.METHODS:
        assert set(published.PUBLISHED.get((name, method), {})) <= known


@pytest.mark.parametrize("name", published.SHAPES)
def test_every_shape_is_measured(name):
    X, measure = published.SHAPES[name]()
    assert all(np.isfinite(value) for value in measure(X, X[:, :2]).values())


def test_a_perfect_map_has_the_best_values():
    y = np.repeat(np.arange(4), 30)
    centers = np.array([[0, 0], [20, 0], [0, 50], [90, 90]])
    X = np.random.default_rng(0).normal(size=(N, 2)) + centers[y]
    np.testing.assert_allclose(list(published.measures(X, 3 * X, y, 0).values()), 1.0)


def test_a_torn_branch_has_a_jump():
    places = np.linspace(0, 1, published.BRANCH_POINTS)
    Y = np.tile(np.stack([places, places], axis=1), (published.BRANCHES, 1))
    assert published.branch_jumps(Y, Y)["branch jumps"] == 0
    Y[published.BRANCH_POINTS // 2 : published.BRANCH_POINTS] += 10
    assert published.branch_jumps(Y, Y)["branch jumps"] == 1 / published.BRANCHES


def test_the_table_marks_what_is_worse(capsys):
    row = published.Row("4eq", "UMAP", "SVM accuracy", ours=[0.70, 0.70], peer=[0.75, 0.76])
    assert row.worse_than == "peer, published"
    row.ours = [0.75, 0.75]
    assert row.worse_than == ""
    fewer = published.Row("tree", "UMAP", "branch jumps", ours=[0.5, 0.5], peer=[2.0, 2.1])
    assert fewer.worse_than == ""
    published.print_rows([row])
    assert "| 4eq | UMAP | SVM accuracy | 0.7500 ± 0.0000 |" in capsys.readouterr().out


def test_absent_data_are_skipped(tmp_path, capsys):
    assert published.main(["--only", "muraro", "--data", str(tmp_path)]) == 0
    assert f"skipped; see {published.SOURCE}" in capsys.readouterr().out


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(SystemExit):
        published.main(["--only", "nothing", "--data", str(tmp_path)])
