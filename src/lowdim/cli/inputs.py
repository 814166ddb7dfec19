"""Options of every command that reads a file of objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from lowdim.cli.types import ParamType

Command = Callable[..., Any]


class Names(ParamType):
    """Column names, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        return [v.strip() for v in value.split(",")] if isinstance(value, str) else value


class Size(ParamType):
    """Width and height in pixels."""

    name = "width x height"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        match = re.fullmatch(r"([1-9]\d*)[x,]([1-9]\d*)", value) if isinstance(value, str) else None
        if match is None:
            raise click.BadParameter(f"{value!r} is not a size such as 32x32.")
        return int(match[1]), int(match[2])


_OPTIONS = (
    click.option(
        "--as",
        "kind",
        type=click.Choice(["auto", "vectors", "distances", "edges"]),
        default="auto",
        help="What the file holds: vectors, a square table of distances, or edges (one object, "
        "another, their distance). By default told from the content.",
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
        "metric that knows them.",
    ),
    click.option("--na", multiple=True, metavar="TEXT", help="A text that means a missing value."),
    click.option(
        "--standardize", is_flag=True, help="Bring every column to mean 0 and standard deviation 1."
    ),
    click.option(
        "--key", metavar="NAME", help="Which array of an NPZ, HDF5, AnnData or Matlab file."
    ),
    click.option("--delimiter", metavar="CHAR", help="Of a text file; told from it by default."),
    click.option("--encoding", metavar="NAME", help="Of a text file; UTF-8 by default."),
    click.option("--decimal", type=click.Choice([".", ","]), help="Of a text file."),
    click.option("--header/--no-header", default=None, help="Whether line 1 names the columns."),
    click.option(
        "--image-size", type=Size(), metavar="WxH", help="Size that the images of a folder get."
    ),
    click.option("--in-color", "color", is_flag=True, help="Read images in colour, not in grey."),
)
_KEYS = (
    "kind",
    "id",
    "labels",
    "features",
    "drop",
    "categorical",
    "missing",
    "na",
    "standardize",
    "key",
    "delimiter",
    "encoding",
    "decimal",
    "header",
    "image_size",
    "color",
)


def input_options(command: Command) -> Command:
    """How to read FILE."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def reading(values: dict[str, Any]) -> dict[str, Any]:
    """Take out of a command's values what `lowdim.data.read` takes."""
    told = {key: values.pop(key) for key in _KEYS}
    for key in ("labels", "features", "drop"):
        told[key] = [name for names in told[key] for name in names]
    if told["delimiter"] in ("\\t", "tab"):
        told["delimiter"] = "\t"
    return told
