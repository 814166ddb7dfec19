"""Files of objects: the options of reading them, their labels, and the checks of outputs."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from lowdim.checks import did_you_mean
from lowdim.cli.blocked import read_in_blocks
from lowdim.cli.console import Command, Console, combine
from lowdim.cli.names import Names, Size
from lowdim.cli.parameters import option_words
from lowdim.estimator import docstrings
from lowdim.messages import collect_warnings
from lowdim.runtime.atomic import check_writable
from lowdim.tables import Recipe, Table, read, write
from lowdim.tables.errors import join_names
from lowdim.tables.formats import FORMATS
from lowdim.tables.writing import writer_for

FILE = click.Path(path_type=Path)
force_option = click.option("--force", "-f", is_flag=True, help="Replace outputs that exist.")
color_option = click.option(
    "--color-by", metavar="COLUMN", help="Column to colour by, used for the map or not."
)
_FLAGS = {"kind": "--as", "labels": "--label", "color": "--in-color"}
_SEVERAL = ("labels", "features", "drop", "na")
_TYPES: dict[str, Any] = {
    "format": click.Choice(FORMATS),
    "labels": Names(),
    "features": Names(),
    "drop": Names(),
    "image_size": Size(),
}


def _input_option(name: str, default: Any) -> Command:
    """The option for an argument of `lowdim.tables.read`."""
    entry = docstrings.parameters(read)[name]
    flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
    if name == "header":
        flag = "--header/--no-header"
    choices = click.Choice(entry.choices) if entry.choices else None
    return click.option(
        flag,
        name,
        type=_TYPES.get(name, choices),
        multiple=name in _SEVERAL,
        default=default,
        show_default=isinstance(default, str),
        is_flag=default is False or name == "header",
        help=entry.text,
    )


INPUTS = {
    name: parameter.default
    for name, parameter in inspect.signature(read).parameters.items()
    if name not in ("path", "recipe")
}
"""The arguments of `lowdim.tables.read` that are options, with their defaults."""


input_options = combine(*(_input_option(name, default) for name, default in INPUTS.items()))


def stem_of(file: Path) -> str:
    """The beginning of the names of files that a command makes of a file."""
    if str(file) == "-" or (file.exists() and not file.is_file() and not file.is_dir()):
        return "map"
    return file.name.partition(".")[0] or "map"


def read_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """Take the arguments of `lowdim.tables.read` out of the values of a command."""
    arguments = {name: values.pop(name) for name in INPUTS}
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
        if name in INPUTS and explicit and isinstance(option, click.Option):
            value = context.params[name]
            for one in value if option.multiple else [value]:
                words += option_words(option, one)
    return words


def read_table(
    file: Path, arguments: dict[str, Any], console: Console, recipe: Recipe | None = None
) -> Table:
    """Read the objects of a command and print how the file was understood."""
    with collect_warnings() as messages:
        large = read_in_blocks(file, recipe=recipe, **arguments)
        table = large or read(file, recipe=recipe, **arguments)
    console.say(str(table))
    table.notes += console.warn(messages)
    return table


def named_labels(table: Table, by: str | None) -> dict[str, Any] | None:
    """The column to colour by with its name, for the legend of a picture."""
    by = by or next(iter(table.labels), None)
    if by is None:
        return None
    return {by: table.labels[by] if by in table.labels else table.file_columns[by]}


def label_to_assess(table: Table, by: str | None) -> Any:
    """The label by which maps are assessed: the one that is named, or the first."""
    labels = {name: values for name, values in table.labels.items() if values.dtype.kind != "M"}
    values = labels.get(by or "", next(iter(labels.values()), None))
    if values is None or values.dtype != object:
        return values
    return ["missing" if v is None else v for v in values.tolist()]


def check_color(table: Table, by: str | None) -> None:
    """Raise if there is no column of the name that the picture is to be coloured by."""
    known = list(dict.fromkeys([*table.labels, *table.file_columns]))
    if by is None or by in known:
        return
    hint = did_you_mean(by, known) or f" The columns are {join_names(known)}."
    raise click.UsageError(f"--color-by: there is no column {by!r}.{hint}")


def check_outputs(
    force: bool, *files: Path | None, table: Path | None = None, picture: Path | None = None
) -> None:
    """Raise before the computing if its results could not be written after it."""
    if picture is not None:
        from lowdim.plot.canvas import require_matplotlib

        require_matplotlib()
        from matplotlib.backend_bases import FigureCanvasBase

        if picture.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
            raise click.UsageError(
                f"--plot: the name must end in a picture format, such as .png, .pdf or .svg, got "
                f"{picture.name!r}."
            )
    for path in (picture, *files, table):
        if path is not None:
            check_writable(path, force=force)
    if table is not None:
        writer_for(table)


def write_rows(path: Path, rows: Any, names: list[str], table: Table, force: bool) -> None:
    """Write a row for each object, with ids and labels if they are the objects of the table."""
    about: dict[str, Any] = {}
    if len(rows) == table.n_rows:
        about = {"ids": table.ids, "id_name": table.id_name, "labels": table.labels}
    write(path, rows, names=names, force=force, **about)
