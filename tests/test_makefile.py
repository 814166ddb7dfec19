"""What `make` installs; without a compiler, it says in one line what to install."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.mark.parametrize(
    ("target", "extras"), [("demo", {"io", "plot", "studio"}), ("test", {"test"})]
)
def test_the_demo_installs_what_it_uses_and_the_tests_add_theirs(tmp_path, target, extras):
    command = ["make", "-n", target, f"VENV={tmp_path}"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = re.findall(r"'(?:\.|lowdim)\[([a-z,]+)\]'", lines)
    assert named[0] == "io,plot,studio"
    assert set(named[-1].split(",")) == extras


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
