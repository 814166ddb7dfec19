"""`lowdim decode`: from coordinates on a map back to objects."""

from __future__ import annotations

from pathlib import Path

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.files import check_outputs, model_arguments, stem_of, write_rows


@click.command()
@model_arguments("File for the decoded objects. By default FILE-decoded.csv in this folder.")
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
    quiet: bool,
    as_json: bool,
) -> None:
    """Take the coordinates in FILE back to the data of MODEL.

    MODEL was saved by `lowdim embed --model` or by an estimator's `save` in Python. FILE has one
    column of numbers for each coordinate of the map. The columns of the result are those of the
    data, in their units; for a map of distances they are the nearest objects and their weights.
    """
    import numpy as np

    import lowdim
    from lowdim import tables
    from lowdim.cli.errors import refuse_errors
    from lowdim.estimator.decoders import NearestObjects
    from lowdim.runtime.interrupts import defer_interrupts

    console = Console(quiet, as_json)
    estimator = lowdim.load(model)
    name = type(estimator).__name__
    output = output or Path(f"{stem_of(file)}-decoded.csv")
    check_outputs(force, table=output)
    table = tables.read(file, kind="vectors")
    with refuse_errors(name):
        if decoder is not None:
            estimator.fit_decoder(decoder)
        vectors = estimator.inverse_transform(table.X)
    if isinstance(vectors, NearestObjects):
        k = vectors.objects.shape[1]
        rows = np.column_stack([vectors.objects, vectors.weights])
        columns = [f"{part}{i}" for part in ("object", "weight") for i in range(k)]
    else:
        recipe = tables.Recipe.of_model(estimator) or tables.Recipe(None)
        rows = recipe.undone(vectors)
        known = getattr(estimator, "feature_names_in_", None)
        named = recipe.names or (known.tolist() if known is not None else None)
        columns = named or [f"x{i}" for i in range(rows.shape[1])]
    with defer_interrupts():
        write_rows(output, rows, columns, table, force)
        console.say(f"{name}: decoded {len(rows):,} places\nobjects  {output}")
        console.record(method=name, objects=len(rows), outputs=[str(output)])
        console.finish()
