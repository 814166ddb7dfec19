"""`lowdim update`: new objects join the map of a model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import lowdim
from lowdim import tables
from lowdim.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path):
    """A model of 90 objects, and a file of 10 more."""
    X, _ = lowdim.data.s_curve(100, noise=0.02, random_state=0)
    for name, rows in (("old", X[:90]), ("new", X[90:])):
        lines = [f"{name}{i}," + ",".join(map(repr, row.tolist())) for i, row in enumerate(rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,a,b,c", *lines, ""]))
    model = tmp_path / "m.lowdim"
    made = run(
        "embed", tmp_path / "old.csv", "-m", "umap", "--standardize", "--n-epochs", 30,
        "--model", model,
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    return tmp_path


def test_the_map_of_all_objects_and_the_verdict(files):
    out, grown = files / "all.csv", files / "more.lowdim"
    result = run("update", files / "m.lowdim", files / "new.csv", "-o", out, "--model", grown)
    assert result.exit_code == 0, result.output
    assert "added 10 objects to 90" in result.stderr
    assert "no fresh fit needed" in result.stderr
    table = tables.read(out)
    assert table.ids.tolist()[89:92] == ["old 89", "new0", "new1"]
    assert table.labels["origin"].tolist() == ["old"] * 90 + ["new"] * 10
    model = lowdim.load(grown)
    np.testing.assert_allclose(table.X, model.embedding_, rtol=1e-6)
    scaled = tables.read(files / "old.csv", recipe=tables.Recipe(**model.preparation_)).X
    np.testing.assert_allclose(model.X_fit_[:90], scaled)


def test_json_and_force(files):
    model = files / "m.lowdim"
    wanted = ["update", model, files / "new.csv", "-o", files / "all.csv", "--model", model]
    assert run(*wanted).exit_code == 4
    result = run(*wanted, "--force", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["objects"] == 100
    assert facts["added"] == 10
    assert facts["fresh_fit_due"] is False
    assert len(lowdim.load(model).embedding_) == 100


def test_methods_that_cannot_grow_are_refused_in_one_line(files):
    model = files / "sammon.lowdim"
    lowdim.Sammon(max_iter=2).fit(np.eye(6, 3)).save(model)
    result = run("update", model, files / "new.csv", "-o", files / "all.csv")
    assert result.exit_code == 3
    assert "Sammon has no update" in result.stderr
    assert not (files / "all.csv").exists()
