"""The profile of a fit by its steps."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import scaling


@pytest.mark.parametrize("place", [p for places in scaling.STEPS.values() for p in places])
def test_every_step_is_a_function_of_the_library(place):
    module, path = place.split(":")
    found = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    assert callable(found)


def test_steps_are_counted_without_the_steps_inside_them(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    clock = scaling.Clock()

    def inner():
        now[0] += 2

    def outer():
        now[0] += 1
        clock.timed("inner", inner)()
        clock.timed("inner", inner)()

    clock.timed("outer", outer)()
    assert clock.seconds == {"inner": 4.0, "outer": 1.0}
    columns = {1: {**clock.seconds, "total": 5.0}, 2: {"inner": 1.0, "outer": 1.0, "total": 2.0}}
    monkeypatch.setattr(scaling, "STEPS", {"inner": [], "outer": []})
    assert "| inner | 4.000 | 1.000 | 4.0 |" in scaling.table("job", 10, columns)


def test_steps_of_a_fit_are_found_wherever_it_calls_them():
    command = [sys.executable, "-m", "benchmarks", "scaling", "umap-500", "--threads", "1"]
    done = subprocess.run([*command, "--cpu"], cwd=scaling.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for step in ("exact search", "memberships", "epochs"):
        assert f"| {step} |" in done.stdout
