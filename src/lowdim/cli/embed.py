"""`lowdim embed`: a file in, a map out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from lowdim.catalog import Method
from lowdim.cli import files
from lowdim.cli.console import Console, output_options
from lowdim.cli.errors import INTERRUPTED, Stop
from lowdim.cli.fitting import Fitted, estimate, fit_table, objects_for, parameters_for
from lowdim.cli.names import alias, method_option
from lowdim.cli.parameters import MethodCommand, split
from lowdim.cli.resources import resource_options
from lowdim.estimator import persist
from lowdim.runtime.interrupts import defer_interrupts
from lowdim.tables import Table

MAX_NAMES = 60  # objects whose ids are written on a plot


@click.command(cls=MethodCommand)
@click.argument("file", type=files.FILE)
@method_option(
    "The method, by its name or a short form: isomap, lle, mds. `lowdim methods` lists them."
)
@click.option(
    "-o",
    "--output",
    type=files.FILE,
    help="File for the map; its ending determines the format. By default FILE-METHOD.csv in this "
    "folder, unless a plot or a model is wanted. '-' is CSV on stdout.",
)
@click.option("--plot", "picture", type=files.FILE, help="Draw the map: a PNG, PDF or SVG file.")
@files.color_option
@click.option("--model", type=files.FILE, help="Save the fitted model, for `lowdim transform`.")
@click.option(
    "--decoder",
    type=click.Choice(["auto", "local", "kernel", "network"]),
    help="How `lowdim decode` goes back from coordinates to the data, for a model of a method "
    "without an inverse of its own: interpolation (the default), kernel ridge regression, a "
    "network, or with 'auto' the one of least error on held-out objects.",
)
@files.force_option
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only print the memory and time that the map would take, and cheaper ways.",
)
@click.option("--no-estimate", is_flag=True, help="Start at once, without an estimate of the time.")
@files.input_options
@resource_options
@output_options
def embed(file: Path, method: Method, console: Console, force: bool, **values: Any) -> None:
    """Make a map of the objects in FILE.

    FILE is CSV, TSV or other text, JSON lines, Excel, Parquet, Arrow or Feather, NPY or NPZ, HDF5,
    AnnData, Matlab, or a folder of images; it may be compressed, and '-' is standard input.

    With -m METHOD, --help shows the method's own parameters too, each of which is an option: lowdim
    embed --help -m isomap
    """
    from lowdim import plot

    values, options = split(values)
    arguments = files.read_arguments(values)
    output, picture, model = values["output"], values["picture"], values["model"]
    if output is None and picture is None and model is None:
        output = Path(f"{files.stem_of(file)}-{alias(method.name)}.csv")
    if values["decoder"] is not None and model is None:
        raise click.UsageError("--decoder: the decoder is part of a model; add --model.")
    files.check_outputs(force, model, table=None if str(output) == "-" else output, picture=picture)
    table = files.read_table(file, arguments, console)
    files.check_color(table, values["color_by"])
    params = parameters_for(method, options, table)
    X = objects_for(method, table)
    dry = values["dry_run"]
    wanted = dry or (console.informs and not values["no_estimate"])
    expected = estimate(method, params, X, required=dry) if wanted else None
    if expected is not None:
        console.say(str(expected) if dry else f"{method.name}: {expected.summary}")
        console.record(estimate={"seconds": expected.seconds, "bytes": expected.n_bytes})
    if dry:
        console.finish()
        return
    fitted = fit_table(method, params, X, table, console)
    with defer_interrupts():  # Ctrl-C that ended the fit must not end the writing of its result too
        if values["decoder"] is not None:
            _fit_decoder(values["decoder"], fitted, console)
        if str(output) == "-":
            _print_table(fitted, table, console)
        elif output is not None:
            files.write_rows(output, fitted.embedding, fitted.names, table, force)
            console.say(f"map      {output}")
        if model is not None:
            if table.recipe is not None:
                fitted.estimator.preparation_ = table.recipe.to_dict()
            persist.save(fitted.estimator, model, force=force)
            console.say(f"model    {model}  (lowdim transform {model} NEWFILE)")
        if picture is not None:
            title = f"{method.name} of {file.name}"
            plot.save(_draw(fitted, table, values["color_by"], title), picture, force=force)
            console.say(f"picture  {picture}")
        console.record(
            method=method.name,
            parameters=params,
            input={
                "source": table.source,
                "objects": table.n_rows,
                "features": None if table.metric == "precomputed" else table.X.shape[1],
                "columns": table.columns,
                "labels": list(table.labels),
                "notes": table.notes,
            },
            seconds=fitted.seconds,
            warnings=fitted.warnings,
            interrupted=fitted.interrupted,
            outputs=[str(p) for p in (output, model, picture) if p is not None and str(p) != "-"],
        )
        console.finish()
    if fitted.interrupted:
        raise Stop(INTERRUPTED)


def _fit_decoder(kind: str, fitted: Fitted, console: Console) -> None:
    """Fit the decoder that the model is to have; a refusal must not cost the map."""
    try:
        fitted.estimator.fit_decoder(kind)
    except (ImportError, ValueError) as error:
        fitted.warnings.append(f"--decoder {kind}: {error}")
        console.warn(fitted.warnings[-1:])
        return
    decoder = fitted.estimator.decoder_
    errors = ", ".join(f"{kind} {error:.4g}" for kind, error in decoder.get("errors", {}).items())
    console.say(f"decoder  {decoder['kind']}{f'  (held-out errors: {errors})' * bool(errors)}")
    console.record(decoder=decoder["kind"])


def _print_table(fitted: Fitted, table: Table, console: Console) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map.csv"
        files.write_rows(path, fitted.embedding, fitted.names, table, force=True)
        if not console.as_json:
            click.echo(path.read_text(encoding="utf-8").rstrip("\n"))


def _draw(fitted: Fitted, table: Table, color_by: str | None, title: str) -> Any:
    from lowdim import plot

    Y = fitted.embedding if fitted.embedding.shape[1] <= 3 else fitted.embedding[:, :2]
    if len(Y) != table.n_rows:
        return plot.scatter(Y, title=title).figure
    images = table.images if Y.shape[1] == 2 else None
    named = images is None and table.ids is not None and len(Y) <= MAX_NAMES
    names = list(table.ids) if named and table.ids is not None else None
    color = files.named_labels(table, color_by)
    return plot.scatter(Y, color, names=names, images=images, title=title).figure
