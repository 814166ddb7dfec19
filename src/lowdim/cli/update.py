"""`lowdim update`: new objects join a map that is there."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.files import input_options, model_arguments
from lowdim.cli.names import alias
from lowdim.cli.resources import device_option
from lowdim.cli.transform import model_and_objects


@click.command()
@model_arguments("File for the coordinates of all objects. By default FILE-METHOD.csv here.")
@click.option(
    "--model",
    "grown",
    type=click.Path(path_type=Path),
    help="File for the model of all objects; it may be MODEL itself, with --force.",
)
@input_options
@device_option
@output_options
def update(
    model: Path,
    file: Path,
    output: Path | None,
    grown: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Add the objects in FILE to the map of MODEL, near which the old ones stay.

    MODEL was saved by `lowdim embed --model` or by an estimator's `save` in Python. The result has
    the old objects, by their number, and then the new ones. The command prints how far the old
    objects have moved and whether a fresh fit is due.
    """
    import numpy as np

    from lowdim import tables
    from lowdim.cli.errors import refuse_errors
    from lowdim.estimator import persist
    from lowdim.estimator.updating import width
    from lowdim.runtime.atomic import check_writable
    from lowdim.runtime.interrupts import defer_interrupts

    console = Console(quiet, as_json)
    if grown is not None:
        check_writable(grown, force=force)
    estimator, table, output = model_and_objects(model, file, output, force, console, values)
    name = type(estimator).__name__
    start = perf_counter()
    before = getattr(estimator, "embedding_", np.empty((0, 0)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with refuse_errors(name, AttributeError):
            estimator.update(table.X)
    seconds = perf_counter() - start
    Y, n = estimator.embedding_, len(before)
    moved = float(np.nanmedian(estimator.drift_)) / (width(before) or 1.0)
    due = estimator.drift_score_ > 1
    names = [f"{alias(name)}{i}" for i in range(Y.shape[1])]
    ids = None if table.ids is None else [*(f"old {i}" for i in range(n)), *table.ids]
    verdict = "a fresh fit is due" if due else "no fresh fit needed"
    with defer_interrupts():
        tables.write(
            output,
            Y,
            names=names,
            ids=ids,
            id_name=table.id_name,
            labels={"origin": ["old"] * n + ["new"] * (len(Y) - n)},
            force=force,
        )
        outputs = [str(output)]
        console.say(
            f"{name}: added {len(Y) - n:,} objects to {n:,} in {seconds:.2f} s\n"
            f"drift    median {moved:.2%} of the width of the map, score "
            f"{estimator.drift_score_:.2f}: {verdict}\nmap      {output}"
        )
        said = console.warn(str(w.message) for w in caught if not due)
        if grown is not None:
            persist.save(estimator, grown, force=force)
            outputs.append(str(grown))
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
            outputs=outputs,
        )
        console.finish()
