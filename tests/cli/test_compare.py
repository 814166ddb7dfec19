"""`lowdim compare`, `assess` and `suggest`: how true the maps are."""

import importlib
import json
import shlex

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_wine
from sklearn.manifold import trustworthiness

from lowdim import data, quality, tables
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
    assert header.split() == ["PCA", "Isomap"]
    assert "trustworthiness" in [row.split()[0] for row in rows if row]
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
    outputs = ["--plot", tmp_path / "d.png", "--objects", tmp_path / "o.csv"]
    text = run("assess", roll, out, *OPTIONS, *outputs).stdout
    assert "trustworthiness" in text
    assert "Mean reliability" in text
    assert (tmp_path / "d.png").exists()
    scores = tables.read(tmp_path / "o.csv", features=["reliability"]).X[:, 0]
    np.testing.assert_allclose(scores, quality.reliability(Y, X).score, rtol=1e-6)
    assert run("assess", roll, out, *OPTIONS, *outputs).exit_code == 4


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


def test_suggest_standardizes_columns_of_different_units_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, _ = load_wine(return_X_y=True)
    np.savetxt("wine.csv", X, delimiter=",")
    found = run("suggest", "wine.csv", "-m", "pca,tsne")
    assert "388 times that of a typical column" in found.output
    assert "lowdim embed wine.csv" in found.output
    assert found.output.rstrip().endswith("--standardize --plot map.png")
    given = run("suggest", "wine.csv", "-m", "pca,tsne", "--standardize")
    assert given.output.count("--standardize") == 1
    assert given.output.rstrip().endswith("--standardize --plot map.png")


def test_suggest_recommends_nothing_for_noise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("noise.csv", np.random.default_rng(0).normal(size=(200, 5)), delimiter=",")
    found = run("suggest", "noise.csv", "-m", "pca,tsne")
    assert "none is recommended" in found.output
    assert "Try:" not in found.output
    assert json.loads(run("suggest", "noise.csv", "-m", "pca", "--json").stdout)["command"] is None


def test_suggest_repeats_the_options_that_matter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 3)), 1000 * rng.normal(size=60)])
    X[:, 2] += 4 * X[:, 1]  # a relation: nothing is suggested for noise
    rows = [";".join([*(f"{v:.4f}" for v in row), "x"]) for row in X]
    (tmp_path / "w.csv").write_text("\n".join(["a;b;c;big;note", *rows]) + "\n")
    options = ["--standardize", "--drop", "note,a", "--delimiter", ";", "--header"]
    found = run(
        "suggest",
        "w.csv",
        *options,
        "-m",
        "tsne",
        "--metric",
        "cosine",
        "--seed",
        "3",
        "-d",
        "3",
        "--json",
    )
    assert found.exit_code == 0, found.output
    command = json.loads(found.stdout)["command"].split()
    for option in (
        ["--standardize"],
        ["--drop", "note,a"],
        ["--delimiter", "';'"],
        ["--header"],
        ["--metric", "cosine"],
        ["--random-state", "3"],
        ["--n-components", "3"],
    ):
        assert " ".join(option) in " ".join(command)
    again = run(*shlex.split(" ".join(command))[1:], "--max-iter", "20")
    assert again.exit_code == 0, again.output


def test_compare_judges_by_the_metric_that_was_asked_for(roll, tmp_path):
    from lowdim import PCA, quality

    found = run("compare", roll, "-m", "pca,isomap", "--metric", "cosine", "--json")
    assert found.exit_code == 0, found.output
    (first, _) = json.loads(found.stdout)["runs"]
    table = tables.read(roll)
    Y = PCA(2).fit_transform(table.X)
    right = quality.assess(table.X, Y, metric="cosine", random_state=0)
    wrong = quality.assess(table.X, Y, random_state=0)
    got = first["assessment"]["trustworthiness"]["value"]
    assert got == pytest.approx(float(right.trustworthiness), abs=1e-9)
    assert abs(got - float(wrong.trustworthiness)) > 1e-3


