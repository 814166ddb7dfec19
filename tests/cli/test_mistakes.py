"""Mistakes that a new user makes: one line that says what is wrong and what to do."""

import json
import os

import numpy as np
import pytest
from click.testing import CliRunner

from lowdim import tables
from lowdim.cli import main

ROWS = np.random.RandomState(0).standard_normal((20, 3)).round(3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a table `t.csv`, distances `d.csv`, and a file `page.csv` that is no table."""
    monkeypatch.chdir(tmp_path)
    tables.write("t.csv", ROWS, names=["a", "b", "c"])
    D = np.abs(ROWS[:5, None, 0] - ROWS[:5, 0])
    tables.write("d.csv", D, names=list("uvwxy"))
    (tmp_path / "page.csv").write_text("<!DOCTYPE html>\n<html>\n<p>not found</p>\n</html>\n")
    (tmp_path / "one.csv").write_text("a,b\nu,1\nv,2\nw,4\n")


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (
            "embed t.csv -m tsne",
            3,
            "must be less than n_samples (20): it is a number of neighbours",
        ),
        ("embed t.csv -m tsne", 3, "Try --perplexity 5."),
        ("embed t.csv -m isomap --perplexity 9", 2, "Isomap cannot take it; `lowdim embed --help"),
        ("embed t.csv -m pca,tsne", 2, "give one method; `lowdim compare` takes several"),
        ("embed t.csv -m lda", 2, "`lowdim methods` lists all"),
        ("compare t.csv -m ,", 2, "give the name of a method"),
        ("embed t.csv -m isomap --n-neighbors 2.5", 2, "'2.5' is not an integer or none"),
        ("embed t.csv -m tsne --metric-params p", 2, "'p' is not a JSON object such as"),
        ("embed t.csv -m pca --plot map", 2, "must end in a picture format"),
        ("embed t.csv -m pca -o map.xyz", 3, "the name must end in one of"),
        (
            "embed t.csv -m pca --encoding utf9",
            3,
            "unknown encoding: utf9. Set another --encoding.",
        ),
        ("embed page.csv -m pca", 3, "page.csv is a web page, not a table"),
        ("embed one.csv -m pca", 3, "one.csv has one feature, too few for a map of two dimensions"),
        ("explain d.csv -m mds", 3, "d.csv has no columns of numbers that could explain a map"),
        ("regions t.csv -m pca -k 0", 2, "'--n-regions': 0 is not in the range"),
        ("transform t.csv t.csv", 3, "t.csv is not a lowdim model, as `lowdim embed --model`"),
    ],
)
def test_a_mistake_is_explained(command, code, message):
    result = CliRunner().invoke(main, [*command.split(), *(["-q"] * (command[0] == "e"))])
    assert result.exit_code == code
    assert result.stdout == ""
    assert message in result.stderr.splitlines()[-1]
    assert not any(name.startswith("t-") for name in os.listdir()), "nothing was computed"


def test_a_folder_without_the_right_to_write_is_found_before_the_fit(monkeypatch):
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and allowed(path, mode))
    result = CliRunner().invoke(main, ["embed", "t.csv", "-m", "pca"])
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "lowdim: The folder . cannot be written to; choose another one."
    ]


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_one_list_of_objects_is_read_as_lines_of_objects_are(name):
    records = [{"a": 1, "b": 2.5}, {"a": 3}, {"b": 4, "a": 7}]
    with open(name, "w") as file:
        json.dump(records, file, indent=1)
    table = tables.read(name, missing="keep")
    np.testing.assert_array_equal(table.X, [[1, 2.5], [3, np.nan], [7, 4]])
    with open(name, "w") as file:
        json.dump([[1, 2], [3, 4]], file)
    np.testing.assert_array_equal(tables.read(name).X, [[1, 2], [3, 4]])
