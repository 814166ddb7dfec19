"""Our side of every benchmark runs, on small data, and its quality is measured."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.cases import CASES, Where, prepare_graph
from benchmarks.worker import measure

N = 200


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    """Digits in the place of the images of clothes."""
    where = Where(tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("cache"))
    images, labels = load_digits(return_X_y=True)
    np.savez(where.fashion, X=np.tile(images, (1, 2)), y=labels)
    return where


# The metric learners take the whole of a data set: the smallest is enough.
LARGE = re.compile("(nca|lmnn|itml)-(?!wine)")
SMALL = [case for case in CASES if not LARGE.match(case.name)]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_our_side_runs(case, where, monkeypatch):
    monkeypatch.setattr("benchmarks.worker.WARM_UP", N)
    if case.needs_graph:
        prepare_graph(N, where)
    found = measure(case.name, "ours", min(case.size, N), where)
    assert found["quality"]
    assert all(math.isfinite(value) for value in found["quality"].values())
