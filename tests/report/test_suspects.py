"""Suspects are listed in the report, by `lowdim assess` and with a reason in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lowdim
from lowdim.cli import main

X, y = lowdim.data.clusters(80, random_state=0)
y = y.copy()
y[5] = 3  # wrong


def test_the_report_lists_them(tmp_path: Path) -> None:
    names = [f"object {row}" for row in range(80)]
    path = lowdim.report.write(
        tmp_path / "report.html", [lowdim.PCA(2).fit(X)], X=X, labels={"cluster": y}, ids=names
    )
    page = path.read_text(encoding="utf-8")
    section = page[page.index("Objects to look at") :]
    assert section.index("object 5<") < 1500
    assert "nearest neighbours in the data" in section


@pytest.mark.parametrize("labels", [None, X[:, 0], np.arange(80), np.zeros(80)])
def test_without_classes_there_are_none(tmp_path: Path, labels: object) -> None:
    path = lowdim.report.write(tmp_path / "report.html", [X[:, :2]], X=X, labels=labels)
    assert "Objects to look at" not in path.read_text(encoding="utf-8")


def test_assess_prints_them(tmp_path: Path) -> None:
    lowdim.tables.write(tmp_path / "data.csv", X, labels={"label": y})
    np.save(tmp_path / "map.npy", X[:, :2])
    command = ["assess", str(tmp_path / "data.csv"), str(tmp_path / "map.npy")]
    answer = CliRunner().invoke(main, command)
    assert answer.exit_code == 0, answer.output
    assert "suspects among 80 objects" in answer.output
    found = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)["suspects"]
    assert found[0]["object"] == 5
    assert (found[0]["label"], found[0]["suggested"]) == ("3", "0")


def test_the_reason_is_a_sentence() -> None:
    found = lowdim.quality.suspects(X, y)
    at = found.objects.tolist().index(5)
    same = found.n_same[at] or "none"
    assert found.why(at).endswith(f'have the label "0", {same} "3".')
