"""Without a compiler, `make` says in one line what to install."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_a_missing_compiler_is_one_line(tmp_path):
    for name in ("Makefile", "pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "cpp").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text("#!/bin/sh\ntouch pip-was-called\n")
    python.chmod(0o755)
    command = ["make", "-s", "demo", "CXX=/none/c++"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert line.startswith("lowdim needs a C++20 compiler to be built, and none was found: ")
    assert done.stdout == ""
    assert not (tmp_path / "pip-was-called").exists()
