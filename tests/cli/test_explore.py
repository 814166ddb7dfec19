"""`lowdim regions` and `lowdim explain`."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import lowdim
from lowdim import data, tables
from lowdim.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def groups(tmp_path):
    """300 objects in groups, with their kind as a label."""
    X, y = data.clusters(300, random_state=0)
    kinds = np.array(["red", "green", "blue", "grey"])[y]
    names = [f"f{i}" for i in range(X.shape[1])]
    return tables.write(tmp_path / "groups.csv", X, names=names, labels={"kind": kinds})


def test_regions_are_those_of_the_library(groups, tmp_path):
    out, members = tmp_path / "regions.csv", tmp_path / "members.csv"
    options = ("--label", "kind", "-o", out, "--members", members)
    result = run("regions", groups, "-m", "pca", "-k", 2, *options)
    assert result.exit_code == 0, result.output
    table = tables.read(groups, labels=["kind"])
    found = lowdim.regions(lowdim.PCA(2).fit(table.X), table.X, table.labels["kind"])
    shown = found.at(2)
    assert result.stdout.splitlines() == [f"{one.id:>4}  {one}" for one in shown.regions]
    assert pd.read_csv(out)["name"].tolist() == shown.names
    ids = np.array([one.id for one in shown.regions])
    written = pd.read_csv(members)
    np.testing.assert_array_equal(written["region"], ids[shown.membership])
    assert written["kind"].tolist() == table.labels["kind"].tolist()
    assert run("regions", groups, "-m", "pca", *options).exit_code == 4


def test_explain_prints_the_features_of_a_method_or_a_model(groups, tmp_path):
    model, out = tmp_path / "map.lowdim", tmp_path / "features.csv"
    made = run("embed", groups, "-m", "isomap", "--n-neighbors", 40, "--model", model)
    assert made.exit_code == 0, made.output
    method = ("-m", "isomap", "--n-neighbors", 40)
    first = run("explain", groups, *method, "--json")
    assert first.exit_code == 0, first.output
    second = run("explain", groups, "--model", model, "--json", "-o", out)
    assert second.exit_code == 0, second.output
    assert json.loads(first.stdout) == json.loads(second.stdout)
    features = json.loads(first.stdout)["features"]
    best = max(features, key=lambda one: one["r2"])
    frame = pd.read_csv(out)
    assert (frame["feature"][0], frame["r2"][0]) == (best["feature"], pytest.approx(best["r2"]))
    assert run("explain", groups, *method).stdout.splitlines()[1].startswith(best["feature"])


def test_wrong_requests_are_refused(groups, tmp_path):
    model = tmp_path / "map.lowdim"
    assert run("embed", groups, "-m", "pca", "--model", model).exit_code == 0
    assert run("regions", groups).exit_code == 2
    assert run("regions", groups, "-m", "pca", "--model", model).exit_code == 2
    X, _ = data.clusters(90, random_state=1)
    fewer = tables.write(tmp_path / "few.csv", X, names=[f"f{i}" for i in range(X.shape[1])])
    result = run("regions", fewer, "--model", model)
    assert result.exit_code == 3
    assert "is a map of 300 objects" in result.stderr
    gaps = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.savetxt(tmp_path / "gaps.csv", gaps, delimiter=",")
    assert run("regions", tmp_path / "gaps.csv", "-m", "isomap", "-q").exit_code == 0
    result = run("explain", tmp_path / "gaps.csv", "-m", "isomap")
    assert result.exit_code == 3
    assert "no columns of numbers" in result.stderr


def test_words_of_a_text_name_regions_and_values_on_a_scale_do_not(tmp_path):
    words = {"knee": ["pain", "knee", "running"], "eye": ["eye", "red", "tears"]}
    lines = ["id,weight,note"]
    random = np.random.default_rng(0)
    for i in range(80):
        chosen = random.permutation(words[["knee", "eye"][i % 2]])
        lines.append(f"v{i},{random.normal():.3f},{' '.join(chosen[:2])} came {i}")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines) + "\n")
    result = run("regions", path, "-m", "tsne", "--text", "note", "--id", "id", "--json")
    assert result.exit_code == 0, result.output
    names = [one["name"] for one in json.loads(result.stdout)["regions"]]
    said = {word for name in names for word in name.split(", ")}
    assert said <= {*words["knee"], *words["eye"]}
    assert len(names) >= 2


def test_compare_says_what_maps_have_in_common(groups, tmp_path):
    page = tmp_path / "report.html"
    result = run("compare", groups, "-m", "pca,isomap", "--n-neighbors", 40, "--report", page)
    assert result.exit_code == 0, result.output
    X = tables.read(groups).X
    maps = [lowdim.PCA(2).fit_transform(X), lowdim.Isomap(n_neighbors=40).fit_transform(X)]
    share = f"{lowdim.compare_maps(*maps).score:.0%}"
    assert f"PCA and Isomap share {share} of 15 nearest neighbors" in result.stdout
    assert "What differs between the maps?" in page.read_text()
