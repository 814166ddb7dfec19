"""`lowdim assess`: how well a map shows the data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.files import input_options, read_arguments, read_table
from lowdim.cli.types import Names

if TYPE_CHECKING:
    from lowdim.tables import Table


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("embedding", type=click.Path(path_type=Path))
@click.option(
    "--coordinates",
    type=Names(),
    default="",
    help="Columns of EMBEDDING. By default those numbered under one name, or all numbers.",
)
@click.option("--method", metavar="NAME", help="What made the map, for the warnings that suit it.")
@click.option("--n-neighbors", "-k", type=int, help="Size of the neighbourhoods.")
@click.option("--metric", default="euclidean", show_default=True, help="Distances in the data.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of samples of large data.")
@click.option("--plot", "picture", type=click.Path(path_type=Path), help="Draw the diagrams.")
@click.option("--force", "-f", is_flag=True, help="Replace an output that exists.")
@input_options
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
    force: bool,
    quiet: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Measure how truly EMBEDDING maps the objects of FILE.

    EMBEDDING is a file that `lowdim embed` wrote, or any table with one row an object. Rows are
    matched by ids where both files have them.
    """
    from lowdim import plot, quality, tables
    from lowdim.cli.embed import label_to_assess
    from lowdim.cli.errors import refuse_errors
    from lowdim.cli.names import aliases, normalize_name
    from lowdim.report.suspects import find_suspects
    from lowdim.runtime.atomic import check_writable

    console = Console(quiet, as_json)
    if picture is not None:
        check_writable(picture, force=force)
    table = read_table(file, read_arguments(values), console)
    Y, names = tables.read_embedding(embedding, table, [name for name in coordinates if name])
    if method is None:  # the name that lowdim embed gives to coordinates
        made_by = aliases().get(normalize_name(names[0]).rstrip("0123456789"))
        method = None if made_by is None else made_by.name
    labels = label_to_assess(table, None)
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
