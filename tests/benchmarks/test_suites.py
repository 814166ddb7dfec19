"""Another library's tests are run on our class, and counted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import suites


@pytest.fixture
def checkout(tmp_path):
    """A small library in the layout of umap-learn."""
    tests = tmp_path / "umap" / "tests"
    tests.mkdir(parents=True)
    (tmp_path / "umap" / "__init__.py").write_text("from umap.umap_ import UMAP\n")
    (tmp_path / "umap" / "umap_.py").write_text("class UMAP:\n    theirs = True\n")
    (tests / "__init__.py").write_text("")
    (tests / "conftest.py").write_text(
        "import pytest\nfrom umap import UMAP\n@pytest.fixture\ndef model(): return UMAP()\n"
    )
    (tests / "test_both.py").write_text(
        "from umap import UMAP\n"
        "import pytest\n"
        "def test_made(model): assert type(model) is UMAP\n"
        "def test_private(): assert UMAP().theirs\n"
        "def test_ours(): assert not hasattr(UMAP(), 'theirs')\n"
        "@pytest.mark.skip\n"
        "def test_skipped(): UMAP()\n"
    )
    (tests / "test_other.py").write_text("def test_nothing(): pass\n")
    return tmp_path


def test_the_table(checkout, capsys, monkeypatch):
    monkeypatch.setitem(suites.REASONS, "test_private", "private attribute")
    assert suites.main([str(checkout), "--ours"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| test_both.py | 2 / 1 | not run |" in lines
    assert "| all | 2 / 1 | 0 / 0 |" in lines
    assert "- test_both.py: test_private: private attribute" in lines
    assert not any("test_other" in line for line in lines)


def test_a_failure_without_a_reason_is_an_error(checkout, capsys):
    assert suites.main([str(checkout)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "| test_both.py | 2 / 1 | 2 / 1 |" in lines
    assert "- test_both.py: test_private: not explained" in lines


def test_names_of_parameters_are_translated():
    class Ours:
        def __init__(self, max_iter=0):
            self.max_iter = max_iter

    renamed = suites._with_names(Ours, {"n_iter": "max_iter", "neighbors": None})
    assert renamed(n_iter=5, neighbors="exact").max_iter == 5
    assert suites._with_names(Ours, {}) is Ours


def test_another_folder(tmp_path):
    with pytest.raises(SystemExit):
        suites.main([str(tmp_path)])
