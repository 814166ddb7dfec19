"""`lowdim assess` and `lowdim suggest`: how well a map shows the data, and which one to try."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import numpy as np

from lowdim import tables
from lowdim.cli import files
from lowdim.cli.console import Console, output_options
from lowdim.cli.errors import refuse_errors
from lowdim.cli.names import Names, alias, aliases, method_option, normalize_name
from lowdim.tables import Table

_PARTS = ("score", "false", "missed", "displaced", "unseen")


@click.command()
@click.argument("file", type=files.FILE)
@click.argument("embedding", type=files.FILE)
@click.option(
    "--coordinates",
    type=Names(),
    default="",
    help="Columns of EMBEDDING. By default those numbered under one name, or all numbers.",
)
@click.option(
    "--method", metavar="NAME", help="Method that made the map; some warnings depend on it."
)
@click.option("--n-neighbors", "-k", type=int, help="Size of the neighbourhoods.")
@click.option("--metric", default="euclidean", show_default=True, help="Distances in the data.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the samples of large data."
)
@click.option("--plot", "picture", type=files.FILE, help="Draw the diagrams.")
@click.option(
    "--objects", type=files.FILE, help="File for the reliability of each object, with its parts."
)
@files.force_option
@files.input_options
@output_options
def assess(
    file: Path,
    embedding: Path,
    coordinates: list[str],
    method: str | None,
    n_neighbors: int | None,
    metric: str,
    seed: int,
    picture: Path | None,
    objects: Path | None,
    force: bool,
    console: Console,
    **values: Any,
) -> None:
    """Measure how truly EMBEDDING maps the objects of FILE.

    EMBEDDING is a file that `lowdim embed` wrote, or any table with one row an object. Rows are
    matched by ids where both files have them.
    """
    from lowdim import plot, quality
    from lowdim.quality.reliability import DEFAULT_NEIGHBORS
    from lowdim.quality.suspects import find_suspects

    files.check_outputs(force, table=objects, picture=picture)
    table = files.read_table(file, files.read_arguments(values), console)
    Y, names = tables.read_embedding(embedding, table, [name for name in coordinates if name])
    if method is None:  # the name that lowdim embed gives to coordinates
        made_by = aliases().get(normalize_name(names[0]).rstrip("0123456789"))
        method = None if made_by is None else made_by.name
    labels = files.label_to_assess(table, None)
    with refuse_errors():
        report = quality.assess(
            table.X,
            Y,
            method=method,
            labels=labels,
            n_neighbors=n_neighbors,
            metric=table.metric or metric,
            random_state=seed,
        )
    console.show(str(report))
    console.record(**report.to_dict())
    suspects = find_suspects(table.X, labels, table.metric or metric)
    if suspects is not None:
        console.show(f"\n{suspects}")
        console.record(suspects=_suspect_facts(suspects, table))
    if objects is not None:
        with refuse_errors():
            found = quality.reliability(
                Y,
                table.X,
                n_neighbors=n_neighbors or DEFAULT_NEIGHBORS,
                metric=table.metric or metric,
            )
        rows = np.column_stack([getattr(found, part) for part in _PARTS])
        files.write_rows(objects, rows, ["reliability", *_PARTS[1:]], table, force)
        console.show(f"\n{found}")
        console.say(f"objects  {objects}")
    if picture is not None:
        plot.save(report.plot(), picture, force=force)
        console.say(f"picture  {picture}")
    console.finish()


def _suspect_facts(suspects: Any, table: Table) -> list[dict[str, Any]]:
    """The suspects, ready for JSON."""
    return [
        {
            "object": int(row) if table.ids is None else str(table.ids[row]),
            "score": float(suspects.scores[at]),
            "reason": str(suspects.reasons[at]),
            "label": str(suspects.labels[at]),
            "suggested": str(suspects.suggested[at]),
        }
        for at, row in enumerate(suspects.objects)
    ]


@click.command()
@click.argument("file", type=files.FILE)
@method_option(
    "Methods to try, separated by commas; by default a few of different kinds.", several=True
)
@click.option(
    "--keep",
    type=click.Choice(["auto", "neighbors", "distances", "geodesics"]),
    default="auto",
    show_default=True,
    help="What the map is to keep; geodesics are distances along the data.",
)
@click.option(
    "--n-components",
    "-d",
    type=int,
    default=2,
    show_default=True,
    help="Number of dimensions of the maps.",
)
@click.option(
    "--n-objects",
    type=int,
    default=2000,
    show_default=True,
    help="Number of objects to try the methods on, at most.",
)
@click.option("--metric", default="euclidean", show_default=True, help="Distances in the data.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@files.input_options
@output_options
@click.pass_context
def suggest(
    context: click.Context,
    /,
    file: Path,
    method: Any,
    keep: str,
    n_components: int,
    n_objects: int,
    metric: str,
    seed: int,
    console: Console,
    **values: Any,
) -> None:
    """Try methods and parameters on the objects of FILE and rank the maps, without labels."""
    from lowdim import quality

    table = files.read_table(file, files.read_arguments(values), console)
    with refuse_errors():
        suggestion = quality.suggest(
            table.X,
            None if method is None else [one.name for one in method],
            keep=keep,
            n_components=n_components,
            n_objects=n_objects,
            metric=table.metric or metric,
            random_state=seed,
        )
    command = None
    if suggestion.recommended is not None:
        params = suggestion.recommended.params.items()
        chosen = {k: v for k, v in params if k != "metric" or v != table.metric}
        words = [part for k, v in chosen.items() for part in (f"--{k.replace('_', '-')}", str(v))]
        words = ["lowdim", "embed", str(file), "-m", alias(suggestion.recommended.method), *words]
        words += [
            *files.input_words(context),
            *(["--standardize"] if suggestion.standardized else []),
        ]
        command = shlex.join(words)
    console.show(str(suggestion))
    if command is not None:
        console.say(f"\nTry: {command} --plot map.png")
    console.record(**suggestion.to_dict(), command=command)
    console.finish()
