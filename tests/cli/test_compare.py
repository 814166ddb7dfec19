"""`lowdim compare`, `assess` and `suggest`: how true the maps are."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.manifold import trustworthiness

from lowdim import data, tables
from lowdim.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def roll(tmp_path):
    """A Swiss roll of 300 points with the angle as a label."""
    X, t = data.swiss_roll(300, random_state=0)
    return tables.write(tmp_path / "roll.csv", X, names=["x", "y", "z"], labels={"angle": t})


OPTIONS = ("--label", "angle")


def test_compare_prints_a_table_and_leaves_all_outputs(roll, tmp_path):
    outputs = [
        "--report",
        tmp_path / "r.html",
        "--plot",
        tmp_path / "c.png",
        "-o",
        tmp_path / "a.csv",
    ]
    result = run("compare", roll, "-m", "pca,isomap", "--n-neighbors", 8, *OPTIONS, *outputs)
    assert result.exit_code == 0, result.output
    header, *rows = result.stdout.splitlines()
    assert "trustworthiness" in header
    assert [row.split()[0] for row in rows[:2]] == ["PCA", "Isomap"]
    page = (tmp_path / "r.html").read_text()
    assert f"lowdim compare {roll} -m pca,isomap --n-neighbors 8 --label angle" in page
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    first = (tmp_path / "a.csv").read_text().partition("\n")[0]
    assert first == "angle,pca0,pca1,isomap0,isomap1"


def test_the_numbers_are_those_of_the_map(roll, tmp_path):
    out = tmp_path / "m.npz"
    assert run("embed", roll, "-m", "pca", *OPTIONS, "-o", out).exit_code == 0
    result = run("assess", roll, out, *OPTIONS, "-k", 12, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    X, Y = tables.read(roll, labels=["angle"]).X, np.load(out)["embedding"]
    assert found["method"] == "PCA"
    assert found["trustworthiness"]["value"] == pytest.approx(
        trustworthiness(X, Y, n_neighbors=12), abs=1e-9
    )
    text = run("assess", roll, out, *OPTIONS, "--plot", tmp_path / "d.png").stdout
    assert "trustworthiness" in text
    assert (tmp_path / "d.png").exists()


def test_compare_in_json_and_with_a_method_that_fails(roll):
    result = run("compare", roll, "-m", "pca", "-m", "isomap", "--n-neighbors", 400, "--json")
    assert result.exit_code == 7
    found = json.loads(result.stdout)
    assert [one["method"] for one in found["runs"]] == ["PCA"]
    assert "at most 299" in found["failures"]["Isomap"]
    result = run("compare", roll, "-m", "isomap", "--n-neighbors", 400, "-q")
    assert result.exit_code == 3
    assert len(result.stderr.splitlines()) == 1


def test_compare_refuses_before_the_work(roll, tmp_path):
    (tmp_path / "r.html").write_text("precious")
    result = run("compare", roll, "-m", "pca", "--report", tmp_path / "r.html")
    assert result.exit_code == 4
    assert (tmp_path / "r.html").read_text() == "precious"
    assert run("compare", roll).exit_code == 2


def test_a_map_of_other_objects_is_refused(roll, tmp_path):
    np.save(tmp_path / "m.npy", np.zeros((7, 2)))
    result = run("assess", roll, tmp_path / "m.npy", "-q")
    assert result.exit_code == 3
    assert "m.npy has 7 rows, but roll.csv has 300" in result.stderr


def test_suggest_ends_with_a_command_that_works(roll, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("suggest", roll, *OPTIONS, "-m", "pca,isomap", "--n-objects", 200, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert {one["method"] for one in found["candidates"]} == {"PCA", "Isomap"}
    command = found["command"].split()
    assert command[:2] == ["lowdim", "embed"]
    assert run(*command[1:], *OPTIONS).exit_code == 0
