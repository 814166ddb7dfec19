"""`lowdim transform`: new objects onto a map that is there."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.files import (
    check_outputs,
    input_options,
    model_arguments,
    read_arguments,
    read_table,
    stem_of,
    write_rows,
)
from lowdim.cli.names import alias
from lowdim.cli.resources import resource_options

if TYPE_CHECKING:
    from lowdim.tables import Table


def model_and_objects(
    model: Path,
    file: Path,
    output: Path | None,
    force: bool,
    console: Console,
    values: dict[str, Any],
) -> tuple[Any, Table, Path]:
    """The estimator of a model, new objects prepared as its own were, and the file to write."""
    import lowdim
    from lowdim import tables

    arguments = read_arguments(values)
    estimator = lowdim.load(model)
    output = output or Path(f"{stem_of(file)}-{alias(type(estimator).__name__)}.csv")
    check_outputs(force, table=output)
    if arguments["kind"] == "auto":
        arguments["kind"] = "vectors"  # distances to the objects of the model are not symmetric
    recipe = tables.Recipe.of_model(estimator)
    return estimator, read_table(file, arguments, console, recipe), output


@click.command()
@model_arguments("File for the coordinates. By default FILE-METHOD.csv in this folder.")
@input_options
@resource_options
@output_options
def transform(
    model: Path,
    file: Path,
    output: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Place the objects in FILE on the map of MODEL.

    MODEL was saved by `lowdim embed --model`, which remembers the columns and what was done to
    them, or by an estimator's `save` in Python.
    """
    from lowdim.cli.errors import refuse_errors
    from lowdim.runtime.interrupts import defer_interrupts

    console = Console(quiet, as_json)
    estimator, table, output = model_and_objects(model, file, output, force, console, values)
    name = type(estimator).__name__
    start = perf_counter()
    with refuse_errors(name):
        Y = estimator.transform(table.X)
    seconds = perf_counter() - start
    names = [f"{alias(name)}{i}" for i in range(Y.shape[1])]
    with defer_interrupts():
        write_rows(output, Y, names, table, force)
        console.say(f"{name}: placed {len(Y):,} objects in {seconds:.2f} s\nmap      {output}")
        console.record(method=name, objects=len(Y), seconds=seconds, outputs=[str(output)])
        console.finish()
