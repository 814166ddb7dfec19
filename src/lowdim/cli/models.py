"""`lowdim transform`, `update` and `decode`: what a saved model is for."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

from lowdim import tables
from lowdim.cli import files
from lowdim.cli.console import Command, Console, combine, output_options
from lowdim.cli.errors import refuse_errors
from lowdim.cli.names import alias
from lowdim.cli.resources import device_option, resource_options
from lowdim.estimator import persist
from lowdim.estimator.decoders import NearestObjects
from lowdim.estimator.updating import width
from lowdim.messages import collect_warnings
from lowdim.runtime.interrupts import defer_interrupts
from lowdim.tables import Table


def _model_arguments(output_help: str) -> Command:
    """Add MODEL, FILE, --output and --force to a command."""
    return combine(
        click.argument("model", type=files.FILE),
        click.argument("file", type=files.FILE),
        click.option("-o", "--output", type=files.FILE, help=output_help),
        files.force_option,
    )


def _model_and_objects(
    model: Path,
    file: Path,
    output: Path | None,
    force: bool,
    console: Console,
    values: dict[str, Any],
) -> tuple[Any, Table, Path]:
    """The estimator of a model, new objects prepared as its own were, and the file to write."""
    arguments = files.read_arguments(values)
    estimator = persist.load(model)
    output = output or Path(f"{files.stem_of(file)}-{alias(type(estimator).__name__)}.csv")
    files.check_outputs(force, table=output)
    if arguments["kind"] == "auto":
        arguments["kind"] = "vectors"  # distances to the objects of the model are not symmetric
    recipe = tables.Recipe.of_model(estimator)
    return estimator, files.read_table(file, arguments, console, recipe), output


@click.command()
@_model_arguments("File for the coordinates. By default FILE-METHOD.csv in this folder.")
@files.input_options
@resource_options
@output_options
def transform(
    model: Path, file: Path, output: Path | None, force: bool, console: Console, **values: Any
) -> None:
    """Place the objects in FILE on the map of MODEL.

    MODEL was saved by `lowdim embed --model`, which remembers the columns and what was done to
    them, or by an estimator's `save` in Python.
    """
    estimator, table, output = _model_and_objects(model, file, output, force, console, values)
    name = type(estimator).__name__
    start = perf_counter()
    with refuse_errors(name):
        Y = estimator.transform(table.X)
    seconds = perf_counter() - start
    names = [f"{alias(name)}{i}" for i in range(Y.shape[1])]
    with defer_interrupts():
        files.write_rows(output, Y, names, table, force)
        console.say(f"{name}: placed {len(Y):,} objects in {seconds:.2f} s\nmap      {output}")
        console.record(method=name, objects=len(Y), seconds=seconds, outputs=[str(output)])
        console.finish()


@click.command()
@_model_arguments("File for the coordinates of all objects. By default FILE-METHOD.csv here.")
@click.option(
    "--model",
    "grown",
    type=files.FILE,
    help="File for the model of all objects; it may be MODEL itself, with --force.",
)
@files.input_options
@device_option
@output_options
def update(
    model: Path,
    file: Path,
    output: Path | None,
    grown: Path | None,
    force: bool,
    console: Console,
    **values: Any,
) -> None:
    """Add the objects in FILE to the map of MODEL, near which the old ones stay.

    MODEL was saved by `lowdim embed --model` or by an estimator's `save` in Python. The result has
    the old objects, by their number, and then the new ones. The command prints how far the old
    objects have moved and whether a fresh fit is due.
    """
    files.check_outputs(force, grown)
    estimator, table, output = _model_and_objects(model, file, output, force, console, values)
    name = type(estimator).__name__
    start = perf_counter()
    before = getattr(estimator, "embedding_", np.empty((0, 0)))
    with collect_warnings() as messages, refuse_errors(name, AttributeError):
        estimator.update(table.X)
    seconds = perf_counter() - start
    Y, n = estimator.embedding_, len(before)
    moved = float(np.nanmedian(estimator.drift_)) / (width(before) or 1.0)
    due = estimator.drift_score_ > 1
    names = [f"{alias(name)}{i}" for i in range(Y.shape[1])]
    ids = None if table.ids is None else [*(f"old {i}" for i in range(n)), *table.ids]
    origin = {"origin": ["old"] * n + ["new"] * (len(Y) - n)}
    verdict = "a fresh fit is due" if due else "no fresh fit needed"
    outputs = [output] if grown is None else [output, grown]
    with defer_interrupts():
        tables.write(
            output, Y, names=names, ids=ids, id_name=table.id_name, labels=origin, force=force
        )
        console.say(
            f"{name}: added {len(Y) - n:,} objects to {n:,} in {seconds:.2f} s\n"
            f"drift    median {moved:.2%} of the width of the map, score "
            f"{estimator.drift_score_:.2f}: {verdict}\nmap      {output}"
        )
        said = console.warn([] if due else messages)
        if grown is not None:
            persist.save(estimator, grown, force=force)
            console.say(f"model    {grown}")
        console.record(
            method=name,
            objects=len(Y),
            added=len(Y) - n,
            seconds=seconds,
            drift=moved,
            score=estimator.drift_score_,
            fresh_fit_due=due,
            warnings=said,
            outputs=list(map(str, outputs)),
        )
        console.finish()


@click.command()
@_model_arguments("File for the decoded objects. By default FILE-decoded.csv in this folder.")
@click.option(
    "--decoder",
    type=click.Choice(["auto", "local", "kernel", "network"]),
    help="For methods without an inverse of their own: interpolation, kernel ridge regression, a "
    "network, or the one of least error on held-out objects. By default that of MODEL.",
)
@output_options
def decode(
    model: Path,
    file: Path,
    output: Path | None,
    decoder: str | None,
    force: bool,
    console: Console,
) -> None:
    """Take the coordinates in FILE back to the data of MODEL.

    MODEL was saved by `lowdim embed --model` or by an estimator's `save` in Python. FILE has one
    column of numbers for each coordinate of the map. The columns of the result are those of the
    data, in their units; for a map of distances they are the nearest objects and their weights.
    """
    estimator = persist.load(model)
    name = type(estimator).__name__
    output = output or Path(f"{files.stem_of(file)}-decoded.csv")
    files.check_outputs(force, table=output)
    table = tables.read(file, kind="vectors")
    with refuse_errors(name):
        if decoder is not None:
            estimator.fit_decoder(decoder)
        vectors = estimator.inverse_transform(table.X)
    if isinstance(vectors, NearestObjects):
        rows = np.column_stack([vectors.objects, vectors.weights])
        places = range(vectors.objects.shape[1])
        columns = [f"{part}{i}" for part in ("object", "weight") for i in places]
    else:
        recipe = tables.Recipe.of_model(estimator) or tables.Recipe(None)
        rows = recipe.undo(vectors)
        known = getattr(estimator, "feature_names_in_", None)
        named = recipe.names or (known.tolist() if known is not None else None)
        columns = named or [f"x{i}" for i in range(rows.shape[1])]
    with defer_interrupts():
        files.write_rows(output, rows, columns, table, force)
        console.say(f"{name}: decoded {len(rows):,} places\nobjects  {output}")
        console.record(method=name, objects=len(rows), outputs=[str(output)])
        console.finish()
