"""The documentation is true: its samples and commands run, and every method has its page."""

from __future__ import annotations

import ast
import inspect
import re
import runpy
import shlex
import textwrap
import tomllib
import types
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lowdim
from lowdim import quality
from lowdim.catalog import CATALOG
from lowdim.cli import main
from lowdim.cli.demo import write_wines
from lowdim.estimator import docstrings
from lowdim.runtime.callbacks import Monitor

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted([*DOCS.glob("*.rst"), *(DOCS / "api").glob("*.rst")])
WRITTEN = tomllib.loads((DOCS / "methods.toml").read_text(encoding="utf-8"))
BLOCK = re.compile(r"^\.\. (picture|code-block):: *(\S+)\n((?: {3}.*\n|\n)*)", re.MULTILINE)


def blocks(page: Path, *kinds: str) -> list[str]:
    """The code of a page's blocks: pictures, and code-blocks of the languages named."""
    found = []
    for kind, name, body in BLOCK.findall(page.read_text(encoding="utf-8") + "\n"):
        if (kind if kind == "picture" else name) in kinds:
            lines = textwrap.dedent(body).split("\n")
            found.append("\n".join(line for line in lines if not re.match(r":\w+: ", line)))
    return found


def with_blocks(*kinds: str) -> list[Path]:
    """The pages that have such blocks."""
    return [page for page in PAGES if blocks(page, *kinds)]


@pytest.fixture(autouse=True)
def short_fits(monkeypatch):
    """Samples must run; how good their maps are is tested elsewhere."""

    def stop(self, iteration, loss, embedding):
        self.stopped = iteration >= 20
        return self.stopped

    monkeypatch.setattr(Monitor, "__call__", stop)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with the files that the pages name, and small stand-ins for the real images."""
    write_wines(tmp_path)
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)

    def images(n, side):
        return random.integers(0, 255, (n, side * side), dtype=np.uint8)

    poses = random.standard_normal((60, 3))
    monkeypatch.setattr(lowdim.data, "faces", lambda: (images(60, 32), poses))
    monkeypatch.setattr(lowdim.data, "coil20", lambda: (images(80, 32), np.arange(80) % 20))
    monkeypatch.setattr(
        lowdim.data, "fashion_mnist", lambda n: (images(100, 28), np.arange(100) % 10)
    )
    return tmp_path


@pytest.mark.parametrize("page", with_blocks("python", "picture"), ids=lambda page: page.stem)
def test_the_samples_run(page, files, capsys):
    names: dict[str, object] = {}
    for code in blocks(page, "python", "picture"):
        exec(compile(code, page.name, "exec"), names)


@pytest.mark.parametrize("page", with_blocks("console"), ids=lambda page: page.stem)
def test_the_commands_run(page, files):
    commands = [line for block in blocks(page, "console") for line in block.splitlines() if line]
    for command in commands:
        assert command.startswith("$ lowdim ")
        answer = CliRunner().invoke(main, shlex.split(command)[2:])
        assert answer.exit_code == 0, f"{command}\n{answer.output}"


@pytest.mark.parametrize("command", main.commands)
def test_every_command_is_described(command):
    text = (DOCS / "cli.rst").read_text(encoding="utf-8")
    assert f"\n.. command:: {command}\n" in text


@pytest.mark.parametrize("method", CATALOG, ids=lambda method: method.name)
def test_every_docstring_is_complete(method):
    """The page of a method shows its docstring: each parameter with its default, and references."""
    cls = method.load()
    described = docstrings.parameters(cls)
    for name, parameter in inspect.signature(cls).parameters.items():
        assert name in described, f"{name} is not described"
        default = described[name].type.partition("default=")[2]
        assert ast.literal_eval(default) == parameter.default, f"{name}: {described[name].type}"
    assert {"Attributes", "Notes", "References", "Examples"} <= set(
        docstrings.sections(cls.__doc__)
    )


def test_methods_of_one_module_have_pages_of_their_own():
    page_name = runpy.run_path(str(DOCS / "_ext" / "method_pages.py"))["page_name"]
    assert len({page_name(method) for method in CATALOG}) == len(CATALOG)


@pytest.mark.parametrize("method", CATALOG, ids=lambda method: method.name)
def test_every_method_has_a_page(method, files, capsys):
    text = WRITTEN[method.name]
    assert {"title", "idea", "objective", "avoid", "caption", "figure"} <= set(text)
    assert method.when
    names: dict[str, object] = {}
    exec(compile(text["figure"], method.name, "exec"), names)
    assert hasattr(names["figure"], "savefig") or hasattr(names["figure"], "figure")


def test_every_name_of_quality_is_on_one_page():
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "api").glob("quality*.rst"))
    listed = re.findall(r"^\.\. auto(?:function|class|data):: (\w+)$", pages, re.M)
    public = [name for name, value in vars(quality).items() if is_public(name, value)]
    assert sorted(listed) == sorted(public)


def is_public(name: str, value: object) -> bool:
    """Whether a name is one of a package: no module, and nothing private."""
    return not name.startswith("_") and not isinstance(value, types.ModuleType)


def test_a_picture_of_data_that_are_not_here_is_kept():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"^\.\. picture:: (\S+)\n   :data:", text, re.M):
            assert (DOCS / "images" / f"{name}.png").is_file()
