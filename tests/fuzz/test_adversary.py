"""A small share of the attacks; `make fuzz` runs more of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ADVERSARY = Path(__file__).parent / "adversary.py"


@pytest.mark.parametrize(
    ("attack", "tries"),
    [
        ("model_file", 600),
        ("input", 60),
        ("dissimilarities", 40),
        ("new_objects", 100),
        ("coordinates", 100),
        ("parameter", 100),
        ("graph", 100),
        ("signal", 20),
        ("threads", 10),
        ("refit", 40),
        ("update", 40),
        ("table", 200),
    ],
)
def test_attacks(attack, tries):
    command = [sys.executable, str(ADVERSARY), "--only", attack, "--tries", str(tries)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tries} tries, 0 failures" in done.stdout
