"""`lowdim embed` and `lowdim transform`: a file in, a map out, and new objects onto it."""

import csv
import json
import os
import signal
import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

import lowdim
from lowdim import data, tables
from lowdim.catalog import CATALOG
from lowdim.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def flowers(tmp_path):
    """150 flowers with a name, four lengths and a species each."""
    iris = load_iris()
    path = tmp_path / "flowers.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["flower", "a", "b", "c", "d", "species"])
        for i, (row, kind) in enumerate(zip(iris.data, iris.target, strict=True)):
            writer.writerow([f"f{i}", *row, iris.target_names[kind]])
    return path


def test_a_table_becomes_a_table_with_ids_and_labels(flowers, tmp_path):
    result = run("embed", flowers, "-m", "isomap", "-o", tmp_path / "m.csv", "--n-neighbors", 20)
    assert result.exit_code == 0, result.output
    with open(tmp_path / "m.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["flower", "species", "isomap0", "isomap1"]
    assert rows[1][:2] == ["f0", "setosa"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = lowdim.Isomap(n_neighbors=20).fit_transform(load_iris().data)
    np.testing.assert_array_equal(np.array(rows[1:])[:, 2:].astype(float), expected)
    assert result.stdout == ""
    said = result.stderr
    assert "150 objects x 4 features" in said
    assert "4 features: a, b, c, d" in said
    assert "'species' (3 kinds)" in said
    assert "Isomap: done after" in said
    assert str(tmp_path / "m.csv") in said


def test_a_constant_table_is_pointed_out(tmp_path):
    (tmp_path / "same.csv").write_text("a,b\n1,2\n1,2\n1,2\n")
    result = run("embed", tmp_path / "same.csv", "-m", "pca", "-o", tmp_path / "m.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("all 3 objects are the same") == 1


def test_without_outputs_the_map_lies_in_this_folder(flowers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("embed", flowers, "-m", "PCA").exit_code == 0
    assert (tmp_path / "flowers-pca.csv").exists()
    result = run("embed", flowers, "-m", "PCA")
    assert result.exit_code == 4
    assert "--force" in result.stderr
    assert run("embed", flowers, "-m", "PCA", "--force").exit_code == 0


def test_stdout_is_for_the_map_alone(flowers):
    result = run("embed", flowers, "-m", "pca", "-o", "-", "-q")
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "flower,species,pca0,pca1"
    assert len(lines) == 151


def test_json_is_one_object(flowers, tmp_path):
    result = run("embed", flowers, "-m", "mds", "--json", "-o", tmp_path / "m.npz", "--seed", 3)
    assert result.stderr == ""
    facts = json.loads(result.stdout)
    assert facts["method"] == "MDS"
    assert facts["parameters"] == {"random_state": 3}
    assert facts["input"]["objects"] == 150
    assert facts["input"]["columns"] == ["a", "b", "c", "d"]
    assert facts["outputs"] == [str(tmp_path / "m.npz")]
    assert facts["interrupted"] is False


def test_json_of_a_failure(flowers):
    result = run("embed", flowers, "-m", "isomap", "--n-neighbors", 500, "--json")
    assert result.exit_code == 3
    facts = json.loads(result.stdout)
    assert facts["exit_code"] == 3
    assert "at most 149" in facts["error"]
    assert len(result.stderr.splitlines()) == 1


def test_the_picture_and_the_model(flowers, tmp_path):
    outputs = ["--plot", tmp_path / "m.png", "--model", tmp_path / "m.lowdim"]
    result = run("embed", flowers, "-m", "lle", "--method", "ltsa", "--n-neighbors", 12, *outputs)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    model = lowdim.load(tmp_path / "m.lowdim")
    assert type(model).__name__ == "LocallyLinearEmbedding"
    assert model.method == "ltsa"
    assert model.preparation_["numeric"] == ["a", "b", "c", "d"]


def test_new_objects_are_prepared_as_the_old_ones_were(flowers, tmp_path):
    model = tmp_path / "m.lowdim"
    options = ["--standardize", "--categorical", "onehot", "--drop", "flower"]
    first = run("embed", flowers, "-m", "pca", *options, "--model", model, "-o", tmp_path / "a.csv")
    assert first.exit_code == 0, first.output
    lines = flowers.read_text().splitlines()
    names, *rows = [line.split(",") for line in lines]
    turned = [[row[i] for i in (5, 0, 4, 3, 2, 1)] for row in [names, *rows[:5]]]
    (tmp_path / "new.csv").write_text("\n".join(",".join(row) for row in turned))
    result = run("transform", model, tmp_path / "new.csv", "-o", tmp_path / "b.csv")
    assert result.exit_code == 0, result.output
    old, new = tables.read(tmp_path / "a.csv"), tables.read(tmp_path / "b.csv")
    np.testing.assert_allclose(new.X, old.X[:5], atol=1e-9)
    assert new.ids.tolist() == ["f0", "f1", "f2", "f3", "f4"]


def test_a_model_refuses_other_columns_in_one_line(flowers, tmp_path):
    assert run("embed", flowers, "-m", "pca", "--model", tmp_path / "m.lowdim").exit_code == 0
    (tmp_path / "new.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    result = run("transform", tmp_path / "m.lowdim", tmp_path / "new.csv")
    assert result.exit_code == 3
    assert "lacks d" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    result = run("transform", flowers, flowers)
    assert result.exit_code == 3
    assert "not a lowdim model" in result.stderr


def test_distances_become_a_map_with_names(tmp_path):
    D, names = data.cities()
    rows = [["city", *names], *([n, *d] for n, d in zip(names, D, strict=True))]
    path = tmp_path / "cities.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows))
    result = run(
        "embed", path, "-m", "cmds", "-o", tmp_path / "m.csv", "--plot", tmp_path / "m.pdf"
    )
    assert result.exit_code == 0, result.output
    assert "taken as distances" in result.stderr
    assert tables.read(tmp_path / "m.csv").ids.tolist() == names
    result = run("embed", path, "-m", "pca")
    assert result.exit_code == 3
    assert "PCA takes vectors" in result.stderr


def test_mixed_types_by_gower(flowers, tmp_path):
    result = run(
        "embed", flowers, "-m", "mds", "--categorical", "gower", "-o", tmp_path / "m.csv", "-q"
    )
    assert result.exit_code == 0, result.output
    iris = zip(*load_iris(return_X_y=True), strict=True)
    mixed = np.array([[*row, str(kind)] for row, kind in iris], dtype=object)
    expected = lowdim.MDS(metric="gower").fit_transform(mixed)
    np.testing.assert_allclose(tables.read(tmp_path / "m.csv").X, expected, atol=1e-9)


def test_mixed_types_by_factor_analysis(flowers, tmp_path):
    method = ("-m", "factor-analysis-of-mixed-data", "--categorical", "gower")
    result = run("embed", flowers, *method, "-o", tmp_path / "m.csv", "-q")
    assert result.exit_code == 0, result.output
    iris = zip(*load_iris(return_X_y=True), strict=True)
    mixed = np.array([[*row, str(kind)] for row, kind in iris], dtype=object)
    expected = lowdim.FactorAnalysisOfMixedData().fit_transform(mixed)
    np.testing.assert_allclose(tables.read(tmp_path / "m.csv").X, expected, atol=1e-9)


def test_several_subjects(tmp_path):
    points = np.random.RandomState(0).standard_normal((8, 2))
    stack = [np.linalg.norm((points * w)[:, None] - points * w, axis=2) for w in ([1, 2], [2, 1])]
    np.save(tmp_path / "d.npy", np.array(stack))
    result = run("embed", tmp_path / "d.npy", "-m", "indscal", "-o", tmp_path / "m.csv")
    assert result.exit_code == 0, result.output
    assert tables.read(tmp_path / "m.csv").X.shape == (8, 2)


def test_time_and_memory_are_told_first(tmp_path):
    X = np.random.RandomState(0).standard_normal((400, 5))
    np.save(tmp_path / "x.npy", X)
    result = run("embed", tmp_path / "x.npy", "-m", "isomap", "-o", tmp_path / "m.csv")
    lines = result.stderr.splitlines()
    told, done = [line for line in lines if line.startswith("Isomap: ")]
    planned = lowdim.plan(lowdim.Isomap(), X).n_bytes
    assert planned > 2 * X.shape[0] ** 2 * 8  # two matrices of all pairs
    assert f"{planned / 1e6:.1f} MB of memory beyond the data" in told
    assert done.startswith("Isomap: done")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_keeps_the_best_map_so_far(flowers, tmp_path, monkeypatch):
    from lowdim.runtime.callbacks import Monitor

    called = Monitor.__call__

    def press(self, iteration, loss, embedding):
        if iteration == 5:
            signal.raise_signal(signal.SIGINT)
        return called(self, iteration, loss, embedding)

    monkeypatch.setattr(Monitor, "__call__", press)
    result = run("embed", flowers, "-m", "sammon", "-o", tmp_path / "m.csv")
    assert result.exit_code == 130, result.output
    assert "Sammon: stopped after" in result.stderr
    assert np.isfinite(tables.read(tmp_path / "m.csv").X).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_waits_until_the_results_are_written(flowers, tmp_path, monkeypatch):
    from lowdim.estimator import persist

    save = persist.save

    def press(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        save(*arguments, **options)

    monkeypatch.setattr(persist, "save", press)
    outputs = ["-o", "m.csv", "--model", "m.lowdim", "--plot", "m.png"]
    monkeypatch.chdir(tmp_path)
    result = run("embed", flowers, "-m", "pca", *outputs)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "lowdim: interrupted"
    assert {"m.csv", "m.lowdim", "m.png"} < set(os.listdir(tmp_path))
    assert type(lowdim.load("m.lowdim")).__name__ == "PCA"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_where_there_is_nothing_to_keep(flowers, tmp_path, monkeypatch):
    monkeypatch.setattr(lowdim.PCA, "_fit", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    result = run("embed", flowers, "-m", "pca", "-o", tmp_path / "m.csv")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "lowdim: interrupted"
    assert not (tmp_path / "m.csv").exists()


def test_debug_shows_the_traceback(flowers, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a bug")

    monkeypatch.setattr(lowdim.PCA, "_fit", fail)
    result = run("embed", flowers, "-m", "pca", "-q")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "lowdim: AssertionError: a bug (--debug shows the traceback)"
    ]
    assert "Traceback" in run("embed", flowers, "-m", "pca", "--debug").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "choose a method with -m"),
        (["-m", "isomapp"], "Did you mean 'isomap'?"),
        (["-m", "isomap", "--n-neighbors", "many"], "'many' is not an integer or none"),
        (["-m", "isomap", "--perplexity", "30"], "No such option"),
        (["-m", "pca", "--plot", "m.png", "--color-by", "colour"], "The columns are species"),
    ],
)
def test_wrong_command_lines(flowers, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("embed", flowers, "-q", *options)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert message in line


@pytest.mark.parametrize(
    "method", [m for m in CATALOG if m.objects == "vectors"], ids=lambda m: m.name
)
def test_every_method_of_the_catalog_runs(method, flowers, tmp_path):
    """With its defaults, where only the size of neighbourhoods is set to suit the data."""
    from lowdim.cli.parameters import hints

    rows = flowers.read_text().splitlines()
    flowers.write_text("\n".join([rows[0], *rows[1::3]]))
    known = hints(method.load())
    few = ["--n-neighbors", 10] if "n_neighbors" in known else []
    few += ["--perplexity", 10] if "perplexity" in known else []
    result = run("embed", flowers, "-m", method.name, *few, "-o", tmp_path / "m.csv", "-q")
    assert result.exit_code == 0, result.output
    assert tables.read(tmp_path / "m.csv").X.shape[0] == 50
