"""The library speaks of Python arguments, the command line of its options."""

import inspect
import re
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import lowdim
from lowdim import tables
from lowdim.catalog import find
from lowdim.cli import main
from lowdim.cli.embed import embed
from lowdim.cli.messages import in_options, note_in_options, options_of
from lowdim.tables import columns, reading

LIBRARY = sorted(
    path
    for path in Path(lowdim.__file__).parent.rglob("*.py")
    if "cli" not in path.relative_to(Path(lowdim.__file__).parent).parts
)


@pytest.fixture
def options():
    """The options of `lowdim embed -m isomap`, by argument."""
    context = click.Context(embed)
    context.meta["lowdim.methods"] = [find("Isomap")]
    return options_of(context)


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.name)
def test_the_library_names_no_option(path):
    from lowdim.cli.inputs import input_options

    flags = [flag for p in input_options(lambda: 0).__click_params__ for flag in p.opts]
    found = re.findall("|".join(f"{flag}\\b" for flag in [*flags, "--force"]), path.read_text())
    assert found == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('Set missing="drop" to leave them out.', "Set --missing drop to leave them out."),
        ("drop=['a b', \"it's\"].", "--drop 'a b,it'\"'\"'s'."),
        ('read it with kind="edges"', "read it with --as edges"),
        ("standardize=True gives", "--standardize gives"),
        ("header=False or header=True", "--no-header or --header"),
        ("with image_size=(32, 32) for instance", "with --image-size 32x32 for instance"),
        ("(change with id= or drop=)", "(change with --id or --drop)"),
        ("Choose one of labels=.", "Choose one of --label."),
        ("n_landmarks=None", "--n-landmarks none"),
        ("replace it with force=True.", "replace it with --force."),
    ],
)
def test_assigned_arguments_become_options(said, expected, options):
    assert note_in_options(said, options) == expected
    assert in_options(said, options) == expected


@pytest.mark.parametrize(
    "note",
    [
        "3 features: kind=rose, id=7, n_neighbors",
        "column 'missing=' is text",
        "/tmp/key=1/x.csv: 3 objects",
        "labels and features of the data",
        "fitted.n_landmarks=3",
    ],
)
def test_what_the_user_named_is_left_alone(note, options):
    assert note_in_options(note, options) == note


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("n_neighbors must be at most 9", "--n-neighbors must be at most 9"),
        ("Isomap: metric must be a name", "Isomap: --metric must be a name"),
        ("got n_neighbors=9, n_jobs=-1.", "got --n-neighbors 9, --n-jobs -1."),
        ("labels: t.csv has no column 'x'", "--label: t.csv has no column 'x'"),
        ("The metric is not Euclidean: n_neighbors counts", None),
        ("column 'n_neighbors' is text", "column 'n_neighbors' is text"),
        ("n_components_ and NeighborGraph.n_neighbors", None),
    ],
)
def test_names_of_arguments_become_options(said, expected, options):
    if expected is None:
        expected = re.sub(r"(?<=: )n_neighbors", "--n-neighbors", said)
    assert in_options(said, options) == expected


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
