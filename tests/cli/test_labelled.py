"""Methods that learn from labels take them from a column of the file."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

import lowdim
from lowdim.catalog import CATALOG
from lowdim.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def flowers(tmp_path):
    iris = load_iris()
    kinds = iris.target_names[iris.target]
    lines = [",".join([*map(str, row), kind]) for row, kind in zip(iris.data, kinds, strict=True)]
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(["a,b,c,d,species", *lines, ""]))
    return path


@pytest.mark.parametrize(
    "method", [m.name for m in CATALOG if m.objects == "labelled"], ids=lambda name: name
)
def test_the_label_column_is_learned_from(method, flowers, tmp_path):
    model = tmp_path / "model.lowdim"
    result = run("embed", flowers, "-m", method, "--label", "species", "--model", model)
    assert result.exit_code == 0, result.output
    found = lowdim.load(model)
    assert list(found.classes_) == ["setosa", "versicolor", "virginica"]
    expected = getattr(lowdim, method)(n_components=2).fit(load_iris().data, load_iris().target)
    np.testing.assert_allclose(found.embedding_, expected.embedding_)


def test_the_column_to_colour_by_is_not_learned_from(flowers, tmp_path):
    model = tmp_path / "model.lowdim"
    result = run("embed", flowers, "-m", "nca", "--color-by", "a", "--model", model)
    assert result.exit_code == 0, result.output
    assert "learns from the labels in the column 'species'" in result.output
    assert "'species' (3 kinds)" in result.output
    assert "not used as features" in result.output
    assert list(lowdim.load(model).classes_) == ["setosa", "versicolor", "virginica"]


def test_one_of_several_label_columns_is_named(flowers, tmp_path):
    head, *lines = flowers.read_text().splitlines()
    rows = [f"{'even' if i % 2 else 'odd'},{line}" for i, line in enumerate(lines)]
    flowers.write_text("\n".join([f"side,{head}", *rows, ""]))
    first = run("embed", flowers, "-m", "nca", "--force", "-o", tmp_path / "map.csv")
    assert "in the column 'side' (--label names another)" in first.output
    named = run("embed", flowers, "-m", "nca", "--label", "species", "-o", tmp_path / "other.csv")
    assert "in the column 'species'" in named.output


def test_without_labels_the_message_names_the_option(flowers):
    lines = [line.rsplit(",", 1)[0] for line in flowers.read_text().splitlines()]
    flowers.write_text("\n".join([*lines, ""]))
    result = run("embed", flowers, "-m", "nca")
    assert result.exit_code != 0
    assert "learns from labels" in result.output
    assert "--label" in result.output


def test_a_self_organizing_map_from_the_command_line(flowers, tmp_path):
    picture, model = tmp_path / "map.png", tmp_path / "som.lowdim"
    options = ("--shape", "6,8", "--placement", "interpolated")
    result = run("embed", flowers, "-m", "som", *options, "--plot", picture, "--model", model)
    assert result.exit_code == 0, result.output
    assert lowdim.load(model).shape_ == (6, 8)
    assert picture.exists()