def test_a_failed_assessment_costs_one_column(roll, tmp_path, monkeypatch):
    module = importlib.import_module("lowdim.quality.compare")
    assess = module.assess_map

    def failing(data, estimator, *arguments):
        if type(estimator).__name__ == "Isomap":
            raise ValueError("no ranks today")
        return assess(data, estimator, *arguments)

    monkeypatch.setattr(module, "assess_map", failing)
    page, maps = tmp_path / "r.html", tmp_path / "maps.csv"
    found = run("compare", roll, "-m", "pca,isomap", "--report", page, "-o", maps, "--json")
    assert found.exit_code == 7
    document = json.loads(found.stdout)
    assert document["unassessed"] == {"Isomap": "no ranks today"}
    assert [one["assessment"] is None for one in document["runs"]] == [False, True]
    assert "Isomap" in page.read_text()
    assert "isomap0" in maps.read_text()
    shown = run("compare", roll, "-m", "pca,isomap")
    assert "Isomap: not assessed: no ranks today" in shown.stdout
    assert shown.stdout.splitlines()[0].split() == ["PCA"]


def test_transform_numbers_the_rows_that_are_left(tmp_path):
    (tmp_path / "old.csv").write_text("a,b\n" + "".join(f"{i},{i * i % 7}\n" for i in range(12)))
    (tmp_path / "new.csv").write_text("a,b\n1,2\n,3\n4,5\n2,2\n")
    model, out = tmp_path / "m.lowdim", tmp_path / "out.csv"
    made = run("embed", tmp_path / "old.csv", "-m", "pca", "--missing", "drop", "--model", model)
    assert made.exit_code == 0, made.output
    placed = run("transform", model, tmp_path / "new.csv", "-o", out)
    assert placed.exit_code == 0, placed.output
    assert "1 of 4 rows have missing values" in placed.stderr
    assert [line.split(",")[0] for line in out.read_text().splitlines()] == ["row", "0", "2", "3"]


def test_any_column_can_colour(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.3f},{b:.3f},{c:.3f},{'uv'[i % 2]}"
        for i, (a, b, c) in enumerate(rng.normal(size=(40, 3)))
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,left_out,kind", *rows]) + "\n")
    for column in ("a", "left_out", "kind"):
        made = run(
            "embed",
            "t.csv",
            "-m",
            "pca",
            "--drop",
            "left_out",
            "--plot",
            "p.png",
            "-f",
            "--color-by",
            column,
        )
        assert made.exit_code == 0, made.output
    wrong = run("embed", "t.csv", "-m", "pca", "--color-by", "lef_out")
    assert wrong.exit_code == 2
    assert "Did you mean 'left_out'?" in wrong.stderr
    made = run(
        "compare",
        "t.csv",
        "-m",
        "pca,isomap",
        "--drop",
        "left_out",
        "--report",
        "r.html",
        "--color-by",
        "left_out",
    )
    assert made.exit_code == 0, made.output
    text = (tmp_path / "r.html").read_text()
    held = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert [one["name"] for one in held["colors"]] == ["kind", "left_out", "a", "b"]
    assert held["first"] == 1


def test_columns_keep_the_values_of_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,k\n1,10,x\n2,,y\n3,30,x\n4,50,z\n")
    table = tables.read(tmp_path / "t.csv", standardize=True, missing="drop")
    assert table.file_columns["b"].tolist() == [10, 30, 50]
    assert table.file_columns["k"].tolist() == ["x", "x", "z"]
    assert list(table.file_columns) == ["a", "b", "k"]


def test_quiet_is_quiet(roll, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (
        ["embed", roll, "-m", "tsne", "--max-iter", "20", "-o", "m.csv"],
        ["compare", roll, "-m", "pca,isomap", "--report", "r.html"],
        ["assess", roll, "m.csv"],
        ["suggest", roll, "-m", "pca"],
    ):
        done = run(*command, "-q")
        assert done.exit_code == 0, done.output
        assert done.output == ""
