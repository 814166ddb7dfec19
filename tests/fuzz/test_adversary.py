"""A small share of the attacks; `make fuzz` runs more of them."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import lowdim
from fuzz import model_files

ADVERSARY = Path(__file__).parent / "adversary.py"


@pytest.mark.parametrize(
    ("tries", "attacks"),
    [
        (10, ["threads", "kill"]),
        (20, ["signal", "checkpoint"]),
        (40, ["input", "dissimilarities", "refit", "update", "save"]),
        (100, ["new_objects", "coordinates", "parameter", "graph", "search", "geodesics"]),
        (200, ["table"]),
        (400, ["model_file"]),
    ],
    ids=str,
)
def test_attacks(tries, attacks):
    command = [sys.executable, str(ADVERSARY), "--tries", str(tries)]
    for attack in attacks:
        command += ["--only", attack]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tries * len(attacks)} tries, 0 failures" in done.stdout


@pytest.mark.filterwarnings("ignore")
def test_a_model_without_one_of_its_entries(tmp_path):
    """It is refused, or it is a model that works without the entry."""
    path = tmp_path / "model"
    for name, estimator, new in model_files.models():
        estimator.save(path)
        members = model_files.contents(path)
        for entry in json.loads(members["model.json"])["model"]["state"]:
            document = json.loads(members["model.json"])
            del document["model"]["state"][entry]
            model_files.write(path, {**members, "model.json": json.dumps(document).encode()})
            with suppress(ValueError):  # of `load`, or of `transform` on a model that is refused
                assert len(lowdim.load(path).transform(new)), (name, entry)
