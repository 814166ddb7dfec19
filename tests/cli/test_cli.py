import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import lowdim.plot.canvas
from lowdim import tables
from lowdim.catalog import CATALOG
from lowdim.cli import main
from lowdim.cli.demo import PICTURES
from lowdim.cli.errors import EXIT_CODES
from lowdim.cli.names import alias


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", PICTURES)
def test_demo_draws_the_picture_and_says_what_to_see(name, tmp_path):
    folder = tmp_path / "not" / "there" / "yet"
    result = run("demo", name, "--output", folder)
    assert result.exit_code == 0, result.output
    assert [path.name for path in folder.iterdir()] == [f"{name}.png"]
    data = (folder / f"{name}.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) > 20_000
    (line,) = result.stdout.splitlines()
    assert line.startswith(str(folder / f"{name}.png"))
    assert re.search(r"  \d+\.\d s  ", line)
    assert line.endswith(PICTURES[name].sight)
    assert result.stderr == ""


def test_demo_help_names_every_picture():
    text = run("demo", "--help").output
    assert all(name in text for name in PICTURES)


def test_demo_without_a_name_draws_all(tmp_path, monkeypatch):
    drawn = []

    def draw(name, folder):
        drawn.append(name)
        return folder / name, 0.0, ""

    monkeypatch.setattr("lowdim.cli.demo.draw", draw)
    result = run("demo", "-o", tmp_path)
    assert result.exit_code == 0
    assert drawn == list(PICTURES)
    assert len(result.stdout.splitlines()) == len(PICTURES) + 2
    table = tables.read(tmp_path / "digits.csv")
    assert table.X.shape == (1797, 64)
    assert set(table.labels) == {"digit"}
    assert tables.read(tmp_path / "wines.csv").X.shape == (178, 13)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["demo", "mona-lisa"], 2, "no picture is called 'mona-lisa': choose swiss-roll"),
        (["paint"], 2, "No such command 'paint'"),
        (["demo", "--colour"], 2, "No such option"),
        (["demo", "cities", "extra"], 2, "unexpected extra argument"),
    ],
)
def test_errors_are_one_line_and_a_code(arguments, code, message):
    result = run(*arguments)
    assert result.exit_code == code
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("lowdim: ")
    assert message in line


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    result = run("demo", "cities", "--output", file / "folder")
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert str(file) in line


@pytest.mark.parametrize(
    ("failure", "code", "text"),
    [
        (ValueError("two\nlines"), 3, "lowdim: two lines"),
        (MemoryError("D needs 9 GB"), 5, "lowdim: D needs 9 GB"),
        (MemoryError(), 5, "lowdim: there is not enough memory for this. Take fewer objects, or "),
        (ImportError("pip install it"), 6, "lowdim: pip install it"),
        (PermissionError(13, "Permission denied", "f"), 1, "lowdim: f: Permission denied"),
        (KeyError("k"), 1, "lowdim: KeyError: 'k' (--debug shows the traceback)"),
        (KeyboardInterrupt(), 130, "lowdim: interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_failures_inside_are_one_line(failure, code, text, tmp_path, monkeypatch):
    def fail(*_):
        raise failure

    monkeypatch.setattr("lowdim.cli.demo.draw", fail)
    result = run("demo", "cities", "-o", tmp_path)
    assert result.exit_code == code
    (line,) = result.stderr.strip().splitlines()  # click ends the line on which ^C stands
    assert line.startswith(text)


def test_without_matplotlib_the_demo_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(lowdim.plot.canvas.importlib.util, "find_spec", lambda name: None)
    result = run("demo", "cities", "-o", tmp_path)
    assert result.exit_code == 6
    assert 'pip install "lowdim[plot]"' in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_methods_prints_every_row_of_the_catalog():
    result = run("methods")
    assert result.exit_code == 0
    blocks = re.split(r"\n(?=\S)", result.stdout.strip())
    assert len(blocks) == len(CATALOG)
    for block, method in zip(blocks, CATALOG, strict=True):
        assert block.startswith(f"{method.name} ({method.family}; -m {alias(method.name)})")
        row = (
            method.sentence,
            method.keeps,
            method.when,
            method.cost,
            method.extends,
            method.paper,
        )
        for text in row:
            assert text in block


def test_methods_of_one_name_shows_its_parameters_and_json_the_table():
    result = run("methods", "LLE")
    assert result.stdout.startswith("LocallyLinearEmbedding (")
    assert "n_neighbors = 5" in result.stdout
    table = json.loads(run("methods", "--json").stdout)["methods"]
    assert [row["name"] for row in table] == [method.name for method in CATALOG]
    assert run("methods", "nonsense").exit_code == 2


def test_help_explains_the_exit_codes():
    text = run("--help").output
    assert all(meaning[:30] in text for meaning in EXIT_CODES.values())


def test_versions():
    result = run("versions")
    assert result.exit_code == 0
    assert re.search(r"^lowdim +\d", result.stdout, re.MULTILINE)
    assert re.search(rf"^numpy +{re.escape(np.__version__)}$", result.stdout, re.MULTILINE)


@pytest.mark.parametrize(("variable", "value"), [("DEVICE", "gpu"), ("NUM_THREADS", "two")])
def test_versions_are_shown_although_the_environment_is_wrong(monkeypatch, variable, value):
    monkeypatch.setenv(f"LOWDIM_{variable}", value)
    result = run("versions")
    assert result.exit_code == 0
    assert f"LOWDIM_{variable} must be" in result.stdout


def test_no_command_prints_the_help():
    result = run()
    assert result.exit_code == 0
    assert all(command in result.stdout for command in ("demo", "embed", "methods", "versions"))


def test_the_module_is_the_command():
    result = subprocess.run(
        [sys.executable, "-m", "lowdim", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == f"lowdim, version {lowdim.__version__}"
