"""The README is true: its sample runs, and its table names every method."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lowdim.catalog import CATALOG

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_sample_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sample = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(sample.group(1), names)
    assert names["tsne"].embedding_.shape == (1797, 2)
    assert (tmp_path / "digits.png").stat().st_size > 10_000
    assert (tmp_path / "digits.lowdim").exists()


@pytest.mark.parametrize("method", CATALOG, ids=lambda method: method.name)
def test_the_table_names_every_method(method):
    assert re.search(rf"^\| `{method.name}`", README, re.MULTILINE)
