"""Files of objects: the options of reading them, and the checks and formats of outputs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.console import Console
from lowdim.cli.parameters import option_words
from lowdim.cli.types import Names, Size
from lowdim.tables.formats import FORMATS

if TYPE_CHECKING:
    from lowdim.tables import Recipe, Table

Command = Callable[..., Any]


_OPTIONS = (
    click.option(
        "--as",
        "kind",
        type=click.Choice(["auto", "vectors", "distances", "edges"]),
        default="auto",
        help="What the file holds: vectors, a square table of distances, or edges (one object, "
        "another, their distance). By default guessed from the content.",
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="What the file is, whatever its name; for pipes, guessed from the first bytes.",
    ),
    click.option("--id", "id", metavar="COLUMN", help="Column that names the objects."),
    click.option(
        "--label", "labels", type=Names(), multiple=True, help="Columns to carry through as labels."
    ),
    click.option(
        "--features", type=Names(), multiple=True, help="Columns to use, such as 'pixel*'."
    ),
    click.option("--drop", type=Names(), multiple=True, help="Columns to leave out."),
    click.option(
        "--categorical",
        type=click.Choice(["label", "ignore", "onehot", "gower"]),
        default="label",
        show_default=True,
        help="Columns of text: carry through, ignore, use as columns of zeros and ones, or use by "
        "Gower's distance.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop", "mean", "keep"]),
        default="error",
        show_default=True,
        help="Missing values: refuse, drop their rows, fill with the column's mean, or keep for a "
        "metric that accepts them.",
    ),
    click.option("--na", multiple=True, metavar="TEXT", help="A text that means a missing value."),
    click.option(
        "--standardize", is_flag=True, help="Bring every column to mean 0 and standard deviation 1."
    ),
    click.option(
        "--key", metavar="NAME", help="Which array of an NPZ, HDF5, AnnData or Matlab file."
    ),
    click.option("--delimiter", metavar="CHAR", help="Of a text file; guessed by default."),
    click.option("--encoding", metavar="NAME", help="Of a text file; UTF-8 by default."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Of a text file."),
    click.option("--header/--no-header", default=None, help="Whether line 1 names the columns."),
    click.option(
        "--image-size", type=Size(), metavar="WxH", help="Size that the images of a folder get."
    ),
    click.option("--in-color", "color", is_flag=True, help="Read images in colour, not in grey."),
)


def input_options(command: Command) -> Command:
    """Add the options of reading a file to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def model_arguments(output_help: str) -> Callable[[Command], Command]:
    """Add MODEL, FILE, --output and --force to a command that uses a saved model."""
    parts = (
        click.argument("model", type=click.Path(path_type=Path)),
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("-o", "--output", type=click.Path(path_type=Path), help=output_help),
        click.option("--force", "-f", is_flag=True, help="Replace an output that exists."),
    )

    def add(command: Command) -> Command:
        for part in reversed(parts):
            command = part(command)
        return command

    return add


def stem_of(file: Path) -> str:
    """The beginning of the names of files that a command makes of a file."""
    if str(file) == "-" or (file.exists() and not file.is_file() and not file.is_dir()):
        return "map"
    return file.name.partition(".")[0] or "map"


def read_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """Take the arguments of `lowdim.tables.read` out of the values of a command."""
    from lowdim.tables import read

    known = inspect.signature(read).parameters
    arguments = {name: values.pop(name) for name in known if name in values}
    for key in ("labels", "features", "drop"):
        arguments[key] = [name for names in arguments[key] for name in names]
    if arguments["delimiter"] in ("\\t", "tab"):
        arguments["delimiter"] = "\t"
    return arguments


def input_words(context: click.Context) -> list[str]:
    """The options of reading a file that are on the command line, to be typed again."""
    words: list[str] = []
    for option in context.command.params:
        name = option.name or ""
        explicit = context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
        if name not in _INPUTS or not explicit or not isinstance(option, click.Option):
            continue
        value = context.params[name]
        for one in value if option.multiple else [value]:
            words += option_words(option, one)
    return words


_INPUTS = {
    parameter.name for parameter in getattr(input_options(lambda: None), "__click_params__", ())
}


def read_table(
    file: Path, arguments: dict[str, Any], console: Console, recipe: Recipe | None = None
) -> Table:
    """Read the objects of a command and print how the file was understood."""
    from lowdim import tables
    from lowdim.tables.blocked import read_in_blocks

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        large = read_in_blocks(file, recipe=recipe, **arguments)
        table = large or tables.read(file, recipe=recipe, **arguments)
    console.say(str(table))
    table.notes += console.warn(str(w.message) for w in caught)
    return table


def check_outputs(
    force: bool, *files: Path | None, table: Path | None = None, picture: Path | None = None
) -> None:
    """Raise before the computing if its results could not be written after it."""
    from lowdim.runtime.atomic import check_writable
    from lowdim.tables.writing import writer_for

    if picture is not None:
        from lowdim.plot.canvas import require_matplotlib

        require_matplotlib()
    for path in (picture, *files, table):
        if path is not None:
            check_writable(path, force=force)
    if table is not None:
        writer_for(table)


def write_rows(path: Path, rows: Any, names: list[str], table: Table, force: bool) -> None:
    """Write a row for each object of a table, with its ids and labels."""
    from lowdim import tables

    about: Any = {"ids": table.ids, "id_name": table.id_name, "labels": table.labels}
    tables.write(path, rows, names=names, force=force, **about)
