"""The library speaks of Python arguments, the command line of its options."""

import ast
import inspect
import re
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import lowdim
from lowdim import tables
from lowdim.catalog import CATALOG, find
from lowdim.cli import main
from lowdim.cli.embed import embed
from lowdim.cli.parameters import spell_option
from lowdim.messages import argument, spell_arguments
from lowdim.tables import columns, reading

LIBRARY = sorted(
    path
    for path in Path(lowdim.__file__).parent.rglob("*.py")
    if "cli" not in path.relative_to(Path(lowdim.__file__).parent).parts
)


@pytest.fixture
def options():
    """The options of `lowdim embed -m isomap`, by argument, inside of that command."""
    context = click.Context(embed)
    context.meta["lowdim.methods"] = [find("Isomap")]
    with context:
        yield {option.name.removeprefix("param_"): option for option in embed.get_params(context)}


def test_the_library_names_no_option():
    from lowdim.cli.files import input_options

    flags = [flag for p in input_options(lambda: 0).__click_params__ for flag in p.opts]
    option = re.compile("|".join(f"{flag}\\b" for flag in [*flags, "--force"]))
    assert LIBRARY
    assert [
        (path.name, name) for path in LIBRARY for name in option.findall(path.read_text())
    ] == []


@pytest.mark.parametrize(
    ("words", "in_python", "as_option"),
    [
        (["n_neighbors"], "n_neighbors", "--n-neighbors"),
        (["n_neighbors", 9], "n_neighbors=9", "--n-neighbors 9"),
        (["labels", ...], "labels=", "--label"),
        (["missing", "drop"], "missing='drop'", "--missing drop"),
        (["kind", "edges"], "kind='edges'", "--as edges"),
        (["drop", ["a b", "it's"]], "drop=['a b', \"it's\"]", "--drop 'a b,it'\"'\"'s'"),
        (["delimiter", "|"], "delimiter='|'", "--delimiter '|'"),
        (["standardize", True], "standardize=True", "--standardize"),
        (["header", False], "header=False", "--no-header"),
        (["header", True], "header=True", "--header"),
        (["image_size", (32, 32)], "image_size=(32, 32)", "--image-size 32x32"),
        (["n_landmarks", None], "n_landmarks=None", "--n-landmarks none"),
        (["perplexity", 9], "perplexity=9", "perplexity=9"),  # Isomap does not have it
    ],
)
def test_an_argument_is_spelled_as_the_user_gives_it(words, in_python, as_option, options):
    assert argument(*words) == in_python
    with spell_arguments(spell_option):
        assert argument(*words) == as_option
    assert argument(*words) == in_python


def test_every_argument_of_read_has_an_option_with_the_same_choices(options):
    known = {
        "kind": reading.KINDS,
        "categorical": columns.CATEGORICAL,
        "missing": columns.MISSING_POLICIES,
    }
    for name in inspect.signature(tables.read).parameters:
        if name not in ("path", "recipe"):
            assert name in options
        if name in known:
            assert tuple(options[name].type.choices) == known[name]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a,b\n1,\n3,4\n5,6\n", [], "Set --missing drop"),
        ("a,b\n1,x\n3,4\n5,6\n", [], "(--na x), or leave the column out (--drop b)"),
        ("a,b\n1,2\n3,4\n5,6\n", ["--n-neighbors", "9"], "got --n-neighbors 9 for"),
        ("a,b\n1,2\n3,4\n", ["--label", "c"], "--label: t.csv has no column 'c'"),
        ("a;b\n1;2\n3;4\n", ["--delimiter", "|"], "--delimiter '|' does not occur"),
    ],
)
def test_errors_of_a_command_name_its_options(text, arguments, message, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    command = ["embed", str(tmp_path / "t.csv"), "-m", "isomap", "-q", *arguments]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 3
    assert message in result.stderr


def test_a_parameter_of_the_method_is_not_taken_for_an_option_of_the_command(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    command = ["embed", str(tmp_path / "t.csv"), "-m", "tsne", "-q", "--perplexity", "1"]
    result = CliRunner().invoke(main, [*command, "--method", "tree"])
    assert result.exit_code == 3
    assert "--method must be one of 'auto'" in result.stderr


def test_notes_and_the_report_name_options(tmp_path):
    rows = np.random.RandomState(0).uniform(size=(40, 3))
    ids = [f"r{i}" for i in range(40)]
    tables.write(tmp_path / "t.csv", rows, ids=ids, labels={"kind": ["u", "v"] * 20})
    command = ["compare", tmp_path / "t.csv", "-m", "pca", "--report", tmp_path / "r.html"]
    result = CliRunner().invoke(main, [str(part) for part in command])
    assert result.exit_code == 0, result.output
    for note in ("(change with --id or --drop)", "--categorical onehot or --categorical gower"):
        assert note in result.stderr
        assert note in (tmp_path / "r.html").read_text(encoding="utf-8")


def messages(path):
    """Line and text of each error and warning in a file, without values in braces and calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if isinstance(node, ast.Raise) or name in ("warn", "claim"):
            parts = [one for given in call.args for one in getattr(given, "values", [given])]
            texts = [one.value for one in parts if isinstance(one, ast.Constant)]
            text = "".join(one for one in texts if isinstance(one, str))
            yield node.lineno, re.sub(r"\w+\([^()]*\)", "", text)


def test_messages_of_methods_leave_the_spelling_of_arguments_to_the_interface():
    parameters = {
        name for method in CATALOG for name in inspect.signature(method.load()).parameters
    }
    spelled = re.compile(rf"\b({'|'.join(sorted(parameters))})=")
    wrong = [
        f"{path.name}:{line}: {text}"
        for path in LIBRARY
        if not {"studio", "plot", "notebook.py"} & {*path.parts}
        for line, text in messages(path)
        if spelled.search(text)
    ]
    assert wrong == []
